/** The frame around every view. */
import { useEffect, useRef } from "preact/hooks";
import { token } from "../api/link";
import { Boundary } from "../parts/boundary";
import { Icon } from "../parts/icons";
import { Empty, Trouble, Waiting } from "../parts/states";
import { VIEWS } from "../views";
import { Bar } from "./bar";
import { bindKeys, keysShown } from "./keys";
import { Banner, KeysDialog, TokenDialog } from "./notices";
import { address, branch, go, place } from "./route";
import { graph, me, trouble } from "./session";
import { step, TimeSlider } from "./slider";
import { toggleTheme } from "./theme";
import { Toasts } from "./toasts";

bindKeys([
  { keys: "?", what: "Show these keys", run: () => (keysShown.value = true) },
  { keys: "/", what: "Find something", run: () => focusFind() },
  ...VIEWS.map((view) => ({
    keys: `g ${view.key}`,
    what: `Go to ${view.label}`,
    run: () => go({ view: view.id }),
  })),
  { keys: "[", what: "One commit back in time", run: () => step(-1) },
  { keys: "]", what: "One commit forth in time", run: () => step(1) },
  { keys: "t", what: "Light or dark", run: toggleTheme },
]);

function focusFind(): void {
  const box = (): HTMLElement | null => document.querySelector<HTMLElement>("[data-find]");
  if (box() === null) go({ view: "find" });
  requestAnimationFrame(() => setTimeout(() => box()?.focus(), 50));
}

/** The graph or the branch of the address can't be read. */
function Lost() {
  const problem = trouble.value;
  // The banner and the dialog speak of these two.
  if (problem === null || problem.kind === "gone" || problem.kind === "token") return null;
  const elsewhere = me.value?.graphs?.find((name) => name !== graph.value);
  return (
    <div>
      <Trouble problem={problem} />
      <p class="row lost">
        {branch.value !== "main" && <a href={address({ set: { branch: null, at: null } })}>Go to main</a>}
        {elsewhere !== undefined && <a href={address({ graph: elsewhere, view: "query" })}>Go to {elsewhere}</a>}
      </p>
    </div>
  );
}

/** The address names no graph, and there is none to go to by itself. */
function NoGraph() {
  if (trouble.value !== null) return <Trouble problem={trouble.value} />;
  const known = me.value;
  if (known === null || (known.graphs ?? []).length > 0) return <Waiting what="Looking for graphs" />;
  if (known.graphs !== null) {
    return (
      <Empty icon="graph" title="There is no graph here">
        <p>This server serves no graph that you may see.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="graph" title="Which graph?">
      <p>You may not list the graphs of this server, but you may know the name of one.</p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const name = new FormData(event.currentTarget).get("graph");
          if (typeof name === "string" && name.trim() !== "") go({ graph: name.trim(), view: "query" });
        }}
      >
        <input name="graph" aria-label="Name of the graph" autocomplete="off" />
        <button type="submit" class="main">
          Open
        </button>
      </form>
    </Empty>
  );
}

export function Frame() {
  const view = VIEWS.find((known) => known.id === place.value.view) ?? VIEWS[0]!;
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${view.label} · ${graph.value ?? "Explorer"}`;
  }, [view.id, graph.value]);
  useEffect(() => {
    // A new view begins at its top, for eyes and for screen readers.
    if (!isFirst.current && document.activeElement?.tagName !== "INPUT") main.current?.focus();
    isFirst.current = false;
  }, [view.id]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Bar />
      <Banner />
      <TimeSlider />
      <div class="body">
        <nav class="nav" aria-label="Views">
          {VIEWS.map((known) => (
            <a
              key={known.id}
              href={address({ view: known.id })}
              aria-current={known.id === view.id ? "page" : undefined}
              title={`${known.label} (g ${known.key})`}
            >
              <Icon name={known.icon} />
              <span>{known.label}</span>
            </a>
          ))}
        </nav>
        <main id="main" ref={main} tabIndex={-1} aria-label={view.label}>
          {graph.value === null ? (
            <NoGraph />
          ) : (
            <>
              <Lost />
              {/* A view begins anew in another graph, and for somebody else: what it holds is of the one before. */}
              <Boundary key={`${graph.value}|${view.id}|${token.value}`}>
                <view.Component />
              </Boundary>
            </>
          )}
        </main>
      </div>
      <Toasts />
      <TokenDialog />
      <KeysDialog />
    </>
  );
}
