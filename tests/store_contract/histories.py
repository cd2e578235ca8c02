"""Histories without a graph: commits by number, and lines that count what is read of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from omnigraph.base.errors import BranchMissing
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.commits import Commit, CommitKind, TableChange
from omnigraph.store.history import CommitLog, Line, Lines
from omnigraph.store.manifest import CommitRow
from omnigraph.store.transactions import DatasetRef
from tests.store_contract.builders import PERSON


def commit(
    number: int, parent: int | None, merged: int | None = None, *, is_upkeep: bool = False
) -> Commit:
    def name(n: int | None) -> CommitId | None:
        return None if n is None else CommitId(f"c{n}")

    return Commit(
        id=CommitId(f"c{number}"),
        parent=name(parent),
        merged_parent=name(merged),
        branch=MAIN,
        seq=number,
        kind=CommitKind.MERGE
        if merged is not None
        else CommitKind.OPTIMIZE
        if is_upkeep
        else CommitKind.MUTATION,
        created_at_ms=number,
        schema_hash="h",
        changes=(TableChange(PERSON.table_key, DatasetRef("nodes/p", "b.1", number), 3, 1, 2, 0),),
        actor="someone",
        extra={"load_id": "l"},
    )


@st.composite
def histories(draw: st.DrawFn, length: int = 12) -> list[Commit]:
    """Commits in the order they were made, with merges of any earlier ones."""
    made = [commit(0, None)]
    for number in range(1, draw(st.integers(1, length))):
        older = st.integers(0, number - 1)
        merged = draw(st.none() | older)
        made.append(commit(number, draw(older), merged, is_upkeep=draw(st.booleans())))
    return made


def reachable(commits: list[Commit], start: CommitId) -> set[CommitId]:
    by_id = {c.id: c for c in commits}
    seen: set[CommitId] = set()
    stack = [start]
    while stack:
        current = stack.pop()
        seen.add(current)
        stack += by_id[current].parents
    return seen


def rows_shown(commits: list[Commit]) -> dict[CommitId, CommitId]:
    """For each commit, whose rows it shows: its parent's, those it merged, or its own."""
    shown: dict[CommitId, CommitId] = {}
    for made in commits:
        if made.kind.keeps_rows and made.parent is not None:
            shown[made.id] = shown[made.parent]
        elif made.merged_parent is not None:
            shown[made.id] = shown[made.merged_parent]
        else:
            shown[made.id] = made.id
    return shown


# Lines --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlainLine(Line):
    rows: Sequence[CommitRow]
    recent_count: int
    read: list[CommitId]
    """The older commits that were read, of all lines."""

    @property
    def recent(self) -> Sequence[CommitRow]:
        return self.rows[-self.recent_count :]

    def older(self) -> Sequence[CommitRow]:
        older = self.rows[: -self.recent_count]
        self.read.extend(row.id for row in older)
        return older


@dataclass
class PlainLines(Lines):
    """A branch for each commit that no other follows; the first of them is called main."""

    commits: Sequence[Commit]
    recent_count: int = 2
    likely: BranchName | None = None
    opened: list[BranchName] = field(default_factory=list)
    read: list[CommitId] = field(default_factory=list)

    def names(self) -> list[BranchName]:
        return [*self.tips()]

    def tips(self) -> dict[BranchName, Commit]:
        followed = {made.parent for made in self.commits}
        tips = [made for made in self.commits if made.id not in followed]
        return {BranchName(t.id) if n else MAIN: t for n, t in enumerate(tips)}

    def open(self, branch: BranchName) -> PlainLine:
        tip = self.tips().get(branch)
        if tip is None:
            raise BranchMissing(branch=branch, known=())
        self.opened.append(branch)
        rows = [made.to_row() for made in reversed(line(self.commits, tip.id))]
        return PlainLine(rows, self.recent_count, self.read)

    def commit(self, row: CommitRow) -> Commit:
        return Commit.from_row(row)

    def likely_branch(self, commit: CommitId) -> BranchName | None:
        return self.likely

    @property
    def log(self) -> CommitLog:
        return CommitLog(self)


def line(commits: Sequence[Commit], start: CommitId) -> list[Commit]:
    """The commit and its first parents, newest first."""
    by_id, found = {made.id: made for made in commits}, list[Commit]()
    current: CommitId | None = start
    while current is not None:
        found.append(by_id[current])
        current = by_id[current].parent
    return found
