"""Rows beside each other: what two sides did that is right on each and wrong together.

Each case has rows of its own in one graph. Its names begin with the case's, so that a conflict
tells whose it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.errors import MergeConflicts
from tests.merge import reference
from tests.merge.world import (
    WAYS,
    Image,
    Step,
    apply,
    edge,
    gone,
    image_of,
    item,
    make_graph,
    place,
    tidy,
    write_rows,
)

Conflicts = set[tuple[str, str, str | None]]
"""Kind, id and property."""


@dataclass
class Case:
    base: list[Step]
    ours: list[Step]
    theirs: list[Step]
    conflicts: Conflicts = field(default_factory=set)
    """Of theirs merged into ours."""
    taking: Mapping[str, list[Step]] = field(default_factory=dict)
    """By side taken: what is otherwise on ours then."""


def node(name: str) -> list[Step]:
    return [item(f"{name} x"), item(f"{name} y")]


def cases() -> dict[str, Case]:
    made: dict[str, Case] = {}

    def case(name: str, *args: object, **more: object) -> None:
        made[name] = Case(*args, **more)  # type: ignore[arg-type]

    # Ends ---------------------------------------------------------------------------------------
    n = "they delete a node that our edge needs"
    x, y, e = f"{n} x", f"{n} y", f"{n} e"
    new = edge("Link", e, x, y)
    case(
        n,
        node(n),
        [new],
        [gone("Item", x)],
        {("orphan_edge", e, "from")},
        {"ours": [], "theirs": [gone("Item", x), gone("Link", e)]},
    )
    n = "we delete a node that their edge needs"
    x, y, e = f"{n} x", f"{n} y", f"{n} e"
    new = edge("Link", e, y, x)
    case(
        n,
        node(n),
        [gone("Item", x)],
        [new],
        {("orphan_edge", e, "to")},
        {"ours": [], "theirs": [item(x), new]},
    )
    n = "a loop at a node that goes"
    x, e = f"{n} x", f"{n} e"
    loop = edge("Tie", e, x, x)
    case(
        n,
        node(n),
        [loop],
        [gone("Item", x)],
        {("orphan_edge", e, "from"), ("orphan_edge", e, "to")},
        {"ours": [], "theirs": [gone("Item", x), gone("Tie", e)]},
    )
    n = "they delete a node with its edges and we update an edge"
    x, y, e = f"{n} x", f"{n} y", f"{n} e"
    case(
        n,
        [*node(n), edge("Link", e, x, y)],
        [edge("Link", e, x, y, a=1)],
        [gone("Item", x), gone("Link", e)],
        {("delete_vs_update", e, None)},
        {"ours": [], "theirs": [gone("Item", x), gone("Link", e)]},
    )
    n = "we delete a node with its edges and they update an edge"
    x, y, e = f"{n} x", f"{n} y", f"{n} e"
    changed = edge("Link", e, x, y, a=1)
    case(
        n,
        [*node(n), edge("Link", e, x, y)],
        [gone("Item", x), gone("Link", e)],
        [changed],
        {("delete_vs_update", e, None)},
        {"ours": [], "theirs": [item(x), changed]},
    )
    n = "both delete a node with its edges"
    x, y, e = f"{n} x", f"{n} y", f"{n} e"
    case(
        n,
        [*node(n), edge("Link", e, x, y)],
        [gone("Item", x), gone("Link", e)],
        [gone("Item", x), gone("Link", e)],
    )
    n = "they delete a node that we update"
    x = f"{n} x"
    case(
        n,
        node(n),
        [item(x, a=1)],
        [gone("Item", x)],
        {("delete_vs_update", x, None)},
        {"ours": [], "theirs": [gone("Item", x)]},
    )
    n = "both add the same keyed edge"
    x, y, e = f"{n} x", f"{n} y", f"{n} e"
    case(n, node(n), [edge("Tie", e, x, y)], [edge("Tie", e, x, y)])

    # Unique values ------------------------------------------------------------------------------
    n = "both give one value to two nodes"
    x, y = f"{n} x", f"{n} y"
    case(
        n,
        node(n),
        [item(x, u=n)],
        [item(y, u=n)],
        {("unique_violation", y, "u")},
        {"ours": [], "theirs": [item(x), item(y, u=n)]},
    )
    n = "both insert a node with one value"
    x, y = f"{n} x", f"{n} y"
    case(
        n,
        [],
        [item(x, u=n)],
        [item(y, u=n)],
        {("unique_violation", y, "u")},
        {"ours": [], "theirs": [gone("Item", x), item(y, u=n)]},
    )
    n = "they hand a value on"
    x, y = f"{n} x", f"{n} y"
    case(
        n,
        [item(x, u=n), item(y)],
        [item(f"{n} z")],
        [item(x), item(y, u=n)],
    )
    n = "both hand a value on, to two nodes"
    x, y, z = f"{n} x", f"{n} y", f"{n} z"
    case(
        n,
        [item(x, u=n), item(y), item(z)],
        [item(x), item(y, u=n)],
        [item(x), item(z, u=n)],
        {("unique_violation", z, "u")},
        {"ours": [], "theirs": [item(y), item(z, u=n)]},
    )
    n = "they take a value that we let go"
    x, y = f"{n} x", f"{n} y"
    case(n, [item(x, u=n), item(y)], [item(x)], [item(x), item(y, u=n)])
    n = "they swap two values"
    x, y = f"{n} x", f"{n} y"
    case(
        n,
        [item(x, u=f"{n} 1"), item(y, u=f"{n} 2")],
        [],
        [item(x, u=f"{n} 2"), item(y, u=f"{n} 1")],
    )

    # Numbers of edges ---------------------------------------------------------------------------
    n = "both add an edge where one is allowed"
    x, y, e, f = (f"{n} {letter}" for letter in "xyef")
    case(
        n,
        node(n),
        [edge("Boss", e, x, y)],
        [edge("Boss", f, x, x)],
        {("cardinality_violation", x, "Boss")},
        {"ours": [], "theirs": [gone("Boss", e), edge("Boss", f, x, x)]},
    )
    n = "both replace the edge of which one is allowed"
    x, y, e, f, g = (f"{n} {letter}" for letter in "xyefg")
    case(
        n,
        [*node(n), edge("Boss", e, x, y)],
        [gone("Boss", e), edge("Boss", f, x, x)],
        [gone("Boss", e), edge("Boss", g, x, y)],
        {("cardinality_violation", x, "Boss")},
        {"ours": [], "theirs": [gone("Boss", f), edge("Boss", g, x, y)]},
    )
    n = "each adds an edge to one of two allowed"
    x, y, p, e, f, g = (f"{n} {letter}" for letter in "xypefg")
    case(
        n,
        [*node(n), place(p), edge("Seat", e, p, x)],
        [edge("Seat", f, p, y)],
        [edge("Seat", g, p, x)],
        {("cardinality_violation", p, "Seat")},
        {"ours": [], "theirs": [gone("Seat", f), edge("Seat", g, p, x)]},
    )
    n = "each deletes one of two edges where one is needed"
    x, y, p, e, f = (f"{n} {letter}" for letter in "xypef")
    one, two = edge("Seat", e, p, x), edge("Seat", f, p, y)
    case(
        n,
        [*node(n), place(p), one, two],
        [gone("Seat", e)],
        [gone("Seat", f)],
        {("cardinality_violation", p, "Seat")},
        {"ours": [], "theirs": [one, gone("Seat", f)]},
    )
    n = "one deletes an edge and the other adds one"
    x, y, p, e, f = (f"{n} {letter}" for letter in "xypef")
    case(
        n,
        [*node(n), place(p), edge("Seat", e, p, x)],
        [edge("Seat", f, p, y)],
        [gone("Seat", e)],
    )
    n = "each has a place of its own, and one edge is the only one of both"
    x, y, p, q, e = (f"{n} {letter}" for letter in "xypqe")
    case(
        n,
        node(n),
        [place(p), edge("Seat", e, p, x)],
        [place(q), edge("Seat", e, q, x), edge("Home", e, y, q)],
        {("divergent_insert", e, "from"), ("cardinality_violation", q, "Seat")},
        {
            "ours": [],
            "theirs": [
                gone("Place", p),
                place(q),
                edge("Seat", e, q, x),
                edge("Home", e, y, q),
            ],
        },
    )
    return made


CASES = cases()


@pytest.fixture(scope="module", params=WAYS)
def sides(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Graph, Image, Image, Image]:
    graph = make_graph(tmp_path_factory.mktemp("sets") / "g", request.param)
    parts = [
        list(chain.from_iterable(getattr(case, side) for case in CASES.values()))
        for side in ("base", "ours", "theirs")
    ]
    write_rows(graph, "main", parts[0])
    graph.branch_create("feature")
    write_rows(graph, "main", parts[1])
    write_rows(graph, "feature", parts[2])
    base = apply({}, parts[0])
    return graph, base, apply(base, parts[1]), apply(base, parts[2])


def test_all_that_is_wrong_together_is_told_at_once(
    sides: tuple[Graph, Image, Image, Image],
) -> None:
    graph, base, ours, theirs = sides
    with pytest.raises(MergeConflicts) as caught:
        graph.branch_merge("feature")
    found = caught.value.conflicts
    for name, case in CASES.items():
        mine = {(c.kind, c.entity_id, c.property) for c in found if c.entity_id.startswith(name)}
        assert mine == case.conflicts, name
    told = {(c.kind, c.type_name, c.entity_id, c.property) for c in found}
    assert told == reference.conflicts(base, ours, theirs)
    assert image_of(graph, "main") == tidy(ours)


@pytest.mark.pairs
@pytest.mark.parametrize("take", ["ours", "theirs"])
@pytest.mark.parametrize("how", ["one word", "choices"])
def test_what_is_taken_is_what_is_there(
    sides: tuple[Graph, Image, Image, Image], take: str, how: str
) -> None:
    graph, base, ours, theirs = sides
    branch = f"{how.replace(' ', '-')}-{take}"
    graph.branch_create(branch)
    resolve = take if how == "one word" else _choices(graph, branch, take)
    result = graph.branch_merge("feature", branch, resolve=resolve)
    assert result.outcome == "merged"
    image = image_of(graph, branch)
    plain = reference.merged(base, ours, theirs)
    for name, case in CASES.items():
        expected = apply(ours, case.taking[take]) if case.conflicts else plain
        assert _of(image, name) == _of(expected, name), name
    assert not reference.set_conflicts(image, image)


def _choices(graph: Graph, branch: str, take: str) -> list[dict[str, Any]]:
    """A choice for each conflict, and for each that these bring up, until none is told."""
    choices: list[dict[str, Any]] = []
    while told := graph.branch_merge("feature", branch, preview=True, resolve=choices).conflicts:
        choices += [
            {
                "type": conflict.type_name,
                "id": conflict.entity_id,
                "property": conflict.property,
                "kind": conflict.kind,
                "take": take,
            }
            for conflict in told
        ]
    return choices


def _of(image: Image, name: str) -> Image:
    """The rows of one case."""
    return tidy(
        {
            kind: {id_: row for id_, row in rows.items() if id_.startswith(name)}
            for kind, rows in image.items()
        }
    )
