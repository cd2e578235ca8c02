"""Load jobs: uploads in parts, one commit or none, one at a time on a branch."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from omnigraph import Graph
from omnigraph.pipeline.spark.session import Spark
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.limits import ServerLimits
from tests.processes import wait_until
from tests.surfaces.server.asgi import Client, call
from tests.surfaces.server.uploads import (
    JOBS,
    HeldClock,
    Jobs,
    files_in,
    names,
    parts_of,
    people,
    reopened,
)
from tests.surfaces.server.world import G, World, make_graph, serve_here

SMALL = ServerLimits(max_load_bytes=4_000)
BYTES = "application/octet-stream"
LINES = {"content-type": "application/x-ndjson"}
ROWS = people(300)
PARTS = parts_of(ROWS, 3_000)


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def small(graph: Graph, spool: Path) -> World:
    return serve_here(graph, limits=SMALL, spool=spool)


@pytest.fixture
def jobs(small: World) -> Jobs:
    return Jobs(small)


def digest(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


# One commit ---------------------------------------------------------------------------------------


def test_a_load_far_above_the_body_limit_is_one_commit(
    small: World, jobs: Jobs, spool: Path
) -> None:
    before = len(small.graph.commits())
    assert len(ROWS) > 3 * SMALL.max_load_bytes
    job = jobs.ended(jobs.load(ROWS, part_bytes=3_000, message="all of it"))
    assert job["state"] == "succeeded" and job["error"] is None
    assert job["result"]["total_entities"] == 300 == job["report"]["inserted"]
    commits = small.graph.commits()
    assert len(commits) == before + 1
    assert commits[0].graph_commit_id == job["result"]["commit"]["graph_commit_id"]
    assert commits[0].message == "all of it"
    assert len(names(small.graph)) == 303
    assert files_in(spool) == []


def without_ids(answer: Any) -> Any:
    """Without what no two loads have in common; the commit of a job names its load."""
    text = json.dumps(answer)
    text = re.sub(
        r'"(\w+_id|created_at|graph_manifest_version)": ("[^"]*"|\d+|null)', r'"\1": 0', text
    )
    return json.loads(text)


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        (people(5, "q"), {"mode": "append"}),
        (people(5, "q"), {"mode": "merge", "branch": "made", "from": "main"}),
        (people(5, "q") * 2, {"mode": "append"}),
        (b'{"type": "Person", "data": {"name": "x", "age": "old"}}\n{"typ', {"mode": "merge"}),
        (b'{"edge": "Knows", "from": "ada", "to": "nobody"}\n', {"mode": "merge"}),
        (b'{"type": "Person", "data": {"name": "ada"}}\n', {"mode": "append"}),
    ],
)
def test_a_job_answers_what_the_same_load_answers_at_once(
    tmp_path: Path, rows: bytes, more: dict[str, str]
) -> None:
    for side in ("here", "there"):
        (tmp_path / side).mkdir()
    worlds = [serve_here(make_graph(tmp_path / side)) for side in ("here", "there")]
    at_once = worlds[0].post(f"{G}/load/ndjson", params=more, content=rows, headers=LINES)
    by_job = Jobs(worlds[1])
    begun = by_job.create(upload={"name": "request body"}, format="jsonl", **more).json()["id"]
    by_job.put(begun, 1, rows)
    by_job.start(begun, 1)
    job = by_job.ended(begun)
    if at_once.is_success:
        assert without_ids(job["result"]) == without_ids(at_once.json())
    else:
        assert job["state"] == "failed" and job["error_status"] == at_once.status_code
        assert without_ids(job["error"]) == without_ids(at_once.json())


def test_a_job_that_fails_leaves_the_graph_and_the_spool_as_they_were(
    small: World, jobs: Jobs, spool: Path
) -> None:
    before = small.graph.commits()
    job = jobs.ended(jobs.load(ROWS + b"{", part_bytes=3_000))
    assert job["state"] == "failed" and job["error"]["details"]["code"] == "parse_error"
    assert "upload.jsonl:301" in job["error"]["error"]
    assert small.graph.commits() == before and files_in(spool) == []
    assert not [path for path in Path(small.graph.uri).rglob("*") if "job-" in path.name]


def test_a_rehearsal_publishes_nothing_and_says_what_would_be(small: World, jobs: Jobs) -> None:
    job = jobs.ended(jobs.load(ROWS, part_bytes=3_000, dry_run=True))
    assert job["state"] == "succeeded" and job["report"]["inserted"] == 300
    assert job["result"]["commit"] is None and len(names(small.graph)) == 3


def test_a_table_is_loaded_by_its_name_or_by_a_mapping(small: World, jobs: Jobs) -> None:
    by_mapping = {"format": "csv", "mapping": {"node": "Person"}}
    for name, more in (("Person.csv", {}), ("x", by_mapping)):
        id_ = jobs.create(upload={"name": name}, **more).json()["id"]
        jobs.put(id_, 1, f"name,age\nby {name},7\n".encode())
        jobs.start(id_, 1)
        assert jobs.ended(id_)["result"]["total_entities"] == 1
    assert {"by Person.csv", "by x"} <= {*names(small.graph)}
    assert jobs.create(upload={"name": "picture.png"}).status_code == 400


def test_rows_that_are_set_aside_can_be_read(small: World, jobs: Jobs) -> None:
    bad = b'{"type": "Person", "data": {"name": "x", "age": "old"}}\n'
    job = jobs.ended(jobs.load(ROWS + bad, part_bytes=3_000, on_error="quarantine", max_errors=3))
    assert job["report"]["rejected"] == 1 and job["report"]["quarantine"] is None
    rejected = jobs.ask("GET", job["links"]["rejected"])
    (line,) = rejected.text.splitlines()
    assert json.loads(line)["row"] == json.loads(bad) and json.loads(line)["line"] == 301
    other = jobs.ended(jobs.load(people(1, "z"), on_error="quarantine"))
    assert jobs.ask("GET", f"{JOBS}/{other['id']}/rejected").status_code == 400


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_job_runs_on_spark(small: World, jobs: Jobs, spark: Spark) -> None:
    job = jobs.ended(jobs.load(ROWS, part_bytes=3_000, engine="spark"))
    assert job["state"] == "succeeded", job
    assert job["report"]["engine"] == "spark" and job["report"]["inserted"] == 300
    assert len(names(small.graph)) == 303


# Parts --------------------------------------------------------------------------------------------


def test_parts_come_in_any_order_and_may_come_again(small: World, jobs: Jobs) -> None:
    id_ = jobs.create(upload={}).json()["id"]
    last = len(PARTS)
    jobs.put(id_, last, b"not this")
    for number in reversed(range(1, last + 1)):
        put = jobs.put(id_, number, PARTS[number - 1])
        again = jobs.put(id_, number, PARTS[number - 1])
        sha256 = hashlib.sha256(PARTS[number - 1]).hexdigest()
        assert (
            put.json()
            == again.json()
            == {
                "number": number,
                "bytes": len(PARTS[number - 1]),
                "etag": sha256,
            }
        )
        assert put.headers["etag"] == f'"{sha256}"'
    upload = jobs.get(id_)["upload"]
    assert [part["number"] for part in upload["parts"]] == list(range(1, last + 1))
    assert upload["received_bytes"] == len(ROWS)
    jobs.start(id_, last)
    assert jobs.ended(id_)["result"]["total_entities"] == 300


def test_an_upload_with_a_part_missing_is_not_begun(small: World, jobs: Jobs) -> None:
    id_ = jobs.create(upload={}).json()["id"]
    for number in (1, 3):
        jobs.put(id_, number, b"\n")
    refused = jobs.start(id_, 4)
    assert refused.status_code == 409
    assert refused.json()["details"] == {
        "code": "parts_missing",
        "job": id_,
        "count": 4,
        "missing": [2, 4],
        "beyond": [],
    }
    jobs.put(id_, 2, b"\n")
    assert jobs.start(id_, 2).json()["details"]["beyond"] == [3]
    assert jobs.state(id_) == "uploading"
    assert jobs.start(id_, 3).status_code == 202


def test_a_part_that_is_torn_off_is_not_there(small: World, jobs: Jobs, spool: Path) -> None:
    id_ = jobs.create(upload={}).json()["id"]

    class Torn(Client):
        async def receive(self) -> Any:
            if not self._parts:
                return {"type": "http.disconnect"}
            message = await super().receive()
            return {**message, "more_body": True}

    torn = call(
        small.app, Torn(body=[b"x" * 2_000]), "PUT", f"{JOBS}/{id_}/parts/1", content_type=BYTES
    )
    assert torn.status is None
    assert jobs.get(id_)["upload"]["parts"] == [] and files_in(spool) == []
    assert jobs.start(id_, 1).status_code == 409


def test_a_part_with_another_checksum_is_refused(jobs: Jobs, spool: Path) -> None:
    id_ = jobs.create(upload={}).json()["id"]
    for wrong in (digest(b"other"), f"md5=:abc:, {digest(b'other')}"):
        refused = jobs.put(id_, 1, b"rows", **{"Content-Digest": wrong})
        assert refused.status_code == 400, refused.text
        assert refused.json()["details"]["code"] == "part_damaged"
    for unreadable in ("sha-256=:!:", "sha-256=abc", "md5=:abc:", "sha-256=:YQ==:"):
        assert jobs.put(id_, 1, b"rows", **{"Content-Digest": unreadable}).status_code == 400
    assert jobs.get(id_)["upload"]["parts"] == [] and files_in(spool) == []
    assert jobs.put(id_, 1, b"rows", **{"Content-Digest": digest(b"rows")}).status_code == 200


@pytest.mark.parametrize("number", ["0", "-1", "10001", "x", "1e3", "999999999999"])
def test_a_part_has_a_number(jobs: Jobs, number: str) -> None:
    id_ = jobs.create(upload={}).json()["id"]
    refused = jobs.ask(
        "PUT", f"{JOBS}/{id_}/parts/{number}", content=b"x", headers={"content-type": BYTES}
    )
    assert refused.status_code == 400 and "from 1 to 10,000" in refused.json()["error"]


def test_a_part_above_the_body_limit_is_refused_and_not_kept(jobs: Jobs, spool: Path) -> None:
    id_ = jobs.create(upload={}).json()["id"]
    refused = jobs.put(id_, 1, b"x" * 4_001)
    assert refused.status_code == 413 and refused.json()["details"]["code"] == "resource_limit"
    assert files_in(spool) == []


def test_a_job_that_was_started_takes_no_part_and_starts_once(small: World, jobs: Jobs) -> None:
    id_ = jobs.load(ROWS, part_bytes=3_000)
    jobs.ended(id_)
    refused = jobs.put(id_, 1, b"x")
    assert refused.status_code == 409 and refused.json()["details"]["code"] == "job_not_open"
    assert jobs.start(id_, len(PARTS)).status_code == 202
    assert jobs.start(id_, 1).status_code == 409
    assert len(names(small.graph)) == 303


# Room ---------------------------------------------------------------------------------------------


def test_an_upload_above_its_limit_is_refused_and_leaves_nothing(graph: Graph, spool: Path) -> None:
    limits = ServerLimits(max_load_bytes=4_000, max_job_bytes=5_000, max_spool_bytes=9_000)
    world = serve_here(graph, limits=limits, spool=spool)
    jobs = Jobs(world)
    assert jobs.create(upload={"bytes": 5_001}).status_code == 413
    assert jobs.create(upload={"bytes": 5_000}).status_code == 202
    one, other = (jobs.create(upload={}).json()["id"] for _ in range(2))
    assert jobs.put(one, 1, b"x" * 3_000).status_code == 200
    assert jobs.put(one, 2, b"x" * 2_001).status_code == 413
    assert jobs.put(one, 1, b"y" * 2_000).status_code == 200, "in the place of the larger one"
    assert jobs.put(one, 2, b"x" * 2_500).status_code == 200
    assert jobs.put(other, 1, b"x" * 4_000).status_code == 200
    full = jobs.put(other, 2, b"x" * 600)
    assert full.status_code == 507 and full.json()["details"]["code"] == "spool_full"
    assert jobs.create(upload={"bytes": 1_000}).status_code == 507
    assert [part["number"] for part in jobs.get(other)["upload"]["parts"]] == [1]
    assert "omnigraph_spool_bytes 8500.0" in world.get("/metrics").text
    assert jobs.cancel(one)["state"] == "cancelled"
    assert jobs.put(other, 2, b"x" * 600).status_code == 200
    assert jobs.cancel(other)["state"] == "cancelled"
    assert files_in(spool) == [] and "omnigraph_spool_bytes 0.0" in world.get("/metrics").text


def test_an_actor_has_so_many_jobs_and_no_more(graph: Graph) -> None:
    jobs = Jobs(serve_here(graph, limits=ServerLimits(max_actor_jobs=2)))
    first = jobs.create(upload={}).json()["id"]
    jobs.create(upload={})
    refused = jobs.create(upload={})
    assert refused.status_code == 429 and "retry-after" in refused.headers
    jobs.cancel(first)
    assert jobs.create(upload={}).status_code == 202


def test_only_their_owner_may_look_into_files_of_the_spool(jobs: Jobs, spool: Path) -> None:
    jobs.upload(ROWS, part_bytes=3_000)
    modes = {path.stat().st_mode & 0o777 for path in spool.rglob("*")}
    assert modes == {0o700, 0o600} and spool.stat().st_mode & 0o777 == 0o700


def test_what_nobody_goes_on_with_is_forgotten(graph: Graph, spool: Path) -> None:
    limits = ServerLimits(upload_expiry_s=-1, ended_job_expiry_s=-1)
    jobs = Jobs(serve_here(graph, limits=limits, spool=spool))
    abandoned = jobs.upload(ROWS)
    later = jobs.create(upload={}).json()["id"]
    assert jobs.ask("GET", f"{JOBS}/{abandoned}").status_code == 404
    assert jobs.ids() == [later] and [p.name for p in (spool / "jobs").iterdir()] == [later]


# One at a time, and cancelled ---------------------------------------------------------------------


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
def held(tmp_path: Path, clock: HeldClock, spool: Path) -> World:
    """A server whose loads wait for the clock before they stage anything."""
    make_graph(tmp_path).close()
    return serve_here(reopened(tmp_path, clock=clock), spool=spool)


def test_jobs_of_one_branch_stand_in_line_and_those_of_another_do_not_wait(
    held: World, clock: HeldClock
) -> None:
    held.graph.branch_create("side")
    jobs = Jobs(held)
    clock.hold()
    first, second, third = (jobs.load(people(3, prefix)) for prefix in "abc")
    beside = jobs.load(people(3, "d"), branch="side")
    wait_until(lambda: jobs.state(first) == jobs.state(beside) == "running", "no job ran")
    assert jobs.state(second) == jobs.state(third) == "queued"
    assert 'omnigraph_load_jobs{state="running"} 2.0' in held.get("/metrics").text
    clock.go()
    commits = [jobs.ended(id_)["result"]["commit"] for id_ in (first, second, third)]
    parents = [commit["parent_commit_id"] for commit in commits[1:]]
    assert parents == [commit["graph_commit_id"] for commit in commits[:-1]], "in their order"
    assert jobs.ids() == [beside, third, second, first]


@pytest.mark.parametrize("state", ["uploading", "queued", "running"])
def test_a_job_that_is_cancelled_publishes_nothing_and_leaves_nothing(
    held: World, clock: HeldClock, spool: Path, state: str
) -> None:
    jobs, before = Jobs(held), held.graph.commits()
    files = files_in(Path(held.graph.uri))
    clock.hold()
    if state == "queued":
        first = jobs.load(people(1, "first"), dry_run=True)
    id_ = jobs.upload(ROWS) if state == "uploading" else jobs.load(ROWS)
    if state == "running":
        assert clock.is_asked.wait(60)
    wait_until(lambda: jobs.state(id_) == state, f"it was never {state}")
    cancelled = jobs.cancel(id_)
    assert cancelled["cancel_requested"] and cancelled["state"] in ("cancelled", state)
    clock.go()
    assert jobs.ended(id_)["state"] == "cancelled" and jobs.cancel(id_)["state"] == "cancelled"
    if state == "queued":
        jobs.ended(first)
    assert held.graph.commits() == before
    assert files_in(spool) == [] and files_in(Path(held.graph.uri)) == files
    assert jobs.start(id_, 1).status_code == 409
    assert jobs.ended(jobs.load(people(2, "next")))["state"] == "succeeded"


def test_a_job_that_can_not_be_written_down_loads_nothing_and_stands_in_nobodys_way(
    held: World, clock: HeldClock, spool: Path
) -> None:
    jobs, before = Jobs(held), held.graph.commits()
    clock.hold()
    id_ = jobs.load(ROWS)
    assert clock.is_asked.wait(60)
    (spool / "jobs" / id_ / "job.json.new").mkdir()
    clock.go()
    job = jobs.ended(id_)
    assert job["state"] == "failed" and job["error_status"] == 500
    assert str(spool) not in json.dumps(job), "paths of the machine are not for clients"
    assert held.graph.commits() == before
    assert jobs.ended(jobs.load(people(2, "next")))["state"] == "succeeded"


def test_a_job_that_is_over_stays_as_it_is_when_it_is_cancelled(jobs: Jobs) -> None:
    id_ = jobs.load(ROWS, part_bytes=3_000)
    ended = jobs.ended(id_)
    assert jobs.cancel(id_) == ended and ended["state"] == "succeeded"


# Requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "status", "code"),
    [
        ({}, 400, "bad_request"),
        ({"upload": {}, "files": ["x.jsonl"]}, 400, "bad_request"),
        ({"files": []}, 400, "bad_request"),
        ({"upload": {}, "mode": "upsert"}, 400, "bad_request"),
        ({"upload": {}, "mapping": "people.yaml"}, 400, "bad_request"),
        ({"upload": {}, "max_errors": 3}, 400, "invalid_argument"),
        ({"upload": {}, "load_id": ""}, 400, "invalid_argument"),
        ({"upload": {}, "branch": "nowhere"}, 404, "not_found"),
        ({"upload": {}, "quarantine": "rejected"}, 400, "bad_request"),
    ],
)
def test_what_could_never_be_loaded_is_refused_at_once(
    jobs: Jobs, spool: Path, order: dict[str, Any], status: int, code: str
) -> None:
    refused = jobs.create(**order)
    assert (refused.status_code, refused.json()["details"]["code"]) == (status, code)
    assert list((spool / "jobs").iterdir()) == []


def test_a_job_that_is_not_there_is_missing(jobs: Jobs) -> None:
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/rejected"),
        ("PUT", "/parts/1"),
        ("POST", "/start"),
    ):
        answer = jobs.ask(method, f"{JOBS}/01ARZ3NDEKTSV4RRFFQ69G5FAV{path}")
        missing = answer.json()
        assert answer.status_code == 404 or path == "/start", missing


def test_a_load_that_its_caller_named_is_made_once(small: World, jobs: Jobs) -> None:
    one, other = (jobs.ended(jobs.load(ROWS, part_bytes=3_000, load_id="monday")) for _ in range(2))
    assert one["report"]["load_id"] == other["report"]["load_id"] == "monday"
    assert not one["report"]["is_repeat"] and other["report"]["is_repeat"]
    assert len(names(small.graph)) == 303


def test_a_server_without_a_spool_says_so(graph: Graph) -> None:
    jobs = Jobs(TestClient(App(serve_here(graph).app.serving, ServerLimits())))
    refused = jobs.create(upload={})
    assert refused.status_code == 400 and "--spool DIR" in refused.json()["hint"]
    assert jobs.ids() == []
