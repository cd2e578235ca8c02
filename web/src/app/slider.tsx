/** Travel in time: the commits of the branch, oldest on the left. The view asks again at the one chosen. */
import { useEffect, useState } from "preact/hooks";
import { atMinute, fromText, ago } from "../parts/times";
import { Icon } from "../parts/icons";
import { sliderOpen } from "./bar";
import { VIEWS } from "../views";
import { branch, go, moment, place } from "./route";
import { commits, momentCommit, REACH } from "./session";
import { tell } from "./toasts";

export const saidOf = (commit: { message: string | null; kind: string }): string => commit.message ?? commit.kind;

/** One commit back, or forth; forth from the newest is now. */
export function step(by: -1 | 1): void {
  const line = commits.peek();
  const at = moment.peek();
  const index = at === null ? 0 : line.findIndex((commit) => commit.graph_commit_id === at);
  if (index === -1) return tell(`This commit is not among the last ${REACH} of ${branch.peek()}, so there is no step from it.`);
  const next = index - by;
  if (next < 0 || line.length === 0) return go({ set: { at: null } }, true);
  const commit = line[Math.min(next, line.length - 1)];
  if (commit !== undefined) travel(next === 0 ? null : commit.graph_commit_id);
}

function travel(to: string | null): void {
  go({ set: { at: to } }, true);
}

export function TimeSlider() {
  const line = commits.value;
  const at = moment.value;
  const index = at === null ? 0 : line.findIndex((commit) => commit.graph_commit_id === at);
  const [dragged, setDragged] = useState<number | null>(null);
  useEffect(() => setDragged(null), [at, branch.value]);
  const isMomentary = VIEWS.find((view) => view.id === place.value.view)?.isMomentary ?? true;
  if (!sliderOpen.value && at === null) return null;
  const shown = line[dragged ?? Math.max(index, 0)] ?? null;
  const isNow = dragged === null ? at === null : dragged === 0;
  const last = Math.max(line.length - 1, 0);
  const text =
    shown === null
      ? "No commits yet"
      : `${isNow ? "Now" : atMinute(fromText(shown.created_at))}: ${saidOf(shown)}${shown.actor_id ? `, by ${shown.actor_id}` : ""}`;
  return (
    <section id="time" class={at === null ? "time" : "time then"} aria-label="Travel in time">
      <Icon name="clock" />
      <input
        type="range"
        min={0}
        max={last}
        step={1}
        value={last - (dragged ?? Math.max(index, 0))}
        disabled={line.length < 2}
        aria-label={`Moment of ${branch.value}`}
        aria-valuetext={text}
        onInput={(event) => setDragged(last - Number(event.currentTarget.value))}
        onChange={(event) => {
          const chosen = last - Number(event.currentTarget.value);
          travel(chosen === 0 ? null : (line[chosen]?.graph_commit_id ?? null));
        }}
      />
      <p class="told" title={shown?.graph_commit_id}>
        {at !== null && momentCommit.value === null && dragged === null ? (
          <span>
            You see a commit that is not among the last {REACH} of {branch.value}: <code>{at.slice(0, 12)}</code>
          </span>
        ) : isNow || shown === null ? (
          <span>{text}</span>
        ) : (
          <span>
            You see <strong>{branch.value}</strong> as it was {ago(fromText(shown.created_at))} (
            {atMinute(fromText(shown.created_at))}), after “{saidOf(shown)}”
            {shown.actor_id !== null && ` by ${shown.actor_id}`}
            {!isMomentary && ". This view shows all of the history, whatever the moment"}
          </span>
        )}
      </p>
      <span class="row">
        <button type="button" class="quiet" aria-label="One commit earlier" title="Earlier ([)" disabled={index >= last} onClick={() => step(-1)}>
          ‹
        </button>
        <button type="button" class="quiet" aria-label="One commit later" title="Later (])" disabled={at === null} onClick={() => step(1)}>
          ›
        </button>
        <button
          type="button"
          onClick={() => {
            sliderOpen.value = false;
            travel(null);
          }}
        >
          {at === null ? "Close" : "Back to now"}
        </button>
      </span>
    </section>
  );
}
