/** All commits of all branches, and what each changed. */
import { signal } from "@preact/signals";
import { useAsked } from "../../api/asked";
import { useKeys } from "../../app/keys";
import { branch, go, place } from "../../app/route";
import { branches, callHere, graph, head } from "../../app/session";
import { Empty, Trouble, Waiting } from "../../parts/states";
import { number } from "../../parts/times";
import type { Log } from "../../parts/lineage";
import { CommitPanel } from "./commit";
import { CommitGraph } from "./graph";
import "./style.css";

const FIRST = 300;
const TIMES = 5;

/** How far back the log is asked for. It stays while other views are looked at. */
const reach = signal(FIRST);

export default function HistoryView() {
  const { commit: selected, only } = place.value.params;
  const isWhole = only === undefined;
  const asked = useAsked<Log>(
    `${graph.value}|${head.value}|${branches.value.join()}|${reach.value}|${only}|log`,
    (signal) =>
      callHere<Log>("log", { limit: reach.value, ...(isWhole ? {} : { is_whole: false, branch: only }) }, signal),
  );
  const commits = asked.value?.commits ?? [];
  const at = commits.findIndex((commit) => commit.graph_commit_id === selected);
  // From the address, not from what is drawn: keys may come faster than the page.
  const step = (by: 1 | -1): void => {
    const from = commits.findIndex((commit) => commit.graph_commit_id === place.peek().params.commit);
    const commit = commits[Math.min(Math.max(from + by, 0), commits.length - 1)];
    if (commit !== undefined) go({ set: { commit: commit.graph_commit_id } }, true);
  };
  useKeys(
    [
      { keys: "j", what: "Next older commit", run: () => step(1) },
      { keys: "k", what: "Next newer commit", run: () => step(-1) },
      { keys: "x", what: "Close the commit", run: () => go({ set: { commit: null } }) },
    ],
    [commits],
  );
  if (asked.value === null) {
    return asked.problem === null ? <Waiting /> : <Trouble problem={asked.problem} again={asked.again} />;
  }
  const isCut = commits.length >= reach.value;
  return (
    <div class={`history ${selected === undefined ? "" : "with-panel"}`}>
      <div class="history-list">
        <header class="row history-head-row">
          <h1 class="grow">History</h1>
          <label class="row tight">
            <span class="soft">Show</span>
            <select
              value={only ?? ""}
              onChange={(event) => go({ set: { only: event.currentTarget.value, commit: null } })}
            >
              <option value="">all branches</option>
              {branches.value.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </header>
        {asked.problem !== null && <Trouble problem={asked.problem} again={asked.again} />}
        {commits.length === 0 ? (
          <Empty icon="history" title="No commits yet">
            <p>A load or a change makes the first one.</p>
          </Empty>
        ) : (
          <CommitGraph log={asked.value} selected={selected ?? null} />
        )}
        <footer class="row history-foot">
          <span class="soft small grow">
            {isCut ? `The newest ${number(commits.length)} commits.` : `All ${number(commits.length)} commits.`}
          </span>
          {isCut && (
            <button type="button" disabled={asked.isAsking} onClick={() => (reach.value *= TIMES)}>
              {asked.isAsking ? "Loading …" : "Show older"}
            </button>
          )}
        </footer>
      </div>
      {selected !== undefined && (
        <CommitPanel
          key={selected}
          id={selected}
          known={commits[at] ?? null}
          heads={asked.value.heads}
          branch={only ?? branch.value}
        />
      )}
    </div>
  );
}
