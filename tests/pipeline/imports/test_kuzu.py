"""Exports of Kuzu and Ladybug are imported as they were written: tables, keys, types, edges."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import ImportPlan
from omnigraph.errors import FileMissing, OmnigraphError, SourceInvalid, Unsupported
from omnigraph.pipeline.imports.cypher_text import read_copies, read_tables
from tests.pipeline.imports.imported import (
    EXPORTS,
    edges_of,
    import_into,
    nodes_of,
    unpacked,
    write_files,
)

ADA: dict[str, Any] = {
    "email": "ada@x",
    "name": 'Ada "the first", Lovelace',
    "age": 36,
    "height": 1.7,
    "small": -3,
    "big": 2**64 - 1,
    "active": True,
    "born": "1815-12-10",
    "seen": "2024-05-31T12:00:00.250Z",
    "tags": ["a", 'd"e', "f;g"],
    "scores": [1.5, 2],
    "face": [1, 0.5, 0.25],
    "photo": "base64:AP9hYmM=",
    "uid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
}
BOB = {"email": "bob@x", "name": "on two\nlines", "active": False, "tags": []}
EVE = {"email": "eve,x", "name": "", "height": 1e300}
ADDRESS = {"ladybug": '{"city": "London", "zip": 3}', "kuzu-csv": "{city: London, zip: 3}"}
LISTS = pa.map_(pa.list_(pa.int64()), pa.int64())
TABLES = """
CREATE NODE TABLE `Person` (`name` STRING, PRIMARY KEY(`name`));
CREATE REL TABLE `Knows` (FROM `Person` TO `Person`, MANY_MANY);
"""
COPIES = """
COPY `Person` (`name`) FROM "Person.csv" (header=true);
COPY `Knows` FROM "Knows.csv" (from='Person', to='Person');
"""


@pytest.mark.parametrize("export", ["ladybug", "kuzu-csv"])
def test_an_export_is_imported_value_by_value_and_answers_queries(
    export: str, tmp_path: Path
) -> None:
    graph = import_into(tmp_path, unpacked(export, tmp_path))
    assert nodes_of(graph, "Person") == [{**ADA, "address": ADDRESS[export]}, BOB, EVE]
    assert nodes_of(graph, "City") == [
        {"id": 0, "full_Name": "London"},
        {"id": 1, "full_Name": "Paris"},
    ]
    assert sorted(edges_of(graph, "Knows"), key=str) == [
        ("ada@x", "bob@x", {"since": "1833-06-05", "note": "x"}),
        ("ada@x", "eve,x", {}),
    ]
    asked = graph.query(
        "query q() { match { $p: Person  $p livesIn $c } "
        "return { $p.name as name  $c.full_Name as city } }"
    )
    assert asked.to_pylist() == [{"name": ADA["name"], "city": "Paris"}]
    assert len(graph.commits()) == 2, "the graph, and one commit for all rows"


def test_a_table_that_joins_several_pairs_is_an_edge_type_for_each(tmp_path: Path) -> None:
    plan = ImportPlan.of(EXPORTS / "kuzu-csv")
    assert any("joins 3 pairs" in note for note in plan.notes)
    graph = import_into(tmp_path, EXPORTS / "kuzu-csv")
    assert edges_of(graph, "Mentions_City_City") == [("0", "1", {})]
    assert edges_of(graph, "Mentions_City_Person") == [("0", "eve,x", {})]
    assert edges_of(graph, "Mentions_Person_City") == []


def test_numbers_and_times_of_parquet_keep_their_values(tmp_path: Path) -> None:
    fine = 1_717_156_800_123_456_789
    cells = {
        "id": pa.array([1]),
        "price": pa.array([Decimal("1.25")], pa.decimal128(10, 2)),
        "prices": pa.array([[Decimal("1.25")]], pa.list_(pa.decimal128(10, 2))),
        "fine": pa.array([fine], pa.timestamp("ns")),
        "fines": pa.array([[fine]], pa.list_(pa.timestamp("ns"))),
    }
    types = ["INT64", "DECIMAL(10, 2)", "DECIMAL(10, 2)[]", "TIMESTAMP_NS", "TIMESTAMP_NS[]"]
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in zip(cells, types, strict=True))
    tables = f"CREATE NODE TABLE `Thing` ({columns}, PRIMARY KEY(`id`));"
    source = write_files(tmp_path / "export", {"schema.cypher": tables})
    pq.write_table(pa.table(cells), source / "nodes_Thing.parquet")
    assert nodes_of(import_into(tmp_path, source), "Thing") == [
        {
            "id": 1,
            "price": 1.25,
            "prices": [1.25],
            "fine": "2024-05-31T12:00:00.123Z",
            "fines": ["2024-05-31T12:00:00.123Z"],
        }
    ]


def _interval(months: int, days: int, milliseconds: int) -> bytes:
    return b"".join(part.to_bytes(4, "little") for part in (months, days, milliseconds))


@pytest.mark.parametrize(
    ("type_", "cell", "text"),
    [
        ("INTERVAL", pa.array([_interval(12, 2, 46_925_123)], pa.binary(12)), "P12M2DT46925.123S"),
        ("INTERVAL", pa.array([_interval(0, 0, 3_600_000)], pa.binary(12)), "P0M0DT3600S"),
        ("INTERVAL", pa.array([_interval(0, 0, 2**32 - 1)], pa.binary(12)), "P0M0DT4294967.295S"),
        ("MAP(STRING, INT64)", {"a": 1, "b,c": 2}, '{"a": 1, "b,c": 2}'),
        ("MAP(INT64, BOOL)", {5: True}, '{"5": true}'),
        ("MAP(BOOL, BOOL)", {True: False}, '{"true": false}'),
        ("MAP(DATE, INT64)", {date(2024, 5, 31): 1}, '{"2024-05-31": 1}'),
        ("MAP(BLOB, INT64)", {b"\x00\xaa": 1}, '{"00aa": 1}'),
        ("MAP(INT64[], INT64)", pa.array([[([1, 2], 3)]], LISTS), '{"[1, 2]": 3}'),
    ],
)
def test_what_has_no_type_of_ours_is_kept_as_text_to_the_last_digit(
    type_: str, cell: Any, text: str, tmp_path: Path
) -> None:
    if isinstance(cell, dict):
        ((key, value), *_) = cell.items()
        kinds = [pa.scalar(one).type for one in (key, value)]
        cell = pa.array([[*cell.items()]], pa.map_(*kinds))
    tables = f"CREATE NODE TABLE `T` (`id` INT64, `v` {type_}, PRIMARY KEY(`id`));"
    source = write_files(tmp_path / "export", {"schema.cypher": tables})
    pq.write_table(pa.table({"id": pa.array([1]), "v": cell}), source / "nodes_T.parquet")
    assert nodes_of(import_into(tmp_path, source), "T") == [{"id": 1, "v": text}]


def test_what_a_table_declares_stands_in_the_schema(tmp_path: Path) -> None:
    schema = ImportPlan.of(unpacked("ladybug", tmp_path)).schema
    for line in (
        "email: String @key",
        "small: I32?",
        "big: U64?",
        "seen: DateTime?",
        "tags: [String]?",
        "face: Vector(3)?",
        "photo: Blob?",
        'full_Name: String? @default("nowhere")',
        "edge LivesIn: Person -> City @card(0..1) {",
    ):
        assert f"{line}\n" in schema


def test_options_of_a_copy_are_followed(tmp_path: Path) -> None:
    # Kuzu doubles the names of options that it was given.
    copies = COPIES.replace("header=true", "header=true, delim=delim='|'")
    files = {
        "schema.cypher": TABLES.replace("`name` STRING", "`name` STRING, `n` UINT8[]"),
        "copy.cypher": copies.replace("(`name`)", "(`name`,`n`)"),
        "Person.csv": "a.name|a.n\na,b|[1,2]\n",
        "Knows.csv": '"a,b","a,b"\n',
    }
    graph = import_into(tmp_path, write_files(tmp_path / "db", files))
    assert nodes_of(graph, "Person") == [{"name": "a,b", "n": [1, 2]}]
    assert edges_of(graph, "Knows") == [("a,b", "a,b", {})]


@pytest.mark.parametrize(
    ("schema", "copies", "error", "said"),
    [
        (TABLES, COPIES.replace("Knows.csv", "gone.csv"), FileMissing, "gone.csv, named in"),
        (TABLES, COPIES.replace("`Person` (", "`Persn` ("), SourceInvalid, "copy.cypher:2:6"),
        (TABLES, COPIES + "COPY `Person", SourceInvalid, "copy.cypher:4:6: a quote is never"),
        (TABLES, COPIES + "COPY Person", SourceInvalid, "copy.cypher:4:1: the last statement"),
        (TABLES, COPIES.replace("header=true", "quote='|'"), Unsupported, "quote=|"),
        (TABLES.replace("STRING", "STRNG"), COPIES, SourceInvalid, "STRNG is not known"),
        (TABLES.replace(", PRIMARY KEY(`name`)", ""), COPIES, SourceInvalid, "no primary key"),
        (TABLES.replace("TO `Person`", "TO `Cat`"), COPIES, SourceInvalid, "no node table"),
        (TABLES + TABLES, COPIES, SourceInvalid, "is created twice"),
        (
            TABLES.replace("`name` STRING", "`name` STRING, `name` INT64"),
            COPIES,
            SourceInvalid,
            "schema.cypher:2:13: the table Person has two columns name",
        ),
        (TABLES.replace("(`name`", "(`name` ;"), COPIES, SourceInvalid, "schema.cypher:2:"),
        (
            TABLES.replace("`name` STRING", "`name` STRING, `n` INT64"),
            COPIES.replace("(`name`)", "(`n`)"),
            SourceInvalid,
            "copy.cypher:2:6: it leaves out name, the key of Person",
        ),
        *(
            (TABLES, COPIES.replace("header=true", f"delim='{delim}'"), Unsupported, "delim=")
            for delim in ("", "||", "§", "\n")
        ),
    ],
)
def test_a_damaged_export_is_refused_by_the_place_of_its_fault(
    schema: str, copies: str, error: type[OmnigraphError], said: str, tmp_path: Path
) -> None:
    files = {
        "schema.cypher": schema,
        "copy.cypher": copies,
        "Person.csv": "name\na\n",
        "Knows.csv": "a,a\n",
    }
    source = write_files(tmp_path / "db", files)
    with pytest.raises(error) as caught:
        import_into(tmp_path, source)
    assert said in str(caught.value)


def test_a_table_becomes_a_type_whatever_it_declares(tmp_path: Path) -> None:
    """Whatever the widths and defaults, what is proposed is a schema; a BOM is nothing."""
    columns = (
        "`key` BLOB, `none` FLOAT[0], `wide` FLOAT[70000], `large` INT32 DEFAULT 99999999999, "
        "`real` FLOAT DEFAULT 1e39, `less` UINT32 DEFAULT -1, `two` DOUBLE DEFAULT 2, "
        "`word` STRING DEFAULT 'it\\'s', `whole` INT128 DEFAULT 3"
    )
    names = "`key`, `none`, `wide`, `large`, `real`, `less`, `two`, `word`, `whole`"
    files = {
        "schema.cypher": f"\ufeffCREATE NODE TABLE `T` ({columns}, PRIMARY KEY(`key`));",
        "copy.cypher": f'\ufeffCOPY `T` ({names}) FROM "T.csv" (header=true);',
        "T.csv": '\ufeffkey,none,wide,large,real,less,two,word,whole\n\\xFF,,"[1,2]",1,2,3,4,x,5\n',
    }
    source = write_files(tmp_path / "db", files)
    for line in (
        "none: [F32]?\n",
        "large: I32?\n",
        "real: F32?\n",
        "less: U32?\n",
        "two: F64? @default(2.0)\n",
        'word: String? @default("it\'s")\n',
        'whole: String? @default("3")\n',
    ):
        assert line in ImportPlan.of(source).schema
    (row,) = nodes_of(import_into(tmp_path, source), "T")
    assert (row["key"], row["wide"], row["whole"]) == ("base64:/w==", [1, 2], "5")


def test_a_damaged_parquet_file_is_refused_before_a_graph_is_made(tmp_path: Path) -> None:
    source = unpacked("ladybug", tmp_path)
    file = source / "rels_Knows.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(SourceInvalid, match=r"rels_Knows\.parquet: it can't be read as Parquet"):
        ImportPlan.of(source)
    table = pa.table({"from": ["a"], "to": ["b"], "sinceX": ["x"], "note": [""]})
    pq.write_table(table, file, store_schema=False)
    file.write_bytes(file.read_bytes().replace(b"sinceX", b"since\xff"))
    with pytest.raises(SourceInvalid, match=r"rels_Knows\.parquet: it can't be read as Parquet"):
        ImportPlan.of(source)
    file.unlink()
    with pytest.raises(FileMissing, match=r"rels_Knows\.parquet, for the table of .*cypher:3:12"):
        ImportPlan.of(source)


def test_statements_of_other_kinds_are_passed_over() -> None:
    text = "CREATE MACRO f(x) AS x; CALL a('b;c') RETURN *; // CREATE NODE TABLE t\n" + TABLES
    assert [table.name for table in read_tables(text, "s")] == ["Person", "Knows"]
    assert read_copies("RETURN 1;", "c") == []


def test_an_export_that_was_not_finished_is_told_what_it_lacks(tmp_path: Path) -> None:
    source = write_files(tmp_path / "half", {"nodes_Person.parquet": ""})
    with pytest.raises(SourceInvalid, match="its format can't be told") as raised:
        ImportPlan.of(source)
    assert raised.value.hint is not None
    for told in ("schema.cypher", "(kuzu)", "(neo4j-csv)", "(apoc)", "(graphml)", "--format"):
        assert told in raised.value.hint
