/** What a view shows when it has nothing to show: it waits, it is empty, or something went wrong. */
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { refresh, tokenWanted } from "../api/link";
import { Icon, type IconName } from "./icons";

export function Waiting({ what = "Loading" }: { what?: string }) {
  return (
    <p class="waiting" role="status">
      {what} …
    </p>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={36} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

const TITLES: Record<Problem["kind"], string> = {
  token: "A token is needed",
  denied: "You may not do this",
  absent: "There is no such thing",
  stale: "Something changed in the meantime",
  busy: "The server is busy",
  gone: "The server can't be reached",
  refused: "This can't be done",
  broken: "Something went wrong in the server",
};

/** Why something is not there, and what to do. `again` is offered where asking again may help. */
export function Trouble({ problem, again }: { problem: Problem; again?: () => void }) {
  const retry = again ?? refresh;
  return (
    <div class={`trouble ${problem.kind}`} role="alert">
      <strong>{TITLES[problem.kind]}</strong>
      <p>{problem.sentence}</p>
      {problem.hint !== null && <p class="hint">{problem.hint}</p>}
      <p class="row">
        {problem.kind === "token" && (
          <button type="button" onClick={() => (tokenWanted.value = true)}>
            Give a token
          </button>
        )}
        {problem.kind === "stale" && (
          <button type="button" onClick={retry}>
            Reload
          </button>
        )}
        {(problem.kind === "busy" || problem.kind === "broken" || problem.kind === "gone") && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
        {problem.kind !== "gone" && <code class="code">{problem.code}</code>}
      </p>
    </div>
  );
}
