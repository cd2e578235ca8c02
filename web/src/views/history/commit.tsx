/** One commit: who, when, what it changed, and what to do from here. */
import { useState } from "preact/hooks";
import { useAsked } from "../../api/asked";
import type { Commit, Schema } from "../../api/types";
import { address, go } from "../../app/route";
import { callHere, graph, may } from "../../app/session";
import { CountsTable } from "../../parts/changes/counts";
import { ChangeList, PAGE, usePages } from "../../parts/changes/list";
import type { Comparison } from "../../parts/changes/shapes";
import { TextDiff } from "../../parts/changes/text_diff";
import { copy } from "../../parts/clipboard";
import { commitTitle, shortId } from "../../parts/commits";
import { Icon } from "../../parts/icons";
import { NewBranch } from "../../parts/new_branch";
import { Trouble, Waiting } from "../../parts/states";
import { ago, atSecond, fromText } from "../../parts/times";
import type { Elsewhere } from "../../parts/types";
import { Revert } from "./revert";

interface Props {
  readonly id: string;
  readonly known: Commit | null;
  readonly heads: Readonly<Record<string, string>>;
  readonly branch: string;
}

/** Commits that change rows can be reverted; these can't. */
const FIXED = new Set(["init", "schema", "optimize", "index", "recovery"]);
const QUIET = new Set(["optimize", "index"]);

export function CommitPanel({ id, known, heads, branch }: Props) {
  const asked = useAsked<Commit>(known === null ? `${graph.value}|${id}|commit` : null, (signal) =>
    callHere<Commit>("commit", { id }, signal),
  );
  const commit = known ?? asked.value;
  const close = address({ set: { commit: null } });
  return (
    <section class="history-panel" aria-label="Commit">
      <header class="row">
        <h2 class="grow">{commit === null ? "Commit" : commitTitle(commit)}</h2>
        <a class="button quiet" href={close} aria-label="Close the commit">
          <Icon name="close" size={16} />
        </a>
      </header>
      {commit === null ? (
        asked.problem === null ? (
          <Waiting />
        ) : (
          <Trouble problem={asked.problem} again={asked.again} />
        )
      ) : (
        <Told commit={commit} heads={heads} branch={branch} />
      )}
    </section>
  );
}

function Told({ commit, heads, branch }: { commit: Commit; heads: Props["heads"]; branch: string }) {
  const [open, setOpen] = useState<"branch" | "revert" | null>(null);
  const id = commit.graph_commit_id;
  const own = commit.graph_branch ?? branch;
  const on = heads[own] === undefined ? branch : own;
  const time = fromText(commit.created_at);
  const rest = commit.message?.split("\n").slice(1).join("\n").trim();
  const isFixed = FIXED.has(commit.kind) || commit.parent_commit_id === null;
  const noRevert = isFixed
    ? "It changed no rows, so there is nothing to revert."
    : !may("change", on)
      ? `You may not change ${on}.`
      : null;
  return (
    <>
      {rest && <p class="history-rest">{rest}</p>}
      <p>
        <strong>{commit.actor_id ?? "Somebody"}</strong> on <code>{own}</code>, {ago(time)}{" "}
        <span class="soft">({atSecond(time)})</span>
      </p>
      <dl class="history-facts">
        <div>
          <dt>Commit</dt>
          <dd>
            <code>{id}</code>{" "}
            <button
              type="button"
              class="plain"
              aria-label="Copy the id"
              onClick={() => void copy(id, "the id")}
            >
              <Icon name="copy" size={14} />
            </button>
          </dd>
        </div>
        <div>
          <dt>Kind</dt>
          <dd>{commit.kind}</dd>
        </div>
        {commit.parent_commit_id !== null && (
          <div>
            <dt>{commit.merged_parent_commit_id === null ? "After" : "Merges"}</dt>
            <dd class="row">
              {[commit.merged_parent_commit_id, commit.parent_commit_id].map(
                (parent, at) =>
                  parent !== null && (
                    <a key={parent} href={address({ set: { commit: parent } })}>
                      {at === 1 && commit.merged_parent_commit_id !== null ? "into " : ""}
                      {shortId(parent)}
                    </a>
                  ),
              )}
            </dd>
          </div>
        )}
        {commit.load_id !== null && (
          <div>
            <dt>Load</dt>
            <dd>
              <code>{commit.load_id}</code>
            </dd>
          </div>
        )}
      </dl>
      <p class="row">
        <a
          class="button"
          href={address({ view: "query", set: { branch: own === "main" || heads[own] === undefined ? null : own, at: id } })}
        >
          <Icon name="clock" size={16} />
          Look at this moment
        </a>
        <button type="button" onClick={() => setOpen("branch")}>
          <Icon name="branch" size={16} />
          Branch here
        </button>
        <button type="button" disabled={noRevert !== null} aria-describedby="history-why" onClick={() => setOpen("revert")}>
          <Icon name="undo" size={16} />
          Revert
        </button>
      </p>
      <p id="history-why" class="small soft">
        {noRevert}
      </p>
      <Changed commit={commit} on={{ branch: own === "main" || heads[own] === undefined ? null : own }} />
      {open === "branch" && (
        <NewBranch
          commit={{ id, told: commitTitle(commit), branch: commit.graph_branch }}
          onClose={() => setOpen(null)}
          onMade={(name) => go({ set: { branch: name } })}
        />
      )}
      {open === "revert" && <Revert commit={commit} branch={on} onClose={() => setOpen(null)} />}
    </>
  );
}

function Changed({ commit, on }: { commit: Commit; on: Elsewhere }) {
  const { graph_commit_id: to, parent_commit_id: from, kind } = commit;
  const isCompared = from !== null && kind !== "schema" && !QUIET.has(kind);
  const pages = usePages(isCompared ? `${graph.value}|${to}|changes` : null, (page, signal) =>
    callHere<Comparison>("compare", { from_: from, to, limit: PAGE, page_token: page }, signal),
  );
  if (from === null) return <p class="soft">The graph begins here.</p>;
  if (QUIET.has(kind)) return <p class="soft">It tidied files and changed no rows.</p>;
  if (kind === "schema") return <SchemaChanged from={from} to={to} />;
  return (
    <>
      <h3>What it changed</h3>
      {pages.counts !== null && Object.keys(pages.counts).length > 0 && <CountsTable counts={pages.counts} />}
      <ChangeList pages={pages} empty="No rows." before={{ ...on, at: from }} after={{ ...on, at: to }} />
    </>
  );
}

function SchemaChanged({ from, to }: { from: string; to: string }) {
  const ask = (moment: string) => (signal: AbortSignal) => callHere<Schema>("schema", { moment }, signal);
  const before = useAsked<Schema>(`${graph.value}|${from}|schema`, ask(from));
  const after = useAsked<Schema>(`${graph.value}|${to}|schema`, ask(to));
  const problem = before.problem ?? after.problem;
  return (
    <>
      <h3>What it changed in the schema</h3>
      {problem !== null && <Trouble problem={problem} again={before.again} />}
      {before.value !== null && after.value !== null ? (
        <TextDiff before={before.value.text} after={after.value.text} label="Lines of the schema before and after" />
      ) : (
        problem === null && <Waiting />
      )}
    </>
  );
}
