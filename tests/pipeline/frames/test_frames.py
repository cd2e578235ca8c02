"""A frame of a type has the rows of an export of the same commit."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar
from omnigraph.errors import ArgumentInvalid, LanguageError, LocalOnly, NameMissing, Unsupported
from omnigraph.lang.plan.ir import ROW, Compare, CompareOp, Literal, PropertyOf
from omnigraph.pipeline.spark.session import Spark
from tests.reference.table_policy import Role, Sees, TablePolicy

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SCHEMA = """
node Person {
    name: String @key  age: I32?  team: String?  big: U64?  small: U32?  born: DateTime?  day: Date?
    tags: [String]?  halves: [F32]?  place: Vector(2)?  photo: Blob?  height: F32?
}
node Pet { id: String? }
edge Knows: Person -> Person { since: I32?  _src: String?  _dst: I32?  siNce: I32? }
"""
PEOPLE: list[dict[str, Any]] = [
    {
        "type": "Person",
        "data": {
            "name": "ada",
            "age": 36,
            "team": "red",
            "big": 2**64 - 1,
            "small": 2**32 - 1,
            "born": "0001-01-01T00:00:00.001Z",
            "day": "9999-12-31",
            "tags": ["x", "y"],
            "halves": [0.5, 1.5],
            "place": [0.5, 2.0],
            "photo": b"bytes",
            "height": 1.7,
        },
    },
    *({"type": "Person", "data": {"name": n, "team": t, "age": a}} for n, t, a in [
        ("alan", "red", 41), ("bo", "blue", None), ("cy", "blue", 7)
    ]),
    *({"edge": "Knows", "from": a, "to": b, "data": {"since": s, "_src": "x"}} for a, b, s in [
        ("ada", "alan", 1), ("ada", "bo", 2), ("bo", "cy", 3), ("alan", "alan", None)
    ]),
]  # fmt: skip
EDIT = """
query grow($name: String, $age: I32) { update Person set { age: $age } where name = $name }
query leave($name: String) { delete Person where name = $name }
"""
PERSON = TypeName("Person")
REDS = Compare(
    CompareOp.EQ,
    PropertyOf(ROW, "team", Scalar.STRING, is_nullable=True),
    Literal("red", Scalar.STRING),
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph with rows in several files, some of them deleted, and a branch."""
    place = tmp_path_factory.mktemp("frames") / "g.omni"
    graph = Graph.init(place, SCHEMA, durability="relaxed")
    graph.load(PEOPLE, mode="append")
    graph.load([{"type": "Person", "data": {"name": "dee", "age": 50}}], mode="append")
    graph.mutate(EDIT, "grow", {"name": "alan", "age": 42})
    graph.mutate(EDIT, "leave", {"name": "cy"})
    graph.branch_create("side")
    graph.mutate(EDIT, "leave", {"name": "dee"}, branch="side")
    return graph


def exported(export: Callable[..., Any], type_: str) -> list[dict[str, Any]]:
    """The rows of an export, as a frame without blobs has them."""
    written = io.BytesIO()
    export(written, types=[type_])
    rows = []
    for line in map(json.loads, written.getvalue().splitlines()):
        ends = {end: line[end] for end in ("from", "to") if end in line}
        rows.append({"id": line["id"], **ends, **line.get("data", {})})
    return sorted(rows, key=str)


def told(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame, as JSON has them; a null is left out."""

    def plain(value: Any) -> Any:
        if isinstance(value, list | int | float | str) or value is None:
            return value
        if hasattr(value, "isoformat"):
            return value.isoformat()
        return int(value)

    rows = (row.asDict() for row in frame.collect())
    return sorted(({k: plain(v) for k, v in row.items() if v is not None} for row in rows), key=str)


def without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in names} for row in rows]


def test_a_frame_has_the_rows_of_an_export_at_any_commit(graph: Graph, spark: Spark) -> None:
    # Arrow's own times: Python's would pass through the zone of this machine.
    odd = ("born", "photo", "height")
    session = spark.session
    for place in (graph, graph.branch("side"), graph.at(graph.commits()[-2])):
        frame = place.spark("Person", spark=session)
        assert without(told(frame.drop(*odd)), *odd) == without(
            exported(place.export, "Person"), *odd
        )
        assert told(place.spark("Knows", spark=session)) == exported(place.export, "Knows")


def test_no_value_changes_on_its_way_to_spark(graph: Graph, spark: Spark) -> None:
    columns = ["name", "born", "day", "photo", "height", "big", "small", "place", "tags"]
    frame = graph.spark("Person", columns=columns, where='name = "ada"', spark=spark.session)
    assert frame.columns == columns
    (row,) = frame.selectExpr(
        "name",
        "unix_millis(born) as born",
        "unix_date(day) as day",
        "photo",
        "cast(height as double) as height",
        "cast(big as string) as big",
        "small",
        "place",
        "tags",
    ).collect()
    assert row.asDict() == {
        "name": "ada",
        "born": -62135596800000 + 1,
        "day": 2932896,
        "photo": b"bytes",
        "height": 1.7000000476837158,
        "big": str(2**64 - 1),
        "small": 2**32 - 1,
        "place": [0.5, 2.0],
        "tags": ["x", "y"],
    }


def test_one_column_is_named_by_a_text(graph: Graph, spark: Spark) -> None:
    assert graph.spark("Person", columns="team", spark=spark.session).columns == ["team"]


def test_names_that_differ_only_in_case_are_two_columns(graph: Graph, spark: Spark) -> None:
    edges = graph.spark("Knows", spark=spark.session)
    assert {"since", "siNce"} <= set(edges.columns)
    spark.session.conf.set("spark.sql.caseSensitive", "true")
    try:
        rows = {tuple(row) for row in edges.select("since", "siNce").collect()}
        assert rows == {(1, None), (2, None), (None, None)}
    finally:
        spark.session.conf.unset("spark.sql.caseSensitive")


def test_a_where_is_that_of_a_mutation(graph: Graph, spark: Spark) -> None:
    def names(where: str) -> list[str]:
        frame = graph.spark("Person", columns=["name"], where=where, spark=spark.session)
        return sorted(row.name for row in frame.collect())

    assert names('age > 36 and team = "red"') == ["alan"]
    assert names('tags contains "y"') == ["ada"]
    assert names("age is null") == ["bo"]
    assert names("big > 1.5") == ["ada"]


def test_a_compaction_changes_no_row_and_a_frame_stays_at_its_commit(
    tmp_path: Path, spark: Spark
) -> None:
    graph = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    for number in range(3):
        data = {"name": f"p{number}", "age": number}
        graph.load([{"type": "Person", "data": data}], mode="append")
    before = graph.spark("Person", spark=spark.session)
    rows = told(before)
    assert before.rdd.getNumPartitions() == 3
    graph.optimize()
    after = graph.spark("Person", spark=spark.session)
    assert after.rdd.getNumPartitions() == 1
    assert told(after) == told(before) == rows
    graph.mutate(EDIT, "leave", {"name": "p0"})
    assert told(before) == rows and len(told(graph.spark("Person", spark=spark.session))) == 2


def test_a_frame_shows_what_its_actor_may_see(graph: Graph, spark: Spark) -> None:
    sees = Sees({PERSON: REDS}, hidden_properties={PERSON: frozenset({"team", "age"})})
    policy = TablePolicy(
        {"someone": Role(sees), "blind": Role(Sees(hidden_types=frozenset({PERSON})))}
    )
    seen = graph.under_policy(policy).as_actor("someone")
    frame = seen.spark("Person", spark=spark.session)
    assert "team" not in frame.columns and "age" not in frame.columns
    assert [row.name for row in frame.select("name").orderBy("name").collect()] == ["ada", "alan"]
    # An edge goes with its ends, whichever columns are asked for.
    edges = seen.spark("Knows", columns=["since"], spark=spark.session)
    assert told(edges) == without(exported(seen.export, "Knows"), "id", "from", "to", "_src")
    assert len(told(edges)) == 2
    assert told(seen.spark("Knows", spark=spark.session)) == exported(seen.export, "Knows")
    with pytest.raises(LanguageError):
        seen.spark("Person", where="age > 3", spark=spark.session)
    for type_ in ("Person", "Knows"):
        with pytest.raises(NameMissing):
            graph.under_policy(policy).as_actor("blind").spark(type_, spark=spark.session)


def test_a_frame_is_read_from_a_bucket(bucket: str, spark: Spark, monkeypatch: Any) -> None:
    import os

    from tests.buckets import ENDPOINT, bucket_variables

    for name, value in bucket_variables(os.environ[ENDPOINT]).items():
        monkeypatch.setenv(name, value)
    graph = Graph.init(bucket, SCHEMA)
    graph.load(PEOPLE[1:4], mode="append")
    frame = graph.spark("Person", columns=["name"], spark=spark.session)
    assert sorted(row.name for row in frame.collect()) == ["alan", "bo", "cy"]


def test_what_a_frame_cant_be_is_told(graph: Graph, spark: Spark) -> None:
    session = spark.session
    with pytest.raises(NameMissing, match="type named Persn"):
        graph.spark("Persn", spark=session)
    with pytest.raises(NameMissing, match="column of Person named agee"):
        graph.spark("Person", columns=["agee"], spark=session)
    # Of a frame without columns Spark would count no rows.
    with pytest.raises(ArgumentInvalid, match="one column or more"):
        graph.spark("Person", columns=[], spark=session)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"columns": 5}, "columns '5': it must be a name"),
        ({"columns": [None]}, "columns 'None': it must be a name"),
        ({"where": 5}, "where '5': it must be text"),
        ({"spark": "local"}, "spark 'str': it must be a session of Spark"),
    ]
    for given, told_ in wrong:
        with pytest.raises(ArgumentInvalid, match=told_):
            graph.spark("Person", **given)
    with pytest.raises(LanguageError):
        graph.spark("Person", where="agee > 3", spark=session)
    with pytest.raises(LanguageError, match="found delete"):
        graph.spark("Person", where="age > 3 delete Person where age > 4", spark=session)
    with pytest.raises(ArgumentInvalid, match="params"):
        graph.spark("Person", None, {"a": 1}, spark=session)
    with pytest.raises(ArgumentInvalid, match="columns"):
        graph.spark("query q() { match { $p: Person } return { $p.name } }", columns=["name"])
    with pytest.raises(Unsupported, match="Pet"):
        graph.spark("Pet", spark=session)
    with pytest.raises(LocalOnly):
        Graph.connect("http://127.0.0.1:1/graphs/people", token="t").spark("Person")
