"""An export by tasks is loaded as an equal graph, wherever it lies and whoever wrote it."""

import hashlib
import io
import json
import os
import urllib.request
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.choices import ExportFormat
from omnigraph.base.ids import TypeName
from omnigraph.engine import export_parts
from omnigraph.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    FileMissing,
    SourceInvalid,
    StorageFailed,
    TargetTaken,
    Unsupported,
)
from omnigraph.pipeline.export.parts import part_tasks, write_part
from omnigraph.pipeline.spark.session import Spark
from omnigraph.read.view import View
from omnigraph.store.durability import Durability
from omnigraph.store.location import DiskLocation
from tests.buckets import ENDPOINT, bucket_variables, location_of
from tests.graph.test_export import SCHEMA, contents
from tests.pipeline.conftest import DEEP_ON_SPARK, ON_SPARK
from tests.pipeline.frames.test_frames import REDS
from tests.reference.table_policy import Role, Sees, TablePolicy

# Without the one type that a Parquet file can't hold.
PLAIN = SCHEMA.replace("node Note { text: String  id: String? }", "node Note { text: String }")
ROWS: list[dict[str, Any]] = [
    {
        "type": "Person",
        "data": {"email": "a@x", "name": "A", "photo": b"\x00\xff", "seed": 2**64 - 1},
    },
    {"type": "Person", "data": {"email": "b@x", "name": "", "score": 0.1, "tags": ["x"]}},
    {"type": "City", "data": {"code": -5, "id": "own"}},
    {"type": "Note", "data": {"text": "without an id"}},
    {"edge": "Knows", "from": "a@x", "to": "b@x", "data": {"since": "1840-01-01"}},
    {"edge": "Knows", "from": "a@x", "to": "b@x"},
    {"edge": "LivesIn", "from": "b@x", "to": -5},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph with rows in several files, some of them deleted; no test changes it."""
    graph = Graph.init(tmp_path_factory.mktemp("parts") / "g.omni", PLAIN, durability="relaxed")
    graph.load(ROWS, mode="append")
    more = [{"type": "Person", "data": {"email": f"{n}@x", "name": str(n)}} for n in range(3)]
    graph.load(more, mode="append")
    graph.mutate('query leave() { delete Person where email = "1@x" }')
    return graph


@pytest.fixture
def in_a_bucket(bucket: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in bucket_variables(os.environ[ENDPOINT]).items():
        monkeypatch.setenv(name, value)
    return f"{bucket}/export"


def stored(target: str) -> dict[str, bytes]:
    objects = location_of(target).objects(Durability.RELAXED)
    return {name: objects.get(name) or b"" for name in objects.walk("")}


def check_manifest(target: str, graph: Graph) -> dict[str, Any]:
    """All files are named, and are as the manifest says."""
    files = stored(target)
    manifest: dict[str, Any] = json.loads(files.pop("_manifest.json"))
    assert files.pop("schema.pg").decode() == PLAIN
    assert {f["path"] for f in manifest["files"]} == {*files}
    for file in manifest["files"]:
        data = files[file["path"]]
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    counts = {type_: len(rows) for type_, rows in contents(graph).items()}
    assert {**manifest["nodes"], **manifest["edges"]} == counts
    return manifest


def loaded(place: Path, source: str) -> Graph:
    graph = Graph.init(place, PLAIN, durability="relaxed")
    graph.load(source, mode="append", engine="local")
    return graph


@pytest.mark.parametrize(
    ("who", "format"),
    [
        ("local", "jsonl"),
        ("local", "parquet"),
        pytest.param("spark", "jsonl", marks=ON_SPARK),
        pytest.param("spark", "parquet", marks=DEEP_ON_SPARK),
    ],
)
def test_an_export_to_a_bucket_is_loaded_as_an_equal_graph(
    graph: Graph,
    in_a_bucket: str,
    tmp_path: Path,
    format: ExportFormat,
    who: str,
    request: pytest.FixtureRequest,
) -> None:
    opened = Graph.open(graph.uri)  # with the way to the bucket
    session = request.getfixturevalue("spark").session if who == "spark" else None
    result = opened.export(in_a_bucket, format=format, spark=session)
    assert result.path == in_a_bucket
    assert result.nodes["Person"] == 4 and result.edges["Knows"] == 2
    check_manifest(in_a_bucket, graph)
    with pytest.raises(TargetTaken):
        opened.export(in_a_bucket, format=format, spark=session)
    before = stored(in_a_bucket)
    again = opened.export(in_a_bucket, format=format, overwrite=True, spark=session)
    assert {f.path for f in again.files}.isdisjoint(before)
    check_manifest(in_a_bucket, graph)
    copy = Graph.init(tmp_path / "copy.omni", PLAIN)
    copy.load(in_a_bucket, mode="append", engine="local")
    assert contents(copy) == contents(graph)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("format", [pytest.param("jsonl", marks=pytest.mark.deep), "parquet"])
def test_spark_exports_a_commit_to_a_directory(
    graph: Graph, tmp_path: Path, spark: Spark, format: ExportFormat
) -> None:
    old = graph.at(graph.commits()[1])
    session = spark.session
    old.export(tmp_path / "old", format=format, engine="spark", spark=session)
    assert contents(loaded(tmp_path / "then.omni", str(tmp_path / "old")))["Person"] == sorted(
        [*contents(graph)["Person"], *_person(tmp_path / "then.omni", "1@x")]
    )
    result = graph.export(tmp_path / "new", format=format, engine="spark", spark=session)
    assert result.path == str(tmp_path / "new")
    # A part for each fragment, and each in a file of its own.
    assert len([f for f in result.files if f.path and "Person" in f.path]) == 2
    check_manifest(str(tmp_path / "new"), graph)
    assert contents(loaded(tmp_path / "now.omni", str(tmp_path / "new"))) == contents(graph)
    with pytest.raises(TargetTaken):
        graph.export(tmp_path / "new", format=format, spark=session)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def _person(place: Path, email: str) -> list[str]:
    return [row for row in contents(Graph.open(place))["Person"] if f"'id': '{email}'" in row]


def test_a_place_in_the_bucket_of_a_graph_that_is_its_own_is_refused(in_a_bucket: str) -> None:
    graph = Graph.init(in_a_bucket, "node Person { name: String @key }")
    before = {*stored(in_a_bucket)}
    above = in_a_bucket.rpartition("/")[0]
    for place in (in_a_bucket, f"{in_a_bucket}/nodes/out", f"{in_a_bucket}/", above):
        with pytest.raises(ArgumentInvalid, match="graph"):
            graph.export(place, overwrite=True)
    assert {*stored(in_a_bucket)} == before
    # Its name begins like that of the graph, and it lies beside it.
    graph.export(f"{in_a_bucket}-1")


@pytest.mark.parametrize("is_in_bucket", [False, True])
@pytest.mark.parametrize(
    "manifest", [b'{"files": []}', b"[]", b"{", b"", b"\xff", b'{"version": 1}']
)
def test_what_another_program_keeps_beside_its_manifest_is_not_replaced(
    tmp_path: Path, in_a_bucket: str, graph: Graph, manifest: bytes, is_in_bucket: bool
) -> None:
    target = in_a_bucket if is_in_bucket else str(tmp_path / "theirs")
    objects = location_of(target).objects(Durability.RELAXED)
    theirs = {"_manifest.json": manifest, "rows/Person.parquet": b"theirs"}
    for name, data in theirs.items():
        objects.put(name, data)
    with pytest.raises(TargetTaken, match="is no export of this kind"):
        Graph.open(graph.uri).export(target, types=["City"], format="parquet", overwrite=True)
    assert stored(target) == theirs


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_object_is_in_the_way_of_an_export_by_its_name(
    graph: Graph, in_a_bucket: str, overwrite: bool
) -> None:
    above, name = location_of(in_a_bucket.rpartition("/")[0]), "export"
    above.objects().put(name, b"theirs")
    with pytest.raises(TargetTaken, match="already there"):
        Graph.open(graph.uri).export(in_a_bucket, overwrite=overwrite)
    assert [*above.objects().walk("")] == [name]


def test_a_folder_that_a_console_has_made_is_no_file_in_the_way(
    graph: Graph, in_a_bucket: str
) -> None:
    folder = f"{os.environ[ENDPOINT]}/{in_a_bucket.removeprefix('s3://')}/"
    urllib.request.urlopen(urllib.request.Request(folder, method="PUT")).close()
    opened = Graph.open(graph.uri)
    for overwrite in (False, True):
        opened.export(in_a_bucket, overwrite=overwrite)
        assert [name for name in stored(in_a_bucket) if name.startswith("_")] == ["_manifest.json"]
    with pytest.raises(StorageFailed, match=r"s3://nowhere/out failed: there is no such bucket"):
        opened.export("s3://nowhere/out")


def test_an_export_that_fails_leaves_nothing(
    tmp_path: Path, in_a_bucket: str, graph: Graph
) -> None:
    loaded_copy(graph, tmp_path / "broken.omni")
    (lost, *_) = (tmp_path / "broken.omni/edges").rglob("*.lance")
    lost.unlink()
    opened = Graph.open(tmp_path / "broken.omni", read_only=True)
    with pytest.raises(StorageFailed):
        opened.export(in_a_bucket)
    assert stored(in_a_bucket) == {}
    # What an earlier export has written stays.
    Graph.open(graph.uri).export(in_a_bucket)
    before = stored(in_a_bucket)
    with pytest.raises(StorageFailed):
        opened.export(in_a_bucket, overwrite=True)
    assert stored(in_a_bucket) == before


def test_an_export_that_was_killed_is_never_loaded(
    tmp_path: Path, in_a_bucket: str, graph: Graph
) -> None:
    opened, objects = Graph.open(graph.uri), location_of(in_a_bucket).objects()
    first = opened.export(in_a_bucket)
    parts, manifest = stored(in_a_bucket), objects.get("_manifest.json")
    # As a death leaves it before the manifest: the note that it began, and some of its files.
    objects.delete("_manifest.json")
    objects.delete(str(first.files[0].path))
    objects.put("_unfinished", b"")
    copy = Graph.init(tmp_path / "copy.omni", PLAIN)
    for source in (in_a_bucket, in_a_bucket.rpartition("/")[0]):
        with pytest.raises(SourceInvalid, match="has not ended"):
            copy.load(source, mode="append", engine="local")
    with pytest.raises(TargetTaken):
        opened.export(in_a_bucket)
    # As it leaves an earlier export, which is still whole.
    for name, data in parts.items():
        objects.put(name, data)
    objects.put("nodes/00000-0-0/Person.jsonl", b'{"type":"Person","data":{"email":"half"}}\n')
    copy.load(in_a_bucket, mode="append", engine="local")
    assert contents(copy) == contents(graph)
    opened.export(in_a_bucket, overwrite=True)
    check_manifest(in_a_bucket, graph)
    # Another one is at work there: it stays as it is.
    for name in stored(in_a_bucket):
        objects.delete(name)
    objects.put("_unfinished", b"")
    objects.put("nodes/0/Person.jsonl", manifest or b"")
    with pytest.raises(TargetTaken):
        opened.export(in_a_bucket)
    assert len(stored(in_a_bucket)) == 2


@pytest.mark.parametrize("has_earlier", [False, True])
@pytest.mark.parametrize("moment", ["part_tasks", "_result"])
def test_of_two_exports_to_one_place_the_overtaken_one_fails_and_the_other_is_whole(
    moment: str,
    has_earlier: bool,
    graph: Graph,
    in_a_bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other one begins and ends before the first one has written its files, or after."""
    opened = Graph.open(graph.uri)
    if has_earlier:
        opened.export(in_a_bucket)
    go_on = getattr(export_parts, moment)

    def overtaken(*args: Any, **more: Any) -> Any:
        monkeypatch.setattr(export_parts, moment, go_on)
        opened.export(in_a_bucket, overwrite=True)
        return go_on(*args, **more)

    monkeypatch.setattr(export_parts, moment, overtaken)
    with pytest.raises(TargetTaken, match="another export has begun"):
        opened.export(in_a_bucket, overwrite=True)
    check_manifest(in_a_bucket, graph)
    copy = Graph.init(tmp_path / "copy.omni", PLAIN, durability="relaxed")
    Graph.open(copy.uri).load(in_a_bucket, mode="append", engine="local")
    assert contents(copy) == contents(graph)


def test_an_export_that_is_overtaken_leaves_the_other_one_at_work(
    graph: Graph, in_a_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"_unfinished": b"theirs", "nodes/0/City.jsonl": b"half"}
    moment, objects = "part_tasks", location_of(in_a_bucket).objects()
    go_on = getattr(export_parts, moment)

    def overtaken(*args: Any, **more: Any) -> Any:
        for name, data in theirs.items():
            objects.put(name, data)
        return go_on(*args, **more)

    monkeypatch.setattr(export_parts, moment, overtaken)
    with pytest.raises(TargetTaken, match="another export has begun"):
        Graph.open(graph.uri).export(in_a_bucket)
    assert stored(in_a_bucket).items() >= theirs.items()


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_an_export_without_rows_is_loaded_as_none(
    tmp_path: Path, in_a_bucket: str, format: ExportFormat
) -> None:
    """It has no parts, in a bucket as on a disk, and is an export all the same."""
    empty = Graph.init(tmp_path / "empty.omni", PLAIN, durability="relaxed")
    empty.export(in_a_bucket, format=format)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name, data in stored(in_a_bucket).items():
        (copy / name).write_bytes(data)
    again = Graph.init(tmp_path / "again.omni", copy / "schema.pg", durability="relaxed")
    for source in (in_a_bucket, str(copy)):
        assert again.load(source, mode="append", engine="local").total_entities == 0
    # What no export has written is told to be missing.
    (copy / "_manifest.json").write_text("{}")
    with pytest.raises(FileMissing):
        again.load(str(copy), mode="append", engine="local")


def test_an_export_that_has_lost_a_file_is_not_loaded(tmp_path: Path, graph: Graph) -> None:
    graph.export(tmp_path / "out", format="parquet")
    (tmp_path / "out/nodes/City.parquet").unlink()
    copy = Graph.init(tmp_path / "copy.omni", PLAIN, durability="relaxed")
    with pytest.raises(SourceInvalid, match="names this file"):
        copy.load(tmp_path / "out", mode="append", engine="local")
    # Files that are named by themselves are the user's word against the manifest's.
    assert copy.load(tmp_path / "out/nodes", mode="merge", engine="local").nodes
    # Other programs may have such a file too; without the City an edge leads nowhere.
    for content in (b"{}", b"[]", b'{"files": 1}', None):
        manifest = tmp_path / "out/_manifest.json"
        manifest.unlink() if content is None else manifest.write_bytes(content)
        with pytest.raises(ConstraintViolated):
            copy.load(tmp_path / "out", mode="merge", engine="local")


def test_an_export_whose_file_is_shorter_than_its_manifest_says_is_not_loaded(
    graph: Graph, in_a_bucket: str, tmp_path: Path
) -> None:
    result = Graph.open(graph.uri).export(in_a_bucket)
    (cut,) = (f for f in result.files if f.path and "Knows" in f.path)
    out = tmp_path / "exports/out"
    disk = DiskLocation(out).objects()
    for name, data in stored(in_a_bucket).items():
        # At the end of a line, where nothing else would tell.
        kept = data[: data.index(b"\n") + 1] if name == cut.path else data
        location_of(in_a_bucket).objects().put(name, kept)
        disk.put(name, kept)
    for place, above in product((in_a_bucket, str(out)), (False, True)):
        # Exports may lie side by side, and all of them be loaded.
        source = place.rpartition("/")[0] if above else place
        copy = Graph.init(tmp_path / f"{len(source)}.omni", PLAIN, durability="relaxed")
        copy_opened = Graph.open(copy.uri)  # with the way to the bucket
        with pytest.raises(SourceInvalid) as raised:
            copy_opened.load(source, mode="append", engine="local")
        assert raised.value.file == f"{place}/{cut.path}"
        assert f"by the manifest of the export it has {cut.bytes}" in raised.value.reason
        assert len(copy.commits()) == 1
    # Their owner may know better.
    (out / "_manifest.json").unlink()
    taken = copy.load(out, mode="append", engine="local")
    assert (taken.nodes["Person"], taken.edges["Knows"]) == (4, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"manifest_version": 1}',
        b'{"manifest_version": 1, "files": [{"path": "nodes/City.parquet"}]}',
        b'{"manifest_version": 2, "files": []}',
    ],
)
def test_an_export_whose_manifest_cant_be_read_is_not_loaded(
    graph: Graph, tmp_path: Path, content: bytes
) -> None:
    graph.export(tmp_path / "out", format="parquet")
    (tmp_path / "out/_manifest.json").write_bytes(content)
    copy = Graph.init(tmp_path / "copy.omni", PLAIN, durability="relaxed")
    with pytest.raises(SourceInvalid, match="manifest of the export can't be read") as raised:
        copy.load(tmp_path / "out", mode="append", engine="local")
    assert raised.value.file == str(tmp_path / "out/_manifest.json")
    (tmp_path / "out/_manifest.json").unlink()
    assert copy.load(tmp_path / "out", mode="append", engine="local").nodes["Person"] == 4


def loaded_copy(graph: Graph, place: Path) -> Graph:
    written = io.BytesIO()
    graph.export(written)
    copy = Graph.init(place, PLAIN, durability="relaxed")
    copy.load(written.getvalue(), mode="append", engine="local")
    return copy


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_export_is_loaded_by_the_name_of_its_format_too(
    form: ExportFormat, graph: Graph, in_a_bucket: str, tmp_path: Path
) -> None:
    types = ["Person", "City", "Knows", "LivesIn"]
    Graph.open(graph.uri).export(in_a_bucket, types=types, format=form)
    out = DiskLocation(tmp_path / "out").objects()
    for name, data in stored(in_a_bucket).items():
        out.put(name, data)
    for number, source in enumerate((in_a_bucket, str(tmp_path / "out"))):
        copy = Graph.init(tmp_path / f"{number}.omni", PLAIN, durability="relaxed")
        Graph.open(copy.uri).load(source, mode="append", format=form, engine="local")
        found, wanted = contents(copy), contents(graph)
        assert [found[name] for name in types] == [wanted[name] for name in types]


def test_a_task_that_runs_twice_writes_other_files(graph: Graph, tmp_path: Path) -> None:
    view = View(graph.snapshot().stored)
    (task, *_) = part_tasks(
        view,
        [view.catalog.node_by_name[TypeName("Person")]],
        DiskLocation(tmp_path),
        format="jsonl",
        parallelism=1,
        batch_bytes=1 << 20,
        durability=Durability.RELAXED,
    )
    first, second = write_part(task), write_part(task)
    assert first[0].name != second[0].name and first[0].sha256 == second[0].sha256
    elsewhere = replace(task, target=DiskLocation(tmp_path / "of another machine"))
    with pytest.raises(StorageFailed, match="shared disk"):
        write_part(elsewhere)


def test_parts_show_what_the_actor_may_see(tmp_path: Path, in_a_bucket: str) -> None:
    schema = """
    node Person { name: String @key  team: String? }
    edge Knows: Person -> Person
    """
    graph = Graph.init(tmp_path / "g.omni", schema, durability="relaxed")
    teams = {"ada": "red", "bo": "blue", "cy": "red"}
    graph.load(
        [
            *({"type": "Person", "data": {"name": n, "team": t}} for n, t in teams.items()),
            *({"edge": "Knows", "from": a, "to": b} for a in teams for b in teams),
        ],
        mode="append",
    )
    policy = TablePolicy({"someone": Role(Sees({TypeName("Person"): REDS}))})
    seen = graph.under_policy(policy).as_actor("someone")
    stream = io.BytesIO()
    seen.export(stream)
    result = seen.export(in_a_bucket)
    assert (result.nodes, result.edges) == ({"Person": 2}, {"Knows": 4})
    lines = b"".join(data for name, data in stored(in_a_bucket).items() if name.endswith("l"))
    assert sorted(lines.splitlines()) == sorted(stream.getvalue().splitlines())


def test_what_cant_be_exported_in_parts_is_told(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ArgumentInvalid, match="stream"):
        graph.export(io.BytesIO(), engine="spark")
    with pytest.raises(Unsupported):
        graph.export("gs://bucket/x", engine="spark")
    with pytest.raises(ArgumentInvalid, match="engine"):
        graph.export(tmp_path / "x", engine="sparc")  # type: ignore[arg-type]
    noted = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    noted.load([{"type": "Note", "data": {"text": "x"}}], mode="append")
    view = View(noted.snapshot().stored)
    with pytest.raises(Unsupported, match="Note"):
        part_tasks(
            view,
            view.catalog.nodes,
            DiskLocation(tmp_path),
            format="parquet",
            parallelism=1,
            batch_bytes=1,
            durability=Durability.RELAXED,
        )
