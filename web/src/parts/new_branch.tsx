/** A dialog that makes a branch: from the head of another one, or from a commit. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Problem } from "../api/problem";
import { branches, callHere, look, may } from "../app/session";
import { tell } from "../app/toasts";
import { Dialog } from "./dialog";
import { Trouble } from "./states";

/** What was typed stays when the dialog is closed, or the server refuses. */
const name = signal("");

interface Props {
  /** A commit; if left out, the dialog asks for a branch. */
  readonly commit?: { readonly id: string; readonly told: string; readonly branch: string | null };
  readonly from?: string;
  readonly onClose: () => void;
  readonly onMade?: (name: string) => void;
}

export function NewBranch({ commit, from = "main", onClose, onMade }: Props) {
  const [start, setStart] = useState(from);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isAllowed = may("branch_create", commit?.branch ?? start);
  const isTaken = branches.value.includes(name.value.trim());
  const make = async (): Promise<void> => {
    const wanted = name.value.trim();
    setBusy(true);
    const answer = await callHere<null>("branch_create", { branch: wanted, from_: commit?.id ?? start });
    setBusy(false);
    if (!answer.ok) return setProblem(answer.problem);
    tell(`The branch ${wanted} is there.`, "good");
    name.value = "";
    await look();
    onClose();
    onMade?.(wanted);
  };
  return (
    <Dialog title="A new branch" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <label class="field">
          <span>Name</span>
          <input
            autofocus
            autocomplete="off"
            spellcheck={false}
            placeholder="notes/summer"
            value={name.value}
            onInput={(event) => (name.value = event.currentTarget.value)}
          />
        </label>
        {commit === undefined ? (
          <label class="field">
            <span>It begins where this branch is now</span>
            <select value={start} onChange={(event) => setStart(event.currentTarget.value)}>
              {branches.value.map((known) => (
                <option key={known}>{known}</option>
              ))}
            </select>
          </label>
        ) : (
          <p>It begins at “{commit.told}”.</p>
        )}
        {problem !== null && <Trouble problem={problem} again={() => void make()} />}
        <p class="row end">
          {!isAllowed && <span class="soft">You may not make branches from here.</span>}
          {isTaken && <span class="soft">There is a branch of that name.</span>}
          <button type="submit" class="main" disabled={isBusy || !isAllowed || isTaken || name.value.trim() === ""}>
            Make it
          </button>
        </p>
      </form>
    </Dialog>
  );
}
