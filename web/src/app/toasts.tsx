/** Short sentences about what just happened. Screen readers hear them. */
import { signal } from "@preact/signals";

type Tone = "plain" | "good" | "bad";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

const shown = signal<readonly Toast[]>([]);
let last = 0;

export function tell(text: string, tone: Tone = "plain"): void {
  const id = ++last;
  shown.value = [...shown.value.filter((toast) => toast.text !== text).slice(-2), { id, text, tone }];
  setTimeout(() => dismiss(id), tone === "bad" ? 12_000 : 5_000);
}

function dismiss(id: number): void {
  shown.value = shown.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.tone}`}>
          <span>{toast.text}</span>
          <button type="button" class="plain" aria-label="Close this message" onClick={() => dismiss(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
