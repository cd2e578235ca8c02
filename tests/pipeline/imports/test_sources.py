"""Exports are read where they lie: on a disk or in a bucket, plain or packed."""

import gzip
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph import Graph, ImportPlan, Settings
from omnigraph.base.choices import ExportFormat
from omnigraph.base.span import SourceText
from omnigraph.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    FileMissing,
    LimitExceeded,
    OmnigraphError,
    SourceInvalid,
    Unsupported,
)
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.imports.files import SourceFile
from omnigraph.pipeline.sources.mapping import read_mapping
from omnigraph.pipeline.sources.opening import state_of
from omnigraph.store.location import DiskLocation
from tests.buckets import bucket_access
from tests.pipeline.imports.imported import edges_of, import_into, nodes_of, unpacked, write_files
from tests.places import copied

CSV = {
    "cats-header.csv": "id:ID,name,:LABEL\n\n",
    "cats-1.csv": 'a,"of two\nlines",Cat\n',
    "cats-2.csv": "b,,Cat\n",
    "sees.csv": ":START_ID,:END_ID,:TYPE\na,b,SEES\n",
}
APOC = {
    "cats.json": '{"type":"node","id":"a","labels":["Cat"],'
    '"properties":{"name":"of two\\nlines"}}\n'
    '{"type":"node","id":"b","labels":["Cat"]}\r\n\n'
    '{"type":"relationship","id":"0","label":"SEES","start":{"id":"a","labels":["Cat"]},'
    '"end":{"id":"b","labels":["Cat"]}}'
}
GRAPHML = {
    "cats.graphml": '<graphml><key id="name" for="node" attr.name="name" attr.type="string"/>'
    '<graph><node id="a" labels=":Cat"><data key="name">of two\nlines</data></node>'
    '<node id="b" labels=":Cat"/><edge source="a" target="b" label="SEES"/></graph></graphml>'
}
KUZU = {
    "schema.cypher": "CREATE NODE TABLE `Cat` (`id` STRING, `name` STRING, PRIMARY KEY(`id`));\n"
    "CREATE REL TABLE `SEES` (FROM `Cat` TO `Cat`, MANY_MANY);\n",
    "copy.cypher": 'COPY `Cat` (`id`,`name`) FROM "Cat.csv" (header=true);\n'
    "COPY `SEES` FROM \"/where/it/was/SEES.csv\" (from='Cat', to='Cat');\n",
    "Cat.csv": 'id,name\na,"of two\nlines"\nb,\n',
    "SEES.csv": "a,b\n",
}
FORMS = {"neo4j-csv": CSV, "apoc": APOC, "graphml": GRAPHML, "kuzu": KUZU}


def settings() -> Settings:
    return Settings(bucket_access=bucket_access())


def imported(source: str, folder: Path) -> Graph:
    plan = ImportPlan.of(source, settings=settings())
    graph = Graph.init(
        folder / "graph.omni", plan.schema, durability="relaxed", settings=settings()
    )
    graph.import_(source, mapping=plan.mapping, engine="local")
    return graph


@pytest.mark.parametrize("form", FORMS)
def test_an_export_in_a_bucket_is_imported_as_from_a_disk(
    form: str, bucket: str, tmp_path: Path
) -> None:
    folder = write_files(tmp_path / "export", FORMS[form])
    # What lies deeper belongs to others.
    write_files(folder / "deeper", {"other.csv": "no header\n", "other.json": "{}"})
    source = copied(str(folder), bucket)
    graph = imported(f"{source}/cats.graphml" if form == "graphml" else source, tmp_path)
    assert nodes_of(graph, "Cat") == [{"id": "a", "name": "of two\nlines"}, {"id": "b"}]
    assert edges_of(graph, "Sees") == [("a", "b", {})]


def test_parquet_of_ladybug_is_read_from_a_bucket(bucket: str, tmp_path: Path) -> None:
    source = copied(str(unpacked("ladybug", tmp_path)), bucket)
    graph = imported(f"{source}/", tmp_path)
    assert [row["full_Name"] for row in nodes_of(graph, "City")] == ["London", "Paris"]


def test_what_a_bucket_does_not_have_is_missing_by_its_address(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=r"s3://.*/nothing"):
        ImportPlan.of(f"{bucket}/nothing", settings=settings())
    cats = write_files(tmp_path / "cats", {"sees.csv": ":START_ID,:END_ID,:TYPE\na,z,SEES\n"})
    write_files(cats, {"cats.csv": "id:ID,:LABEL\na,Cat\n"})
    with pytest.raises(ConstraintViolated) as caught:
        imported(copied(str(cats), bucket), tmp_path)
    (dangling,) = caught.value.violations.examples
    assert dangling.place == f"{bucket}/sees.csv:2"


def packed(name: str, text: str) -> bytes:
    if name.endswith(".gz"):
        return gzip.compress(text.encode(), mtime=0)
    found: bytes = pa.compress(text.encode(), codec="zstd", asbytes=True)
    return found


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("form", ["neo4j-csv", "apoc", "graphml"])
def test_packed_files_are_read_like_others(form: str, suffix: str, tmp_path: Path) -> None:
    files: dict[str, Any] = {}
    for name, text in FORMS[form].items():
        # One of them stays as it was.
        is_plain = name == "cats-2.csv"
        files[name if is_plain else name + suffix] = text if is_plain else packed(suffix, text)
    folder = write_files(tmp_path / "export", files)
    source = folder / f"cats.graphml{suffix}" if form == "graphml" else folder
    graph = import_into(tmp_path, source)
    assert nodes_of(graph, "Cat") == [{"id": "a", "name": "of two\nlines"}, {"id": "b"}]
    assert edges_of(graph, "Sees") == [("a", "b", {})]


def test_the_name_of_a_packed_file_is_a_label_without_its_suffixes(tmp_path: Path) -> None:
    source = write_files(tmp_path / "e", {"Cat.csv.gz": gzip.compress(b"id:ID\na\n")})
    assert nodes_of(import_into(tmp_path, source), "Cat") == [{"id": "a"}]


def test_a_packed_file_that_is_damaged_ends_the_import_by_its_name(tmp_path: Path) -> None:
    whole = gzip.compress(b"id:ID,:LABEL\n" + b"".join(b"%d,Cat\n" % n for n in range(50_000)))
    for name, data in (("cut.csv.gz", whole[:-9]), ("none.csv.gz", b"no gzip")):
        source = write_files(tmp_path / "e", {name: data}) / name
        with pytest.raises(SourceInvalid, match=f"{name}: the file is damaged or truncated"):
            ImportPlan.of(source)


@pytest.mark.parametrize("form", ["apoc", "graphml"])
@pytest.mark.parametrize("more", ["<{", ""])
def test_a_file_that_changes_after_it_was_surveyed_is_named_as_changed(
    form: str, more: str, tmp_path: Path
) -> None:
    """Also where what was added looks like damage."""
    [(name, text)] = FORMS[form].items()
    file = write_files(tmp_path / "in", {name: text}) / name
    plan = ImportPlan.of(file)
    graph = Graph.init(tmp_path / "g", plan.schema, durability="relaxed")
    file.write_text(text + more + "\n")
    with pytest.raises(SourceInvalid, match="the file was changed while it was loaded") as failed:
        graph.import_(plan)
    assert failed.value.file == str(file)
    assert nodes_of(graph, "Cat") == []


def test_an_archive_in_a_directory_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    for files in (CSV, APOC):
        source = write_files(tmp_path / f"e{len(files)}", {**files, "more.zip": b"PK"})
        with pytest.raises(Unsupported, match=r"importing .*more\.zip"):
            ImportPlan.of(source)


def test_a_file_that_a_statement_names_outside_of_the_export_is_never_read(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret.csv": "a,b\n"})
    for name in ("../secret.csv", str(tmp_path / "secret.csv")):
        copies = KUZU["copy.cypher"].replace("Cat.csv", name)
        source = write_files(tmp_path / "export", {**KUZU, "copy.cypher": copies})
        with pytest.raises(FileMissing, match=r"secret\.csv, named in .*copy\.cypher:1"):
            ImportPlan.of(source)


BITS = [
    *(bytes([n]) for n in b'",;:|()[]{}<>&`\\\n\r\x00\xff'),
    b"null",
    b"1e999",
    b"\\ud800",
    b":ID",
]


@given(st.data())
def test_whatever_became_of_a_file_an_import_ends_in_words(data: st.DataObject) -> None:
    form: Any = data.draw(st.sampled_from(sorted(FORMS)))
    files = {name: text.encode() for name, text in FORMS[form].items()}
    name = data.draw(st.sampled_from(sorted(files)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(files[name])))
        until = at + data.draw(st.sampled_from([0, 1, 10]))
        bits = data.draw(st.sampled_from([b"", *BITS]))
        files[name] = files[name][:at] + bits + files[name][until:]
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), files)
        source = Path(folder) / "cats.graphml" if form == "graphml" else folder
        try:
            plan = ImportPlan.of(source, format=form)
        except OmnigraphError:
            return
    # What is proposed can be used.
    assert read_mapping(plan.mapping, compile_schema(SourceText(plan.schema, "proposed")))


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 100])
def test_lines_are_the_same_however_the_bytes_come(cut: int, tmp_path: Path) -> None:
    data = b"\n".join([b"one", b"", b"x" * 2_000_000, b"last"])
    path = tmp_path / "lines"
    path.write_bytes(data + b"\n" * (cut % 2))
    location = DiskLocation(path)
    file = SourceFile(str(path), location, state_of(str(path), location))
    assert [*file.lines(2_000_000)] == data.split(b"\n")
    assert file.head(cut) == data[:cut]
    with pytest.raises(LimitExceeded, match=r"a line of .*lines, in bytes"):
        list(file.lines(1_999_999))


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_this_program_has_written_is_no_source_of_an_import(
    form: ExportFormat, bucket: str, tmp_path: Path
) -> None:
    graph = Graph.init(f"{bucket}/g.omni", "node Cat { name: String @key }", settings=settings())
    place = f"{bucket}/out"
    graph.export(place, format=form)
    with pytest.raises(SourceInvalid, match="it is an export") as refused:
        ImportPlan.of(place, settings=settings())
    assert f"omnigraph load --data {place}" in str(refused.value.hint)
    with pytest.raises(SourceInvalid, match="it is a graph") as refused:
        ImportPlan.of(copied(graph.uri, str(tmp_path / "g.omni")), settings=settings())
    assert "name the source first" in str(refused.value.hint)


@pytest.mark.parametrize("source", [b"cats", 5, None])
def test_what_is_no_path_is_no_source(source: Any) -> None:
    with pytest.raises(ArgumentInvalid, match="pass the path of an export"):
        ImportPlan.of(source)
