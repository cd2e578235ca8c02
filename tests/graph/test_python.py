"""First calls from Python: paths, parameters, the past, and errors that nobody catches."""

import os
import pickle
import pydoc
import subprocess
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import omnigraph
from omnigraph import Graph, OmnigraphError
from omnigraph.base.errors import ArgumentInvalid, CommitMissing, LimitExceeded
from omnigraph.engine.handles.at import At

SCHEMA = """
node Person {
    email: String @key
    age: I64?
    height: F64?
    is_active: Bool?
    born: Date?
    seen: DateTime?
    photo: Blob?
}
"""
AGE = (
    "query age($email: String) { match { $p: Person { email: $email } } return { $p.age as age } }"
)
GROW = 'query grow($age: I64) { update Person set { age: $age } where email = "ada@x" }'
BIG = 2**62 + 1


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    ada = {
        "email": "ada@x",
        "age": BIG,
        "is_active": True,
        "born": "0001-01-01",
        "seen": "9999-12-31T00:00:00Z",
        "photo": "base64:aGk=",
    }
    rows: list[dict[str, Any]] = [ada, {"email": "bob@x"}]
    graph.load([{"type": "Person", "data": row} for row in rows], mode="append")
    return graph


# The package --------------------------------------------------------------------------------------


def test_what_is_imported_on_first_use_is_seen_before() -> None:
    code = "import sys, omnigraph; print(dir(omnigraph)); print('pyarrow' in sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names, is_loaded = listed.stdout.splitlines()
    assert "'Graph'" in names and is_loaded == "False"
    assert "class Graph" in pydoc.plain(pydoc.render_doc(omnigraph))


def test_handles_and_answers_say_what_they_are(graph: Graph) -> None:
    commit = graph.commits(limit=1)[0]
    assert repr(graph) == f"<Graph {graph.uri}>"
    assert repr(Graph.open(graph.uri, read_only=True)) == f"<Graph {graph.uri}, read only>"
    assert repr(graph.snapshot()).startswith(f"<At {commit.graph_commit_id}: load on main, 20")
    again = graph.load(
        [{"type": "Person", "data": {"email": "cid@x"}}], mode="append", dry_run=True
    )
    assert repr(again) == "<LoadResult of append into main: 1 entity, no commit, a dry run>"
    answer = graph.query(AGE, {"email": "ada@x"})
    assert repr(answer) == f"<QueryResult of age: 1 row (age) at {commit.graph_commit_id}>"


# Arguments ----------------------------------------------------------------------------------------


class Place(os.PathLike[str]):
    """A path that is no `Path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


@pytest.mark.parametrize("made", [Path, Place, str])
def test_a_path_may_be_a_path_wherever_one_goes(tmp_path: Path, made: Any) -> None:
    def at(name: str) -> Any:
        return made(tmp_path / name)

    (tmp_path / "g.pg").write_text(SCHEMA)
    (tmp_path / "g.gq").write_text(f"{AGE}\n{GROW}")
    (tmp_path / "people.csv").write_text("email,age\nada@x,36\nbob@x,old\n")
    (tmp_path / "m.yaml").write_text("node: Person")
    Graph.init(at("g.omni"), at("g.pg"))
    graph = Graph.open(at("g.omni"))
    aside: dict[str, Any] = {"on_error": "quarantine", "quarantine": at("bad")}
    how: dict[str, Any] = {"mode": "append", "engine": "local", "mapping": at("m.yaml")}
    assert graph.load([at("people.csv")], **how, **aside).rejected == 1
    assert (tmp_path / "bad" / "report.json").exists()
    graph.mutate(at("g.gq"), "grow", {"age": 37})
    assert graph.query(at("g.gq"), "age", {"email": "ada@x"}).to_pylist() == [{"age": 37}]
    assert "Person" in str(graph.explain(at("g.gq"), "age"))
    graph.export(at("all.jsonl"))
    graph.export(at("all"), format="parquet")
    assert graph.load(at("all.jsonl"), mode="merge", engine="local").total_entities == 1


def test_parameters_may_stand_where_a_name_is_left_out(graph: Graph) -> None:
    ada = {"email": "ada@x"}
    asked = [
        graph.query(AGE, ada),
        graph.query(AGE, None, ada),
        graph.query(AGE, "age", ada),
        graph.query(AGE, params=ada),
        graph.snapshot().query(AGE, ada),
    ]
    assert [answer.to_pylist() for answer in asked] == [[{"age": BIG}]] * 5
    assert " ms " in str(graph.explain(AGE, ada, analyze=True))
    assert graph.mutate(GROW, {"age": 5}).affected_nodes == 1


@pytest.mark.parametrize(
    ("name", "params", "told"),
    [
        (
            {"email": "ada@x"},
            {},
            r"the name must come before the parameters: \(source, name, params\)",
        ),
        (7, None, "it must be the name of a query, as text"),
        ("age", ["ada@x"], "it must be a dict of values by name"),
        ("age", "ada@x", "it must be a dict of values by name"),
    ],
)
def test_a_name_or_parameters_of_another_kind_are_refused_with_the_right_way(
    graph: Graph, name: Any, params: Any, told: str
) -> None:
    for call in (graph.query, graph.mutate, graph.explain, graph.snapshot().query):
        with pytest.raises(ArgumentInvalid, match=told):
            call(AGE, name, params)


@pytest.mark.parametrize("source", [None, 7, ["query"]])
def test_a_text_of_another_kind_is_refused_with_what_is_one(graph: Graph, source: Any) -> None:
    for call in (graph.query, graph.mutate, graph.explain, graph.snapshot().query, graph.spark):
        with pytest.raises(ArgumentInvalid, match=r"the text of queries, or the path of a \.gq"):
            call(source)
    for change in (graph.schema_plan, graph.schema_apply):
        with pytest.raises(ArgumentInvalid, match=r"the text of a schema, or the path of a \.pg"):
            change(source)


@pytest.mark.parametrize("given", [5, [5], [None]], ids=str)
def test_names_of_another_kind_are_refused(graph: Graph, tmp_path: Path, given: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: graph.neighborhood("Person", "ada@x", edges=given),
        lambda: graph.find("ada", types=given),
        lambda: graph.export(tmp_path / "out", types=given),
        lambda: graph.spark("Person", columns=given),
        lambda: graph.analytics.degrees(given),
    ]
    for call in calls:
        with pytest.raises(ArgumentInvalid, match="it must be a name"):
            call()
    assert not (tmp_path / "out").exists()


# The past -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limit",
    [
        {"timeout_s": -1},
        {"timeout_s": float("nan")},
        {"timeout_s": "1"},
        {"memory_bytes": -1},
        {"memory_bytes": float("nan")},
        {"memory_bytes": True},
        {"cancel": True},
    ],
    ids=str,
)
def test_a_limit_that_is_none_is_refused_by_its_name(graph: Graph, limit: dict[str, Any]) -> None:
    ada, name = {"email": "ada@x"}, next(iter(limit))
    calls: list[Callable[[], Any]] = [
        lambda: graph.query(AGE, ada, **limit),
        lambda: graph.query(AGE, ada, engine="spark", **limit),
        lambda: graph.analytics.degrees(**limit),
    ]
    for call in calls:
        with pytest.raises(ArgumentInvalid, match=name):
            call()


@pytest.mark.parametrize("limit", [{"timeout_s": 0}, {"memory_bytes": 0}], ids=str)
def test_a_limit_of_nothing_lets_nothing_through(graph: Graph, limit: dict[str, Any]) -> None:
    pairs = "query q() { match { $a: Person  $b: Person } return { $a.email, $b.age } }"
    with pytest.raises(LimitExceeded):
        graph.query(pairs, **limit)


def test_the_past_is_asked_by_itself_or_named_in_a_question(graph: Graph, tmp_path: Path) -> None:
    before = graph.commits(limit=1)[0]
    held = [graph.snapshot(), graph.at(before), graph.at(before.graph_commit_id)]
    held += [graph.at(datetime.now(UTC)), graph.at(held[0])]
    graph.mutate(GROW, {"age": 5})
    assert graph.query(AGE, {"email": "ada@x"}).to_pylist() == [{"age": 5}]
    moments: list[Any] = [before, *held, Graph.open(graph.uri).at(before)]
    for number, moment in enumerate(moments):
        past = graph.query(AGE, {"email": "ada@x"}, snapshot=moment)
        assert (past.to_pylist(), past.graph_commit_id) == ([{"age": BIG}], before.graph_commit_id)
        assert graph.blob("node", "Person", "ada@x", "photo", snapshot=moment).read() == b"hi"
        assert "Person" in str(graph.explain(AGE, snapshot=moment))
        done = graph.export(tmp_path / f"{number}.jsonl", snapshot=moment)
        assert done.graph_commit_id == before.graph_commit_id
    for number, moment in enumerate(held):
        assert moment.query(AGE, {"email": "ada@x"}).to_pylist() == [{"age": BIG}]
        assert moment.blob("node", "Person", "ada@x", "photo").read() == b"hi"
        assert "Person" in str(moment.explain(AGE))
        assert moment.export(tmp_path / f"own-{number}.jsonl").nodes == {"Person": 2}
        assert moment.stats().tables["node:Person"].row_count == 2  # type: ignore[index]
        assert (moment.commit, moment.branch) == (before, "main")
        assert [node.name for node in moment.schema().catalog.nodes] == ["Person"]


def test_a_moment_of_another_graph_or_of_no_kind_is_refused(graph: Graph, tmp_path: Path) -> None:
    other = Graph.init(tmp_path / "other.omni", SCHEMA)
    with pytest.raises(CommitMissing):
        graph.query(AGE, snapshot=other.snapshot())
    nothing: Any = 1.5
    with pytest.raises(ArgumentInvalid, match="a manifest version, or a time"):
        graph.query(AGE, snapshot=nothing)
    assert isinstance(graph.snapshot(), At)


# Errors that nobody catches -----------------------------------------------------------------------


def test_a_traceback_points_at_the_mistake_and_gives_the_hint_once(graph: Graph) -> None:
    with pytest.raises(OmnigraphError) as caught:
        graph.query("query q() {\n    match { $p: Persn }\n    return { $p.age }\n}")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        shown = "".join(traceback.format_exception(error))
        assert "2 |     match { $p: Persn }\n  |                 ^^^^^\n" in shown
        assert shown.count("hint: did you mean Person?") == 1
    with pytest.raises(OmnigraphError) as caught:
        graph.query(AGE, branch="mian")
    assert "".join(traceback.format_exception(caught.value)).count("hint:") == 1


# pandas -------------------------------------------------------------------------------------------


def test_a_frame_has_the_types_of_the_query_whatever_is_null(graph: Graph) -> None:
    fields = "$p.age as age, $p.height as height, $p.is_active as is_active"
    times = "$p.born as born, $p.seen as seen, $p.email as email"
    text = (
        f"query q() {{ match {{ $p: Person }} return {{ {fields}, {times} }} order {{ email }} }}"
    )
    answer = graph.query(text)
    frame = answer.to_pandas()
    assert frame.dtypes.astype(str).to_dict() == {
        "age": "Int64",
        "height": "float64",
        "is_active": "boolean",
        "born": "datetime64[ms]",
        "seen": "datetime64[ms, UTC]",
        "email": "object",
    }
    assert frame["age"][0] == BIG and frame["is_active"][0]
    assert frame.loc[1, "age":"seen"].isna().all()
    assert (frame["born"][0].year, frame["seen"][0].year) == (1, 9999)
    for rows in (answer.to_arrow().slice(0, 1), answer.to_arrow().slice(1)):
        part = type(answer)(answer.query_name, answer.graph_commit_id, rows)
        assert part.to_pandas().dtypes.equals(frame.dtypes)
    again = graph.load({"Person": frame.assign(email=["c@x", "d@x"])}, mode="append")
    assert again.nodes == {"Person": 2}
    copied = graph.query(AGE, {"email": "c@x"}).to_pylist()
    assert copied == [{"age": BIG}]


@pytest.mark.parametrize(
    "nothing",
    [
        pandas.Series([np.nan, np.nan]),
        pandas.Series([np.nan, np.nan], dtype=object),
        pandas.Series([pandas.NaT, pandas.NaT]),
        pandas.Series([pandas.NA, pandas.NA], dtype="Int64"),
    ],
    ids=["floats", "objects", "times", "integers"],
)
def test_a_column_of_a_frame_without_a_value_is_null_whatever_its_type(
    graph: Graph, nothing: Any
) -> None:
    columns = ["age", "height", "is_active", "born", "seen", "photo"]
    frame = pandas.DataFrame({"email": ["ada@x", "eve@x"], **dict.fromkeys(columns, nothing)})
    assert graph.load({"Person": frame}, mode="merge").nodes == {"Person": 2}
    assert graph.query(AGE, {"email": "ada@x"}).to_pylist() == [{"age": None}]
    text = graph.query('query q() { match { $p: Person { email: "eve@x" } } return { $p } }')
    assert set(text.to_pylist()[0]["p"].values()) == {None, "eve@x"}
