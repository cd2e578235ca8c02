/** A view that fails takes nothing else with it: the frame stays, and what was typed too. */
import { Component, type ComponentChildren } from "preact";

export class Boundary extends Component<{ children: ComponentChildren }, { problem: string | null }> {
  override state = { problem: null };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ problem: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    if (this.state.problem === null) return this.props.children;
    return (
      <div class="trouble" role="alert">
        <strong>This view can't be shown</strong>
        <p>{this.state.problem}</p>
        <p class="hint">It is a mistake in the page. What you typed is kept.</p>
        <p class="row">
          <button type="button" onClick={() => this.setState({ problem: null })}>
            Try again
          </button>
          <button type="button" onClick={() => location.reload()}>
            Load the page anew
          </button>
        </p>
      </div>
    );
  }
}
