"""Messages that the engine gives to merges and reverts, and messages as an actor may read them.

A caller's own message is shown as it was written. Without one, a merge is called after its source,
and a source that the actor may not read must not be named to them.
"""

from omnigraph.base.ids import BranchName
from omnigraph.engine.gate import Gate
from omnigraph.store.commits import Commit, CommitKind

__all__ = ["merge_message", "readable_message", "revert_message"]

MERGE, REVERT = "merge", "revert"


def merge_message(source: BranchName) -> str:
    return f"{MERGE} {source}"


def revert_message(commit: Commit, branch: BranchName) -> str:
    """Repeats the message of a commit of the same branch. Readers of the branch may not be allowed
    to read the branch of any other commit."""
    is_of_branch = commit.branch == branch
    return f"{REVERT} {commit.message if is_of_branch and commit.message else commit.id}"


def readable_message(gate: Gate, actor: str | None, commit: Commit) -> str | None:
    """The message of a commit, without the name of a merged branch that the actor may not read."""
    if gate.guard is None or commit.message is None:
        return commit.message
    before, of_merge, source = commit.message.rpartition(f"{MERGE} ")
    is_ours = of_merge and not before.replace(f"{REVERT} ", "")
    if not is_ours or commit.kind not in (CommitKind.MERGE, CommitKind.REVERT):
        return commit.message
    return commit.message if gate.knows(actor, BranchName(source)) else f"{before}{MERGE}"
