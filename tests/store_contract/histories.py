"""Histories without a graph: commits by number, and lines that count what is read of them."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from hypothesis import strategies as st

from omnigraph.base.errors import BranchMissing
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.commits import ROWS_OF, Commit, CommitKind, TableChange
from omnigraph.store.history import CommitLog, Line, Lines
from omnigraph.store.manifest import CommitRow
from omnigraph.store.transactions import DatasetRef
from tests.store_contract.builders import PERSON


def commit(
    number: int,
    parent: int | None,
    merged: int | None = None,
    *,
    rows_of: int | None = None,
    is_upkeep: bool = False,
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
        extra={"load_id": "l"} | ({} if rows_of is None else {ROWS_OF: f"c{rows_of}"}),
    )


@st.composite
def histories(draw: st.DrawFn, length: int = 12) -> list[Commit]:
    """Commits in the order they were made, with merges of any earlier ones.

    A merge has rows of its own, or says whose it shows: those that the merged commit shows.
    """
    made = [commit(0, None)]
    origins = [0]
    for number in range(1, draw(st.integers(1, length))):
        older = st.integers(0, number - 1)
        parent, merged = draw(older), draw(st.none() | older)
        is_upkeep = merged is None and draw(st.booleans())
        rows_of = None if merged is None else draw(st.sampled_from([None, origins[merged]]))
        made.append(commit(number, parent, merged, rows_of=rows_of, is_upkeep=is_upkeep))
        origins.append(origins[parent] if is_upkeep else number if rows_of is None else rows_of)
    return made


def reachable(commits: Sequence[Commit], start: CommitId) -> set[CommitId]:
    by_id = {c.id: c for c in commits}
    seen: set[CommitId] = set()
    stack = [start]
    while stack:
        current = stack.pop()
        seen.add(current)
        stack += by_id[current].parents
    return seen


def rows_shown(commits: list[Commit]) -> dict[CommitId, CommitId]:
    """For each commit, whose rows it shows: its parent's, those it merged alone, or its own."""
    shown: dict[CommitId, CommitId] = {}
    for made in commits:
        if made.kind.keeps_rows and made.parent is not None:
            shown[made.id] = shown[made.parent]
        elif made.merged_parent is not None and ROWS_OF in made.extra:
            shown[made.id] = shown[made.merged_parent]
        else:
            shown[made.id] = made.id
    return shown


# Lines --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlainLine(Line):
    rows: Sequence[CommitRow]
    others: Sequence[CommitRow]
    """The commits that came with merges."""
    recent_count: int
    read: list[CommitId]
    """The older commits that were read, of all lines."""

    @property
    def recent(self) -> Sequence[CommitRow]:
        return self.rows[-self.recent_count :]

    @property
    def merged(self) -> Sequence[CommitRow]:
        return self.others[-self.recent_count :]

    def older(self) -> Sequence[CommitRow]:
        older = (*self.rows[: -self.recent_count], *self.others[: -self.recent_count])
        self.read.extend(row.id for row in older)
        return older


@dataclass
class PlainLines(Lines):
    """A branch for each commit that no other follows; the first of them is called main.

    Branches can be deleted. A branch holds all that its tip descends from, unless the graph is from
    before merged commits were kept.
    """

    commits: Sequence[Commit]
    recent_count: int = 2
    likely: BranchName | None = None
    keeps_merged: bool = True
    deleted: AbstractSet[BranchName] = frozenset()
    opened: list[BranchName] = field(default_factory=list)
    read: list[CommitId] = field(default_factory=list)

    def names(self) -> list[BranchName]:
        return [*self.tips()]

    def tips(self) -> dict[BranchName, Commit]:
        followed = {made.parent for made in self.commits}
        tips = [made for made in self.commits if made.id not in followed]
        named = {BranchName(t.id) if n else MAIN: t for n, t in enumerate(tips)}
        return {name: tip for name, tip in named.items() if name not in self.deleted}

    def open(self, branch: BranchName) -> PlainLine:
        tip = self.tips().get(branch)
        if tip is None:
            raise BranchMissing(branch=branch, known=())
        self.opened.append(branch)
        on_line = line(self.commits, tip.id)
        rows = [made.to_row() for made in reversed(on_line)]
        held = reachable(self.commits, tip.id) if self.keeps_merged else set()
        merged = held - {made.id for made in on_line}
        others = [made.to_row() for made in self.commits if made.id in merged]
        return PlainLine(rows, others, self.recent_count, self.read)

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
