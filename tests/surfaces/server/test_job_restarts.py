"""Load jobs outlive their server: what was begun is gone on with, and is one commit at most."""

import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.failpoints import CrashAt, Failpoint
from omnigraph.engine.settings import Settings
from omnigraph.surfaces.server.jobs.spool import Spool
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.starting import ServerConfig, open_spool
from tests.processes import PATIENCE_S, wait_until
from tests.surfaces.server.process import ServerProcess, server_process
from tests.surfaces.server.uploads import (
    HeldClock,
    Jobs,
    files_in,
    names,
    parts_of,
    people,
    reopened,
)
from tests.surfaces.server.world import World, make_graph, serve_here

ROWS = people(200)
PARTS = parts_of(ROWS, 3_000)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_graph(tmp_path).close()
    return tmp_path


def restarted(place: Path, graph: Graph | None = None, **more: Any) -> World:
    """A server over the graph and the spool, which takes up what is there."""
    world = serve_here(graph or reopened(place), spool=place / "spool", **more)
    world.app.jobs.begin()
    return world


def died(place: Path, point: Failpoint, caplog: pytest.LogCaptureFixture) -> str:
    """A server begins a load and dies at a point of its write: the id of the job."""
    dying = restarted(place, reopened(place, faults=CrashAt(point)))
    jobs = Jobs(dying)
    id_ = jobs.load(ROWS, part_bytes=3_000)
    wait_until(lambda: "load job left for later" in caplog.text, "it never died")
    (left,) = (each for each in caplog.records if each.getMessage() == "load job left for later")
    assert left.members["by"] == "Crash" and jobs.state(id_) == "running"  # type: ignore[attr-defined]
    dying.app.jobs.close(PATIENCE_S)
    return id_


@pytest.fixture(params=list(Failpoint), ids=lambda point: point.value)
def point(request: pytest.FixtureRequest) -> Failpoint:
    found: Failpoint = request.param
    return found


def test_a_job_whose_server_died_while_it_published_is_one_commit_and_tells_the_whole_result(
    place: Path, point: Failpoint, caplog: pytest.LogCaptureFixture
) -> None:
    id_ = died(place, point, caplog)
    world = restarted(place)
    job = Jobs(world).ended(id_)
    assert job["state"] == "succeeded", job
    assert job["result"]["total_entities"] == 200 == job["report"]["inserted"]
    assert not job["report"]["is_repeat"] and job["report"]["load_id"] is None
    loads = [c for c in world.graph.commits() if c.load_id == f"job-{id_}"]
    assert [c.graph_commit_id for c in loads] == [job["result"]["commit"]["graph_commit_id"]]
    assert len(names(world.graph)) == 203 and files_in(place / "spool") == []


def test_an_upload_goes_on_with_the_parts_that_are_missing(place: Path) -> None:
    first = restarted(place)
    id_ = Jobs(first).create(upload={}).json()["id"]
    for number in (1, 3):
        Jobs(first).put(id_, number, PARTS[number - 1])
    # What a server was about to write when it died.
    (place / "spool" / "jobs" / id_ / "parts" / "2.abc.new").write_bytes(PARTS[1][:50])
    first.app.jobs.close(PATIENCE_S)
    world = restarted(place)
    jobs = Jobs(world)
    assert [part["number"] for part in jobs.get(id_)["upload"]["parts"]] == [1, 3]
    assert jobs.start(id_, len(PARTS)).json()["details"]["missing"] == [
        2,
        *range(4, len(PARTS) + 1),
    ]
    for number, part in enumerate(PARTS, 1):
        if number not in (1, 3):
            jobs.put(id_, number, part)
    jobs.start(id_, len(PARTS))
    assert jobs.ended(id_)["result"]["total_entities"] == 200


def test_parts_that_were_joined_in_part_are_joined_to_the_end(place: Path) -> None:
    first = restarted(place, limits=ServerLimits(running_jobs=0))
    id_ = Jobs(first).load(ROWS, part_bytes=3_000)
    first.app.jobs.close(PATIENCE_S)
    folder = place / "spool" / "jobs" / id_
    (one,) = (folder / "parts").glob("1-*")
    # The first part is in the file, and half of the second.
    one.unlink()
    (folder / "data.jsonl").write_bytes(PARTS[0] + PARTS[1][:100])
    assert Jobs(restarted(place)).ended(id_)["result"]["total_entities"] == 200


def test_a_server_that_stops_leaves_its_loads_for_the_next_one(place: Path) -> None:
    clock = HeldClock()
    stopping = restarted(place, reopened(place, clock=clock))
    jobs = Jobs(stopping)
    clock.hold()
    running, queued = jobs.load(ROWS, part_bytes=3_000), jobs.load(people(5, "q"))
    assert clock.is_asked.wait(PATIENCE_S)
    stopping.app.jobs.stop()
    clock.go()
    stopping.app.jobs.close(PATIENCE_S)
    assert (jobs.state(running), jobs.state(queued)) == ("running", "queued")
    assert len(names(stopping.graph)) == 3
    world = restarted(place)
    for id_, many in ((running, 200), (queued, 5)):
        job = Jobs(world).ended(id_)
        assert job["state"] == "succeeded" and job["result"]["total_entities"] == many, job
    assert len(names(world.graph)) == 208


def test_a_cancel_that_a_server_did_not_live_to_carry_out_is_carried_out_by_the_next(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = files_in(place / "people.omni")
    id_ = died(place, Failpoint.AFTER_STAGE, caplog)
    assert files_in(place / "people.omni") != files, "what is staged stays for the next server"
    left = Spool.open(place / "spool")
    (job,) = left.jobs()
    left.save(replace(job, is_cancelled=True))
    left.close()
    world = restarted(place)
    assert Jobs(world).ended(id_)["state"] == "cancelled"
    assert len(names(world.graph)) == 3 and files_in(place / "people.omni") == files


def test_a_spool_is_of_one_server_and_of_one_owner(tmp_path: Path) -> None:
    first = Spool.open(tmp_path / "spool")
    with pytest.raises(ArgumentInvalid, match="another server uses it"):
        Spool.open(tmp_path / "spool")
    first.close()
    Spool.open(tmp_path / "spool").close()
    (tmp_path / "spool").chmod(0o750)
    with pytest.raises(ArgumentInvalid, match="others than its owner"):
        Spool.open(tmp_path / "spool")
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentInvalid, match="can't be used"):
        Spool.open(tmp_path / "file" / "spool")


def test_a_job_of_another_graph_under_the_same_name_is_not_run(place: Path, tmp_path: Path) -> None:
    first = restarted(place, limits=ServerLimits(running_jobs=0))
    id_ = Jobs(first).load(ROWS, part_bytes=3_000)
    first.app.jobs.close(PATIENCE_S)
    (tmp_path / "other").mkdir()
    world = restarted(place, make_graph(tmp_path / "other"))
    job = Jobs(world).ended(id_)
    assert job["state"] == "failed" and job["error"]["details"]["code"] == "graph_replaced"
    assert len(names(world.graph)) == 3


def test_a_server_keeps_jobs_beside_the_cache_unless_it_is_told_where(
    place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = str(place / "people.omni")
    nowhere = ServerConfig(store=store, settings=Settings())
    assert open_spool(nowhere) is None
    cached = replace(nowhere, settings=Settings(cache_directory=tmp_path / "cache"))
    told = replace(cached, spool=tmp_path / "spool")
    beside, there = open_spool(cached), open_spool(told)
    assert beside is not None and there is not None
    assert list(tmp_path.glob("cache-spool/*/jobs"))
    with closing(beside), closing(there):
        assert open_spool(cached) is None and "load jobs are not served" in caplog.text
        with pytest.raises(ArgumentInvalid, match="another server"):
            open_spool(told)


# As a process -------------------------------------------------------------------------------------


@contextmanager
def connected(server: ServerProcess) -> Iterator[Jobs]:
    with httpx2.Client(base_url=server.url, timeout=PATIENCE_S) as client:
        yield Jobs(client)


def test_a_load_whose_server_is_killed_or_stopped_is_one_commit_after_the_next_start(
    place: Path,
) -> None:
    many = 20_000
    options = ("--unauthenticated", "--spool", str(place / "spool"))
    with server_process(place / "people.omni", *options) as server:
        with connected(server) as jobs:
            id_ = jobs.load(people(many), engine="local")
            wait_until(lambda: jobs.state(id_) != "queued", "it never ran")
        server.process.send_signal(signal.SIGKILL)
        assert server.process.wait(PATIENCE_S) == -signal.SIGKILL
    with server_process(place / "people.omni", *options) as server:
        server.wait_for("load job started")
        assert server.stop() == 0 and server.wait_for("stopped")
    with server_process(place / "people.omni", *options) as server:
        with connected(server) as jobs:
            job = jobs.ended(id_)
        assert job["state"] == "succeeded" and job["result"]["total_entities"] == many, job
        assert server.stop() == 0
    graph = Graph.open(place / "people.omni", read_only=True)
    assert [c.load_id for c in graph.commits()].count(f"job-{id_}") == 1
    assert len(names(graph)) == many + 3
