"""A graph in a bucket, reached as the environment says: from Python, the command line and Spark."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    GraphMissing,
    OmnigraphError,
    StorageFailed,
    StoreUnfit,
)
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.spark.session import Spark
from omnigraph.store.location import BucketAccess, graph_location
from omnigraph.store.objects import Objects
from tests.buckets import BUCKET, CARELESS, bucket_variables, location_of
from tests.graph.people import QUERIES, SCHEMA, write_ndjson
from tests.surfaces.cli import CommandLine

FOUNDING = """
query found() {
    insert Company { name: "Engines" }
    insert Person { email: "ada@x", name: "Ada", age: 36 }
    insert WorksAt { from: "ada@x", to: "Engines" }
}
"""
HIRE = {"email": "eve@x", "name": "Eve", "company": "Engines"}
ONE, TWO = [{"company": "Engines", "n": 1}], [{"company": "Engines", "n": 2}]


@pytest.fixture(autouse=True)
def environment(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket_variables(s3).items():
        monkeypatch.setenv(name, value)


def staff(graph: Graph, **at: Any) -> list[dict[str, Any]]:
    return graph.query(QUERIES, "staff", **at).to_pylist()


def test_a_graph_is_made_changed_branched_merged_and_opened_again(bucket: str) -> None:
    graph = Graph.init(bucket, SCHEMA)
    first = graph.mutate(FOUNDING).commit
    assert graph.uri == bucket
    graph.branch_create("hiring")
    graph.mutate(QUERIES, "hire", HIRE, branch="hiring")
    assert (staff(graph), staff(graph, branch="hiring")) == (ONE, TWO)
    graph.branch_merge("hiring")
    graph.branch_delete("hiring")
    graph.optimize()
    again = Graph.open(bucket)
    assert staff(again) == TWO
    assert first is not None
    assert staff(again, snapshot=first.graph_commit_id) == ONE
    again.mutate(QUERIES, "leave", {"email": "eve@x"})
    assert staff(Graph.open(bucket, read_only=True)) == ONE


def test_the_command_line_takes_the_address_of_a_bucket(
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    (tmp_path / "people.pg").write_text(SCHEMA)
    (tmp_path / "people.gq").write_text(QUERIES)
    queries = ["--query", str(tmp_path / "people.gq"), "--store", bucket, "--json"]
    made = omnigraph("init", "--schema", str(tmp_path / "people.pg"), bucket)
    assert made.exit_code == 0, made.err
    assert omnigraph("mutate", "-e", FOUNDING, "--store", bucket).exit_code == 0
    assert omnigraph("query", "staff", *queries).json["rows"] == ONE
    again = omnigraph("init", "--schema", str(tmp_path / "people.pg"), bucket)
    assert (again.exit_code, "already holds a graph" in again.err) == (4, True)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_load_on_spark_writes_into_the_bucket(bucket: str, tmp_path: Path, spark: Spark) -> None:
    graph = Graph.init(bucket, SCHEMA)
    graph.load(write_ndjson(tmp_path / "all.jsonl"), mode="append", spark=spark)
    assert staff(graph) == ONE
    more = write_ndjson(
        tmp_path / "more.jsonl",
        [
            {"type": "Person", "data": {"email": "eve@x", "name": "Eve", "age": 3}},
            {"edge": "WorksAt", "from": "eve@x", "to": "Engines"},
        ],
    )
    graph.load(more, mode="append", branch="more", from_="main", spark=spark)
    assert (staff(graph), staff(graph, branch="more")) == (ONE, TWO)
    nobody: dict[str, object] = {"edge": "WorksAt", "from": "nobody", "to": "Engines"}
    before = set(names_in(bucket))
    with pytest.raises(ConstraintViolated):
        graph.load(write_ndjson(tmp_path / "bad.jsonl", [nobody]), mode="append", spark=spark)
    assert set(names_in(bucket)) == before
    assert staff(graph) == ONE


def names_in(place: str) -> list[str]:
    objects = location_of(place).objects()
    return list(objects.walk(""))


def test_where_conditions_are_ignored_a_graph_is_read_and_never_written(bucket: str) -> None:
    Graph.init(bucket, SCHEMA).mutate(FOUNDING)
    careless = bucket.replace(BUCKET, CARELESS)
    good, bad = (location_of(place).objects() for place in (bucket, careless))
    for name in good.walk(""):
        bad.put(name, good.get(name) or b"")
    assert staff(Graph.open(careless, read_only=True)) == ONE
    with pytest.raises(StoreUnfit, match="it ignores If-"):
        Graph.open(careless)


def test_an_endpoint_without_encryption_must_be_allowed(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(ArgumentInvalid, match="AWS_ALLOW_HTTP"):
        Graph.init(bucket, SCHEMA)


def test_a_missing_bucket_is_not_taken_for_a_missing_graph() -> None:
    attempts: list[Callable[[], Graph]] = [
        lambda: Graph.init("s3://not-there/g", SCHEMA),
        lambda: Graph.open("s3://not-there/g"),
        lambda: Graph.open("s3://not-there"),
    ]
    for attempt in attempts:
        with pytest.raises(StorageFailed, match=r"s3://not-there failed: there is no such bucket"):
            attempt()
    with pytest.raises(GraphMissing):
        Graph.open(f"s3://{BUCKET}/not-there")


LOGIN_PAGE = b"<html>login</html>"


@dataclass
class Portal:
    """A proxy in front of the bucket that answers some requests with a login page, status 200."""

    endpoint: str
    url: str = ""
    lets_through: Callable[[str], bool] = lambda _: False
    """By the path of the request."""


@pytest.fixture
def portal(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Portal]:
    portal = Portal(endpoint=s3)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, answer = 200, {"Content-Length": str(len(LOGIN_PAGE))}, LOGIN_PAGE
            if portal.lets_through(self.path):
                upstream = HTTPConnection(urlsplit(portal.endpoint).netloc)
                upstream.request(self.command, self.path, body, dict(self.headers.items()))
                with upstream.getresponse() as response:
                    status, answer = response.status, response.read()
                    headers = dict(response.getheaders())
                upstream.close()
                if self.command != "HEAD":
                    headers["Content-Length"] = str(len(answer))
                headers.pop("Transfer-Encoding", None)
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    for method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", Handler.answer)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    portal.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", portal.url)
    yield portal
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_login_page_in_place_of_the_bucket_is_told_as_that(bucket: str, portal: Portal) -> None:
    portal.lets_through = lambda _: True
    Graph.init(bucket, SCHEMA).mutate(FOUNDING)
    assert staff(Graph.open(bucket)) == ONE

    portal.lets_through = lambda _: False
    with pytest.raises(StorageFailed, match="does not come from an object store"):
        Graph.open(bucket)
    # The file of the graph still comes, from a cache say, and a login page for all others.
    portal.lets_through = lambda path: path.endswith("/_graph.json")
    with pytest.raises(StorageFailed) as caught:
        Graph.open(bucket)
    assert "is gone" not in caught.value.render() and "backup" not in caught.value.render()
    assert "a proxy or a login page" in caught.value.render()


def test_a_graph_behind_a_login_page_is_not_told_to_be_missing(bucket: str, portal: Portal) -> None:
    portal.lets_through = lambda _: True
    graph = Graph.init(bucket, SCHEMA)
    graph.mutate(FOUNDING)
    graph.branch_create("b")
    portal.lets_through = lambda _: False
    for branch in ("main", "b", "never"):
        with pytest.raises(StorageFailed, match="does not come from an object store"):
            graph.query(QUERIES, "staff", branch=branch)
    portal.lets_through = lambda _: True
    assert staff(graph) == ONE


@pytest.mark.parametrize(
    "ask",
    [
        lambda objects: objects.list("a"),
        lambda objects: [*objects.walk("a")],
        lambda objects: [*objects.survey("a")],
        lambda objects: objects.exists("a/b"),
        lambda objects: objects.copy("a/b", "a/c"),
    ],
    ids=["list", "walk", "survey", "exists", "copy"],
)
def test_a_login_page_says_nothing_about_objects(
    bucket: str, portal: Portal, ask: Callable[[Objects], object]
) -> None:
    objects = graph_location(bucket, Settings.from_environment().bucket_access).objects()
    with pytest.raises(StorageFailed, match="does not come from an object store"):
        ask(objects)


@pytest.mark.parametrize("lost", ["everything", "writes of the lock", "writes of the manifest"])
def test_a_login_page_acknowledges_no_write(bucket: str, portal: Portal, lost: str) -> None:
    portal.lets_through = lambda _: True
    graph = Graph.init(bucket, SCHEMA)
    graph.mutate(FOUNDING)
    part = {"everything": "", "writes of the lock": "/__locks", "writes of the manifest": "/__mani"}
    portal.lets_through = lambda path: part[lost] not in path
    with pytest.raises(OmnigraphError):
        graph.mutate(QUERIES, "hire", HIRE)
    portal.lets_through = lambda _: True
    assert staff(Graph.open(bucket)) == ONE


@pytest.mark.parametrize(
    ("environment", "access"),
    [
        ({}, BucketAccess()),
        ({"AWS_REGION": "", "AWS_ALLOW_HTTP": "false"}, BucketAccess()),
        (
            {
                "AWS_REGION": "r",
                "AWS_ACCESS_KEY_ID": "k",
                "AWS_SECRET_ACCESS_KEY": "s",
                "AWS_SESSION_TOKEN": "t",
                "AWS_ENDPOINT_URL": "https://all",
                "AWS_S3_FORCE_PATH_STYLE": "False",
                "AWS_ALLOW_HTTP": "1",
            },
            BucketAccess("r", "k", "s", "t", "https://all", False, True),
        ),
        (
            {"AWS_ENDPOINT_URL": "https://all", "AWS_ENDPOINT_URL_S3": "https://s3"},
            BucketAccess(endpoint="https://s3"),
        ),
    ],
)
def test_the_variables_of_s3_are_read_once_and_become_a_value(
    environment: dict[str, str], access: BucketAccess
) -> None:
    assert Settings.from_environment(environment).bucket_access == access
