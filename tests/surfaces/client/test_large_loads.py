"""A load that is larger than a request goes up in parts, and nobody notices."""

import asyncio
import gzip
import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph import AsyncGraph, Graph
from omnigraph.errors import (
    LoadCancelled,
    OmnigraphError,
    OutcomeUnknown,
    SpoolFull,
)
from omnigraph.results import LoadResult
from omnigraph.surfaces.client.exchange import TRIES
from omnigraph.surfaces.client.jobs import LONGEST_PAUSE_S
from omnigraph.surfaces.client.jobs import PATIENCE_S as AWAY_S
from omnigraph.surfaces.crossing.values import written_value
from omnigraph.surfaces.server.limits import ServerLimits
from tests.surfaces.cli import CommandLine
from tests.surfaces.client.pairs import unlike
from tests.surfaces.client.served import answering, served
from tests.surfaces.client.test_failures import answer, connected
from tests.surfaces.client.test_parity import shown
from tests.surfaces.server.uploads import HeldClock, files_in, names, people, reopened
from tests.surfaces.server.world import World, make_graph, serve_here

LIMITS = ServerLimits(max_load_bytes=5_000)
ROWS = people(200)
BAD = ROWS + b'{"type": "Person", "data": {"name": "x", "age": "old"}}\n'


@pytest.fixture
def there(tmp_path: Path) -> World:
    (tmp_path / "there").mkdir()
    return serve_here(make_graph(tmp_path / "there"), limits=LIMITS, spool=tmp_path / "spool")


@pytest.fixture
def remote(there: World) -> Iterator[Graph]:
    with served(there.app) as url, Graph.connect(url, graph="people") as graph:
        yield graph


@pytest.fixture
def local(tmp_path: Path) -> Graph:
    (tmp_path / "here").mkdir()
    return make_graph(tmp_path / "here")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "a file": lambda folder: folder / "rows.jsonl",
    "a packed file": lambda folder: folder / "rows.jsonl.gz",
    "a table": lambda folder: folder / "Person.csv",
    "bytes": lambda folder: ROWS,
    "an open file": lambda folder: io.BytesIO(ROWS),
    "a generator": lambda folder: (json.loads(row) for row in ROWS.splitlines()),
}


@pytest.mark.parametrize("what", SOURCES)
def test_a_load_above_the_limit_of_a_request_is_that_of_the_graph_itself(
    local: Graph, remote: Graph, there: World, tmp_path: Path, what: str
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(ROWS)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(ROWS))
    table = ["name,age", *(f"p{n},{n}" for n in range(200))]
    (tmp_path / "Person.csv").write_text("\n".join(table))
    told: list[str] = []
    here = local.load(SOURCES[what](tmp_path), mode="append", engine="local", message="why")
    result = remote.load(
        SOURCES[what](tmp_path),
        mode="append",
        engine="local",
        message="why",
        progress=lambda phase, done, total: told.append(phase),
    )
    assert isinstance(result, LoadResult) and result.commit is not None
    assert result.commit == there.graph.commits()[0] and len(there.graph.commits()) == 3
    assert plain(result) == plain(here)
    assert names(there.graph) == names(local)
    assert told[0] == "upload" and told[-1] == "publish"
    assert files_in(tmp_path / "spool") == []


def plain(result: LoadResult) -> Any:
    """All of it, but the name by which the commit of a job is found again."""
    assert result.commit is not None
    return unlike(shown(replace(result, commit=replace(result.commit, load_id=None))))


def test_an_error_of_a_large_load_is_the_error_of_the_graph_itself(
    local: Graph, remote: Graph, tmp_path: Path
) -> None:
    (file := tmp_path / "bad.jsonl").write_bytes(BAD)
    for source, mode in ((file, "append"), (BAD, "merge"), (ROWS * 2, "append")):
        told = []
        for graph in (local, remote):
            with pytest.raises(OmnigraphError) as refused:
                graph.load(source, mode=mode, engine="local")  # type: ignore[arg-type]
            told.append((type(refused.value), refused.value.to_json(), refused.value.render()))
        assert told[0] == told[1]
    assert files_in(tmp_path / "spool") == []


def test_a_mapping_goes_along(remote: Graph, there: World, tmp_path: Path) -> None:
    (file := tmp_path / "x.csv").write_text("who\nzoe\n")
    mapping = {"node": "Person", "properties": {"name": "who"}}
    assert remote.load(file, mode="merge", mapping=mapping, engine="local").total_entities == 1
    assert "zoe" in names(there.graph)


def test_the_command_line_loads_a_large_file(
    omnigraph: CommandLine, remote: Graph, there: World, tmp_path: Path
) -> None:
    (file := tmp_path / "rows.jsonl").write_bytes(ROWS)
    where = ("--server", remote.uri, "--mode", "append", "--engine", "local", "--json")
    ran = omnigraph("load", "--data", str(file), *where)
    assert ran.exit_code == 0, ran.err
    assert json.loads(ran.out)["inserted"] == 200 and '"upload"' in ran.err
    assert len(names(there.graph)) == 203


def test_a_coroutine_loads_a_large_file(there: World) -> None:
    async def load(url: str) -> LoadResult:
        async with await AsyncGraph.connect(url, graph="people") as graph:
            return await graph.load(ROWS, mode="append", engine="local")

    with served(there.app) as url:
        assert asyncio.run(load(url)).total_entities == 200


# What goes wrong ----------------------------------------------------------------------------------


def test_a_ctrl_c_ends_the_job(there: World, remote: Graph, tmp_path: Path) -> None:
    def interrupt(phase: str, done: int, total: int) -> None:
        if phase == "upload" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="nothing was loaded"):
        remote.load(ROWS, mode="append", progress=interrupt)
    assert [job.state for job in there.app.jobs.of("people", None)] == ["cancelled"]
    assert len(names(there.graph)) == 3 and files_in(tmp_path / "spool") == []


def test_a_job_that_someone_else_cancels_is_told_as_cancelled(tmp_path: Path) -> None:
    make_graph(tmp_path).close()
    clock = HeldClock()
    world = serve_here(reopened(tmp_path, clock=clock), limits=LIMITS)
    jobs = world.app.jobs

    def cancel() -> None:
        assert clock.is_asked.wait(60)
        (job,) = jobs.of("people", None)
        jobs.cancel(job)
        clock.go()

    clock.hold()
    other = threading.Thread(target=cancel)
    other.start()
    with served(world.app) as url, pytest.raises(LoadCancelled, match="nothing was loaded"):
        Graph.connect(url, graph="people").load(ROWS, mode="append")
    other.join()
    assert len(names(world.graph)) == 3


def test_an_upload_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    limits = ServerLimits(max_load_bytes=5_000, max_spool_bytes=8_000)
    world = serve_here(make_graph(tmp_path), limits=limits, spool=tmp_path / "spool")
    with served(world.app) as url:
        graph = Graph.connect(url, graph="people")
        with pytest.raises(SpoolFull):
            graph.load(ROWS, mode="append")
        with pytest.raises(SpoolFull):
            graph.load(iter(json.loads(row) for row in ROWS.splitlines()), mode="append")
    assert files_in(tmp_path / "spool") == []
    assert [job.state for job in world.app.jobs.of("people", None)] == ["cancelled"]


BEGUN = (
    answer(
        b'{"error": "no", "raised": '
        b'{"~": "LimitExceeded", "what": "the body in bytes", "limit": 3}}',
        "413 Payload Too Large",
    ),
    answer(b'{"id": "01", "state": "uploading", "upload": {"max_part_bytes": 9999999}}'),
)
PUT = answer(b'{"number": 1, "bytes": 1, "etag": "x"}')
STARTED = answer(b'{"id": "01", "state": "queued"}')


def test_a_server_that_is_away_for_a_while_is_waited_for(local: Graph) -> None:
    loaded = local.load(ROWS, mode="append", engine="local")
    ended = {"id": "01", "state": "succeeded", "loaded": written_value(loaded)}
    done = answer(json.dumps(ended).encode())
    away, pauses = [None] * TRIES, list[float]()
    with answering(*BEGUN, *away, PUT, *away, *away, STARTED, STARTED, *away, done) as line:
        assert connected(line.url, pauses).load(ROWS, mode="append") == loaded
    assert pauses.count(LONGEST_PAUSE_S) == 4
    parts = [asked for asked in line.asked if asked.startswith(b"PUT")]
    assert len(parts) == TRIES + 1 and all(each.endswith(ROWS) for each in parts)


def test_a_server_that_never_comes_back_leaves_the_outcome_unknown() -> None:
    # Asked again until patience ends, and once more to end the job.
    away = [None] * TRIES * (int(AWAY_S / LONGEST_PAUSE_S) + 2)
    pauses: list[float] = []
    with (
        answering(*BEGUN, PUT, STARTED, *away) as line,
        pytest.raises(OutcomeUnknown, match="load/jobs/01"),
    ):
        connected(line.url, pauses).load(ROWS, mode="append")
    assert sum(pauses) >= AWAY_S
