/** One review: the summary first, then conflicts, the schema, the entities and the commits; beside them the merge. */
import { useRef, useState } from "preact/hooks";
import { useAsked } from "../../api/asked";
import type { Schema } from "../../api/types";
import { useKeys } from "../../app/keys";
import { address, go, place } from "../../app/route";
import { branches, callHere, graph } from "../../app/session";
import { choicesKey, type Draft, draftOf, hasChoices, putDraft, settle, type Settled } from "../../parts/changes/choices";
import { Conflicts } from "../../parts/changes/conflicts";
import { CountsTable, countsSentence } from "../../parts/changes/counts";
import { ChangeList, PAGE, usePages } from "../../parts/changes/list";
import type { Choice, Comparison, Conflict, Take } from "../../parts/changes/shapes";
import { TextDiff } from "../../parts/changes/text_diff";
import type { Op } from "../../parts/change";
import { commitAddress, commitTitle, When, Who } from "../../parts/commits";
import { Icon } from "../../parts/icons";
import { Empty, Trouble, Waiting } from "../../parts/states";
import { counted, number } from "../../parts/times";
import type { Elsewhere } from "../../parts/types";
import { useHeads } from "./heads";
import { Merge } from "./merge";
import { focusNext, takeFocused } from "./steps";
import { type Merged, ofPeople, type Review } from "./shapes";

const OPS: readonly { op: Op; label: string }[] = [
  { op: "insert", label: "New" },
  { op: "update", label: "Changed" },
  { op: "delete", label: "Gone" },
];

/** The choices, and what they come to. */
interface Chosen {
  readonly draft: Draft;
  readonly outcome: Review | null;
  readonly conflicts: readonly Conflict[];
  readonly resolve: readonly Choice[] | Take | null;
}

/** A merge that was made here, with its choices. */
interface Done {
  readonly merged: Merged;
  readonly chosen: Chosen;
}

export function ReviewPage({ source, into }: { source: string; into: string }) {
  const about = `${graph.value}|${source}|${into}`;
  const [round, setRound] = useState(0);
  const [isRefused, setRefused] = useState(false);
  const [done, setDone] = useState<Done | null>(null);
  const merged = done?.merged ?? null;
  const isOne = source === into;
  const first = useAsked<Review>(isOne ? null : `${about}|${round}`, (signal) =>
    callHere<Review>("review", { source, branch: into }, signal),
  );
  // What is read stands still until the reader reloads it: a server that was away answers anew, perhaps of other commits.
  const held = useRef<{ readonly round: number; readonly review: Review } | null>(null);
  if (first.value !== null && !first.isAsking && held.current?.round !== round) held.current = { round, review: first.value };
  const review = held.current?.review ?? null;
  const range = review === null ? { from: into, to: source } : rangeOf(review);
  const draft = draftOf(about);

  // What the choices come to: the server knows which are left, and which ones they bring up.
  const isChosen = review !== null && review.conflicts.length > 0 && hasChoices(draft);
  const settled = useAsked<Settled<Review>>(
    isChosen ? `${about}|${review.source_commit_id}|${review.target_commit_id}|${choicesKey(draft)}` : null,
    (signal) => settle(review!, draft, (resolve) => callHere<Review>("review", { source, branch: into, resolve }, signal)),
  );
  const chosen: Chosen = {
    draft,
    outcome: isChosen ? (settled.value?.outcome ?? null) : review,
    conflicts: (isChosen ? settled.value?.conflicts : null) ?? review?.conflicts ?? [],
    resolve: isChosen ? (settled.value?.resolve ?? null) : null,
  };
  // The choices are forgotten after the merge, and the page goes on showing those that it was made with.
  const { outcome, conflicts, resolve } = done?.chosen ?? chosen;

  const heads = useHeads(round);
  const latest = settled.isAsking ? undefined : settled.value?.outcome;
  const found: Readonly<Record<string, readonly (string | undefined)[]>> = {
    [into]: [heads?.[into], first.value?.target_commit_id, latest?.target_commit_id],
    [source]: [heads?.[source], first.value?.source_commit_id, latest?.source_commit_id],
  };
  const isDeleted = (name: string): boolean => heads !== null && heads[name] === undefined;
  const isOther = (name: string, seen: string): boolean =>
    isDeleted(name) || (found[name]?.some((id) => id !== undefined && id !== seen) ?? false);
  const movedBranches =
    review === null || merged !== null
      ? []
      : [
          ...(isOther(into, review.target_commit_id) ? [into] : []),
          ...(isOther(source, review.source_commit_id) ? [source] : []),
        ];
  const isMoved = (movedBranches.length > 0 || isRefused) && !first.isAsking;
  const reload = (): void => {
    setRefused(false);
    setRound((before) => before + 1);
  };

  useKeys(
    [
      { keys: "j", what: "Next change", run: () => focusNext("[data-change], [data-conflict]", 1) },
      { keys: "k", what: "Change before", run: () => focusNext("[data-change], [data-conflict]", -1) },
      { keys: "n", what: "Next open conflict", run: () => focusNext('[data-conflict="open"]', 1) },
      { keys: "1", what: `Take what ${into} has`, run: () => takeFocused("ours") },
      { keys: "2", what: `Take what ${source} has`, run: () => takeFocused("theirs") },
      { keys: "m", what: "Go to the merge", run: () => document.getElementById("review-comment")?.focus() },
      { keys: "e", what: "Reload the review", run: reload },
    ],
    [source, into],
  );

  return (
    <div class="review review-page">
      <header class="review-head">
        <p>
          <a href={address({ view: "review", set: { source: null, into: null, type: null, op: null } })}>All branches</a>
        </p>
        <h1>
          Review of <span class="review-name">{source}</span>
        </h1>
        <BranchPair source={source} into={into} />
      </header>
      {isOne ? (
        <Empty icon="review" title="A branch can't be merged into itself">
          <p>Choose another branch to merge into.</p>
        </Empty>
      ) : first.problem !== null && (review === null || first.problem.kind === "absent") ? (
        <>
          <Trouble problem={first.problem} again={reload} />
          {first.problem.kind === "denied" && (
            <div class="review-main">
              <Entities range={range} before={on(into)} after={on(source)} />
            </div>
          )}
        </>
      ) : review === null ? (
        <Waiting what="Comparing the branches" />
      ) : (
        <>
          {isMoved && <Moved names={movedBranches} deleted={movedBranches.filter(isDeleted)} reload={reload} hasChoices={isChosen} />}
          <div class="review-columns">
            <div class="review-main">
              <Summary review={review} range={range} />
              {conflicts.length > 0 && (
                <section class="card" aria-labelledby="review-conflicts">
                  <h2 id="review-conflicts">Conflicts</h2>
                  <Conflicts
                    conflicts={conflicts}
                    more={review.more_conflicts}
                    left={outcome?.conflicts ?? []}
                    firstCount={review.conflicts.length}
                    draft={done?.chosen.draft ?? draft}
                    isDone={done !== null}
                    names={{ base: "Before both", ours: into, theirs: source }}
                    where={{ ours: on(into), theirs: on(source) }}
                    choose={(choice) => putDraft(about, choice)}
                  />
                  {settled.problem !== null && <Trouble problem={settled.problem} again={settled.again} />}
                </section>
              )}
              {review.outcome !== "already_up_to_date" && <SchemaChange review={review} />}
              {review.outcome !== "already_up_to_date" && <Entities range={range} before={on(into)} after={on(source)} />}
              <Commits review={review} />
            </div>
            <aside class="review-side" aria-label="Merge">
              <Merge
                about={about}
                review={review}
                outcome={outcome}
                resolve={resolve}
                conflicts={conflicts}
                isMoved={isMoved}
                isAsking={first.isAsking || settled.isAsking}
                merged={merged}
                onMerged={(merged) => setDone({ merged, chosen })}
                onMoved={() => setRefused(true)}
                reload={reload}
              />
            </aside>
          </div>
        </>
      )}
    </div>
  );
}

function BranchPair({ source, into }: { source: string; into: string }) {
  const known = (name: string): readonly string[] =>
    branches.value.includes(name) ? branches.value : [...branches.value, name];
  const choose = (set: Record<string, string>): void => go({ set: { ...set, type: null, op: null } });
  return (
    <div class="row review-pair">
      <label class="row tight">
        <span class="soft">Merge</span>
        <select value={source} onChange={(event) => choose({ source: event.currentTarget.value })}>
          {known(source).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="row tight">
        <span class="soft">into</span>
        <select value={into} onChange={(event) => choose({ into: event.currentTarget.value })}>
          {known(into).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

interface MovedProps {
  readonly names: readonly string[];
  readonly deleted: readonly string[];
  readonly reload: () => void;
  readonly hasChoices: boolean;
}

function Moved(props: MovedProps) {
  if (props.deleted.length > 0) {
    return (
      <div class="review-moved" role="alert">
        <p class="grow">
          <strong>{props.deleted.join(" and ")} was deleted since you opened this review.</strong> What you see is what was there then. Nothing
          can be merged from here any more.
        </p>
        <a class="button" href={address({ view: "review", set: { source: null, into: null, type: null, op: null } })}>
          All branches
        </a>
      </div>
    );
  }
  const who = props.names.length === 0 ? "One of the branches" : props.names.join(" and ");
  return (
    <div class="review-moved" role="alert">
      <p class="grow">
        <strong>{who} moved since you opened this review.</strong> What you see is what was there then. Reload to see
        what there is now{props.hasChoices ? "; your choices and your comment are kept." : "; your comment is kept."}
      </p>
      <button type="button" onClick={props.reload}>
        Reload the review
      </button>
    </div>
  );
}

const on = (name: string): Elsewhere => ({ branch: name === "main" ? null : name, at: null });

/** What is compared: commits, so that it stands still while somebody reads; branches, where no review is to be had. */
interface Range {
  readonly from: string;
  readonly to: string;
}

const rangeOf = (review: Review): Range => ({ from: review.target_commit_id, to: review.source_commit_id });

function useCounts({ from, to }: Range) {
  return useAsked<Comparison>(`${graph.value}|${from}|${to}|counts`, (signal) =>
    callHere<Comparison>("compare", { from_: from, to, since_base: true, limit: 1 }, signal),
  );
}

function Summary({ review, range }: { review: Review; range: Range }) {
  const counts = useCounts(range);
  const { type, op } = place.value.params;
  const commits = ofPeople(review);
  const actors = [...new Set(commits.map((commit) => commit.actor_id ?? "somebody"))];
  const left = Object.entries(review.left_out);
  const told = counts.value?.counts ?? null;
  return (
    <section class="card" aria-labelledby="review-summary">
      <h2 id="review-summary">Summary</h2>
      {review.outcome === "already_up_to_date" ? (
        <p>
          {review.target} has all of {review.source} already. There is nothing to merge.
        </p>
      ) : (
        <>
          <p>
            {review.has_more_commits ? "More than " : ""}
            {counted(commits.length, "commit")} by {actors.join(", ") || "nobody"}
            {told !== null && Object.keys(told).length > 0 && (
              <>
                , which {commits.length === 1 ? "touches" : "touch"} {countsSentence(told)}
              </>
            )}
            .
          </p>
          {counts.problem !== null && <Trouble problem={counts.problem} again={counts.again} />}
          {told !== null && (
            <CountsTable
              counts={told}
              filter={{
                type: type ?? null,
                op: (op as Op | undefined) ?? null,
                choose: (chosenType, chosenOp) => {
                  go({ set: { type: chosenType, op: chosenOp } }, true);
                  document.getElementById("review-entities")?.scrollIntoView({ block: "start" });
                },
              }}
            />
          )}
        </>
      )}
      {left.length > 0 && (
        <p class="soft">
          Left out, since {review.target} has no place for it any more:{" "}
          {left.map(([name, rows]) => `${name} (${counted(rows, "row")})`).join(", ")}.
        </p>
      )}
    </section>
  );
}

function SchemaChange({ review }: { review: Review }) {
  const ask = (moment: string) => (signal: AbortSignal) => callHere<Schema>("schema", { moment }, signal);
  const key = (moment: string): string => `${graph.value}|${moment}|schema`;
  const ours = useAsked<Schema>(key(review.target_commit_id), ask(review.target_commit_id));
  const theirs = useAsked<Schema>(key(review.source_commit_id), ask(review.source_commit_id));
  if (ours.value === null || theirs.value === null || ours.value.text === theirs.value.text) return null;
  return (
    <section class="card" aria-labelledby="review-schema">
      <h2 id="review-schema">Schema</h2>
      <p class="soft review-gap">
        {review.target} has another schema than {review.source}. A merge keeps the schema of {review.target}; the
        rows of {review.source} are fitted to it.
      </p>
      <TextDiff
        before={theirs.value.text}
        after={ours.value.text}
        label={`From the schema of ${review.source} to that of ${review.target}`}
      />
    </section>
  );
}

function Entities({ range, before, after }: { range: Range; before: Elsewhere; after: Elsewhere }) {
  const { from, to } = range;
  const { type, op } = place.value.params;
  const counts = useCounts(range);
  const types = Object.keys(counts.value?.counts ?? {});
  const filter = { types: type === undefined ? null : [type], ops: op === undefined ? null : [op], kinds: null };
  const pages = usePages(
    `${graph.value}|${from}|${to}|${type}|${op}`,
    (page, signal) =>
      callHere<Comparison>("compare", { from_: from, to, since_base: true, filter, limit: PAGE, page_token: page }, signal),
  );
  return (
    <section class="card" aria-labelledby="review-entities">
      <div class="row review-filters">
        <h2 id="review-entities" class="grow">
          What it changed
        </h2>
        <label class="row tight">
          <span class="soft">Type</span>
          <select value={type ?? ""} onChange={(event) => go({ set: { type: event.currentTarget.value } }, true)}>
            <option value="">all</option>
            {(type === undefined || types.includes(type) ? types : [...types, type]).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label class="row tight">
          <span class="soft">Change</span>
          <select value={op ?? ""} onChange={(event) => go({ set: { op: event.currentTarget.value } }, true)}>
            <option value="">all</option>
            {OPS.map((known) => (
              <option key={known.op} value={known.op}>
                {known.label}
              </option>
            ))}
          </select>
        </label>
        {(type !== undefined || op !== undefined) && (
          <button type="button" class="quiet" onClick={() => go({ set: { type: null, op: null } }, true)}>
            Show all
          </button>
        )}
      </div>
      <ChangeList
        pages={pages}
        before={before}
        after={after}
        empty={type === undefined && op === undefined ? "The branch changed no rows." : "Nothing of this kind changed. Show all to see the rest."}
      />
    </section>
  );
}

const FEW = 8;

function Commits({ review }: { review: Review }) {
  const [isWhole, setWhole] = useState(false);
  const commits = ofPeople(review);
  if (commits.length === 0) return null;
  const shown = isWhole ? commits : commits.slice(0, FEW);
  return (
    <section class="card" aria-labelledby="review-commits">
      <h2 id="review-commits">Commits of the branch</h2>
      <ol class="review-commits">
        {shown.map((commit) => (
          <li key={commit.graph_commit_id}>
            <Icon name="history" size={16} />
            <a class="grow" href={commitAddress(commit.graph_commit_id)}>
              {commitTitle(commit)}
            </a>
            <span class="soft small">
              <Who commit={commit} />, <When commit={commit} />
            </span>
          </li>
        ))}
      </ol>
      {shown.length < commits.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {number(commits.length)}
        </button>
      )}
      {review.has_more_commits && <p class="small soft">There are more commits than are listed here.</p>}
    </section>
  );
}
