"""What becomes of one row, for everything that two sides may have done to it.

All pairs lie in one graph, one row for each, so that a merge shows that they don't get into each
other's way.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.errors import MergeConflicts
from tests.merge import reference
from tests.merge.world import (
    WAYS,
    Image,
    Row,
    Step,
    apply,
    edge,
    gone,
    image_of,
    item,
    make_graph,
    tidy,
    write_rows,
)

Rows = list[Row | None]
"""What a side makes of the row, commit by commit; None: it deletes it."""


def v(a: int, b: str = "b") -> dict[str, Any]:
    return {"a": a, "b": b}


# Of a row that the base has as v(0), and of one that it has not.
OF_AN_OLD_ROW: dict[str, Rows] = {
    "none": [],
    "update": [v(1)],
    "other update": [v(2)],
    "update of another property": [v(0, "c")],
    "update of both": [v(1, "c")],
    "delete": [None],
    "delete and insert": [None, v(0)],
    "delete and insert another": [None, v(3)],
    "there and back": [v(1), v(0)],
    "set to null": [{"a": None, "b": "b"}],
    "empty text": [v(0, "")],
}
OF_A_NEW_ROW: dict[str, Rows] = {
    "none": [],
    "insert": [v(1)],
    "other insert": [v(2)],
    "insert and update": [v(2), v(1)],
    "insert and delete": [v(1), None],
}
PAIRS = [
    *((True, one, other) for one, other in product(OF_AN_OLD_ROW, repeat=2)),
    *((False, one, other) for one, other in product(OF_A_NEW_ROW, repeat=2)),
]


def name_of(is_old: bool, ours: str, theirs: str) -> str:
    return f"{'old' if is_old else 'new'}: {ours} / {theirs}"


def as_item(name: str, values: Row) -> Step:
    return item(name, **values)


def as_link(name: str, values: Row) -> Step:
    return edge("Link", name, "hub", "hub", **values)


def as_tie(name: str, values: Row) -> Step:
    return edge("Tie", f'["hub","{name}"]', "hub", name, **values)


KINDS: list[tuple[str, Callable[[str, Row], Step]]] = [
    ("Item", as_item),
    ("Link", as_link),
    ("Tie", as_tie),
]


def step(make: Callable[[str, Row], Step], name: str, values: Row | None) -> Step:
    kind, id_, row = make(name, values if values is not None else {})
    return (kind, id_, row) if values is not None else gone(kind, id_)


def commits(side: int) -> Iterator[list[Step]]:
    """The steps of one side, in two commits."""
    for number in range(2):
        steps = []
        for is_old, *did in PAIRS:
            rows = (OF_AN_OLD_ROW if is_old else OF_A_NEW_ROW)[did[side]]
            if number < len(rows):
                name = name_of(is_old, did[0], did[1])
                steps += [step(make, name, rows[number]) for _, make in KINDS]
        yield steps


@pytest.fixture(scope="module", params=WAYS)
def sides(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Graph, Image, Image, Image]:
    """The graph with main and feature, and the images of base, main and feature."""
    graph = make_graph(tmp_path_factory.mktemp("table") / "g", request.param)
    start: list[Step] = [item("hub")]
    # A tie needs its node, which no side touches; the items of the table have names of their own.
    for is_old, ours, theirs in PAIRS:
        name = name_of(is_old, ours, theirs)
        start.append(item(f"to {name}"))
        if is_old:
            start += [step(make, name, v(0)) for _, make in KINDS]
    base = apply({}, [_mended(s) for s in start])
    write_rows(graph, "main", map(_mended, start))
    graph.branch_create("feature")
    images = []
    for number, branch in enumerate(("main", "feature")):
        image = base
        for steps in commits(number):
            image = apply(image, map(_mended, steps))
            write_rows(graph, branch, map(_mended, steps))
        images.append(image)
        assert image_of(graph, branch) == tidy(image)
    return graph, base, images[0], images[1]


def _mended(step: Step) -> Step:
    """A tie of the table leads to a node that stays."""
    kind, id_, row = step
    if kind == "Tie" and row is not None:
        return kind, id_, {**row, "dst": f"to {row['dst']}"}
    return step


def told(error: MergeConflicts) -> set[reference.Told]:
    found = [(c.kind, c.type_name, c.entity_id, c.property) for c in error.conflicts]
    assert len(found) == len(set(found)), "no conflict is told twice"
    return set(found)


@pytest.mark.values
@pytest.mark.parametrize(("source", "target"), [("feature", "main"), ("main", "feature")])
def test_every_conflict_is_told_and_nothing_is_applied(
    sides: tuple[Graph, Image, Image, Image], source: str, target: str
) -> None:
    graph, base, *images = sides
    ours, theirs = images if target == "main" else reversed(images)
    before = graph.commits(target, limit=1)
    with pytest.raises(MergeConflicts) as caught:
        graph.branch_merge(source, target)
    assert told(caught.value) == reference.row_conflicts(base, ours, theirs)
    order = [
        (c.entity_kind != "node", c.type_name, c.entity_id, c.kind, c.property or "")
        for c in caught.value.conflicts
    ]
    assert order == sorted(order)
    for conflict in caught.value.conflicts:
        for value, image in zip(
            (conflict.base, conflict.ours, conflict.theirs), (base, ours, theirs), strict=True
        ):
            row = image[conflict.type_name].get(conflict.entity_id)
            if conflict.property is not None:
                assert value == (row and row[conflict.property])
            else:
                assert (value is None) == (row is None)
    assert graph.commits(target, limit=1) == before
    assert image_of(graph, target) == tidy(ours)


@pytest.mark.values
@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_one_word_for_all_gives_that_side_of_each_conflict(
    sides: tuple[Graph, Image, Image, Image], take: str
) -> None:
    graph, base, ours, theirs = sides
    graph.branch_create(f"all-{take}", "main")
    result = graph.branch_merge("feature", f"all-{take}", resolve=take)
    assert (result.outcome, result.conflicts) == ("merged", ())
    image = image_of(graph, f"all-{take}")
    assert image == tidy(reference.merged(base, ours, theirs, take))
    # The other way round, with the other word, both branches come to the same.
    graph.branch_create(f"back-{take}", "feature")
    other = "theirs" if take == "ours" else "ours"
    graph.branch_merge("main", f"back-{take}", resolve=other)
    assert image_of(graph, f"back-{take}") == image
    assert result.commit is not None
    assert len({result.commit.parent_commit_id, result.commit.merged_parent_commit_id}) == 2


def test_a_choice_for_each_conflict_gives_what_was_chosen(
    sides: tuple[Graph, Image, Image, Image],
) -> None:
    """Property by property, ours and theirs by turns."""
    graph, base, ours, theirs = sides
    graph.branch_create("each", "main")
    preview = graph.branch_merge("feature", "each", preview=True)
    choices = [
        {
            "type": c.type_name,
            "id": c.entity_id,
            "property": c.property,
            "take": ("ours", "theirs")[number % 2],
        }
        for number, c in enumerate(preview.conflicts)
    ]
    expected = reference.merged(base, ours, theirs)
    for choice in choices:
        kind, id_, name = choice["type"], choice["id"], choice["property"]
        assert kind is not None and id_ is not None
        side = {"ours": ours, "theirs": theirs}[str(choice["take"])].get(kind, {}).get(id_)
        if name is not None:
            assert side is not None
            expected[kind][id_] = {**expected[kind][id_], name: side[name]}
        elif side is None:
            expected[kind].pop(id_, None)
        else:
            expected[kind][id_] = side
    left = graph.branch_merge("feature", "each", preview=True, resolve=choices[1:])
    assert [c.entity_id for c in left.conflicts] == [choices[0]["id"]]
    assert image_of(graph, "each") == tidy(ours)
    graph.branch_merge("feature", "each", resolve=choices, if_commit=preview.target_commit_id)
    assert image_of(graph, "each") == tidy(expected)


def test_a_preview_counts_what_the_merge_then_does(
    sides: tuple[Graph, Image, Image, Image],
) -> None:
    graph, _, ours, _ = sides
    graph.branch_create("counted", "main")
    told = graph.branch_merge("feature", "counted", preview=True, resolve="theirs")
    assert told.commit is None and told.is_preview
    done = graph.branch_merge("feature", "counted", resolve="theirs")
    assert told.counts == done.counts
    image = image_of(graph, "counted")
    for kind, counts in done.counts.items():
        was, now = ours.get(kind, {}), image.get(kind, {})
        assert counts.inserted == len(now.keys() - was.keys())
        assert counts.deleted == len(was.keys() - now.keys())
        assert counts.updated == sum(was[id_] != now[id_] for id_ in was.keys() & now.keys())


def test_a_preview_has_the_rows_that_the_merge_then_changes(
    sides: tuple[Graph, Image, Image, Image],
) -> None:
    graph, *_ = sides
    graph.branch_create("looked-at", "main")
    told = graph.branch_merge("feature", "looked-at", preview=True, resolve="theirs")
    if graph.engine.settings == WAYS["files"]:  # the rows are not held
        assert told.changes is None
        return
    assert told.changes is not None and told.changes.counts == told.counts
    before = graph.commits("looked-at", limit=1)[0].graph_commit_id
    done = graph.branch_merge("feature", "looked-at", resolve="theirs")
    assert done.commit is not None and done.changes is None
    diff = graph.diff(before, done.commit.graph_commit_id)
    assert told.changes.to_pylist() == diff.to_pylist()
