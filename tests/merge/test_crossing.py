"""Two merge bases: all that a row can have been on them, on their own base and on the two heads."""

from itertools import product
from typing import Literal, NamedTuple

import pytest

from omnigraph import Graph
from omnigraph.base.ids import BranchName
from tests.merge.world import WAYS, Step, gone, image_of, item, make_graph, write_rows

VALUES = (None, 1, 2, 3)
"""What a row has; None: there is no such row."""

Value = int | None


class Row(NamedTuple):
    root: Value
    left: Value
    right: Value
    """On the two bases."""
    ours: Value
    theirs: Value

    @property
    def id(self) -> str:
        return "".join("-" if value is None else str(value) for value in self)


ROWS = [Row(*values) for values in product(VALUES, repeat=5)]

Moment = Literal["root", "left", "right", "ours", "theirs"]


def rows_at(moment: Moment) -> list[Step]:
    values = [(row.id, getattr(row, moment)) for row in ROWS]
    return [gone("Item", id_) if a is None else item(id_, a=a) for id_, a in values]


def joint_base(row: Row, *, left_is_first: bool) -> Value:
    one, other = (row.left, row.right) if left_is_first else (row.right, row.left)
    if one == other or other == row.root:
        return one
    if one == row.root:
        return other
    return next(value for value in (one, other, row.root) if value not in (row.ours, row.theirs))


def conflict_of(row: Row, base: Value) -> str | None:
    if row.ours == row.theirs or base in (row.ours, row.theirs):
        return None
    if row.ours is None or row.theirs is None:
        return "delete_vs_update"
    return "divergent_insert" if base is None else "divergent_update"


@pytest.fixture(scope="module", params=WAYS)
def graph(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Graph:
    """Left and right have taken what the other had, and then become ours and theirs."""
    graph = make_graph(tmp_path_factory.mktemp("crossing") / "g", request.param)
    write_rows(graph, "main", rows_at("root"))
    for side in ("left", "right"):
        graph.branch_create(side)
        write_rows(graph, side, rows_at("left" if side == "left" else "right"))
        graph.branch_create(f"old-{side}", side)
    graph.branch_merge("old-right", "left", resolve="ours")
    graph.branch_merge("old-left", "right", resolve="ours")
    write_rows(graph, "left", rows_at("ours"))
    write_rows(graph, "right", rows_at("theirs"))
    return graph


def expected_bases(graph: Graph) -> dict[str, Value]:
    store = graph.engine.store
    heads = [store.snapshot(BranchName(name)).commit.id for name in ("left", "right", "old-left")]
    bases = store.history().merge_bases(heads[0], heads[1])
    assert len(bases) == 2
    left_is_first = bases[0].id == heads[2]
    return {row.id: joint_base(row, left_is_first=left_is_first) for row in ROWS}


def test_conflicts_are_those_of_the_joint_base(graph: Graph) -> None:
    bases = expected_bases(graph)
    preview = graph.branch_merge("right", "left", preview=True)
    told = {c.entity_id: (c.kind, c.base, c.ours, c.theirs) for c in preview.conflicts}
    assert len(told) == preview.conflict_count
    found = {row.id: (kind, row) for row in ROWS if (kind := conflict_of(row, bases[row.id]))}
    assert {id_: kind for id_, (kind, *_) in told.items()} == {
        id_: kind for id_, (kind, _) in found.items()
    }
    for id_, (kind, row) in found.items():
        if kind != "delete_vs_update":  # that one tells whole rows
            assert told[id_][1:] == (bases[id_], row.ours, row.theirs)


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_rows_are_those_of_the_side_that_changed_them(graph: Graph, take: str) -> None:
    bases, target = expected_bases(graph), f"taking-{take}"
    graph.branch_create(target, "left")
    graph.branch_merge("right", target, resolve=take)

    def merged(row: Row) -> Value:
        if conflict_of(row, bases[row.id]) is None:
            return row.theirs if row.ours == bases[row.id] else row.ours
        return row.ours if take == "ours" else row.theirs

    rows = {row.id: merged(row) for row in ROWS}
    found = {id_: row["a"] for id_, row in image_of(graph, target)["Item"].items()}
    assert found == {id_: a for id_, a in rows.items() if a is not None}
