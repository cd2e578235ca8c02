"""Where the records of a CSV file begin and end, whatever is in it."""

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import LimitExceeded, SourceInvalid
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.limits import InputLimits, LoadLimits
from omnigraph.pipeline.rows.conform import conform_split
from omnigraph.pipeline.sources import plan_splits
from omnigraph.pipeline.sources.splits import CsvRange

INPUT_LIMITS = InputLimits()
CATALOG = compile_schema(SourceText("node Cell { a: String?  b: String? }", "cell.pg"))
SOUP = st.text(st.sampled_from('ab,"\n\r\ufeff\0'), max_size=40)


def read(
    text: bytes, *, cut: int = 1 << 20, input_limits: InputLimits = INPUT_LIMITS
) -> tuple[list[Any], list[Any]]:
    """Rows and rejections of a file, each with its line."""
    good: list[Any] = []
    bad: list[Any] = []
    limits = LoadLimits(
        min_task_bytes=cut, max_task_bytes=cut, min_csv_bytes=cut, input=input_limits
    )
    with TemporaryDirectory() as place:
        path = Path(place) / "Cell.csv"
        path.write_bytes(text)
        planned = plan_splits(path, catalog=CATALOG, parallelism=1, limits=limits)
        splits = [split for task in planned.tasks for split in task]
        assert all(isinstance(split, CsvRange) for split in splits)
        for split in splits:
            for block in conform_split(split, catalog=CATALOG, now_ms=0, limits=input_limits):
                for typed in block.rows:
                    good += [(row["a"], row["b"]) for row in typed.batch.to_pylist()]
                bad += [
                    (reason.line, reason.message)
                    for row in block.rejected_rows
                    for reason in row.reasons
                ]
    return good, bad


@given(text=SOUP, cut=st.integers(1, 20))
def test_any_way_of_cutting_gives_the_same_rows_and_rejections_on_the_same_lines(
    text: str, cut: int
) -> None:
    data = f"a,b\n{text}".encode()
    assert read(data, cut=cut) == read(data)


@given(text=SOUP)
def test_a_row_that_is_accepted_is_what_the_rules_of_csv_say(text: str) -> None:
    good, bad = read(f"a,b\n{text}".encode())
    if bad:
        return
    records = csv.reader(io.StringIO(text, newline=""), strict=True)
    # Python tells an empty cell from a quoted one as little as it tells lines apart.
    plain = [tuple(cell or "" for cell in row) for row in good]
    assert plain == [tuple(record) for record in records if record]


@given(
    before=st.lists(st.sampled_from(["x,y", '"x\ny",z', '"",']), max_size=3),
    broken=st.sampled_from(["x", "x,y,z", 'x"y,z', '"x"y,z', "x\ry,z", '"x" ,z']),
    after=st.lists(st.sampled_from(["x,y", '"a,""b",z']), max_size=3),
)
def test_a_broken_record_spoils_only_itself(
    before: list[str], broken: str, after: list[str]
) -> None:
    text = "".join(f"{record}\n" for record in ("a,b", *before, broken, *after))
    good, bad = read(text.encode())
    line = 2 + sum(1 + record.count("\n") for record in before)
    assert [at for at, _ in bad] == [line]
    assert len(good) == len(before) + len(after)


@pytest.mark.parametrize("cut", [1, 1 << 20])
def test_a_mark_within_a_file_is_part_of_its_cell(cut: int) -> None:
    mark = "\ufeff"
    text = f"{mark}a\n{mark}\n{mark}x\nx{mark}\n"
    assert read(text.encode(), cut=cut) == (
        [(mark, None), (f"{mark}x", None), (f"x{mark}", None)],
        [],
    )


def test_an_empty_cell_is_null_and_a_quoted_one_is_empty_text() -> None:
    assert read(b'a,b\n,""\n') == ([(None, "")], [])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\n\n"])
def test_marks_line_ends_and_blank_lines_change_nothing(
    end: bytes, mark: bytes, last: bytes
) -> None:
    text = mark + end.join([b"a,b", b"1,2", b"", b"3,4"]) + last.replace(b"\n", end)
    assert read(text) == ([("1", "2"), ("3", "4")], [])


@pytest.mark.parametrize("text", [b"", b"\n\n", b"a,b", b"a,b\n", b"\xef\xbb\xbfa,b\r\n"])
def test_a_file_without_records_has_no_rows(text: bytes) -> None:
    assert read(text) == ([], [])


def test_a_quote_that_is_never_closed_takes_the_rest_of_the_file_with_it() -> None:
    good, bad = read(b'a,b\n1,2\n3,"4\n5,6\n')
    assert good == [("1", "2")]
    assert bad == [
        (3, "a quote or a carriage return stands out of place, or a quote is never closed")
    ]


def test_bytes_that_are_not_utf8_spoil_only_their_record() -> None:
    assert read(b"a,b\n1,\xff\n3,4\n") == ([("3", "4")], [(2, "the record is not UTF-8")])


@pytest.mark.parametrize(
    ("header", "error"),
    [
        (b"a,a\n", "two columns have this name"),
        (b"a,\xff\n", "not UTF-8"),
        (b'a,"b\n', "misplaced quote"),
        (b"a,b\r1,2\r", "lines end in a carriage return without"),
        (b'"a",b\r1,"x\ny"\r' * 100_000, "lines end in a carriage return without"),
        (b"a,c\n", "no property of this name"),
        (b"a,B\n", "did you mean b"),
    ],
)
def test_a_header_that_can_not_be_used_fails_the_file(header: bytes, error: str) -> None:
    with pytest.raises(SourceInvalid, match=f"Cell.csv.*{error}"):
        read(header)


def test_a_record_or_header_without_end_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(LimitExceeded, match=r"Cell\.csv"):
        read(b'a,b\n1,"' + b"x\n" * 200, cut=50, input_limits=InputLimits(max_line_bytes=100))
    with pytest.raises(LimitExceeded, match="header"):
        read(b"a," + b"b" * 200, input_limits=InputLimits(max_header_bytes=100))
