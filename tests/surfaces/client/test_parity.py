"""The same code on a laptop and on a server: every method of a graph by both handles."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import ArgumentInvalid, LimitExceeded, LocalOnly, OmnigraphError
from omnigraph.results import Blob, EntityChanges, LoadResult, QueryResult
from tests.surfaces.client.doors import (
    ELSEWHERE,
    ERRORS,
    HANDLES,
    LOCAL,
    OF_A_PLACE,
    QUERIES,
    READS,
    SET_AGE,
    WRITES,
)
from tests.surfaces.client.pairs import Pair, unlike

pytestmark = pytest.mark.xdist_group("parity")


def shown(value: Any) -> Any:
    """All that a caller can see of an answer, without what no two runs have in common."""
    match value:
        case QueryResult():
            return [repr(value), value.to_arrow().schema, value.to_pylist()]
        case EntityChanges():
            of_types = [value.to_arrow(name).to_pylist() for name in value.counts]
            counted = dict(value.counts)
            return [type(value).__name__, str(value), counted, value.to_pylist(), of_types]
        case Blob():
            return repr(value)
        case LoadResult():
            timeless = {**_members(value), "seconds": sorted(value.seconds)}
            return [repr(value), shown(timeless)]
        case list() | tuple():
            return [type(value).__name__, *map(shown, value)]
        case dict():
            return {str(key): shown(member) for key, member in value.items()}
        case _ if is_dataclass(value):
            return [type(value).__name__, str(value), shown(_members(value))]
        case _:
            return value


def _members(value: Any) -> dict[str, Any]:
    """All but what depends on the way that rows or comparisons have come."""
    left_out = ("comparison", "engine_reason")
    return {f.name: getattr(value, f.name) for f in fields(value) if f.name not in left_out}


@pytest.mark.parametrize("door", READS)
def test_a_read_by_a_connection_is_the_read_of_the_graph_itself(pair: Pair, door: str) -> None:
    assert shown(READS[door](pair.remote)) == shown(READS[door](pair.local))


@pytest.mark.parametrize("door", OF_A_PLACE)
def test_a_branch_and_a_moment_of_a_connection_read_as_those_of_the_graph(
    pair: Pair, door: str
) -> None:
    read = OF_A_PLACE[door]
    assert shown(read(pair.remote.branch("side/1"))) == shown(read(pair.local.branch("side/1")))
    moment = pair.local.commits("side/1")[0]
    assert shown(read(pair.remote.at(moment))) == shown(read(pair.local.at(moment)))


REASON = r"'engine_reason': '[^']*', "
"""A connection sends few rows in one request, which the server loads in its own process."""


def test_a_load_by_a_connection_says_why_it_ran_where_it_did(twins: Pair) -> None:
    lines = b'{"type": "Person", "data": {"name": "why"}}'
    unasked = twins.remote.load(lines, mode="merge", dry_run=True)
    asked = twins.remote.load(lines, mode="merge", dry_run=True, engine="local")
    assert (unasked.engine, unasked.engine_reason) == ("local", "the rows fit in one request")
    assert (asked.engine, asked.engine_reason) == ("local", "the caller asked for it")


def test_writes_by_a_connection_come_to_the_same_as_those_of_the_graph(twins: Pair) -> None:
    for name, write in WRITES.items():
        local, remote = (unlike(shown(write(graph))) for graph in (twins.local, twins.remote))
        same = [re.sub(REASON, "", text.replace("founder", "")) for text in (remote, local)]
        assert same[0] == same[1], name
    assert unlike(shown(twins.local.query(QUERIES, "everyone"))) == unlike(
        shown(twins.remote.query(QUERIES, "everyone"))
    )


@pytest.mark.parametrize("door", ERRORS)
def test_an_error_by_a_connection_is_the_error_of_the_graph(pair: Pair, door: str) -> None:
    with pytest.raises(OmnigraphError) as here:
        ERRORS[door](pair.local)
    with pytest.raises(OmnigraphError) as there:
        ERRORS[door](pair.remote)
    assert type(there.value) is type(here.value)
    assert there.value.to_json() == here.value.to_json()
    assert there.value.render() == here.value.render()


@pytest.mark.parametrize("door", LOCAL)
def test_what_needs_the_storage_says_so_on_a_connection(pair: Pair, door: str) -> None:
    with pytest.raises(LocalOnly, match="a connection to a server can't"):
        LOCAL[door](pair.remote)


def test_every_public_method_is_compared() -> None:
    public = {
        name
        for handle in HANDLES
        for name in dir(handle)
        if not name.startswith("_") and name not in ("name", "stored", "graph_commit_id")
    }
    assert public == READS.keys() | WRITES.keys() | (LOCAL.keys() & public) | ELSEWHERE.keys()


def test_who_acts_is_known_by_the_token_alone(pair: Pair) -> None:
    for act in (
        lambda: pair.remote.as_actor("ada"),
        lambda: pair.remote.mutate(SET_AGE, "fire", {"name": "x"}, actor="ada"),
    ):
        with pytest.raises(ArgumentInvalid, match="by the token"):
            act()


def test_a_file_of_lines_is_sent_under_its_name(pair: Pair, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"type": "Person", "data": {"name": "x", "age": 900}}\n')
    told = []
    for graph in (pair.local, pair.remote):
        with pytest.raises(OmnigraphError) as refused:
            graph.load(file, mode="append", engine="local")
        told.append(refused.value.to_json())
    assert told[0] == told[1] and str(file) in told[0]["error"]


def test_an_export_by_a_connection_makes_a_whole_file_or_none(pair: Pair, tmp_path: Path) -> None:
    exports = [g.export(tmp_path / n) for n, g in (("a", pair.local), ("b", pair.remote))]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert exports[1].path == str(tmp_path / "b") == exports[1].files[0].path
    assert exports[1].files[0].sha256 == exports[0].files[0].sha256
    with pytest.raises(OmnigraphError, match="already there"):
        pair.remote.export(tmp_path / "b")
    with pytest.raises(OmnigraphError):
        pair.remote.export(tmp_path / "c", types=["Persn"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_a_query_has_the_time_that_it_is_given(pair: Pair) -> None:
    for graph in (pair.local, pair.remote):
        with pytest.raises(LimitExceeded, match="milliseconds"):
            graph.query(QUERIES, "everyone", timeout_s=0)
