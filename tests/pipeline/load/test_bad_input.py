"""What is wrong with an input is said by file and row in every form, and good rows are not lost."""

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    FileMissing,
    LimitExceeded,
    OmnigraphError,
    SourceInvalid,
    StorageFailed,
    Unsupported,
)
from omnigraph.pipeline.limits import InputLimits, LoadLimits
from omnigraph.pipeline.sources import plan_splits
from tests.pipeline.forms import bad_rows, conform_all, rows_by_type
from tests.pipeline.world import CATALOG, person, text

ADA, EVE = person("ada"), person("eve")

Writer = Callable[[Path, bytes], Any]
LINE_FORMS: dict[str, Writer] = {
    "file": lambda place, data: _written(place / "in.jsonl", data),
    "gzip": lambda place, data: _written(place / "in.jsonl.gz", gzip.compress(data)),
    "zstd": lambda place, data: _written(
        place / "in.json.zst", pa.compress(data, codec="zstd", asbytes=True)
    ),
    "bytes": lambda _, data: data,
    "open file": lambda _, data: io.BytesIO(data),
    "open text": lambda _, data: io.StringIO(data.decode()),
}

BAD_LINES: list[tuple[str, str, tuple[str, str | None]]] = [
    ("a malformed line", '{"type":"Note"', ("json", None)),
    ("a wrong type", json.dumps(person("bob", age="3")), ("type", "age")),
    ("an unknown field", json.dumps(person("bob", agee=3)), ("type", "agee")),
    ("an unknown type", '{"type":"Nobody","data":{}}', ("envelope", None)),
    ("a member twice", '{"type":"Note","data":{"text":"","text":""}}', ("json", None)),
    ("a list", "[1]", ("envelope", None)),
]


def _written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("form", LINE_FORMS)
@pytest.mark.parametrize(
    ("line", "expected"), [case[1:] for case in BAD_LINES], ids=[case[0] for case in BAD_LINES]
)
def test_a_bad_line_is_one_bad_row_with_its_place_and_text(
    tmp_path: Path, form: str, line: str, expected: tuple[str, str | None]
) -> None:
    source = LINE_FORMS[form](tmp_path, text([ADA, "", line, EVE]).encode())
    blocks = conform_all(source)
    (bad,) = bad_rows(blocks)
    assert (bad.number, bad.text) == (2, line)
    assert [(r.kind, r.property_name, r.line) for r in bad.reasons] == [(*expected, 3)]
    assert len(rows_by_type(blocks)["Person"]) == 2
    assert sum(block.read for block in blocks) == 3


@pytest.mark.parametrize("form", LINE_FORMS)
def test_marks_windows_ends_and_long_lines_are_no_trouble(tmp_path: Path, form: str) -> None:
    long = person("bob", nick="x" * 10_000_000)
    data = b"\xef\xbb\xbf" + text([ADA, long, EVE]).encode().replace(b"\n", b"\r\n")
    found = rows_by_type(conform_all(LINE_FORMS[form](tmp_path, data)))["Person"]
    assert [len(row["nick"]) for row in found] == [4, 10_000_000, 4]


@pytest.mark.parametrize("form", LINE_FORMS)
def test_an_empty_input_has_no_rows(tmp_path: Path, form: str) -> None:
    assert conform_all(LINE_FORMS[form](tmp_path, b"")) in ([], conform_all([]))


def test_a_packed_line_without_end_is_refused(tmp_path: Path) -> None:
    limits = LoadLimits(input=InputLimits(max_line_bytes=1_000, max_block_bytes=1_000))
    with pytest.raises(LimitExceeded, match=r"in\.jsonl\.gz"):
        conform_all(LINE_FORMS["gzip"](tmp_path, b"x" * 3_000_000), limits=limits)


@pytest.mark.parametrize("name", ["Person.csv.gz", "in.jsonl.gz", "Person.tsv.zst", "in.jsonl.zst"])
@pytest.mark.parametrize(
    "damage", ["cut short", "garbled", "not packed at all", "more behind it", "no bytes"]
)
def test_a_damaged_archive_is_an_error_that_names_the_file(
    tmp_path: Path, name: str, damage: str
) -> None:
    # Enough that what can be unpacked of a half is more than a header.
    text_ = "email\tname\n" + "".join(f"{n}@x\t{n}\n" for n in range(200_000))
    data = text_.replace("\t", "," if "csv" in name else "\t").encode()
    packed = gzip.compress(data) if ".gz" in name else pa.compress(data, "zstd", asbytes=True)
    middle = len(packed) // 2
    broken = {
        "cut short": packed[:middle],
        "garbled": packed[:16] + bytes(64) + packed[80:],
        "not packed at all": b"type,data\n",
        "more behind it": packed + b"more",
        "no bytes": b"",
    }[damage]
    with pytest.raises(SourceInvalid, match=f"{name}.*damaged or truncated"):
        conform_all(_written(tmp_path / name, broken))


TABLES: list[tuple[str, dict[str, list[Any]], tuple[str, str | None]]] = [
    ("out of range", {"age": [1, 200, 3]}, ("range", "age")),
    ("an unknown word", {"status": ["gone", "asleep", None]}, ("enum", "status")),
    ("a fraction for an integer", {"age": [1.0, 2.5, None]}, ("type", "age")),
    ("a vector too short", {"face": [[1.0, 2.0], [1.0], None]}, ("type", "face")),
    ("no name", {"name": ["a", None, "c"]}, ("required", "name")),
]


@pytest.mark.parametrize("form", ["parquet", "csv", "tables", "pandas", "csv.gz"])
@pytest.mark.parametrize(
    ("columns", "expected"), [case[1:] for case in TABLES], ids=[case[0] for case in TABLES]
)
def test_a_bad_row_of_a_table_is_named_by_its_row_and_given_as_json(
    tmp_path: Path, form: str, columns: dict[str, list[Any]], expected: tuple[str, str | None]
) -> None:
    table = pa.table({"email": ["a@x", "b@x", "c@x"], "name": ["a", "b", "c"]} | columns)
    match form:
        case "parquet":
            pq.write_table(table, tmp_path / "Person.parquet", row_group_size=1)
            source: Any = tmp_path / "Person.parquet"
        case "tables":
            source = {"Person": table}
        case "pandas":
            source = {"Person": table.to_pandas()}
        case _:
            source = _csv_of(table, tmp_path / f"Person.{form}")
    (bad,) = bad_rows(conform_all(source))
    assert [(r.kind, r.property_name) for r in bad.reasons] == [expected]
    assert [r.line for r in bad.reasons] == [3 if "csv" in form else 2]
    assert json.loads(bad.text)["email"] == "b@x"


NO_TEXT_IN_A_LIST = pa.ListArray.from_arrays(
    pa.array([0, 1, 3, 3]), pa.array([b"a", b"b", b"\xff"]).view(pa.string())
)
ODD_COLUMNS: list[tuple[str, str, pa.Array]] = [
    ("a time too late", "seen", pa.array([0, 2**62, None], pa.timestamp("ms"))),
    ("a time too early", "seen", pa.array([0, -(2**62), None], pa.timestamp("us", "UTC"))),
    ("a day too late", "born", pa.array([0, 2**31 - 1, None], pa.int32()).view(pa.date32())),
    ("a time of day", "born", pa.array([0, 1, None], pa.timestamp("ns"))),
    ("a time too late for a day", "born", pa.array([0, 2**62, None], pa.timestamp("ms"))),
    ("no UTF-8", "nick", pa.array([b"a", b"\xff", None]).view(pa.string())),
    ("no UTF-8 in a list", "tags", NO_TEXT_IN_A_LIST),
    ("no UTF-8 for a day", "born", pa.array([None, b"\xff", None], pa.binary()).view(pa.string())),
    ("no UTF-8 in a key", "email", pa.array([b"a@x", b"\xff@x", b"c@x"]).view(pa.string())),
]


@pytest.mark.parametrize("form", ["parquet", "table", "run-end encoded"])
@pytest.mark.parametrize(
    ("name", "column"), [case[1:] for case in ODD_COLUMNS], ids=[case[0] for case in ODD_COLUMNS]
)
def test_a_value_that_nobody_could_read_back_is_a_bad_row(
    tmp_path: Path, form: str, name: str, column: pa.Array
) -> None:
    table = pa.table({"email": ["a@x", "b@x", "c@x"], "name": ["a", "b", "c"]})
    if form == "run-end encoded":
        column = pc.run_end_encode(column)
    columns = dict(zip(table.column_names, table.columns, strict=True)) | {name: column}
    source: Any = {"Person": pa.table(columns)}
    if form == "parquet":
        pq.write_table(source["Person"], tmp_path / "Person.parquet")
        source = str(tmp_path / "Person.parquet")
    blocks = conform_all(source)
    (bad,) = bad_rows(blocks)
    assert [(r.kind, r.property_name, r.line) for r in bad.reasons] == [("type", name, 2)]
    assert json.loads(bad.text)["name"] == "b"
    assert [row["name"] for row in rows_by_type(blocks)["Person"]] == ["a", "c"]


def _csv_of(table: pa.Table, path: Path) -> Path:
    cells = [
        ["" if cell is None else json.dumps(str(cell)) for cell in row.values()]
        for row in table.to_pylist()
    ]
    text_ = "".join(",".join(row) + "\n" for row in [table.column_names, *cells])
    path.write_bytes(gzip.compress(text_.encode()) if path.suffix == ".gz" else text_.encode())
    return path


WRONG_TABLES: list[tuple[str, dict[str, pa.Array], str]] = [
    ("an unknown column", {"agee": pa.array([1])}, "column agee.*did you mean age"),
    (
        "text for a number",
        {"age": pa.array(["1"])},
        r"column age: string can't hold Person\.age",
    ),
    ("decimals", {"score": pa.array([1]).cast(pa.decimal128(25, 2))}, "column score: decimal"),
    ("a struct", {"nick": pa.array([{"a": 1}])}, "column nick: struct"),
    ("a truth value for a number", {"age": pa.array([True])}, "column age: bool"),
    ("a number for text", {"nick": pa.array([1])}, "column nick: int64"),
    ("a duration", {"born": pa.array([1], pa.duration("s"))}, "column born: duration"),
    ("a list for a scalar", {"age": pa.array([[1]])}, "column age: list"),
    ("text in a vector", {"face": pa.array([["1", "2"]])}, "column face: list"),
]


@pytest.mark.parametrize("form", ["parquet", "table"])
@pytest.mark.parametrize(
    ("columns", "error"), [case[1:] for case in WRONG_TABLES], ids=[c[0] for c in WRONG_TABLES]
)
def test_a_table_whose_columns_do_not_fit_fails_before_a_row_is_read(
    tmp_path: Path, form: str, columns: dict[str, pa.Array], error: str
) -> None:
    table = pa.table({"email": pa.array(["a@x"]), "name": pa.array(["a"]), **columns})
    pq.write_table(table, tmp_path / "Person.parquet")
    source = tmp_path / "Person.parquet" if form == "parquet" else {"Person": table}
    with pytest.raises(SourceInvalid, match=f"Person.*{error}"):
        plan_splits(source, catalog=CATALOG, parallelism=1)


def test_a_directory_of_all_forms_is_read_file_by_file_in_order(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    _written(tmp_path / "a.jsonl", text([ADA]).encode())
    _written(tmp_path / "deep" / "person.csv", b"email,name\nbob@x,bob\n")
    pq.write_table(
        pa.table({"email": ["c@x"], "name": ["c"]}), tmp_path / "deep" / "Person.parquet"
    )
    _written(tmp_path / "z.jsonl.gz", gzip.compress(text([EVE]).encode()))
    for other in ("README.md", "_SUCCESS", ".hidden.csv", "schema.pg"):
        _written(tmp_path / other, b"?")
    found = rows_by_type(conform_all(tmp_path))["Person"]
    assert [row["name"] for row in found] == ["ada", "c", "bob", "eve"]


def test_files_of_a_directory_named_like_a_type_are_of_that_type(tmp_path: Path) -> None:
    parts = tmp_path / "Person.parquet"
    parts.mkdir()
    for n in range(3):
        pq.write_table(
            pa.table({"email": [f"{n}@x"], "name": [f"{n}"]}), parts / f"part-{n}.parquet"
        )
    found = rows_by_type(conform_all(parts))["Person"]
    assert [row["name"] for row in found] == ["0", "1", "2"]


@pytest.mark.parametrize("name", ["Person.CSV", "PERSON.Tsv.GZ", "in.JSONL.Zst", "Person.PARQUET"])
def test_the_case_of_a_suffix_makes_no_difference(tmp_path: Path, name: str) -> None:
    delimiter = b"\t" if "Tsv" in name else b","
    data = text([ADA]).encode() if "JSONL" in name else b"email,name\nada@x.org,ada\n"
    data = data if "JSONL" in name else data.replace(b",", delimiter)
    match name.rpartition(".")[2]:
        case "GZ":
            data = gzip.compress(data)
        case "Zst":
            data = pa.compress(data, codec="zstd", asbytes=True)
        case _:
            pass
    _written(tmp_path / name, data)
    if name.endswith("PARQUET"):
        pq.write_table(pa.table({"email": ["ada@x.org"], "name": ["ada"]}), tmp_path / name)
    (found,) = rows_by_type(conform_all(tmp_path))["Person"]
    assert (found["email"], found["name"]) == ("ada@x.org", "ada")


def test_a_format_says_what_files_are_whose_names_do_not(tmp_path: Path) -> None:
    (tmp_path / "Person").mkdir()
    _written(tmp_path / "Person" / "part-0000", b"email,name\na@x,a\n")
    assert len(rows_by_type(conform_all(tmp_path, format="csv"))["Person"]) == 1
    with pytest.raises(FileMissing):
        conform_all(tmp_path)
    with pytest.raises(ArgumentInvalid, match="jsonl, csv or parquet"):
        conform_all(tmp_path, format="xml")
    with pytest.raises(SourceInvalid, match="not Parquet"):
        conform_all(tmp_path, format="parquet")


def test_a_parquet_file_whose_names_are_no_text_is_refused_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "Person.parquet"
    pq.write_table(pa.table({"email": ["a@x"], "nameX": ["a"]}), file, store_schema=False)
    file.write_bytes(file.read_bytes().replace(b"nameX", b"name\xff"))
    with pytest.raises(SourceInvalid, match=r"Person\.parquet: the file is not Parquet"):
        conform_all(tmp_path)


class Gives:
    """An open file that does not keep what it promises."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def read(self) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


class Raises:
    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        raise TypeError


def broken_reader() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"email": ["a@x"]})
        raise OSError("the disk is gone")

    return pa.RecordBatchReader.from_batches(pa.schema({"email": pa.string()}), batches())


WRONG_SOURCES: list[tuple[str, Any, type[OmnigraphError], str]] = [
    ("a number", 5, ArgumentInvalid, "int"),
    ("a set in a row", [{"type": "Note", "data": {"text": {1}}}], ArgumentInvalid, "row 1.*set"),
    ("a list for a row", [ADA, [1]], ArgumentInvalid, "row 2.*list"),
    ("nothing for the first row", [None, ADA], ArgumentInvalid, "row 1.*NoneType"),
    ("nothing for a row", iter([ADA, None]), ArgumentInvalid, "row 2.*NoneType"),
    ("a row where paths are", ["a.jsonl", ADA], ArgumentInvalid, "item 2 must be a path.*dict"),
    ("a row that is not in a list", ADA, ArgumentInvalid, "put rows as dicts into a list"),
    ("a file of numbers", Gives(5), ArgumentInvalid, "text or bytes, not int"),
    ("a file of nothing", Gives(None), ArgumentInvalid, "text or bytes, not NoneType"),
    ("a closed file", Gives(ValueError("closed")), SourceInvalid, "can't be read .closed"),
    ("a file that fails", Gives(OSError("gone")), SourceInvalid, "can't be read .gone"),
    (
        "a frame that fails",
        {"Person": Raises()},
        SourceInvalid,
        "Person: the frame can't be converted",
    ),
    ("a frame that fails later", {"Person": broken_reader()}, SourceInvalid, "the disk is gone"),
    ("a frame of no columns", {"Person": pa.table({})}, SourceInvalid, "the table has no columns"),
    ("a frame of no type", pa.table({"a": [1]}), SourceInvalid, "type of its rows is unknown"),
    ("a frame of an unknown type", {"Persn": pa.table({"a": [1]})}, SourceInvalid, "mean Person"),
]


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [case[1:] for case in WRONG_SOURCES],
    ids=[case[0] for case in WRONG_SOURCES],
)
def test_a_source_of_no_known_kind_is_refused(
    source: Any, error: type[OmnigraphError], message: str
) -> None:
    with pytest.raises(error, match=message):
        plan_splits(source, catalog=CATALOG, parallelism=1)


def test_what_is_no_file_is_lines_and_nothing_else() -> None:
    with pytest.raises(Unsupported, match="csv"):
        plan_splits(b"a,b", catalog=CATALOG, parallelism=1, format="csv")


def test_values_of_python_and_numpy_are_what_they_look_like() -> None:
    import datetime

    import numpy as np

    row = person(
        "ada",
        age=np.int64(3),
        face=np.array([1.0, 2.0]),
        photo=b"\x00\xff",
        born=datetime.date(1815, 12, 10),
        seen=datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    )
    (found,) = rows_by_type(conform_all(iter([row])))["Person"]
    assert (found["age"], found["face"], found["photo"]) == (3, [1.0, 2.0], b"\x00\xff")
    assert (str(found["born"]), found["seen"].isoformat()) == (
        "1815-12-10",
        "2024-01-01T00:00:00+00:00",
    )


def test_half_a_character_or_no_number_in_a_dict_is_a_bad_row() -> None:
    rows = [person("ada", nick="\ud800"), EVE, person("bob", score=float("nan"))]
    blocks = conform_all(rows)
    assert [(row.number, row.reasons[0].kind) for row in bad_rows(blocks)] == [
        (0, "json"),
        (2, "type"),
    ]
    assert len(rows_by_type(blocks)["Person"]) == 1


@pytest.mark.parametrize("name", ["Person.parquet", "Person.csv", "in.jsonl"])
def test_a_file_that_can_not_be_opened_is_a_typed_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.symlink_to(path)
    with pytest.raises((FileMissing, StorageFailed)):
        conform_all(str(path))


ENGINES = [
    "local",
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")]),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_of_bad_cells_leaves_other_columns_their_examples(
    tmp_path: Path, engine: Literal["local", "spark"], request: pytest.FixtureRequest
) -> None:
    session = request.getfixturevalue("spark") if engine == "spark" else None
    graph = Graph.init(
        str(tmp_path / "g"),
        "node Person { email: String @key a: I32? b: I32? }",
        durability="relaxed",
    )
    rows = [f"p{n},{'NA' if n < 60 else n},{'late' if n == 99 else n}" for n in range(100)]
    data = _written(tmp_path / "Person.csv", "\n".join(["email,a,b", *rows]).encode())
    checked = graph.load(
        data,
        mode="append",
        engine=engine,
        spark=session,
        dry_run=True,
        on_error="quarantine",
        quarantine=tmp_path / "bad",
        max_errors=100,
    )
    report = checked.violations
    assert report is not None
    assert report.counts == {("type", "Person", "a"): 60, ("type", "Person", "b"): 1}
    shown = [(v.property_name, v.line) for v in report.examples]
    assert shown == [*(("a", n) for n in range(2, 22)), ("b", 101)]
    assert "(also in lines 3, 4, 5, 6, 7, …)" in report.report
