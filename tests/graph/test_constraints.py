"""Every rule of a schema on every way in: the same rows get the same verdict.

One graph holds what is committed already; each cell of the table writes on a branch of its own. A
verdict is the set of (kind, type, property) that the report counts; an empty one lets the rows in.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import (
    ConstraintViolated,
    KeyTaken,
    OmnigraphError,
    ParameterInvalid,
    TypeCheckFailed,
)
from omnigraph.base.violations import Violations

SCHEMA = """
node Plain {
    code: String @key
    must: String
    size: I32?
    kind: enum(a, b)?
    grade: I32?
    mail: String?
    tags: [I32]?
    spot: Vector(2)?
    @range(grade, 1..5)
    @check(mail, "@")
}
node Pair { a: String  b: I32  note: String?  @key(a, b) }
node Badge {
    name: String @key
    number: I64? @unique
    team: String?
    seat: U32?
    @unique(team, seat)
}
node Gauge { name: String @key  level: F64? @unique  serial: U64? @unique  day: Date? @unique }
node Hub { name: String @key }
node Owner { name: String @key }
edge Wire: Hub -> Hub
edge Once: Hub -> Hub @card(0..1)
edge Tie: Hub -> Hub { since: I32?  @key(src, dst)  @unique(since) }
edge Owns: Owner -> Hub @card(1..2)
"""

Row = dict[str, Any]
Verdict = frozenset[tuple[str, str | None, str | None]]
FINE: Verdict = frozenset()


def node(type_: str, **data: Any) -> Row:
    return {"type": type_, "data": data}


def edge(type_: str, source: str, target: str, **data: Any) -> Row:
    return {"edge": type_, "from": source, "to": target, "data": data}


def broken(kind: str, type_: str, property_: str | None = None) -> Verdict:
    return frozenset({(kind, type_, property_)})


COMMITTED = [
    node("Plain", code="x", must="m"),
    node("Pair", a="p", b=1),
    node("Badge", name="held", number=1, team="red", seat=1),
    node("Gauge", name="zero", level=0.0, serial=2**63, day="2024-02-29"),
    *(node("Hub", name=name) for name in ("h1", "h2", "h3")),
    node("Owner", name="o"),
    edge("Once", "h1", "h2"),
    edge("Tie", "h1", "h2", since=1),
    edge("Owns", "o", "h1"),
]
COMMITTED_AND_DELETED = [
    node("Plain", code="gone", must="m"),
    node("Badge", name="gone", number=9, team="red", seat=9),
    node("Hub", name="gone"),
    edge("Once", "h2", "h1"),
    edge("Tie", "h2", "h1", since=9),
]
DELETIONS = """query q() {
    delete Plain where code = "gone"
    delete Badge where name = "gone"
    delete Hub where name = "gone"
    delete Once where from = "h2"
    delete Tie where from = "h2"
}"""


@dataclass(frozen=True)
class Case:
    rows: Sequence[Row]
    verdict: Verdict = FINE
    but: Mapping[str, Verdict | type[OmnigraphError]] = field(default_factory=dict)
    """Ways in on which the rule means something else, and what."""


# The language knows the types of its parameters, and a mutation gives no ids.
TYPED: dict[str, Verdict | type[OmnigraphError]] = {"mutation": ParameterInvalid}
NO_IDS: dict[str, Verdict | type[OmnigraphError]] = {"mutation": TypeCheckFailed}
# What replaces rows has no quarrel with the rows it replaces.
REPLACES: dict[str, Verdict | type[OmnigraphError]] = {"overwrite": FINE}
UPSERTS: dict[str, Verdict | type[OmnigraphError]] = {"mutation": FINE, "merge": FINE}

CASES = {
    # One row
    "a required value is null": Case(
        [node("Plain", code="n", must=None)], broken("required", "Plain", "must")
    ),
    "a required value is left out": Case(
        [node("Plain", code="n")], broken("required", "Plain", "must"), NO_IDS
    ),
    "a value has another type": Case(
        [node("Plain", code="n", must="m", size="big")], broken("type", "Plain", "size"), TYPED
    ),
    "an integer is too large": Case(
        [node("Plain", code="n", must="m", size=2**40)], broken("type", "Plain", "size"), TYPED
    ),
    "a word is not of the enum": Case(
        [node("Plain", code="n", must="m", kind="c")], broken("enum", "Plain", "kind")
    ),
    "a number is out of range": Case(
        [node("Plain", code="n", must="m", grade=6)], broken("range", "Plain", "grade")
    ),
    "a text does not match": Case(
        [node("Plain", code="n", must="m", mail="nowhere")], broken("check", "Plain", "mail")
    ),
    "an item of a list has another type": Case(
        [node("Plain", code="n", must="m", tags=[1, "x"])], broken("type", "Plain", "tags"), TYPED
    ),
    "an item of a list is null": Case(
        [node("Plain", code="n", must="m", tags=[1, None])], broken("type", "Plain", "tags"), TYPED
    ),
    "a vector is too short": Case(
        [node("Plain", code="n", must="m", spot=[1.0])], broken("type", "Plain", "spot"), TYPED
    ),
    "a vector is all zeros": Case(
        [node("Plain", code="n", must="m", spot=[0.0, -0.0])], broken("type", "Plain", "spot")
    ),
    "everything fits": Case(
        [
            node(
                "Plain",
                code="n",
                must="m",
                size=-(2**31),
                kind="b",
                grade=5,
                mail="a@b",
                tags=[],
                spot=[1.0, 2.0],
            )
        ]
    ),
    "two rows break two rules each": Case(
        [
            node("Plain", code="n", must=None, grade=0),
            node("Plain", code="o", must="m", grade=9, kind="c"),
        ],
        frozenset(
            {
                ("required", "Plain", "must"),
                ("range", "Plain", "grade"),
                ("enum", "Plain", "kind"),
            }
        ),
    ),
    # Keys
    "an id contradicts the key": Case(
        [{**node("Plain", code="n", must="m"), "id": "another"}], broken("key", "Plain"), NO_IDS
    ),
    "a key comes twice": Case(
        [node("Plain", code="n", must="m"), node("Plain", code="n", must="l")],
        broken("key", "Plain"),
        UPSERTS,
    ),
    "a key is there": Case(
        [node("Plain", code="x", must="l")], broken("key", "Plain"), UPSERTS | REPLACES
    ),
    "a key was deleted": Case([node("Plain", code="gone", must="l")]),
    "a composite key comes twice": Case(
        [node("Pair", a="n", b=1), node("Pair", a="n", b=1)], broken("key", "Pair"), UPSERTS
    ),
    "a composite key is there": Case(
        [node("Pair", a="p", b=1, note="n")], broken("key", "Pair"), UPSERTS | REPLACES
    ),
    "half of a composite key is there": Case([node("Pair", a="p", b=2)]),
    "a part of a key is null": Case([node("Pair", a="p", b=None)], broken("required", "Pair", "b")),
    "a keyed edge comes twice": Case(
        [edge("Tie", "h3", "h1"), edge("Tie", "h3", "h1", since=5)], broken("key", "Tie"), UPSERTS
    ),
    "a keyed edge is there": Case(
        [edge("Tie", "h1", "h2", since=5)], broken("key", "Tie"), UPSERTS | REPLACES
    ),
    "a keyed edge was deleted": Case([edge("Tie", "h2", "h1", since=5)]),
    # Unique
    "a unique value comes twice": Case(
        [node("Badge", name="n", number=5), node("Badge", name="o", number=5)],
        broken("unique", "Badge", "number"),
    ),
    "a unique value is there": Case(
        [node("Badge", name="n", number=1)], broken("unique", "Badge", "number"), REPLACES
    ),
    "a unique value was deleted": Case([node("Badge", name="n", number=9, team="red", seat=9)]),
    "nulls are not unique": Case([node("Badge", name="n"), node("Badge", name="o", number=None)]),
    "a unique tuple comes twice": Case(
        [node("Badge", name="n", team="red", seat=2), node("Badge", name="o", team="red", seat=2)],
        broken("unique", "Badge", "seat, team"),
    ),
    "a unique tuple is there": Case(
        [node("Badge", name="n", team="red", seat=1)],
        broken("unique", "Badge", "seat, team"),
        REPLACES,
    ),
    "half of a unique tuple is there": Case([node("Badge", name="n", team="red", seat=3)]),
    "a null exempts a tuple": Case(
        [node("Badge", name="n", team="red"), node("Badge", name="o", team="red")]
    ),
    "a row keeps its own unique value": Case(
        [node("Badge", name="held", number=1, team="blue", seat=1)],
        frozenset({("key", "Badge", None), ("unique", "Badge", "number")}),
        UPSERTS | REPLACES,
    ),
    "a row frees a unique value for another": Case(
        [node("Badge", name="held", number=2), node("Badge", name="n", number=1)],
        frozenset({("key", "Badge", None), ("unique", "Badge", "number")}),
        UPSERTS | REPLACES,
    ),
    "minus zero is zero": Case(
        [node("Gauge", name="n", level=-0.0)], broken("unique", "Gauge", "level"), REPLACES
    ),
    "a unique unsigned number is there": Case(
        [node("Gauge", name="n", serial=2**63)], broken("unique", "Gauge", "serial"), REPLACES
    ),
    "a unique date is there": Case(
        [node("Gauge", name="n", day="2024-02-29")], broken("unique", "Gauge", "day"), REPLACES
    ),
    "a unique value of edges is there": Case(
        [edge("Tie", "h3", "h1", since=1)], broken("unique", "Tie", "since"), REPLACES
    ),
    # Ends
    "a source is missing": Case([edge("Wire", "nobody", "h1")], broken("endpoint", "Wire", "from")),
    "a target is missing": Case([edge("Wire", "h1", "nobody")], broken("endpoint", "Wire", "to")),
    "a target was deleted": Case([edge("Wire", "h1", "gone")], broken("endpoint", "Wire", "to")),
    "both ends are there": Case([edge("Wire", "h1", "h2"), edge("Wire", "h1", "h2")]),
    "an end comes with its edge": Case(
        [edge("Wire", "new", "new"), node("Hub", name="new")],
        FINE,
        # The other hubs would be gone, and edges of types that stay need them.
        {
            "overwrite": frozenset(
                {
                    ("endpoint", "Once", "from"),
                    ("endpoint", "Once", "to"),
                    ("endpoint", "Tie", "from"),
                    ("endpoint", "Tie", "to"),
                    ("endpoint", "Owns", "to"),
                }
            )
        },
    ),
    # Cardinality
    "one source has too many edges": Case(
        [edge("Once", "h3", "h1"), edge("Once", "h3", "h2")], broken("cardinality", "Once")
    ),
    "a source has an edge too many with those there": Case(
        [edge("Once", "h1", "h3")], broken("cardinality", "Once"), REPLACES
    ),
    "a deleted edge leaves room": Case([edge("Once", "h2", "h3")]),
    "a source has as many as it may": Case([edge("Owns", "o", "h2")]),
    "a source has one more than it may": Case(
        [edge("Owns", "o", "h2"), edge("Owns", "o", "h3")], broken("cardinality", "Owns"), REPLACES
    ),
    "a source lacks its edge": Case(
        [node("Owner", name="n")],
        broken("cardinality", "Owns"),
        {"overwrite": frozenset({("cardinality", "Owns", None), ("endpoint", "Owns", "from")})},
    ),
    "a source comes with its edge": Case([node("Owner", name="n"), edge("Owns", "n", "h1")]),
}


# Ways in ------------------------------------------------------------------------------------------


def mutate(graph: Graph, rows: Sequence[Row], branch: str, folder: Path) -> Any:
    """Insert statements, every value a nullable parameter."""
    catalog = graph.schema().catalog
    statements: list[str] = []
    declared: list[str] = []
    params: dict[str, Any] = {}
    for row in rows:
        name = row.get("type") or row["edge"]
        entity = catalog.node_by_name.get(name) or catalog.edge_by_name[name]
        values = []
        for member, value in row["data"].items():
            parameter = f"p{len(params)}"
            params[parameter] = value
            type_ = str(entity.by_name[member].type)
            declared.append(f"${parameter}: {'String' if type_.startswith('enum') else type_}?")
            values.append(f"{member}: ${parameter}")
        values += [f'{end}: "{row[end]}"' for end in ("from", "to") if end in row]
        values += [f'id: "{row["id"]}"'] if "id" in row else []
        statements.append(f"insert {name} {{ {', '.join(values)} }}")
    text = f"query q({', '.join(declared)}) {{ {' '.join(statements)} }}"
    return graph.mutate(text, params=params, branch=branch)


def load(mode: LoadModeName) -> Callable[[Graph, Sequence[Row], str, Path], Any]:
    def run(graph: Graph, rows: Sequence[Row], branch: str, folder: Path) -> Any:
        file = folder / "rows.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return graph.load(file, mode=mode, engine="local", branch=branch)

    return run


WAYS = {
    "mutation": mutate,
    "append": load("append"),
    "merge": load("merge"),
    "overwrite": load("overwrite"),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    folder = tmp_path_factory.mktemp("constraints")
    with Graph.init(str(folder / "g"), SCHEMA, durability="relaxed") as graph:
        load("append")(graph, [*COMMITTED, *COMMITTED_AND_DELETED], "main", folder)
        graph.mutate(DELETIONS)
        yield graph


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_rule_gives_the_same_verdict_on_every_way_in(
    graph: Graph, tmp_path: Path, name: str, way: str
) -> None:
    case = CASES[name]
    expected = case.but.get(way, case.verdict)
    branch = f"{way}/{name.replace(' ', '-')}"
    graph.branch_create(branch)
    head = graph.commits(branch, limit=1)
    try:
        result = WAYS[way](graph, case.rows, branch, tmp_path)
    except (ConstraintViolated, KeyTaken) as error:
        assert frozenset(error.violations.counts) == expected
        assert_located(error.violations, is_load=way != "mutation")
    except OmnigraphError as error:
        assert type(error) is expected
    else:
        assert expected == FINE
        assert result.commit is not None
        return
    assert graph.commits(branch, limit=1) == head


def assert_located(violations: Violations, *, is_load: bool) -> None:
    """Each says which row it is about: by its line, or by its id where it has one."""
    for violation in violations.examples:
        if is_load:
            assert violation.line is not None or "would be gone" in violation.message
        else:
            lacks_key = (violation.type_name, violation.kind) == ("Pair", "required")
            assert (violation.entity_id is None) == lacks_key
