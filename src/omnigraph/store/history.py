"""The commit DAG: any commit by its id, the line of a branch, and who descends from whom.

A branch's manifest keeps its whole line: its own commits and all that it was made from. It also
keeps what it merged, commits of other lines, so they stay known when their branch is gone. With a
commit a manifest holds all that the commit descends from. (Graphs from before that may lack the
merged ones; such a merge still names the commit that first showed its rows.)

A log reads no more than a question needs: first what the manifests hold at hand, then the older
commits, branch by branch; none for a branch whose older commits were read with another's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Protocol

from omnigraph.base.errors import BranchMissing, CommitMissing, GraphMoved
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.commits import Commit
from omnigraph.store.manifest import CommitRow

__all__ = ["MAX_BASE_LEVELS", "CommitLog", "Line", "Lines"]

# Merge bases may have several merge bases themselves, and so on. A merge looks at so many levels,
# and no cleanup removes the rows of any commit on them.
MAX_BASE_LEVELS = 10


class Line(Protocol):
    """The commits of one branch as they were when it was opened, oldest first."""

    @property
    def recent(self) -> Sequence[CommitRow]:
        """The newest commits, which cost nothing to look at; there is at least the head."""
        ...

    @property
    def merged(self) -> Sequence[CommitRow]:
        """Commits of other lines that came with merges lately; they cost nothing to look at."""
        ...

    def older(self) -> Sequence[CommitRow]:
        """All other commits that the branch holds, of its line and merged. They have to be read."""
        ...


class Lines(Protocol):
    """Where a log finds the commits of branches."""

    def names(self) -> Iterable[BranchName]:
        """All branches, main first."""
        ...

    def open(self, branch: BranchName) -> Line:
        """The branch's line now; raises `BranchMissing`."""
        ...

    def commit(self, row: CommitRow) -> Commit: ...

    def likely_branch(self, commit: CommitId) -> BranchName | None:
        """The branch that the commit was made on, if the commit was seen before."""
        ...


class CommitLog:
    """The commits of all branches as they are when they are first asked for.

    A log opens each branch once. It does not see what is published to the branch later: ask the
    store for another log then.
    """

    def __init__(self, lines: Lines) -> None:
        self._source = lines
        self._opened: dict[BranchName, Line] = {}
        self._whole: set[BranchName] = set()
        self._rows: dict[CommitId, CommitRow] = {}
        self._read_from: dict[CommitId, BranchName] = {}
        self._unknown: set[CommitId] = set()

    # Commits -------------------------------------------------------------------------------------

    def get(self, commit: CommitId) -> Commit:
        """Any commit that a branch here descends from; raises `CommitMissing`."""
        return self._source.commit(self._row(commit))

    def line(self, branch: BranchName = MAIN) -> Iterator[Commit]:
        """The commits of a branch, newest first; raises `BranchMissing`."""
        yield from self.line_of(self._open(branch).recent[-1].id)

    def line_of(self, commit: CommitId) -> Iterator[Commit]:
        """The commit and the line it stands on, newest first."""
        row: CommitRow | None = self._row(commit)
        while row is not None:
            yield self._source.commit(row)
            row = self._parent(row)

    def branch_of(self, commit: CommitId) -> BranchName | None:
        """A branch on whose line the commit stands; None: it only came with merges."""
        wanted = self._row(commit)
        made_on = self._source.commit(wanted).branch
        for name in dict.fromkeys((made_on, *self._source.names())):
            with suppress(BranchMissing):
                if self._is_on_line(wanted, name):
                    return name
        return None

    def _is_on_line(self, wanted: CommitRow, branch: BranchName) -> bool:
        row: CommitRow | None = self._open(branch).recent[-1]
        while row is not None and row.seq > wanted.seq:
            row = self._parent(row)
        return row is not None and row.id == wanted.id

    # Descent -------------------------------------------------------------------------------------

    def ancestors(self, *commits: CommitId) -> frozenset[CommitId]:
        """The commits, their parents, the parents of those, … as far as they are known here."""
        seen: set[CommitId] = set()
        frontier = [*commits]
        while frontier:
            current = frontier.pop()
            if current not in seen and (row := self._find(current)) is not None:
                seen.add(current)
                frontier += self._before(row)
        return frozenset(seen)

    def heads(self, branches: Iterable[BranchName]) -> dict[BranchName, CommitId]:
        """The newest commit of each branch; one that was deleted meanwhile is left out."""
        found = dict[BranchName, CommitId]()
        for branch in branches:
            with suppress(BranchMissing):
                found[branch] = self._open(branch).recent[-1].id
        return found

    def descent(self, commits: Iterable[CommitId]) -> Iterator[Commit]:
        """The commits and all that they descend from, newest first, each before its parents.

        Clocks differ, so no time tells the order of a commit and one that it merged: all are read.
        """
        known = {commit: self.get(commit) for commit in self.ancestors(*commits)}
        parents = {c: [p for p in known[c].parents if p in known] for c in known}
        waiting_for = Counter(parent for found in parents.values() for parent in found)
        ready = [(-known[c].created_at_ms, -known[c].seq, c) for c in known if not waiting_for[c]]
        heapify(ready)
        while ready:
            *_, current = heappop(ready)
            yield known[current]
            for parent in parents[current]:
                waiting_for[parent] -= 1
                if not waiting_for[parent]:
                    made = known[parent]
                    heappush(ready, (-made.created_at_ms, -made.seq, parent))

    def merge_bases(self, one: CommitId, other: CommitId) -> tuple[Commit, ...]:
        """The latest commits that both descend from.

        If merges went both ways, or one branch went into both, there are several, none of them an
        ancestor of another one. The one with the most commits before it on its line comes first,
        and of those the one with the greatest id, so the order of the arguments does not matter and
        every process finds the same.
        """
        parted = self._where_lines_part(one, other)
        if parted is not None:
            return (self._source.commit(parted),)
        bases = self._latest(self.ancestors(one) & self.ancestors(other))
        return tuple(
            sorted((self.get(base) for base in bases), key=lambda c: (c.seq, c.id), reverse=True)
        )

    def merge_base(self, one: CommitId, other: CommitId) -> Commit:
        """The first of the merge bases."""
        return self.merge_bases(one, other)[0]

    def all_bases(self, heads: Iterable[CommitId]) -> frozenset[CommitId]:
        """The bases of all pairs of heads; where a pair has several, those of any two of them too,
        as many levels as a merge looks at."""
        found, pairs = set[CommitId](), {*combinations(heads, 2)}
        seen = set[tuple[CommitId, CommitId]]()
        for _ in range(MAX_BASE_LEVELS):
            bases = [[base.id for base in self.merge_bases(*pair)] for pair in pairs]
            seen |= pairs
            found |= {base for each in bases for base in each}
            pairs = {pair for each in bases for pair in combinations(each, 2)} - seen
        return frozenset(found)

    def bases_from(
        self, commits: AbstractSet[CommitId], heads: Iterable[CommitId]
    ) -> frozenset[CommitId]:
        """The bases of all pairs of heads that descend from one of the commits."""
        known = dict.fromkeys(commits, True)
        return self.all_bases(head for head in heads if self._descends(head, known))

    def _descends(self, commit: CommitId, known: dict[CommitId, bool]) -> bool:
        """Whether it descends from a commit that is known to be true; what is found is added."""
        stack = [commit]
        while stack:
            row = self._find(stack[-1]) if stack[-1] not in known else None
            before = self._before(row) if row is not None else ()
            if unknown := [parent for parent in before if parent not in known]:
                stack += unknown
            else:
                known.setdefault(stack[-1], any(known[parent] for parent in before))
                stack.pop()
        return known[commit]

    def _latest(self, commits: AbstractSet[CommitId]) -> AbstractSet[CommitId]:
        """Of commits and all their ancestors, those that no other of them descends from."""
        return commits - {b for commit in commits for b in self._before(self._rows[commit])}

    def missing_on(self, branch: BranchName, commit: CommitId) -> tuple[CommitRow, ...]:
        """The commit and its ancestors, but for those that the branch's manifest holds.

        Raises `CommitMissing` if no branch has the commit.
        """
        line, has_older = self._open(branch), False
        held = {row.id for row in (*line.recent, *line.merged)}
        # Of its line a branch holds no older commit that comes after its recent ones; a merged one
        # may, and then either a recent commit merged it or it descends from an older commit.
        oldest = line.recent[0].seq
        has_merges = any(len(row.parents) > 1 for row in line.recent)
        found = dict[CommitId, CommitRow]()
        frontier = [self._row(commit).id]
        while frontier:
            current = frontier.pop()
            if current in held or current in found or (row := self._find(current)) is None:
                continue
            if not has_older and (has_merges or row.seq < oldest):
                older, has_older = line.older(), True
                self._add(older, branch)
                held |= {row.id for row in older}
                frontier.append(current)
            else:
                found[current] = row
                frontier += row.parents
        missing = (row for row in found.values() if row.id not in held)
        return tuple(sorted(missing, key=lambda row: (row.seq, row.id)))

    def _before(self, row: CommitRow) -> Sequence[CommitId]:
        """Its parents; for a merged one that is not known here, the commit whose rows it showed."""
        if len(row.parents) < 2 or self._find(row.parents[1]) is not None:
            return row.parents
        first = self._source.commit(row).same_rows_as
        return row.parents if first is None else (row.parents[0], first)

    def _where_lines_part(self, one: CommitId, other: CommitId) -> CommitRow | None:
        """The last commit that two lines share; None if there is a merge above it.

        Without a merge it is the only base, and nothing older has to be read.
        """
        left, right = self._row(one), self._row(other)
        while left.id != right.id:
            if left.seq < right.seq:
                left, right = right, left
            if len(left.parents) != 1:
                return None
            left = self._row(left.parents[0], near=left)
        return left

    # Rows ----------------------------------------------------------------------------------------

    def origin_of_rows(self, commit: CommitId) -> CommitId:
        """The commit that first showed the rows of this one; it may be of a branch that is gone.

        Commits with one origin show the same rows, on whatever branches they stand.
        """
        while (row := self._find(commit)) is not None:
            if (same := self._source.commit(row).same_rows_as) is None:
                return commit
            commit = same
        return commit

    def ancestor_like(self, commit: CommitId, *, of: CommitId) -> Commit | None:
        """The latest ancestor of `of`, itself included, that shows the rows of `commit`.

        One on the line of `of` is preferred: the versions of its tables lead to those of `of`.
        None: those rows never were on that side.
        """
        origin = self.origin_of_rows(commit)
        for ancestor in self.line_of(of):
            if self.origin_of_rows(ancestor.id) == origin:
                return ancestor
        alike = (self.get(a) for a in self.ancestors(of) if self.origin_of_rows(a) == origin)
        return max(alike, key=lambda c: (c.seq, c.id), default=None)

    # Reading -------------------------------------------------------------------------------------

    def _row(self, commit: CommitId, *, near: CommitRow | None = None) -> CommitRow:
        if (row := self._find(commit, near=near)) is None:
            raise CommitMissing(commit)
        return row

    def _parent(self, row: CommitRow) -> CommitRow | None:
        """The commit before it on its line; None: it is the first of the graph."""
        return self._row(row.parents[0], near=row) if row.parents else None

    def _find(self, commit: CommitId, *, near: CommitRow | None = None) -> CommitRow | None:
        """The commit's row; None if no branch has it. `near` may stand on the same line."""
        if commit in self._rows or commit in self._unknown:
            return self._rows.get(commit)
        likely = self._source.likely_branch(commit) if near is None else self._read_from[near.id]
        if likely is not None:
            with suppress(BranchMissing, GraphMoved):
                self._open(likely)
                if commit not in self._rows:
                    self._read_older(likely)
        return self._rows[commit] if commit in self._rows else self._search(commit)

    def _search(self, commit: CommitId) -> CommitRow | None:
        elsewhere: GraphMoved | None = None
        for read in (self._open, self._read_older):
            for name in self._source.names():
                try:
                    read(name)
                except BranchMissing:
                    continue  # deleted since the names were listed
                except GraphMoved as moved:
                    elsewhere = moved  # main can be read all the same
                if commit in self._rows:
                    return self._rows[commit]
        if elsewhere is not None:
            raise elsewhere
        self._unknown.add(commit)
        return None

    def _open(self, branch: BranchName) -> Line:
        if branch not in self._opened:
            line = self._opened[branch] = self._source.open(branch)
            self._add((*line.recent, *line.merged), branch)
        return self._opened[branch]

    def _read_older(self, branch: BranchName) -> None:
        """Read the rest that a branch holds, unless it was read with another branch."""
        line = self._open(branch)
        at_hand = (*line.recent, *line.merged)
        before = {parent for row in at_hand for parent in row.parents} - {row.id for row in at_hand}
        if branch not in self._whole and not self._is_known_below(before):
            self._add(line.older(), branch)
        self._whole.add(branch)

    def _is_known_below(self, commits: Iterable[CommitId]) -> bool:
        """True if these commits, and all that they descend from, were read."""
        return all(c in self._rows and self._read_from[c] in self._whole for c in commits)

    def _add(self, rows: Sequence[CommitRow], branch: BranchName) -> None:
        for row in rows:
            self._rows.setdefault(row.id, row)
            self._read_from.setdefault(row.id, branch)
