/** All branches: which wait for a review, which are merged. */
import { useState } from "preact/hooks";
import { useAsked } from "../../api/asked";
import { address } from "../../app/route";
import { branches, callHere, graph, head } from "../../app/session";
import { useKeys } from "../../app/keys";
import { commitTitle, When, Who } from "../../parts/commits";
import { DeleteBranch } from "../../parts/delete_branch";
import { Icon } from "../../parts/icons";
import { byId, isOfPeople, type Log, ownCommits } from "../../parts/lineage";
import { NewBranch } from "../../parts/new_branch";
import { Trouble, Waiting } from "../../parts/states";
import { counted } from "../../parts/times";

/** So far back we look for what a branch has of its own. */
const REACH = 2_000;

interface Line {
  readonly name: string;
  readonly own: number;
  readonly unsaved: number;
  readonly head: Log["commits"][number] | null;
}

function linesOf(log: Log): Line[] {
  const known = byId(log);
  const names = Object.keys(log.heads);
  return names
    .filter((name) => name !== "main")
    .map((name) => ({ name, own: ownCommits(log, known, name, ["main"]).filter(isOfPeople) }))
    .map(({ name, own }) => ({
      name,
      own: own.length,
      unsaved: ownCommits(log, known, name, names.filter((other) => other !== name)).filter(isOfPeople).length,
      head: own[0] ?? known.get(log.heads[name] ?? "") ?? null,
    }))
    .sort((a, b) => (b.head?.created_at ?? "").localeCompare(a.head?.created_at ?? ""));
}

export function Branches() {
  const [isMaking, setMaking] = useState(false);
  const [deleted, setDeleted] = useState<Line | null>(null);
  const asked = useAsked<Log>(`${graph.value}|${head.value}|${branches.value.join()}|branches`, (signal) =>
    callHere<Log>("log", { limit: REACH }, signal),
  );
  useKeys([{ keys: "b", what: "Make a branch", run: () => setMaking(true) }]);
  const lines = asked.value === null ? [] : linesOf(asked.value);
  const waiting = lines.filter((line) => line.own > 0);
  const merged = lines.filter((line) => line.own === 0);
  return (
    <div class="pad review">
      <div class="row">
        <h1 class="grow">Branches to review</h1>
        <button type="button" class="main" onClick={() => setMaking(true)}>
          <Icon name="branch" size={16} />
          New branch
        </button>
      </div>
      <p class="soft">A review shows what a branch would change, entity by entity, and merges it. Nothing moves before that.</p>
      {asked.problem !== null && <Trouble problem={asked.problem} again={asked.again} />}
      {asked.value === null && asked.problem === null && <Waiting />}
      {asked.value !== null && lines.length === 0 && (
        <div class="card">
          <h2>There is only main</h2>
          <p class="soft">
            Make a branch, change something on it, and come back: here you see what it changed before main takes it.
          </p>
        </div>
      )}
      {waiting.length > 0 && (
        <ul class="review-branches">
          {waiting.map((line) => (
            <li key={line.name} class="card">
              <div class="grow">
                <h2>
                  <a href={address({ view: "review", set: { source: line.name } })}>{line.name}</a>
                </h2>
                <p class="soft">
                  {counted(line.own, "commit")} that main does not have
                  {line.head !== null && (
                    <>
                      ; the newest {commitTitle(line.head) && <>is “{commitTitle(line.head)}”</>} by{" "}
                      <Who commit={line.head} />, <When commit={line.head} />
                    </>
                  )}
                </p>
              </div>
              <span class="row">
                <a class="button" href={address({ view: "query", set: { branch: line.name, at: null } })}>
                  Look
                </a>
                <button type="button" aria-label={`Delete ${line.name}`} onClick={() => setDeleted(line)}>
                  Delete
                </button>
                <a class="button main" href={address({ view: "review", set: { source: line.name } })}>
                  Review
                </a>
              </span>
            </li>
          ))}
        </ul>
      )}
      {merged.length > 0 && (
        <section aria-label="Merged branches">
          <h2>Nothing left to merge</h2>
          <ul class="review-merged">
            {merged.map((line) => (
              <li key={line.name} class="row">
                <a class="grow" href={address({ view: "review", set: { source: line.name } })}>
                  {line.name}
                </a>
                <span class="soft small">main has all of it</span>
                <button type="button" class="quiet" aria-label={`Delete ${line.name}`} onClick={() => setDeleted(line)}>
                  Delete
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {isMaking && <NewBranch onClose={() => setMaking(false)} />}
      {deleted !== null && (
        <DeleteBranch branch={deleted.name} ownCommits={deleted.unsaved} onClose={() => setDeleted(null)} />
      )}
    </div>
  );
}
