/** The merge: what it would come to, a comment, and a button that says why it can't be pressed. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../../api/problem";
import { useKeys } from "../../app/keys";
import { address } from "../../app/route";
import { callHere, look, may, rights } from "../../app/session";
import { tell } from "../../app/toasts";
import { draftOf, putDraft } from "../../parts/changes/choices";
import { countsText } from "../../parts/changes/counts";
import { type Choice, type Conflict, type Take, total } from "../../parts/changes/shapes";
import { commitAddress } from "../../parts/commits";
import { DeleteBranch } from "../../parts/delete_branch";
import { Trouble } from "../../parts/states";
import { counted } from "../../parts/times";
import { Dot } from "../../parts/types";
import type { Merged, Review } from "./shapes";

interface Props {
  readonly about: string;
  readonly review: Review;
  /** The review with the choices; null while it is asked for. */
  readonly outcome: Review | null;
  readonly resolve: readonly Choice[] | Take | null;
  readonly conflicts: readonly Conflict[];
  readonly isMoved: boolean;
  readonly isAsking: boolean;
  readonly merged: Merged | null;
  readonly onMerged: (merged: Merged) => void;
  readonly onMoved: () => void;
  readonly reload: () => void;
}

const OUTCOMES: Readonly<Record<string, (review: Review) => string>> = {
  merged: ({ source, target }) => `Both moved. One commit brings the work of ${source} into ${target}.`,
  fast_forward: ({ source, target }) => `${target} has no changes of its own. After the merge it has the same rows as ${source}.`,
  already_up_to_date: ({ source, target }) => `${target} has all of ${source} already.`,
};

/** Codes of a merge that came too late: what it was about is not there any more. */
const OVERTAKEN = new Set(["precondition_failed", "version_conflict", "merge_conflicts", "choices_outdated"]);

interface Check {
  readonly isGood: boolean;
  readonly text: string;
}

/** Everything that must hold before a merge, in the order in which it is told. */
function checksOf({ review, outcome, conflicts, isMoved }: Props): Check[] {
  const { source, target } = review;
  const known = rights.value?.branches.find((branch) => branch.name === source);
  const denied =
    // The words of a graph that is read-only are for who opened it.
    (rights.value?.is_read_only ? "The server is read-only." : review.refusal) ??
    (known !== undefined && ![...known.merges_into, ...known.merges_some_into].includes(target)
        ? `You may not merge ${source} into ${target}.`
        : null);
  const { conflicts: open, more_conflicts: more } = outcome ?? review;
  const left = open.length + more;
  return [
    denied === null ? { isGood: true, text: `You may merge into ${target}` } : { isGood: false, text: denied },
    isMoved
      ? { isGood: false, text: "A branch moved: reload the review first" }
      : { isGood: true, text: "Both branches are as you see them" },
    left === 0
      ? { isGood: true, text: conflicts.length === 0 ? "No conflicts" : "All conflicts are settled" }
      : { isGood: false, text: `${counted(left, "conflict")} ${left === 1 ? "is" : "are"} not settled` },
  ];
}

export function Merge(props: Props) {
  const { about, review, outcome, resolve, isAsking, merged, onMerged, onMoved, reload } = props;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const draft = draftOf(about);
  const isDone = review.outcome === "already_up_to_date";
  const checks = checksOf(props);
  const reason = isDone
    ? "There is nothing to merge"
    : (checks.find((check) => !check.isGood)?.text ?? (outcome === null || isAsking ? "The outcome is being worked out" : null));
  const merge = async (): Promise<void> => {
    setBusy(true);
    setProblem(null);
    const answer = await callHere<Merged>("branch_merge", {
      source: review.source,
      branch: review.target,
      // As it is typed now: a key may come before the page is drawn again.
      message: draftOf(about).comment.trim() || null,
      if_commit: review.target_commit_id,
      if_source_commit: review.source_commit_id,
      resolve,
    });
    setBusy(false);
    if (answer.ok) {
      onMerged(answer.value);
      putDraft(about, null);
      tell(`${review.source} is merged into ${review.target}.`, "good");
      await look();
      return;
    }
    // Somebody was faster: the page says so, and keeps what was chosen.
    if (OVERTAKEN.has(answer.problem.code)) onMoved();
    else setProblem(answer.problem);
  };
  const press = (): void => {
    if (isBusy || merged !== null) return;
    if (reason === null) void merge();
    else tell(`${reason}.`.replace("..", "."), "bad");
  };
  useKeys([{ keys: "mod+Enter", what: "Merge", run: press, whileTyping: true }], [reason, isBusy, merged, draft, resolve]);
  if (merged !== null) return <Outcome merged={merged} />;
  return (
    <section class="card review-merge">
      <h2>Merge into {review.target}</h2>
      {!isDone && <Preview outcome={outcome ?? review} isOld={outcome === null} />}
      {isDone && <p>{OUTCOMES.already_up_to_date!(review)}</p>}
      {!isDone && (
        <ul class="review-checks">
          {checks.map((check) => (
            <li key={check.text} class={check.isGood ? "good" : "bad"}>
              <span aria-hidden="true">{check.isGood ? "✓" : "✗"}</span>
              <span class="unseen">{check.isGood ? "Good: " : "Missing: "}</span>
              {check.text}
            </li>
          ))}
        </ul>
      )}
      {!isDone && (
        <label class="field">
          <span>Comment: it goes into the message of the merge</span>
          <textarea
            id="review-comment"
            rows={4}
            placeholder="Why is this right?"
            value={draft.comment}
            onInput={(event) => putDraft(about, { comment: event.currentTarget.value })}
          />
        </label>
      )}
      {problem !== null && (
        <>
          <Trouble problem={problem} again={problem.kind === "stale" ? reload : () => void merge()} />
          {problem.kind === "gone" && (
            <p class="small soft">
              Nobody knows yet whether the merge went through. Trying again is safe: it is merged once.
            </p>
          )}
        </>
      )}
      {!isDone && (
        <button type="button" class="main review-button" disabled={reason !== null || isBusy} aria-describedby="review-reason" onClick={press}>
          {isBusy ? "Merging …" : `Merge ${review.source} into ${review.target}`}
        </button>
      )}
      <p id="review-reason" class="small soft" role="status">
        {isDone ? "" : (reason ?? "Ctrl Enter does it too.")}
      </p>
      {isDone && <AfterMerge source={review.source} />}
    </section>
  );
}

function Preview({ outcome, isOld }: { outcome: Review; isOld: boolean }) {
  const types = Object.entries(outcome.counts);
  const text = countsText(total(outcome.counts));
  const isOpen = outcome.conflicts.length > 0;
  return (
    <div class="review-preview" aria-busy={isOld}>
      <p>{OUTCOMES[outcome.outcome]?.(outcome)}</p>
      {text === null ? (
        <p class="soft">{isOpen ? "Beside the conflicts no row changes." : "No row changes."}</p>
      ) : (
        <ul>
          {types.map(([type, counts]) => (
            <li key={type}>
              <Dot type={type} /> {type}: {countsText(counts)}
            </li>
          ))}
        </ul>
      )}
      {isOpen && text !== null && <p class="soft small">Rows in conflict are not counted.</p>}
    </div>
  );
}

function Outcome({ merged }: { merged: Merged }) {
  const text = countsText(total(merged.counts));
  const box = useRef<HTMLElement>(null);
  // The button that had the focus is gone: what it came to has it now.
  useEffect(() => box.current?.focus(), []);
  return (
    <section class="card review-merge review-done" role="status" ref={box} tabIndex={-1}>
      <h2>
        <span aria-hidden="true">✓ </span>
        {merged.outcome === "already_up_to_date" ? "There was nothing to merge" : "Merged"}
      </h2>
      <p>
        {merged.target} has the work of {merged.source}
        {text !== null && <>: {text}</>}.
      </p>
      {merged.commit !== null && (
        <p>
          <a href={commitAddress(merged.commit.graph_commit_id)}>See the commit in the history</a>
        </p>
      )}
      <p>
        <a href={address({ view: "query", set: { branch: merged.target === "main" ? null : merged.target, at: null } })}>
          Look at {merged.target}
        </a>
      </p>
      <AfterMerge source={merged.source} />
    </section>
  );
}

/** The branch has done its work: it may go. */
function AfterMerge({ source }: { source: string }) {
  const [isDeleting, setDeleting] = useState(false);
  const [isDeleted, setDeleted] = useState(false);
  if (isDeleted) return <p class="soft">The branch {source} is deleted.</p>;
  if (source === "main") return null;
  return (
    <>
      <p class="row">
        <button type="button" disabled={!may("branch_delete", source)} onClick={() => setDeleting(true)}>
          Delete the branch {source}
        </button>
        {!may("branch_delete", source) && <span class="small soft">You may not delete it.</span>}
      </p>
      {isDeleting && (
        <DeleteBranch branch={source} ownCommits={0} onClose={() => setDeleting(false)} onDeleted={() => setDeleted(true)} />
      )}
    </>
  );
}
