"""Blobs: null, empty, small and large ones stay what they are, and are read by ranges."""

import io
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.choices import ExportFormat
from omnigraph.base.errors import (
    ArgumentInvalid,
    BlobMissing,
    EntityMissing,
    LimitExceeded,
    NameMissing,
    RangeOutside,
)
from omnigraph.engine.blob import Blob, StoredBytes
from omnigraph.pipeline.export.lines import MAX_LINE_BYTES
from tests.buckets import bucket_access
from tests.surfaces.cli import CommandLine

SCHEMA = """
node Doc { name: String @key  note: String?  body: Blob? }
edge Cites: Doc -> Doc { scan: Blob? }
"""
CHANGES = """
query add($name: String, $body: Blob?) { insert Doc { name: $name, body: $body } }
query annotate($name: String) { update Doc set { note: "seen" } where name = $name }
query replace($name: String, $body: Blob?) { update Doc set { body: $body } where name = $name }
query cite($scan: Blob?) { insert Cites { from: "small", to: "empty", scan: $scan } }
"""

# Lance keeps values of these sizes in three ways: within the file, packed beside it, and alone.
BODIES = {
    "null": None,
    "empty": b"",
    "small": b"abc",
    "packed": random.Random(1).randbytes(300_000),
    "large": random.Random(2).randbytes(20 << 20),
}


def filled(place: str) -> Graph:
    graph = Graph.init(place, SCHEMA, durability="relaxed")
    for name, body in BODIES.items():
        graph.mutate(CHANGES, "add", {"name": name, "body": body})
    return graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph that no test changes."""
    return filled(str(tmp_path_factory.mktemp("blobs") / "g"))


def body(graph: Graph, name: str, branch: str | None = None, snapshot: str | None = None) -> Blob:
    return graph.blob("node", "Doc", name, "body", branch=branch, snapshot=snapshot)


def bodies(
    graph: Graph, branch: str | None = None, snapshot: str | None = None
) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in BODIES:
        try:
            blob = body(graph, name, branch, snapshot)
        except BlobMissing:
            found[name] = None
        else:
            found[name] = blob.read()
            assert blob.size == len(blob.read()) == sum(map(len, blob.chunks()))
    return found


def test_every_kind_of_blob_comes_back_and_survives_all_that_happens_to_its_row(
    tmp_path: Path,
) -> None:
    graph = filled(str(tmp_path / "g"))
    before = graph.commits(limit=1)[0].graph_commit_id
    assert bodies(graph) == BODIES

    graph.branch_create("side")
    for name in BODIES:
        graph.mutate(CHANGES, "annotate", {"name": name}, branch="side")
    assert bodies(graph, "side") == BODIES
    graph.optimize("side")
    assert bodies(graph, "side") == BODIES

    graph.branch_merge("side")
    graph.branch_delete("side")
    assert bodies(graph) == BODIES
    graph.optimize()
    assert bodies(graph) == BODIES

    graph.mutate(CHANGES, "replace", {"name": "large", "body": None})
    graph.mutate(CHANGES, "replace", {"name": "null", "body": b""})
    assert bodies(graph) == {**BODIES, "large": None, "null": b""}
    assert bodies(graph, snapshot=before) == BODIES


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_every_kind_of_blob_comes_back_from_an_export(
    graph: Graph, tmp_path: Path, form: ExportFormat
) -> None:
    target = tmp_path / ("out.jsonl" if form == "jsonl" else "out")
    graph.export(target, format=form)
    again = Graph.init(str(tmp_path / "again"), SCHEMA, durability="relaxed")
    again.load(str(target), mode="append", engine="local")
    assert bodies(again) == BODIES


def test_lines_are_written_up_to_the_length_that_a_load_reads(tmp_path: Path) -> None:
    """Three bytes of a blob are four characters of its line."""
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    lines, again = tmp_path / "out.jsonl", str(tmp_path / "again")
    around = len('{"type":"Doc","id":"a","data":{"name":"a","body":"base64:"}}\n')
    largest = (MAX_LINE_BYTES - around) // 4 * 3
    graph.mutate(CHANGES, "add", {"name": "a", "body": bytes(largest)})
    graph.export(lines)
    assert MAX_LINE_BYTES - 4 < lines.stat().st_size <= MAX_LINE_BYTES
    Graph.init(again, SCHEMA).load(str(lines), mode="append", engine="local")
    assert body(Graph.open(again), "a").size == largest

    graph.mutate(CHANGES, "replace", {"name": "a", "body": bytes(largest + 3)})
    with pytest.raises(LimitExceeded, match=r"the line of Doc a, in bytes, \(67,10.*67,108,864"):
        graph.export(lines, overwrite=True)
    assert lines.stat().st_size <= MAX_LINE_BYTES, "the earlier export is still there"
    with pytest.raises(LimitExceeded) as caught, io.BytesIO() as stream:
        graph.export(stream)
    assert "--format parquet" in caught.value.render()


@given(st.data())
def test_a_range_is_the_slice_of_the_whole(graph: Graph, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["empty", "small", "packed", "large"]))
    blob, whole = body(graph, name), BODIES[name]
    assert whole is not None
    start = data.draw(st.integers(0, blob.size))
    end = data.draw(st.integers(start, min(blob.size, start + 100_000)))
    assert blob.read(start, end) == b"".join(blob.chunks(start, end)) == whole[start:end]


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (0, 4), (3, 2), (4, None), (None, -1)])
def test_a_range_outside_the_blob_is_refused(
    graph: Graph, start: int | None, end: int | None
) -> None:
    with pytest.raises(RangeOutside, match="a blob of 3 bytes") as refused:
        body(graph, "small").read(start, end)
    assert refused.value.code == "range_not_satisfiable"


def test_a_range_of_a_large_blob_reads_little_more_than_itself(graph: Graph) -> None:
    blob = body(graph, "large")
    assert isinstance(blob._bytes, StoredBytes)
    handle = blob._bytes.dataset._handle
    handle.io_stats_incremental()
    assert len(blob.read(10_000_000, 10_000_100)) == 100
    assert handle.io_stats_incremental().read_bytes < 10_000
    assert body(graph, "large").size == 20 << 20
    assert handle.io_stats_incremental().read_bytes < 10_000


def test_a_blob_keeps_to_its_commit_and_its_tag_to_its_bytes(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    graph.mutate(CHANGES, "add", {"name": "a", "body": b"one"})
    graph.mutate(CHANGES, "add", {"name": "b", "body": b"one"})
    first = body(graph, "a")
    assert first.etag != body(graph, "b").etag

    graph.branch_create("side")
    assert body(graph, "a", "side").etag == first.etag
    graph.optimize()
    assert body(graph, "a").etag == first.etag
    graph.mutate(CHANGES, "add", {"name": "c", "body": b"one"})
    assert body(graph, "a").etag == first.etag

    graph.mutate(CHANGES, "replace", {"name": "a", "body": b"two"})
    graph.mutate(CHANGES, "replace", {"name": "a", "body": b"six"}, branch="side")
    tags = {first.etag, body(graph, "a").etag, body(graph, "a", "side").etag}
    assert len(tags) == 3
    assert first.read() == b"one"
    past = body(graph, "a", snapshot=first.graph_commit_id)
    assert (past.etag, past.read()) == (first.etag, b"one")


def test_an_edge_may_have_a_blob_and_text_says_that_it_is_base64(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    for name in ("small", "empty"):
        graph.mutate(CHANGES, "add", {"name": name, "body": None})
    graph.mutate(CHANGES, "cite", {"scan": "base64:AP8="})
    asked = "query e() { match { $a: Doc $a $c: cites $b } return { $c.id } }"
    (edge,) = graph.query(asked).to_pylist()
    assert graph.blob("edge", "Cites", edge["c.id"], "scan").read() == b"\x00\xff"


@pytest.mark.parametrize(
    ("address", "error", "said"),
    [
        (("node", "Dok", "small", "body"), NameMissing, "no node type named Dok"),
        (("edge", "Doc", "small", "body"), NameMissing, "no edge type named Doc"),
        (("node", "Doc", "small", "bodi"), NameMissing, "no property of Doc named bodi"),
        (("node", "Doc", "it's", "body"), EntityMissing, "no Doc has the id it's"),
        (("node", "Doc", "\ud800", "body"), EntityMissing, "no Doc has the id"),
        (("node", "Doc", "null", "body"), BlobMissing, "has no body: it is null"),
        (("node", "Doc", "small", "note"), ArgumentInvalid, "note of Doc is String, not Blob"),
        (("thing", "Doc", "small", "body"), ArgumentInvalid, "node or edge"),
    ],
)
def test_what_is_not_there_is_named(
    graph: Graph, address: tuple[Any, str, str, str], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        graph.blob(*address)


def test_a_blob_in_a_bucket_is_read_by_ranges(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL_S3": bucket_access().endpoint or "",
        "AWS_S3_FORCE_PATH_STYLE": "true",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    graph = Graph.init(bucket, SCHEMA)
    whole = BODIES["large"]
    assert whole is not None
    graph.mutate(CHANGES, "add", {"name": "large", "body": whole})
    blob = body(Graph.open(bucket, read_only=True), "large")
    assert isinstance(blob._bytes, StoredBytes)
    handle = blob._bytes.dataset._handle
    handle.io_stats_incremental()
    assert blob.read(7_000_000, 7_000_100) == whole[7_000_000:7_000_100]
    assert handle.io_stats_incremental().read_bytes < 100_000


def test_the_command_line_writes_bytes_and_tells_their_size(
    graph: Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    where = ("--store", graph.uri)
    stat = omnigraph("blob", "stat", "node", "Doc", "large", "body", *where, "--json").json
    assert stat["size"] == 20 << 20
    assert stat["etag"] == body(graph, "large").etag
    told = omnigraph("blob", "stat", "node", "Doc", "empty", "body", *where)
    assert told.out.startswith("size: 0\netag: ")

    target = tmp_path / "large.bin"
    asked = ("blob", "get", "node", "Doc", "large", "body", *where, "-o", str(target))
    assert omnigraph(*asked).exit_code == 0
    assert target.read_bytes() == BODIES["large"]
    for span, said in {"1-1": b"b", "1-": b"bc", "-2": b"bc", "-9": b"abc"}.items():
        small = ("blob", "get", "node", "Doc", "small", "body", *where, "-o", str(target))
        assert omnigraph(*small, "--range", span).exit_code == 0
        assert target.read_bytes() == said
    assert omnigraph(*small, "--range", "2-3").exit_code == 1
    assert omnigraph(*small, "--range", "x").exit_code == 2
    assert target.read_bytes() == b"abc"
    assert [p.name for p in tmp_path.iterdir()] == ["large.bin"]
    printed = omnigraph("blob", "get", "node", "Doc", "small", "body", *where)
    assert (printed.out, printed.err) == ("abc", "")
    missing = omnigraph("blob", "get", "node", "Doc", "null", "body", *where)
    assert missing.exit_code == 3
