import datetime
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.rows.conform import Conformed
from omnigraph.pipeline.rows.parse_lines import parse_lines
from omnigraph.pipeline.staging.stage import in_input_order
from tests.pipeline.world import (
    CATALOG,
    INPUT_LIMITS,
    conformed,
    edge,
    node,
    person,
    rows,
    rows_by_line,
    text,
)

ADA = person("ada")


def test_a_line_becomes_a_row_as_it_is_stored() -> None:
    line = person(
        "ada",
        age=36,
        score=0.5,
        tags=["a", "b"],
        born="1815-12-10",
        seen="2024-05-31T12:00:00.123456+02:00",
        face=[1, 0.5],
        photo="base64:aGk=",
    )
    (row,) = rows(conformed(text([line]).encode())).values()
    assert row.pop("seen").isoformat() == "2024-05-31T10:00:00.123000+00:00"
    assert str(row.pop("born")) == "1815-12-10"
    assert row == {
        "type": "Person",
        "id": "ada@x.org",
        "email": "ada@x.org",
        "name": "ada",
        "age": 36,
        "score": 0.5,
        "status": "active",
        "nick": "none",
        "tags": ["a", "b"],
        "face": [1.0, 0.5],
        "photo": b"hi",
    }


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        (node("City", code=-5), "-5"),
        (node("City", id_="7", code=7), "7"),
        (node("City", code=7, id="a property"), "7"),
        (node("Day", on="1970-01-11"), "10"),
        (node("Pair", a="x", b=2), '["x","2"]'),
        (node("Note", id_="n1", text="t"), "n1"),
        ({"type": "Note", "data": {"text": "t", "id": "n2"}}, "n2"),
        ({"type": "Note", "id": "n3", "data": {"text": "t", "id": "n3"}}, "n3"),
        (edge("Likes", "a@x", "b@x"), '["a@x","b@x"]'),
        ({"edge": "Knows", "id": "k1", "from": "a", "to": "b"}, "k1"),
    ],
)
def test_an_id_is_the_key_in_its_one_text_or_the_one_that_was_given(
    line: dict[str, Any], id_: str
) -> None:
    (typed,) = conformed(text([line]).encode()).rows
    assert typed.batch["id"].to_pylist() == [id_]


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        (edge("Knows", "a@x", "b@x"), ("a@x", "b@x")),
        (edge("LivesIn", "a@x", 5), ("a@x", "5")),
        (edge("LivesIn", "a@x", "5"), ("a@x", "5")),
        (edge("BornOn", "a@x", "1970-01-11"), ("a@x", "10")),
        (edge("BornOn", "a@x", "10"), ("a@x", "10")),
        (edge("Has", "a@x", '["x","2"]'), ("a@x", '["x","2"]')),
        ({"edge": "knows", "from": "a@x", "to": "b@x"}, ("a@x", "b@x")),
        ({"edge": "KNOWS", "from": "a@x", "to": "b@x", "data": None}, ("a@x", "b@x")),
    ],
)
def test_an_end_is_a_node_id_or_the_value_of_a_single_key(
    line: dict[str, Any], ends: tuple[str, str]
) -> None:
    (typed,) = conformed(text([line]).encode()).rows
    assert (typed.batch["src"][0].as_py(), typed.batch["dst"][0].as_py()) == ends


def test_ends_of_both_kinds_may_stand_in_one_file() -> None:
    mixed = text(
        [edge("LivesIn", "a@x", 5), edge("LivesIn", "a@x", "6"), edge("LivesIn", "b@x", 7)]
    )
    assert [row["dst"] for _, row in sorted(rows(conformed(mixed.encode())).items())] == [
        "5",
        "6",
        "7",
    ]


def test_what_is_left_out_takes_the_default_and_a_given_null_stays() -> None:
    lines = text([person("ada"), person("bob", nick=None, status=None), person("eve", nick="e")])
    found = rows(conformed(lines.encode()))
    assert [(row["nick"], row["status"]) for _, row in sorted(found.items())] == [
        ("none", "active"),
        (None, "active"),
        ("e", "active"),
    ]


EMPTY = compile_schema(
    SourceText('node City { title: String?  size: I32 @default(7)  nick: String? @default("n") }')
)


@pytest.mark.parametrize("is_odd", [False, True], ids=["as columns", "one by one"])
@pytest.mark.parametrize("data", [{}, {"data": None}, {"data": {}}], ids=str)
def test_a_node_without_data_is_a_row_of_defaults(data: dict[str, Any], is_odd: bool) -> None:
    lines: list[dict[str, Any]] = [{"type": "City", **data}, {"type": "City", "id": "c", **data}]
    # The fast way takes only lines that begin with their type.
    ordered = [dict(sorted(line.items(), reverse=not is_odd)) for line in lines]
    found = rows(conformed(text(ordered).encode(), EMPTY))
    plain = {"type": "City", "title": None, "size": 7, "nick": "n"}
    assert found == {1: {**plain, "id": None}, 2: {**plain, "id": "c"}}


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@given(
    born=st.dates(),
    seen=st.datetimes(timezones=st.just(datetime.UTC)),
    is_odd=st.booleans(),
)
@example(datetime.date.min, datetime.datetime.min.replace(tzinfo=datetime.UTC), False)
@example(datetime.date.max, datetime.datetime.max.replace(tzinfo=datetime.UTC), False)
def test_whole_numbers_for_dates_and_times_count_days_and_milliseconds_since_1970(
    born: datetime.date, seen: datetime.datetime, is_odd: bool
) -> None:
    days = (born - EPOCH.date()).days
    milliseconds = (seen - EPOCH) // datetime.timedelta(milliseconds=1)
    lines = [
        person("text", born=born.isoformat(), seen=seen.isoformat()),
        person("numbers", born=days, seen=milliseconds),
        person("one", born=days, seen=seen.isoformat()),
        person("other", born=born.isoformat(), seen=milliseconds),
        person("neither", born=None),
        node("Day", on=days),
    ]
    # The fast way takes only lines that begin with their type.
    ordered = [dict(sorted(line.items(), reverse=not is_odd)) for line in lines]
    result = conformed(text(ordered).encode())
    assert not result.violations
    found = rows(result)
    assert {(found[n]["born"], found[n]["seen"]) for n in range(1, 5)} == {
        (born, seen.replace(microsecond=seen.microsecond // 1000 * 1000))
    }
    assert found[5]["born"] is None
    assert (found[6]["on"], found[6]["id"]) == (born, str(days))


def test_lines_with_numbers_for_dates_are_read_as_columns() -> None:
    lines = [person(f"p{n}", born=n, seen=n) for n in range(9)]
    parsed = parse_lines(text(lines).encode(), catalog=CATALOG, min_fast_lines=1)
    assert parsed.decoded == 0


def test_lists_of_dates_hold_text_or_numbers_and_never_both() -> None:
    schema = "node Person { email: String @key days: [Date]? times: [DateTime]? }"
    catalog = compile_schema(SourceText(schema))
    lines = [
        node(
            "Person", email="a", days=["1970-01-02", "1970-01-03"], times=["1970-01-01T00:00:01Z"]
        ),
        node("Person", email="b", days=[1, 2], times=[1000]),
        node("Person", email="c", days=[], times=[1000]),
        node("Person", email="d", days=[1, "1970-01-03"]),
        node("Person", email="e", days=[1, None]),
    ]
    result = conformed(text(lines).encode(), catalog)
    found = rows(result)
    assert found[1]["days"] == found[2]["days"] == [datetime.date(1970, 1, n) for n in (2, 3)]
    assert found[1]["times"] == found[2]["times"] == found[3]["times"]
    assert found[3]["days"] == []
    assert [(v.kind, v.line, v.property_name) for v in result.violations.examples] == [
        ("type", 4, "days"),
        ("type", 5, "days"),
    ]


BAD_LINES: list[tuple[str, dict[str, Any] | str, tuple[str, str | None]]] = [
    ("broken JSON", '{"type":"Person","data":{', ("json", None)),
    ("two rows in one line", '{"type":"Note","data":{"text":""}} {}', ("json", None)),
    ("a null after a row", '{"type":"Note","data":{"text":""}} null {}', ("json", None)),
    ("a member twice", '{"type":"Note","data":{"text":"","text":""}}', ("json", None)),
    ("an envelope member twice", '{"type":"Note","type":"Note","data":{}}', ("json", None)),
    ("half a character", '{"type":"Note","data":{"text":"\\ud800"}}', ("json", None)),
    ("a number of 5000 digits", f'{{"type":{"9" * 5000}}}', ("json", None)),
    ("nested without end", '{"type":' + "[" * 100_000, ("json", None)),
    ("no object", "[1, 2]", ("envelope", None)),
    ("a null", "null", ("envelope", None)),
    ("no type", {"data": {}}, ("envelope", None)),
    ("both type and edge", {"type": "Note", "edge": "Knows"}, ("envelope", None)),
    ("a type that is no text", {"type": 1, "data": {}}, ("envelope", None)),
    ("an unknown type", node("Persson"), ("envelope", None)),
    ("an unknown edge", edge("Knoes", "a", "b"), ("envelope", None)),
    ("a node type as an edge", edge("Person", "a", "b"), ("envelope", None)),
    ("an unknown member", {**ADA, "label": "x"}, ("envelope", None)),
    ("ends on a node", {**ADA, "from": "x"}, ("envelope", None)),
    ("a node without data", {"type": "Note"}, ("required", "text")),
    ("data that is null", {"type": "Note", "data": None}, ("required", "text")),
    ("data that is no object", {"type": "Note", "data": []}, ("envelope", None)),
    ("an unknown property", person("ada", agee=3), ("type", "agee")),
    ("text for a number", person("ada", age="3"), ("type", "age")),
    ("a fraction for an integer", person("ada", age=3.5), ("type", "age")),
    ("an integer too large", person("ada", age=2**31), ("type", "age")),
    ("an integer beyond 64 bits", person("ada", age=2**70), ("type", "age")),
    ("a truth value for a number", person("ada", age=True), ("type", "age")),
    (
        "a number that is none",
        '{"edge":"Knows","from":"a","to":"b","data":{"weight":NaN}}',
        ("type", "weight"),
    ),
    ("a float too large", person("ada", score=1e39), ("type", "score")),
    (
        "a number beyond floats",
        '{"edge":"Knows","from":"a","to":"b","data":{"weight":1e999}}',
        ("type", "weight"),
    ),
    ("a number for text", person("ada", nick=3), ("type", "nick")),
    ("no such day", person("ada", born="2023-02-29"), ("type", "born")),
    ("no such hour", person("ada", seen="2023-02-27T25:00:00"), ("type", "seen")),
    ("a day after the year 9999", person("ada", born=2_932_897), ("type", "born")),
    ("a day before the year 1", person("ada", born=-719_163), ("type", "born")),
    ("a day with a fraction", person("ada", born=1.0), ("type", "born")),
    ("a truth value for a day", person("ada", born=True), ("type", "born")),
    ("a day as text", person("ada", born="19875"), ("type", "born")),
    ("a day beyond 64 bits", person("ada", born=2**64), ("type", "born")),
    ("a time after the year 9999", person("ada", seen=253_402_300_800_000), ("type", "seen")),
    ("a time before the year 1", person("ada", seen=-62_135_596_800_001), ("type", "seen")),
    ("no base64", person("ada", photo="base64:?"), ("type", "photo")),
    ("base64 that does not say so", person("ada", photo="aGk="), ("type", "photo")),
    ("a vector too short", person("ada", face=[1]), ("type", "face")),
    ("a vector with a null", person("ada", face=[1, None]), ("type", "face")),
    ("a vector too large", person("ada", face=[1, 1e300]), ("type", "face")),
    ("a list with a null", person("ada", tags=["a", None]), ("type", "tags")),
    ("a list of numbers", person("ada", tags=[1]), ("type", "tags")),
    ("no name", node("Person", email="a@x"), ("required", "name")),
    ("a null for a name", node("Person", email="a@x", name=None), ("required", "name")),
    ("no key", node("Person", name="a"), ("required", "email")),
    ("an unknown word", person("ada", status="asleep"), ("enum", "status")),
    ("out of range", person("ada", age=151), ("range", "age")),
    ("no match", node("Person", email="nobody", name="n"), ("check", "email")),
    ("an id against the key", {**ADA, "id": "eve@x.org"}, ("key", None)),
    ("two ids", {"type": "Note", "id": "a", "data": {"text": "", "id": "b"}}, ("key", "id")),
    ("an id that is no text", {"type": "Note", "id": 5, "data": {"text": ""}}, ("type", "id")),
    ("an empty id", node("Note", id_="", text=""), ("key", None)),
    ("an edge without from", {"edge": "Knows", "to": "a@x"}, ("required", "from")),
    ("an edge from null", edge("Knows", None, "a@x"), ("required", "from")),
    ("an end that is a list", edge("Knows", "a@x", ["b"]), ("type", "to")),
    ("a number for a text key", edge("Knows", 5, "a@x"), ("type", "from")),
    ("a truth value for a number key", edge("LivesIn", "a@x", True), ("type", "to")),
    ("a number for two keys", edge("Has", "a@x", 5), ("type", "to")),
    ("no such day as a key", edge("BornOn", "a@x", "2023-02-29"), ("type", "to")),
]


@pytest.mark.parametrize(
    ("line", "expected"),
    [case[1:] for case in BAD_LINES],
    ids=[case[0] for case in BAD_LINES],
)
def test_a_bad_line_is_reported_by_its_number_and_the_rule_it_breaks(
    line: dict[str, Any] | str, expected: tuple[str, str | None]
) -> None:
    kind, property_name = expected
    good: list[dict[str, Any] | str] = [person("eve"), edge("Knows", "eve@x.org", "eve@x.org"), ""]
    result = conformed(text([*good, line, *good]).encode())
    assert [(v.kind, v.line, v.file) for v in result.violations.examples] == [(kind, 4, "in.jsonl")]
    assert result.violations.examples[0].property_name == property_name
    assert (result.read, result.rejected) == (5, 1)


def test_broken_json_is_reported_with_its_column() -> None:
    report = conformed(text([ADA, '{"type":"Note" "data":{}}']).encode()).violations
    assert [v.place for v in report.examples] == ["in.jsonl:2:16"]


def test_bytes_that_are_not_utf8_spoil_only_their_own_line() -> None:
    result = conformed(text([ADA]).encode() + b'{"type":"Note","data":{"text":"\xff"}}\r\n')
    assert [(v.kind, v.line) for v in result.violations.examples] == [("json", 2)]
    assert [row["name"] for row in rows(result).values()] == ["ada"]


def test_all_of_a_kind_are_counted_and_the_first_twenty_shown() -> None:
    report = conformed(text(person(f"p{n}", age=200 + n) for n in range(50)).encode()).violations
    assert report.total == 50
    assert [v.line for v in report.examples] == list(range(1, 21))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\r\n \n\t\n",
        b"\n" + json.dumps(ADA).encode(),
        json.dumps(ADA).encode() + b"\r",
    ],
)
def test_blank_lines_are_not_lines_and_a_last_newline_is_not_needed(data: bytes) -> None:
    result = conformed(data)
    assert result.read == len(rows(result)) == data.count(b"ada@x.org")
    assert not result.violations


# The fast way and the careful way ----------------------------------------------------------------

JSON_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["a@x", "5", "active", "2024-02-29", "2024-02-30", "2024-01-01T00:00:00Z"]),
    st.lists(st.one_of(st.floats(-9, 9), st.text(max_size=2), st.none()), max_size=3),
)
PROPERTIES = [
    "email",
    "name",
    "age",
    "score",
    "status",
    "nick",
    "tags",
    "born",
    "seen",
    "face",
    "id",
]
NODES = st.builds(
    lambda name, data: {"type": name, "data": data},
    st.sampled_from(["Person", "Person", "City", "Note", "Nobody"]),
    st.dictionaries(st.sampled_from([*PROPERTIES, "code", "text"]), JSON_VALUES, max_size=4),
)
PEOPLE = st.builds(
    lambda data: node("Person", **{"email": "a@x", "name": "n", **data}),
    st.dictionaries(st.sampled_from(PROPERTIES), JSON_VALUES, max_size=2),
)
EDGES = st.builds(
    lambda name, ends, data: {"edge": name, **ends, "data": data},
    st.sampled_from(["Knows", "LivesIn", "livesin", "BornOn"]),
    st.dictionaries(st.sampled_from(["from", "to", "id"]), JSON_VALUES, min_size=2),
    st.dictionaries(st.sampled_from(["since", "weight", "id"]), JSON_VALUES, max_size=2),
)
LINES = st.one_of(
    PEOPLE.map(json.dumps),
    NODES.map(json.dumps),
    EDGES.map(lambda e: json.dumps(e, separators=(",", ":"), ensure_ascii=False)),
    st.text(st.sampled_from('{}[]",:\\ntype null1'), max_size=12),
)


@given(lines=st.lists(LINES, max_size=6))
@example(['{"edge":"Knows","from":null,"to":null,"data":{"weight":9007199254740993}}'])
def test_every_line_is_a_row_or_is_rejected_and_each_is_judged_by_itself(lines: list[str]) -> None:
    lines = [line.replace("\n", " ").replace("\ud800", "") for line in lines]
    together = conformed("\n".join(lines).encode(errors="replace"))
    assert together.read == together.rejected + len(rows(together))
    assert together.read == sum(bool(line.strip(" \t\r")) for line in lines)
    alone = [rows(conformed(line.encode(errors="replace"))) for line in lines]
    assert repr(sorted(rows(together).items())) == repr(
        [(number, row[1]) for number, row in enumerate(alone, 1) if row]
    )


# What Arrow refuses although it fits the schema, and what it reads although it is no row.
ODDITIES = st.sampled_from(
    [
        '{"type":"Note","data":{"text":"","text":""}}',
        '{"type":"Note","data":{"text":"","n\\u006fte":null}}',
        '{"type":"Note","data":{"text":"\\ud800"}}',
        '{"type":"Note","data":{"text":"\\u00e9"}}',
        '{"type":"Note","id":"a","data":{"text":"","id":"b"}}',
        '{"type":"Note","id":"a","data":null}',
        '{"type":"Note"}',
        '{"type":"Person","data":{"email":"a@x","name":"n","nick":null}}',
        '{"type":"Person","data":{"email":"a@x","name":"n","n\\u0069ck":null}}',
        '{"type":"Person","data":{"email":"a@x","name":"n","tags":["a",null]}}',
        '{"type":"Person","data":{"email":"a@x","name":"n","face":[1,1e39]}}',
        '{"type":"City","data":{"code":9223372036854775808}}',
        '{"edge":"LivesIn","from":"a@x","to":18446744073709551616}',
        '{"edge":"LivesIn","from":"a@x","to":5}',
        '{"edge":"LivesIn","from":"a@x","to":"5"}',
        '{"edge":"LivesIn","from":null,"to":true}',
        '{"edge":"Knows","from":"a@x","to":"b@x","data":{"weight":NaN}}',
        '{"edge":"Knows","from":"a@x","to":"b@x","data":{"weight":1e999}}',
    ]
)


@given(
    lines=st.lists(st.one_of(LINES, ODDITIES), max_size=12),
    times=st.integers(1, 3),
    least=st.sampled_from([1, 3, INPUT_LIMITS.min_fast_lines]),
)
@example(['{"type": "Person", "data": {"age": 2147483648}}'], 1, 1)
def test_lines_come_out_as_if_each_was_decoded_whichever_way_it_took(
    lines: list[str], times: int, least: int
) -> None:
    each = [line.replace("\n", " ").encode(errors="replace") for line in lines * times]
    mixed = conformed(b"\n".join(each), limits=InputLimits(min_fast_lines=least))
    # A return before the row is a blank as good as any, but no program writes it.
    odd = b"\n".join(b"\r" + line for line in each)
    assert parse_lines(odd, catalog=CATALOG, min_fast_lines=1).decoded == mixed.read
    careful = conformed(odd)
    assert repr(in_order(mixed)) == repr(in_order(careful))
    assert (mixed.read, mixed.rejected) == (careful.read, careful.rejected)
    assert mixed.violations.counts == careful.violations.counts
    assert mixed.violations.examples == careful.violations.examples
    assert mixed.rejected_rows == careful.rejected_rows


def in_order(result: Conformed) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """The rows of each type as they are staged."""
    return {
        typed.entity.name: list(rows_by_line([typed]).items())
        for typed in sorted(in_input_order(result.rows), key=lambda typed: typed.entity.name)
    }


@pytest.mark.parametrize("misfit", [case[1] for case in BAD_LINES], ids=[c[0] for c in BAD_LINES])
def test_a_bad_line_does_not_slow_down_its_neighbours(
    misfit: dict[str, Any] | str,
) -> None:
    good = [
        *(person(f"p{n}", age=n, tags=[], born="2020-01-01", face=[n, 1]) for n in range(9)),
        *(edge("LivesIn", f"p{n}@x.org", n) for n in range(9)),
        *(edge("Knows", f"p{n}@x.org", "\u00e9") for n in range(9)),
        *(node("City", code=n, id="") for n in range(9)),
        *(node("Note", text="") for n in range(9)),
    ]
    lines = [*good, misfit, *good]
    data, limits = text(lines).encode(), InputLimits(min_fast_lines=1)
    result = conformed(data, limits=limits)
    assert (result.read, result.rejected) == (91, 1)
    parsed = parse_lines(data, catalog=CATALOG, min_fast_lines=limits.min_fast_lines)
    assert parsed.decoded <= 1


def test_plain_lines_are_read_as_columns() -> None:
    lines = [
        *(person(f"p{n}", age=n, tags=[], born="2020-01-01", face=[n, 1]) for n in range(9)),
        *(edge("LivesIn", f"p{n}@x.org", n) for n in range(9)),
        *(node("City", code=n, id="") for n in range(9)),
    ]
    data = text(lines).encode()
    parsed = parse_lines(data, catalog=CATALOG, min_fast_lines=INPUT_LIMITS.min_fast_lines)
    assert parsed.decoded == 0
    result = conformed(data)
    assert result.read == 27
    assert {t.entity.name: t.batch.num_rows for t in result.rows} == {
        "Person": 9,
        "LivesIn": 9,
        "City": 9,
    }
