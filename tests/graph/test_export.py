"""Export: what is written is loaded as an equal graph, ids included."""

import errno
import fcntl
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from omnigraph import Graph, Settings
from omnigraph.base import exchange as base_exchange
from omnigraph.base.errors import (
    ArgumentInvalid,
    NameMissing,
    OmnigraphError,
    StorageFailed,
    TargetTaken,
    Unsupported,
)
from omnigraph.engine.export import export
from omnigraph.engine.requests import Export
from omnigraph.read.limits import ReadLimits
from omnigraph.store.arrow import table_schema
from tests.reference import random_plans
from tests.reference.engines import an_engine
from tests.reference.naive import PlainGraph
from tests.reference.small_graph import stored
from tests.surfaces.cli import CommandLine

SCHEMA = """
node Person {
    email: String @key
    name: String
    nick: String? @default("none")
    status: enum(active, gone) @default(active)
    age: I32?  steps: I64?  shoe: U32?  seed: U64?  score: F32?  weight: F64?  is_tall: Bool?
    born: Date?  seen: DateTime?  photo: Blob?  face: Vector(2)?
    tags: [String]?  marks: [F32]?  days: [Date]?
}
node City { code: I64 @key  id: String? }
node Note { text: String  id: String? }
node Pair { a: String  b: I64  @key(a, b) }
node Empty { }
edge Knows: Person -> Person { since: Date?  proof: Blob? }
edge LivesIn: Person -> City
edge Has: Person -> Pair { @key(src, dst) }
"""

FULL = {
    "email": "ada@x",
    "name": 'A "d\\a"\n\u2028\u0001',
    "nick": None,
    "age": -(2**31),
    "steps": 2**63 - 1,
    "shoe": 2**32 - 1,
    "seed": 2**64 - 1,
    "score": 0.1,
    "weight": 1e-300,
    "is_tall": False,
    "born": "1815-12-10",
    "seen": "2024-02-29T12:00:00.123+02:00",
    "photo": "base64:",
    "face": [0.1, -3.5],
    "tags": [],
    "marks": [0.1, -2.5],
    "days": ["0001-01-01", "9999-12-31"],
}
LINES: list[dict[str, Any]] = [
    {"type": "Person", "data": FULL},
    {"type": "Person", "data": {"email": "bob@x", "name": "", "photo": "base64:AP8="}},
    {"type": "City", "data": {"code": -5, "id": "own"}},
    {"type": "Note", "id": "n1", "data": {"text": "x", "id": "another"}},
    {"type": "Note", "data": {"text": "without an id"}},
    {"type": "Pair", "data": {"a": 'q"', "b": 7}},
    {"edge": "Knows", "from": "ada@x", "to": "bob@x", "data": {"proof": "base64:aGk="}},
    {"edge": "Knows", "from": "ada@x", "to": "bob@x"},
    {"edge": "LivesIn", "id": "l1", "from": "bob@x", "to": -5},
]
MAKE_PAIRED = """
query pair($b: I64) { insert Pair { a: "p", b: $b } }
query forget() { update Person set { nick: null, score: 0.3 } where email = "bob@x" }
"""


def loaded(place: Path, file: Path, schema: str = SCHEMA) -> Graph:
    graph = Graph.init(str(place), schema, durability="relaxed")
    graph.load(str(file), mode="append", engine="local")
    return graph


def exported(graph: Graph, **options: Any) -> bytes:
    stream = io.BytesIO()
    graph.export(stream, **options)
    return stream.getvalue()


def contents(graph: Graph) -> dict[str, list[str]]:
    """Every row of every type, in which two values differ that are not the same."""
    snapshot = graph.snapshot().stored
    return {
        entity.name: sorted(
            repr(row)
            for row in snapshot.dataset(entity).scan(table_schema(entity).names).to_pylist()
        )
        for entity in snapshot.catalog.entities
    }


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """One of every type and of every trouble; no test changes it."""
    home = tmp_path_factory.mktemp("export")
    (home / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    graph = loaded(home / "g", home / "in.jsonl")
    for b in range(3):
        graph.mutate(MAKE_PAIRED, "pair", {"b": b})
    graph.mutate(MAKE_PAIRED, "forget")
    return graph


def test_a_graph_loaded_from_its_export_is_equal_to_it(graph: Graph, tmp_path: Path) -> None:
    result = graph.export(tmp_path / "out.jsonl")
    again = loaded(tmp_path / "again", tmp_path / "out.jsonl")
    assert contents(again) == contents(graph)
    assert exported(again) == (tmp_path / "out.jsonl").read_bytes()
    assert result.nodes == {"City": 1, "Empty": 0, "Note": 2, "Pair": 4, "Person": 2}
    assert result.edges == {"Has": 0, "Knows": 2, "LivesIn": 1}
    assert result.graph_commit_id == graph.commits(limit=1)[0].graph_commit_id


@given(random_plans.graphs())
@settings(max_examples=8)
def test_any_graph_comes_back_from_its_export(
    tmp_path_factory: pytest.TempPathFactory, plain: PlainGraph
) -> None:
    home = tmp_path_factory.mktemp("law")
    first = io.BytesIO()
    engine = an_engine(home / "engine")
    written = export(engine, Export.of(first, moment=stored(plain, home / "tables")))
    if not written.total_entities:
        assert first.getvalue() == b""
        return
    (home / "out.jsonl").write_bytes(first.getvalue())
    again = loaded(home / "again", home / "out.jsonl", random_plans.SCHEMA)
    assert exported(again) == first.getvalue()


def test_lines_are_envelopes_nodes_before_edges(graph: Graph) -> None:
    lines = [json.loads(line) for line in exported(graph).splitlines()]
    kinds = [line.get("type") or line["edge"] for line in lines]
    assert kinds == [
        *("City", "Note", "Note", "Pair", "Pair", "Pair", "Pair", "Person", "Person"),
        *("Knows", "Knows", "LivesIn"),
    ]
    assert all(line["id"] for line in lines)
    ada = next(line["data"] for line in lines if line["id"] == "ada@x")
    assert ada == {
        **FULL,
        "status": "active",
        "seen": "2024-02-29T10:00:00.123Z",
    }
    (lives,) = (line for line in lines if line.get("edge") == "LivesIn")
    assert lives == {"edge": "LivesIn", "id": "l1", "from": "bob@x", "to": "-5"}


def test_an_export_reads_one_branch_or_moment_and_the_types_asked_for(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    graph.mutate(MAKE_PAIRED, "pair", {"b": 1})
    before = graph.commits(limit=1)[0].graph_commit_id
    graph.branch_create("side")
    graph.mutate(MAKE_PAIRED, "pair", {"b": 2}, branch="side")
    counts = (
        exported(graph).count(b"\n"),
        exported(graph, branch="side").count(b"\n"),
        exported(graph, snapshot=before).count(b"\n"),
        exported(graph, types=["City", "Has"]).count(b"\n"),
    )
    assert counts == (1, 2, 1, 0)
    with pytest.raises(NameMissing, match="no type named Piar") as missing:
        exported(graph, types=["Piar"])
    assert missing.value.hint == "did you mean Pair?"


def test_parquet_is_a_file_per_type_with_a_manifest_that_is_true(
    graph: Graph, tmp_path: Path
) -> None:
    types = ["Person", "City", "Empty", "Pair", "Knows"]
    result = graph.export(tmp_path / "out", types=types, format="parquet")
    manifest = json.loads((tmp_path / "out/_manifest.json").read_text())
    assert (tmp_path / "out/schema.pg").read_text() == SCHEMA
    assert manifest["graph_commit_id"] == result.graph_commit_id
    assert manifest["nodes"] == {"City": 1, "Empty": 0, "Pair": 4, "Person": 2}
    assert [file["path"] for file in manifest["files"]] == [
        *(f"nodes/{name}.parquet" for name in ("City", "Empty", "Pair", "Person")),
        "edges/Knows.parquet",
    ]
    for file in manifest["files"]:
        path = tmp_path / "out" / file["path"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == file["sha256"]
        assert pq.read_metadata(path).num_rows == file["rows"]
    people = pq.read_table(tmp_path / "out/nodes/Person.parquet")
    person = graph.schema().catalog.node_by_name["Person"]
    rows = graph.snapshot().stored.dataset(person).scan(table_schema(person).names)
    assert people.column_names == ["id", *(p.name for p in person.properties)]
    assert repr(people.to_pylist()) == repr(rows.to_pylist())
    knows = pq.read_table(tmp_path / "out/edges/Knows.parquet")
    assert knows.column_names == ["id", "from", "to", "proof", "since"]
    city = pq.read_table(tmp_path / "out/nodes/City.parquet")
    assert city.to_pylist() == [{"code": -5, "id": "own"}]


def test_a_graph_loaded_from_its_parquet_files_is_equal_to_it(graph: Graph, tmp_path: Path) -> None:
    types = [e.name for e in graph.schema().catalog.entities if e.name != "Note"]
    graph.export(tmp_path / "out", types=types, format="parquet")
    again = Graph.init(str(tmp_path / "again"), tmp_path / "out/schema.pg", durability="relaxed")
    again.load(str(tmp_path / "out"), mode="append", engine="local")
    assert contents(again) == {**contents(graph), "Note": []}
    assert exported(again) == exported(graph, types=types)


def test_parquet_has_no_place_for_an_id_beside_a_property_of_that_name(
    graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(Unsupported, match="a Parquet file of Note"):
        graph.export(tmp_path / "out", types=["Note"], format="parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_is_there_is_replaced_only_when_told_so(
    graph: Graph, tmp_path: Path, form: str
) -> None:
    target = tmp_path / "out"
    options: dict[str, Any] = {"types": ["Pair"], "format": form}
    first = graph.export(target, **options)
    with pytest.raises(TargetTaken, match="is already there"):
        graph.export(target, **options)
    again = graph.export(target, overwrite=True, **options)
    assert [file.sha256 for file in again.files] == [file.sha256 for file in first.files]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_directory_is_replaced_only_if_it_is_empty_or_an_export(
    graph: Graph, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    graph.export(target, types=["Pair"], format="parquet")
    with pytest.raises(TargetTaken, match="is no export of this kind"):
        graph.export(target, types=["Pair"], overwrite=True)
    (target / "_manifest.json").unlink()
    with pytest.raises(TargetTaken):
        graph.export(target, types=["Pair"], format="parquet", overwrite=True)
    assert (target / "nodes/Pair.parquet").is_file()


@pytest.mark.parametrize("name", ["all.jsonl.gz", "all.jsonl.zst", "all.GZ"])
def test_lines_are_not_written_under_a_name_that_a_load_would_unpack(
    name: str, graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(Unsupported, match="writing a packed file") as refused:
        graph.export(tmp_path / name, types=["Pair"])
    assert str(refused.value.hint).startswith(f"export to {name.rpartition('.')[0]} and pack")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_path_is_no_place(graph: Graph) -> None:
    with pytest.raises(ArgumentInvalid, match="the path is empty"):
        graph.export("", types=["Pair"])


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_device_or_a_pipe_is_never_replaced_by_a_file(
    graph: Graph, tmp_path: Path, overwrite: bool
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(Unsupported, match="which is a device or a pipe") as refused:
        graph.export(pipe, types=["Pair"], overwrite=overwrite)
    assert "standard output" in str(refused.value.hint)
    assert pipe.is_fifo()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_a_killed_export_left_goes_with_the_next_one(
    graph: Graph, tmp_path: Path, form: Literal["jsonl", "parquet"]
) -> None:
    dead, going_on = tmp_path / ".out.0123abcd.part", tmp_path / ".out.4567abcd.part"
    not_ours = tmp_path / ".out.notes.part"
    dead.mkdir()
    (dead / "half").write_text("a row")
    for file in (tmp_path / ".out.89ababcd.part", going_on, not_ours):
        file.write_text("a row")
    with going_on.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        graph.export(tmp_path / "out", types=["Pair"], format=form)
        assert {path.name for path in tmp_path.iterdir()} == {"out", going_on.name, not_ours.name}


@pytest.mark.parametrize("at_once", [True, False])
def test_two_directories_change_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    if not at_once:
        monkeypatch.setattr(base_exchange, "_at_once", lambda *_: False)
    else:
        monkeypatch.setattr(Path, "rename", None)  # an exchange is one step
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "it").write_text(name)
    base_exchange.exchange(tmp_path / "new", tmp_path / "old")
    assert {file.parent.name: file.read_text() for file in tmp_path.glob("*/it")} == {
        "old": "new",
        "new": "old",
    }
    with pytest.raises(FileNotFoundError):
        base_exchange.exchange(tmp_path / "new", tmp_path / "neither")


@pytest.mark.parametrize(
    ("target", "options", "error"),
    [
        ("out", {"format": "csv"}, ArgumentInvalid),
        ("gs://bucket/out", {}, Unsupported),
        ("nowhere/out", {}, StorageFailed),
        (io.StringIO(), {}, ArgumentInvalid),
        (io.BytesIO(), {"format": "parquet"}, ArgumentInvalid),
    ],
)
def test_a_target_that_cannot_be_written_is_refused(
    graph: Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: Any,
    options: dict[str, Any],
    error: type[OmnigraphError],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        graph.export(target, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{}, {"format": "parquet"}, {"engine": "spark"}])
@pytest.mark.parametrize(
    ("target", "error", "said"),
    [
        ("long" * 100, StorageFailed, "File name too long"),
        ("circle/out", StorageFailed, "its links lead in a circle"),
        ("nul\0", ArgumentInvalid, "it is no path"),
    ],
)
def test_a_name_that_no_file_can_have_is_refused(
    graph: Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    target: str,
    error: type[OmnigraphError],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    with pytest.raises(error, match=said):
        graph.export(target, types=["Pair"], **options)


@pytest.mark.parametrize("target", [b"bytes", 5, None])
def test_what_is_no_place_to_write_to_is_refused(graph: Graph, target: Any) -> None:
    with pytest.raises(ArgumentInvalid, match="neither a path"):
        graph.export(target)


class Hesitant(io.RawIOBase):
    """A raw stream, which may take less than it is given: a file on a disk that is nearly full."""

    def __init__(self, room: int) -> None:
        self.taken = b""
        self._room = room

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        more = bytes(data[: min(100, self._room - len(self.taken))])
        if not more:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.taken += more
        return len(more)


def test_a_raw_stream_gets_every_byte_or_the_export_fails(graph: Graph) -> None:
    whole = exported(graph)
    enough = Hesitant(len(whole))
    graph.export(enough)
    assert enough.taken == whole and not enough.closed
    with pytest.raises(OSError, match="No space left"):
        graph.export(Hesitant(len(whole) - 1))


@pytest.mark.parametrize("place", ["g.omni", "g.omni/nodes/out", "link/out", "."])
def test_a_place_in_the_graph_or_around_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = Graph.init("g.omni", "node Person { name: String @key }", durability="relaxed")
    Path("link").symlink_to("g.omni")
    before = sorted(tmp_path.rglob("*"))
    for options in ({}, {"format": "parquet", "overwrite": True}, {"engine": "spark"}):
        with pytest.raises(ArgumentInvalid, match="graph") as raised:
            graph.export(place, **options)
        assert raised.value.argument == "target"
    assert sorted(tmp_path.rglob("*")) == before
    graph.export("g.omni.jsonl")


def test_an_export_of_no_types_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ArgumentInvalid, match="it must name one type or more") as raised:
        graph.export(tmp_path / "out.jsonl", types=[])
    assert (raised.value.argument, raised.value.code) == ("types", "invalid_argument")
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_name_does_not_tell_what_it_holds_is_loaded_with_its_format(
    graph: Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    target = str(tmp_path / "lines")
    done = omnigraph("export", target, "--store", graph.uri)
    assert "note: load it with --format jsonl" in done.err
    assert "note" not in omnigraph("export", f"{target}.jsonl", "--store", graph.uri).err
    again = Graph.init(tmp_path / "again", SCHEMA, durability="relaxed")
    with pytest.raises(Unsupported, match="a name that doesn't tell what is in the file") as raised:
        again.load(target, mode="append", engine="local")
    assert raised.value.hint is not None
    assert "(--format): jsonl" in raised.value.hint and "lines.jsonl" in raised.value.hint
    again.load(target, mode="append", engine="local", format="jsonl")
    assert contents(again) == contents(graph)


def test_a_table_that_needs_many_batches_is_written_whole(tmp_path: Path) -> None:
    schema = "node Big { n: I64 @key  body: Blob? }"
    rows = [{"type": "Big", "data": {"n": n, "body": "base64:" + "AAAA" * n}} for n in range(300)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    graph = loaded(tmp_path / "g", tmp_path / "in.jsonl", schema)
    limits = ReadLimits(max_export_batch_bytes=5_000)
    small = exported(Graph.open(graph.uri, settings=Settings(read_limits=limits)))
    assert small == exported(graph)
    assert [json.loads(line)["data"] for line in small.splitlines()] == [r["data"] for r in rows]


def test_the_command_line_exports(
    graph: Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    target, where = str(tmp_path / "out.jsonl"), ("--store", graph.uri)
    told = omnigraph("export", target, *where, "--type", "Pair", "--type", "City", "--json").json
    assert told["nodes"] == [
        {"name": "City", "entities_exported": 1},
        {"name": "Pair", "entities_exported": 4},
    ]
    assert told["total_entities"] == 5
    assert told["bytes"] == told["files"][0]["bytes"] == Path(target).stat().st_size
    refused = omnigraph("export", target, *where, "--json")
    assert (refused.exit_code, refused.json["code"]) == (4, "target_exists")
    assert omnigraph("export", target, *where, "--force").exit_code == 0
    printed = omnigraph("export", "-", *where)
    assert printed.out.encode() == Path(target).read_bytes() == exported(graph)
    assert omnigraph("export", "-", *where, "--json").exit_code == 2
    assert omnigraph("export", str(tmp_path / "d"), *where, "--format", "parquet").exit_code == 1
