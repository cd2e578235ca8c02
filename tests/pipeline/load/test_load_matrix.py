"""Every mode × every form of input × every kind of violation: the same verdict, on both engines.

In process every two of them meet. On Spark every mode, form and violation stands at least once. In
a deep run the whole product is run on both. One graph serves them all: what is refused changes
nothing, and what is accepted goes to a branch of its own.
"""

import itertools
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import ConstraintViolated, KeyTaken
from omnigraph.pipeline.spark.session import Spark
from tests.matrices import covering
from tests.pipeline.forms import FORMS, Data
from tests.pipeline.world import SCHEMA

GOOD: Data = {
    "Person": [
        {"email": f"{n}@x", "name": n, "age": age, "status": "active", "born": None}
        for n, age in (("ada", 36), ("bob", None), ("eve", 3))
    ],
    "City": [{"code": 1}, {"code": 2}],
    "Pair": [{"a": "p", "b": 1}],
    "Knows": [{"from": "ada@x", "to": "bob@x", "since": "2020-01-31"}],
    "LivesIn": [{"from": "ada@x", "to": "1"}],
    "Has": [{"from": f"{n}@x", "to": '["p","1"]'} for n in ("ada", "bob", "eve")],
}
READ = sum(map(len, GOOD.values()))


def changed(type_: str, **values: Any) -> Callable[[Data], object]:
    """The last row of a type with other values."""
    return lambda data: data[type_][-1].update(values)


def added(type_: str, **values: Any) -> Callable[[Data], object]:
    """One more row, like the first but for these values."""
    return lambda data: data[type_].append({**data[type_][0], **values})


Verdict = tuple[str, str, str | None]
VIOLATIONS: dict[str, tuple[Callable[[Data], object], Verdict | None]] = {
    "nothing": (lambda data: None, None),
    "type": (changed("Person", born="31.1.2020"), ("type", "Person", "born")),
    "required": (changed("Person", name=None), ("required", "Person", "name")),
    "enum": (changed("Person", status="odd"), ("enum", "Person", "status")),
    "range": (changed("Person", age=151), ("range", "Person", "age")),
    "check": (added("Person", email="nowhere", name="x"), ("check", "Person", "email")),
    "key": (added("City"), ("key", "City", None)),
    "unique": (changed("Person", name="ada", age=36), ("unique", "Person", "age, name")),
    "endpoint": (added("Knows", to="nobody@x"), ("endpoint", "Knows", "to")),
    "too many": (added("LivesIn", to="2"), ("cardinality", "LivesIn", None)),
    "too few": (lambda data: data["Has"].pop(), ("cardinality", "Has", None)),
}
MODES = ("append", "merge", "overwrite")
TYPED_FORMS = ("parquet", "tables", "pandas")
CELLS = [
    (mode, form, violation)
    for mode, form, violation in itertools.product(MODES, FORMS, VIOLATIONS)
    # A column of dates holds nothing else: this mistake can't be made there.
    if not (form in TYPED_FORMS and violation == "type")
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "on_spark" in metafunc.function.__name__:
        is_deep = metafunc.config.getoption("--deep")
        metafunc.parametrize("mode, form, violation", CELLS if is_deep else covering(CELLS, 1))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    place = tmp_path_factory.mktemp("matrix")
    (place / "world.pg").write_text(SCHEMA)
    made = Graph.init(str(place / "g.omni"), place / "world.pg", durability="relaxed")
    earlier = [{"type": "City", "data": {"code": 9}}, {"type": "Note", "data": {"text": "kept"}}]
    made.load(earlier, mode="append")
    return made


@pytest.mark.pairs
@pytest.mark.parametrize(("mode", "form", "violation"), CELLS)
def test_in_process(
    graph: Graph, tmp_path: Path, mode: LoadModeName, form: str, violation: str
) -> None:
    check(graph, tmp_path, mode, form, violation, engine="local")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_on_spark(
    graph: Graph, tmp_path: Path, spark: Spark, mode: LoadModeName, form: str, violation: str
) -> None:
    check(graph, tmp_path, mode, form, violation, spark=spark)


def check(
    graph: Graph, place: Path, mode: LoadModeName, form: str, violation: str, **engine: Any
) -> None:
    damage, verdict = VIOLATIONS[violation]
    if mode == "merge" and violation == "key":
        verdict = None  # the later row counts
    data = deepcopy(GOOD)
    damage(data)
    source = FORMS[form](place, data)
    branch = place.name.replace("_", "-")
    head = graph.commits(limit=1)[0].graph_commit_id
    if verdict is None:
        result = graph.load(source, mode=mode, branch=branch, from_="main", **engine)
        assert result.total_entities == READ
        assert result.read == result.total_entities + result.superseded
        held = graph.query("query q() { match { $c: City } return { $c.code } }", branch=branch)
        kept = [] if mode == "overwrite" else [9]
        assert sorted(row["c.code"] for row in held) == [1, 2, *kept]
    else:
        with pytest.raises((ConstraintViolated, KeyTaken)) as refused:
            graph.load(source, mode=mode, **engine)
        assert isinstance(refused.value, ConstraintViolated | KeyTaken)
        assert refused.value.violations.counts == {verdict: 1}
    assert graph.commits(limit=1)[0].graph_commit_id == head
