/** A revert: first what it would change, then the deed. */
import { useState } from "preact/hooks";
import { useAsked } from "../../api/asked";
import type { Problem } from "../../api/problem";
import type { Commit } from "../../api/types";
import { go } from "../../app/route";
import { callHere, graph, look } from "../../app/session";
import { tell } from "../../app/toasts";
import { choicesKey, draftOf, hasChoices, putDraft, settle, type Settled } from "../../parts/changes/choices";
import { Conflicts } from "../../parts/changes/conflicts";
import { CountsTable } from "../../parts/changes/counts";
import type { Brought } from "../../parts/changes/shapes";
import { commitTitle } from "../../parts/commits";
import { Dialog } from "../../parts/dialog";
import { Trouble, Waiting } from "../../parts/states";
import { counted } from "../../parts/times";

export function Revert({ commit, branch, onClose }: { commit: Commit; branch: string; onClose: () => void }) {
  const id = commit.graph_commit_id;
  const about = `${graph.value}|revert|${id}|${branch}`;
  const onBranch = branch === "main" ? null : branch;
  const draft = draftOf(about);
  const [round, setRound] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const again = (): void => {
    setProblem(null);
    setRound((before) => before + 1);
  };
  const first = useAsked<Brought>(`${about}|${round}`, (signal) =>
    callHere<Brought>("revert", { commit: id, branch, preview: true }, signal),
  );
  const { value: plain } = first;
  const isChosen = plain !== null && plain.conflicts.length > 0 && hasChoices(draft);
  const settled = useAsked<Settled<Brought>>(isChosen ? `${about}|${round}|${choicesKey(draft)}` : null, (signal) =>
    settle(plain!, draft, (resolve) => callHere<Brought>("revert", { commit: id, branch, preview: true, resolve }, signal)),
  );
  const preview = isChosen ? (settled.value?.outcome ?? plain) : plain;
  const conflicts = (isChosen ? settled.value?.conflicts : null) ?? plain?.conflicts ?? [];
  const open = (preview?.conflicts.length ?? 0) + (preview?.more_conflicts ?? 0);
  const refusal = plain?.refusal ?? null;
  const isNothing = preview?.outcome === "nothing_to_revert";
  const revert = async (): Promise<void> => {
    if (first.value === null) return;
    setBusy(true);
    const answer = await callHere<Brought>("revert", {
      commit: id,
      branch,
      message: draftOf(about).comment.trim() || `Revert “${commitTitle(commit)}”`,
      if_commit: first.value.target_commit_id,
      resolve: isChosen ? (settled.value?.resolve ?? null) : null,
    });
    setBusy(false);
    if (!answer.ok) return setProblem(answer.problem);
    tell(`“${commitTitle(commit)}” is reverted on ${branch}.`, "good");
    await look();
    onClose();
    putDraft(about, null);
    if (answer.value.commit !== null) go({ set: { commit: answer.value.commit.graph_commit_id } });
  };
  return (
    <Dialog title={`Revert “${commitTitle(commit)}”`} onClose={onClose} wide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void revert();
        }}
      >
        <p>A new commit on {branch} undoes what this one changed. The history keeps both.</p>
        {first.problem !== null && <Trouble problem={first.problem} again={again} />}
        {first.value === null && first.problem === null && <Waiting what="Working out what would change" />}
        {preview !== null && !isNothing && Object.keys(preview.counts).length > 0 && (
          <>
            <h3>What would change on {branch}</h3>
            <CountsTable counts={preview.counts} />
          </>
        )}
        {isNothing && <p class="soft">Nothing of it is left: others have undone it already.</p>}
        {settled.problem !== null && <Trouble problem={settled.problem} again={settled.again} />}
        {conflicts.length > 0 && (
          <Conflicts
            conflicts={conflicts}
            more={first.value?.more_conflicts ?? 0}
            left={preview?.conflicts ?? []}
            firstCount={plain?.conflicts.length ?? 0}
            draft={draft}
            names={{ base: "The commit made it", ours: `${branch} now`, theirs: "Before the commit" }}
            where={{ ours: { branch: onBranch, at: null }, theirs: { branch: onBranch, at: commit.parent_commit_id } }}
            choose={(choice) => putDraft(about, choice)}
          />
        )}
        <label class="field">
          <span>Message</span>
          <input
            value={draft.comment}
            placeholder={`Revert “${commitTitle(commit)}”`}
            onInput={(event) => putDraft(about, { comment: event.currentTarget.value })}
          />
        </label>
        {problem !== null && <Trouble problem={problem} again={problem.kind === "stale" ? again : () => void revert()} />}
        {refusal !== null && (
          <p class="small" role="status">
            You may not revert it: {refusal}.
          </p>
        )}
        <p class="row end">
          {open > 0 && <span class="soft">{counted(open, "conflict")} not settled.</span>}
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="main" disabled={isBusy || first.value === null || settled.isAsking || isNothing || open > 0 || refusal !== null}>
            {isBusy ? "Reverting …" : "Revert it"}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
