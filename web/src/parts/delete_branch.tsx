/** A dialog that deletes a branch, once it has said what goes with it. */
import { useState } from "preact/hooks";
import type { Problem } from "../api/problem";
import { branch as current, go } from "../app/route";
import { callHere, look, may } from "../app/session";
import { tell } from "../app/toasts";
import { Dialog } from "./dialog";
import { Trouble } from "./states";
import { counted } from "./times";

interface Props {
  readonly branch: string;
  /** Commits that no other branch has. */
  readonly ownCommits: number;
  readonly onClose: () => void;
  readonly onDeleted?: () => void;
}

export function DeleteBranch({ branch, ownCommits, onClose, onDeleted }: Props) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isAllowed = may("branch_delete", branch);
  const remove = async (): Promise<void> => {
    setBusy(true);
    const answer = await callHere<null>("branch_delete", { branch });
    setBusy(false);
    if (!answer.ok) return setProblem(answer.problem);
    tell(`The branch ${branch} is deleted.`, "good");
    if (current.peek() === branch) go({ set: { branch: null, at: null } }, true);
    await look();
    onClose();
    onDeleted?.();
  };
  return (
    <Dialog title={`Delete ${branch}?`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void remove();
        }}
      >
        <p>
          {ownCommits === 0
            ? "Everything on it is on another branch too: nothing is lost."
            : `${counted(ownCommits, "commit")} of it ${ownCommits === 1 ? "is" : "are"} on no other branch. What ${ownCommits === 1 ? "it" : "they"} changed is lost.`}
        </p>
        {problem !== null && <Trouble problem={problem} again={() => void remove()} />}
        <p class="row end">
          {!isAllowed && <span class="soft">You may not delete this branch.</span>}
          <button type="button" onClick={onClose}>
            Keep it
          </button>
          <button type="submit" class="danger" disabled={isBusy || !isAllowed}>
            Delete it
          </button>
        </p>
      </form>
    </Dialog>
  );
}
