"""Values cross between processes as they are, and nothing else crosses."""

import json
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.ids import CommitId
from omnigraph.base.span import SourceText
from omnigraph.engine.change_requests import ChangesRead, DiffRead
from omnigraph.engine.drawable import Drawable
from omnigraph.engine.requests import BranchCreate, Merge, Read
from omnigraph.engine.results import CommitInfo, LoadResult, QueryResult
from omnigraph.lang.plan.ir import Direction
from omnigraph.lang.plan.links import Link, Way
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.surfaces.crossing.calls import CALLS, LOAD
from omnigraph.surfaces.crossing.errors import error_from_wire, error_to_wire
from omnigraph.surfaces.crossing.rows import rows_from_wire, rows_to_wire
from omnigraph.surfaces.crossing.values import Unreadable, decoded, encoded, read_value
from tests.base.test_errors import LEAVES, a
from tests.surfaces.client.doors import SCHEMA
from tests.surfaces.server.world import PEOPLE, G, World

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(max_size=20),
    st.dates(),
    st.datetimes(timezones=st.just(UTC)),
)
VALUES = st.recursive(
    PLAIN,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.just("~"), inside, max_size=3)
        | st.dictionaries(st.integers(0, 9), inside, max_size=3)
        | st.dictionaries(st.tuples(st.integers(0, 9), st.text(max_size=1)), inside, max_size=2)
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_a_value_comes_back_as_it_went(value: Any) -> None:
    assert decoded(object, encoded(value)) == value


def drawable_answer() -> QueryResult:
    ids = pa.StructArray.from_arrays([pa.array(["a"])], ["id"])
    types = pa.StructArray.from_arrays([pa.array(["T"]).dictionary_encode()], ["type"])
    link = Link("p", "p", (Way("E", Direction.OUT),), is_path=False, properties=(("n", "n"),))
    drawable = Drawable((link,), pa.table({"p": types}))
    return QueryResult("q", CommitId("1"), pa.table({"p": ids, "n": [1]}), drawable)


def test_what_a_picture_needs_comes_along_with_the_rows() -> None:
    answer = drawable_answer()
    table, drawable = rows_from_wire(rows_to_wire(answer))
    assert table.equals(answer.table, check_metadata=True)
    assert drawable == answer.drawable
    assert rows_from_wire(answer.table) == (answer.table, None)


@pytest.mark.parametrize("keep", [["p"], ["n", "p"], []])
def test_rows_without_the_columns_that_a_picture_needs_are_refused(keep: list[str]) -> None:
    sent = rows_to_wire(drawable_answer())
    torn = pa.table([pa.array([1])] * len(keep), names=keep)
    with pytest.raises(Unreadable, match="columns are missing"):
        rows_from_wire(torn.replace_schema_metadata(sent.schema.metadata))


def test_rows_whose_nodes_are_no_nodes_are_refused() -> None:
    sent = rows_to_wire(drawable_answer())
    torn = sent.set_column(0, "p", pa.array(["a"]))
    with pytest.raises(Unreadable, match="holds no nodes"):
        rows_from_wire(torn)


@pytest.mark.parametrize("leaf", LEAVES)
def test_an_error_is_raised_on_the_other_side_as_it_was_on_this(leaf: type[OmnigraphError]) -> None:
    error = a(leaf)
    crossed = error_from_wire(json.loads(msgspec.json.encode(error_to_wire(error))))
    assert type(crossed) is leaf
    assert crossed.render() == error.render()
    assert crossed.to_json() == error.to_json()


def test_a_catalog_comes_back_with_every_type_and_rule() -> None:
    catalog = compile_schema(SourceText(SCHEMA))
    assert decoded(Catalog, encoded(catalog)) == catalog


@pytest.mark.parametrize(
    "request_",
    [
        Read(moment=datetime(2026, 3, 1, tzinfo=UTC)),
        Read(moment=date(2026, 3, 1)),
        Read(moment=7),
        Read(moment="01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        DiffRead(from_="main", to=3),
        BranchCreate(from_="main"),
        Merge(source="x", resolve=({"type": "A", "id": "b", "take": "ours"},)),  # type: ignore[arg-type]
        Merge(
            source="x",  # type: ignore[arg-type]
            resolve=tuple({"type": "A", "id": each, "take": "theirs"} for each in "bc"),
        ),
        Merge(source="x", resolve="theirs"),  # type: ignore[arg-type]
        ChangesRead(cursor="abc", limit=3),
    ],
)
def test_a_request_comes_back_as_it_went(request_: Any) -> None:
    assert decoded(type(request_), encoded(request_)) == request_


@pytest.mark.parametrize(
    ("form", "found", "told"),
    [
        (CommitInfo, {"~": "LoadResult"}, "is no CommitInfo"),
        (CommitInfo, {}, "graph_commit_id is missing"),
        (LoadResult, {"mode": "upsert"}, "missing"),
        (Read, {"branch": 3}, "branch: 3 is no str"),
        (Read, {"is_branch_named": 1}, "is no bool"),
        (Read, {"moment": {"~": "Snapshot"}}, "does not fit"),
        (Read, {"moment": True}, "does not fit"),
        (Read, {"moment": {"~": "datetime", "of": "never"}}, "does not fit"),
        (Read, {"more": 1}, "there is no member more"),
        (Merge, {"source": "x", "preview": "yes"}, "is no bool"),
        (int, True, "is no int"),
        (bytes, {"~": "bytes", "of": "é"}, "is no"),
        (tuple[int, str], [1], "2 members"),
        (object, {"~": "pairs", "of": [[{}, 1]]}, "is no key"),
        (object, {"~": "pairs", "of": [[[[]], 1]]}, "is no key"),
        (dict, {"~": "pairs", "of": [[{"a": 1}, 1]]}, "is no key"),
    ],
)
def test_what_is_no_value_of_the_type_is_refused(form: Any, found: Any, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read_value(form, found)


@pytest.mark.parametrize(
    "found", [None, [], {}, {"~": "Diagnostic"}, {"~": "os"}, {"~": "HeadMoved"}]
)
def test_what_is_no_error_is_not_raised(found: Any) -> None:
    with pytest.raises(Unreadable):
        error_from_wire(found)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "main", "~", "now"])
    | st.just({"~": "pairs", "of": [[{}, 1]]}),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["~", "of", "branch", "moment", "source", "params", "id", "from_", "to", "text"]
            ),
            inside,
            max_size=4,
        )
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from([call.name for call in CALLS] + ["query", "blob", LOAD]), body=JSON)
def test_no_body_of_a_call_makes_the_server_fail(shared: World, name: str, body: Any) -> None:
    kind = "application/x-ndjson" if name == LOAD else "application/json"
    sent = json.dumps(body).encode()
    answered = shared.post(f"{G}/calls/{name}", content=sent, headers={"content-type": kind})
    assert answered.status_code < 500, answered.text


QUERY = {"text": PEOPLE, "name": "<query>"}


def test_a_key_that_can_be_none_does_not_make_the_server_fail(shared: World) -> None:
    body = {"source": QUERY, "params": {"x": {"~": "pairs", "of": [[{}, 1]]}}}
    answered = shared.post(f"{G}/calls/query", json=body)
    assert (answered.status_code, answered.json()["code"]) == (400, "bad_request")


def test_a_query_that_is_run_for_its_plan_has_the_limits_of_a_query(shared: World) -> None:
    pairs = "query q() { match { $p: Person  $q: Person } return { $p.name, $q.name } }"
    body = {"source": {"text": pairs, "name": "<query>"}, "analyze": True}
    answered = shared.post(f"{G}/calls/explain", json=body, headers={"omnigraph-memory-bytes": "1"})
    assert answered.status_code == 413 and "exceeds the limit" in answered.json()["error"]
    late = {**body, "timeout_s": 0}
    assert shared.post(f"{G}/calls/explain", json=late).status_code == 413
    assert shared.post(f"{G}/calls/explain", json=body).is_success


def test_a_call_takes_no_actor_and_no_path(shared: World) -> None:
    for member in ("actor", "cancel"):
        answered = shared.post(f"{G}/calls/mutate", json={member: "root", "source": {"text": "x"}})
        assert answered.status_code == 400 and member in answered.json()["error"]
    for name, body in (("export", {"target": "here.jsonl"}), ("changes_baseline", {"target": "x"})):
        assert shared.post(f"{G}/calls/{name}", json=body).status_code == 400
    first = b'{"mode": "append", "source_name": "x", "source": "/etc/passwd"}\n'
    headers = {"content-type": "application/x-ndjson"}
    assert shared.post(f"{G}/calls/load", content=first, headers=headers).status_code == 400
    file = {"source": {"text": "/etc/passwd.gq", "name": "/etc/passwd"}}
    assert shared.post(f"{G}/calls/query", json=file).json()["details"]["code"] == "parse_error"
