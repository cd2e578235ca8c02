"""Merges of histories with one, two and three merge bases, and bases that have several themselves.

All small histories are tried, with every way to write a row in them. The engine's merges are
compared with `seen_writes`, which knows the writes that each side has seen and no merge bases. A
change that the other side has not seen is never lost, and every conflict is reported.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice, permutations
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.base.ids import CommitId
from omnigraph.lang.schema.catalog import ID
from omnigraph.merge.joining import joint_rows, pairs_of
from omnigraph.merge.three_way import sides_of, three_way
from omnigraph.read.changes.diff import matched
from omnigraph.store.history import MAX_BASE_LEVELS, CommitLog
from tests.merge.small_histories import (
    FEW,
    UNIQUE,
    Row,
    Shape,
    heads_of,
    rows_of,
    shapes,
    shapes_with_three_bases,
)
from tests.merge.world import WAYS, Step, gone, image_of, item, make_graph, write_rows
from tests.reference.seen_writes import SeenWrites
from tests.store_contract.histories import PlainLines, commit

COLUMNS = pa.schema([(ID, pa.string()), ("a", pa.string()), ("b", pa.string())])
Cells = tuple[str, str] | None
"""The two properties of a row; None: there is no such row."""


class BasesInHistory:
    """The merge bases of two commits of a history without a graph."""

    def __init__(self, log: CommitLog, one: CommitId, other: CommitId) -> None:
        self._log = log
        self._heads = one, other

    @cached_property
    def latest(self) -> Sequence[CommitId]:
        return [base.id for base in self._log.merge_bases(*self._heads)]

    def below(self, one: int, other: int) -> "BasesInHistory":
        return BasesInHistory(self._log, self.latest[one], self.latest[other])

    @property
    def levels(self) -> int:
        """How many levels of bases there are, of which one has several on all but the last."""
        return 1 + max((self.below(*pair).levels for pair in pairs_of(self)), default=0)


class History:
    """A history, its rows as the engine merges them, and the writes that each commit has seen."""

    def __init__(self, shape: Shape, rows: Sequence[Row], seed: int = 0) -> None:
        """The seed decides how many commits each line has, and so the order of the bases."""
        chance = Random(seed)
        self.shape, self.rows = shape, rows
        commits = [commit(0, None)]
        for number, node in enumerate(shape, 1):
            made = commit(number, node.ours, node.theirs)
            after = max(commits[parent].seq for parent in node.parents)
            commits.append(replace(made, seq=after + chance.randint(1, 100)))
        self.log = PlainLines(commits).log
        self.writes = [SeenWrites(0, _cells(row.starts, 0, None)) for row in rows]
        self.shown: list[list[Cells]] = [[writes.value[0] for writes in self.writes]]  # type: ignore[misc]
        self.outcomes = Counter[str]()
        for number, node in enumerate(shape, 1):
            if node.theirs is None:
                before = self.shown[node.ours]
                self.shown.append(
                    [
                        _cells(row.values[number - 1], number, cells)
                        for row, cells in zip(rows, before, strict=True)
                    ]
                )
                for writes, cells in zip(self.writes, self.shown[-1], strict=True):
                    writes.write(number, node.ours, cells)
            else:
                self._merge(number, node.ours, node.theirs)

    def bases(self, ours: int, theirs: int) -> BasesInHistory:
        return BasesInHistory(self.log, CommitId(f"c{ours}"), CommitId(f"c{theirs}"))

    def merged(self, ours: int, theirs: int, *, levels: int = MAX_BASE_LEVELS) -> list[str]:
        """The engine's result for each row: `alike`, `ours`, `theirs` or `conflict`."""
        ids = pa.array([str(number) for number in range(len(self.rows))], pa.string())
        heads = self._table(f"c{ours}", ids), self._table(f"c{theirs}", ids)
        joint = joint_rows(self.bases(ours, theirs), ids, self._table, heads, levels=levels)
        sides = sides_of(matched(joint.rows, heads[1]), heads[0], joint.disputed)
        compared = three_way(sides)
        found = ["ours"] * len(ids)
        for word, mask in (("theirs", compared.taken), ("conflict", compared.in_conflict)):
            for place in sides.ids.filter(pa.array(mask)).to_pylist():
                found[int(place)] = word
        for number, (one, other) in enumerate(
            zip(self.shown[ours], self.shown[theirs], strict=True)
        ):
            if one == other:
                assert found[number] == "ours", "a row that is alike on both is left alone"
                found[number] = "alike"
        for name in ("a", "b"):
            told = np.flatnonzero(compared.differs[name] & compared.in_conflict)
            for place in (int(sides.ids[int(at)].as_py()) for at in told):
                one, other = self.shown[ours][place], self.shown[theirs][place]
                column = "ab".index(name)
                assert one is not None and other is not None and one[column] != other[column]
        return found

    def check(self, ours: int, theirs: int) -> list[str]:
        """The same, once it is what follows from who has seen which write."""
        found = self.merged(ours, theirs)
        for row, writes, word in zip(self.rows, self.writes, found, strict=True):
            expected = writes.verdict(ours, theirs)
            assert word == expected or (expected == "open" and word != "alike"), (
                f"{word} and not {expected}: {row} of {self.shape}, {theirs} into {ours}: "
                f"{writes.value}"
            )
            self.outcomes[expected] += 1
        return found

    def _merge(self, number: int, ours: int, theirs: int) -> None:
        shown = []
        for place, word in enumerate(self.check(ours, theirs)):
            take = self.rows[place].values[number - 1] if word == "conflict" else word
            cells = self.shown[theirs if take == "theirs" else ours][place]
            self.writes[place].merge(number, ours, theirs, cells)
            shown.append(cells)
        self.shown.append(shown)

    def _table(self, base: CommitId | str, ids: pa.Array) -> pa.Table:
        cells = self.shown[int(str(base).removeprefix("c"))]
        there = [(str(n), *pair) for n, pair in enumerate(cells) if pair is not None]
        columns = [[row[at] for row in there] for at in range(3)]
        table = pa.table(columns, schema=COLUMNS)
        return table.filter(pc.is_in(table[ID], value_set=ids))


def _cells(word: str, number: int, before: Cells) -> Cells:
    """A row after a commit. A new value changes one of the two properties."""
    match word:
        case "keep":
            return before
        case "gone":
            return None
        case "new":
            mine = f"new {number}"
            one, other = before or (mine, mine)
            return (mine, other) if number % 2 else (one, mine)
        case _:
            return word, word


def histories(found: Iterable[Shape], *, most_rows: int | None = None) -> Iterator[History]:
    """Each shape twice: every write has its own value, and writes share a few values.

    `most_rows` says how many rows of each are tried; None: all that there can be.
    """
    for number, shape in enumerate(found):
        for is_few, words in enumerate((UNIQUE, FEW)):
            rows = rows_of(shape, words=words, starts=("0", "gone"))
            some = most_rows is not None and most_rows < len(rows)
            rows = Random(number).sample(rows, most_rows or 0) if some else rows
            yield History(shape, rows, seed=2 * number + is_few)


def check(found: Iterable[History]) -> tuple[Counter[str], Counter[tuple[int, int]]]:
    """How often there was which outcome, and how many histories had how many bases and levels."""
    outcomes, kinds = Counter[str](), Counter[tuple[int, int]]()
    for history in found:
        one, other = heads_of(history.shape)
        for heads in ((one, other), (other, one)):
            history.check(*heads)
        bases = history.bases(one, other)
        kinds[len(bases.latest), bases.levels] += 1
        outcomes += history.outcomes
    return outcomes, kinds


def crosses_twice(shape: Shape) -> bool:
    return History(shape, []).bases(*heads_of(shape)).levels > 2


@pytest.fixture(scope="module")
def is_deep(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--deep"))


def test_no_change_is_lost_and_no_conflict_hidden_in_a_small_history(is_deep: bool) -> None:
    small = chain(*map(shapes, range(2, 7 if is_deep else 6)))
    larger = (shape for shape in shapes(7) if is_deep or crosses_twice(shape))
    outcomes, kinds = check(
        chain(histories(small), histories(larger, most_rows=2_000 if is_deep else 200))
    )
    assert min(outcomes[word] for word in ("alike", "ours", "theirs", "conflict")) > 1_000
    assert outcomes["open"] < outcomes.total() / 20
    assert kinds[1, 1] and kinds[2, 2] and kinds[2, 3]


def test_no_change_is_lost_and_no_conflict_hidden_with_three_bases(is_deep: bool) -> None:
    lengths = (3, 4, 5) if is_deep else (3, 4)
    found = chain(*map(shapes_with_three_bases, lengths))
    outcomes, kinds = check(histories(found, most_rows=2_000 if is_deep else 150))
    assert min(outcomes[word] for word in ("alike", "ours", "theirs", "conflict")) > 1_000
    assert outcomes["open"] < outcomes.total() / 20
    assert sum(count for (bases, _), count in kinds.items() if bases == 3) > 10


def test_a_row_that_is_not_decided_at_the_last_level_is_a_conflict() -> None:
    """Where no more bases are looked at, conflicts may be too many; no change is lost."""
    told = Counter[str]()
    for history in histories(shapes(5)):
        heads = heads_of(history.shape)
        words = history.merged(heads[0], heads[1], levels=1)
        for writes, word in zip(history.writes, words, strict=True):
            expected = writes.verdict(heads[0], heads[1])
            assert word in (expected, "conflict") or expected == "open"
            told["more" if word != expected else "as expected"] += 1
    assert told["as expected"] > told["more"] > 0


# On a graph -------------------------------------------------------------------------------------


class Replayed:
    """The same history on a graph, with a branch for each commit."""

    def __init__(self, place: Path, way: str, history: History) -> None:
        self.graph, self.history = make_graph(place, way), history
        write_rows(self.graph, "main", self._steps(0))
        self.graph.branch_create("c0")
        for number, node in enumerate(history.shape, 1):
            self.graph.branch_create(f"c{number}", f"c{node.ours}")
            if node.theirs is None:
                write_rows(self.graph, f"c{number}", self._steps(number))
            else:
                self.merge(node.ours, node.theirs, into=f"c{number}", number=number)
                assert self.rows(f"c{number}") == self.expected(number)

    def merge(self, ours: int, theirs: int, *, into: str, number: int | None = None) -> None:
        """Look at the conflicts first, and take the sides that the rows say, or theirs."""
        found = self.history.merged(ours, theirs)
        preview = self.graph.branch_merge(f"c{theirs}", into, preview=True)
        told = {conflict.entity_id for conflict in preview.conflicts}
        assert told == {str(at) for at, word in enumerate(found) if word == "conflict"}
        choices = [
            {"type": "Item", "id": id_, "take": self._take(int(id_), number)} for id_ in told
        ]
        merged = self.graph.branch_merge(f"c{theirs}", into, resolve=choices)
        assert merged.outcome == "merged"

    def rows(self, branch: str) -> dict[str, tuple[object, object]]:
        items = image_of(self.graph, branch).get("Item", {})
        return {id_: (row["a"], row["b"]) for id_, row in items.items() if id_.isdigit()}

    def expected(self, number: int) -> dict[str, tuple[object, object]]:
        shown = enumerate(self.history.shown[number])
        return {str(n): (_number(cells[0]), cells[1]) for n, cells in shown if cells is not None}

    def _take(self, place: int, number: int | None) -> str:
        return "theirs" if number is None else self.history.rows[place].values[number - 1]

    def _steps(self, number: int) -> list[Step]:
        """The rows as they are after a commit, and one that no other commit has."""
        cells = enumerate(self.history.shown[number])
        rows = [
            gone("Item", str(n)) if c is None else item(str(n), a=_number(c[0]), b=c[1])
            for n, c in cells
        ]
        return [*rows, item(f"at {number}")]


def _number(word: str) -> int:
    return 100 + int(word.removeprefix("new ")) if word.startswith("new") else int(word)


def sampled(is_deep: bool) -> Iterator[History]:
    """Histories with three bases, and with bases that have several bases themselves."""
    crossing = [shape for shape in shapes(7) if crosses_twice(shape)]
    three = [*shapes_with_three_bases(4)]
    for shape in (*crossing, *three) if is_deep else (crossing[0], three[0]):
        # Only the histories in which every write has its own value.
        yield from islice(histories((shape,), most_rows=40), 0, None if is_deep else 1, 2)


@pytest.mark.parametrize("way", WAYS)
def test_a_graph_merges_as_the_history_says_and_a_revert_takes_it_back(
    tmp_path: Path, way: str, is_deep: bool
) -> None:
    for number, history in enumerate(sampled(is_deep)):
        replayed = Replayed(tmp_path / str(number), way, history)
        for ours, theirs in permutations(heads_of(history.shape)):
            into = f"{theirs} into {ours}".replace(" ", "-")
            replayed.graph.branch_create(into, f"c{ours}")
            replayed.merge(ours, theirs, into=into)
            replayed.graph.revert(replayed.graph.commits(into)[0], branch=into)
            assert replayed.rows(into) == replayed.expected(ours)
