"""Rows mean the same in every form, however the input is cut."""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import lance
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.pipeline.limits import InputLimits, LoadLimits
from tests.pipeline.forms import FORMS, Data, bad_rows, conform_all, rows_by_type

TEXT = st.text(
    st.one_of(st.sampled_from(',;"\t\r\n \\{}[]'), st.characters(exclude_categories=["Cs"])),
    max_size=6,
)
MAYBE = st.none()
NUMBERS = st.floats(-1e6, 1e6, width=32)
DATES = st.dates().map(str)
MOMENTS = st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='milliseconds')}Z")

PEOPLE = st.fixed_dictionaries(
    {
        "email": st.one_of(TEXT.map(lambda text: f"{text}@x"), TEXT),
        "name": TEXT,
        "age": st.one_of(MAYBE, st.integers(-5, 160)),
        "score": st.one_of(MAYBE, NUMBERS),
        "status": st.sampled_from(["active", "gone", "asleep", None]),
        "nick": st.one_of(MAYBE, TEXT),
        "tags": st.one_of(MAYBE, st.lists(TEXT, max_size=3)),
        "born": st.one_of(MAYBE, DATES),
        "seen": st.one_of(MAYBE, MOMENTS),
        "face": st.one_of(MAYBE, st.lists(NUMBERS, min_size=2, max_size=2)),
    }
)
CITIES = st.fixed_dictionaries(
    {"code": st.integers(-(2**63), 2**63 - 1), "id": st.one_of(MAYBE, TEXT)}
)
LIVES_IN = st.fixed_dictionaries({"from": TEXT, "to": st.integers(-(2**63), 2**63 - 1)})
KNOWS = st.fixed_dictionaries(
    {
        "from": TEXT,
        "to": TEXT,
        "since": st.one_of(MAYBE, DATES),
        "weight": st.one_of(MAYBE, NUMBERS),
    }
)
INPUTS = st.fixed_dictionaries(
    {
        "Person": st.lists(PEOPLE, min_size=1, max_size=6),
        "City": st.lists(CITIES, min_size=1, max_size=4),
        "LivesIn": st.lists(LIVES_IN, min_size=1, max_size=4),
        "Knows": st.lists(KNOWS, min_size=1, max_size=4),
    }
)


def cut_to(size: int) -> LoadLimits:
    """Splits, blocks and batches as small as that."""
    return LoadLimits(
        min_task_bytes=size,
        max_task_bytes=size,
        min_csv_bytes=size,
        input=InputLimits(
            max_block_bytes=size,
            max_records_bytes=size,
            chunk_bytes=size,
            max_batch_rows=1 + size // 64,
        ),
    )


def meaning(source: Any, limits: LoadLimits | None = None) -> tuple[Any, Any]:
    blocks = conform_all(source, limits=limits)
    wrong = sorted(
        (reason.kind, reason.type_name or "", reason.property_name or "")
        for row in bad_rows(blocks)
        for reason in row.reasons
    )
    assert sum(block.read for block in blocks) == sum(
        len(found) for found in rows_by_type(blocks).values()
    ) + len(bad_rows(blocks))
    return rows_by_type(blocks), wrong


@settings(max_examples=max(15, settings().max_examples // 20))
@given(data=INPUTS, size=st.sampled_from([20, 150, 1 << 20]))
def test_the_same_rows_conform_alike_in_every_form_however_they_are_cut(
    data: Data, size: int
) -> None:
    found = {}
    for form, write in FORMS.items():
        with TemporaryDirectory() as place:
            found[form] = meaning(write(Path(place), data), cut_to(size))
    assert {form: repr(it) for form, it in found.items() if repr(it) != repr(found["lines"])} == {}


EXOTIC: list[tuple[str, str, pa.Array]] = [
    ("a dictionary", "name", pa.array(["n"]).dictionary_encode()),
    ("large text", "name", pa.array(["n"], pa.large_string())),
    ("a view of text", "name", pa.array(["n"], pa.string_view())),
    ("a small integer", "age", pa.array([3], pa.uint8())),
    ("whole floats", "age", pa.array([3.0])),
    ("integers for a float", "score", pa.array([3])),
    ("half floats", "score", pa.array([3.0], pa.float64()).cast(pa.float16())),
    ("a date in milliseconds", "born", pa.array([0], pa.date64())),
    ("midnight for a date", "born", pa.array([0], pa.timestamp("ns"))),
    ("text for a date", "born", pa.array(["1970-01-01"])),
    ("a time without a zone", "seen", pa.array([0], pa.timestamp("us"))),
    ("a time of another zone", "seen", pa.array([0], pa.timestamp("s", tz="Asia/Tokyo"))),
    ("a date for a time", "seen", pa.array([0], pa.date32())),
    ("a large list", "tags", pa.array([["a"]], pa.large_list(pa.large_string()))),
    ("a list of a dictionary", "tags", pa.array([["a"]], pa.list_(pa.string()))),
    ("doubles for a vector", "face", pa.array([[1, 2]], pa.list_(pa.float64()))),
    ("integers for a vector", "face", pa.array([[1, 2]], pa.list_(pa.int8(), 2))),
    ("binary", "photo", pa.array([b"x"], pa.binary())),
    ("nothing at all", "nick", pa.nulls(1)),
]
VALUES = {
    "name": "n",
    "age": 3,
    "score": 3.0,
    "born": "1970-01-01",
    "seen": "1970-01-01 00:00:00+00:00",
    "tags": ["a"],
    "face": [1.0, 2.0],
    "photo": b"x",
    "nick": None,
}


@pytest.mark.parametrize(
    ("column", "values"), [case[1:] for case in EXOTIC], ids=[case[0] for case in EXOTIC]
)
def test_a_typed_column_of_another_make_gives_the_same_value(column: str, values: pa.Array) -> None:
    row = {"email": pa.array(["a@x"]), "name": pa.array(["n"]), column: values}
    (found,) = rows_by_type(conform_all({"person": pa.table(row)}))["Person"]
    value = found[column]
    assert (str(value) if column in ("born", "seen") else value) == VALUES[column]


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_of_day_is_no_date(unit: str, zone: str | None) -> None:
    midnight = datetime(2020, 2, 1, tzinfo=ZoneInfo(zone) if zone else None)
    times = pa.array([midnight, midnight.replace(hour=10), None], pa.timestamp(unit, zone))
    people = {"email": [f"{n}@x" for n in range(3)], "name": ["a", "b", "c"], "born": times}
    blocks = conform_all({"Person": pa.table(people)})
    assert [str(row["born"]) for row in rows_by_type(blocks)["Person"]] == ["2020-02-01", "None"]
    (bad,) = bad_rows(blocks)
    assert (bad.number, bad.reasons[0].kind, bad.reasons[0].property_name) == (1, "type", "born")


def test_times_before_1970_are_cut_to_milliseconds_downwards_in_every_form() -> None:
    text = "1969-12-31T23:59:59.999999Z"
    typed = pa.array([-1], pa.timestamp("us", tz="UTC"))
    for seen in (pa.array([text]), typed):
        table = pa.table({"email": pa.array(["a@x"]), "name": pa.array(["n"]), "seen": seen})
        (row,) = rows_by_type(conform_all({"Person": table}))["Person"]
        assert row["seen"].isoformat() == "1969-12-31T23:59:59.999000+00:00"


def test_anything_that_offers_arrows_stream_is_a_frame() -> None:
    class Frame:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            table = pa.table({"code": [1, 2]})
            return table.__arrow_c_stream__(requested_schema)

    assert [row["code"] for row in rows_by_type(conform_all({"City": Frame()}))["City"]] == [1, 2]


def test_a_lance_dataset_is_read_by_fragments_and_only_what_feeds_something(
    tmp_path: Path,
) -> None:
    table = pa.table({"email": [f"{n}@x" for n in range(10)], "name": ["n"] * 10, "age": range(10)})
    lance.write_dataset(table, str(tmp_path / "Person.lance"), max_rows_per_file=3)
    found = rows_by_type(conform_all(str(tmp_path / "Person.lance")))["Person"]
    assert [row["age"] for row in found] == list(range(10))
