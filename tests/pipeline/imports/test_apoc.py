"""Lines of JSON of APOC are imported with types that hold all their values."""

import json
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import ImportPlan
from omnigraph.base.types import ListOf, Scalar, VectorOf
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.imports.values import ANY_LIST, FoundType, type_of, widest
from tests.pipeline.imports.imported import edges_of, import_into, nodes_of


def node(id_: int, *labels: str, **properties: Any) -> dict[str, Any]:
    return {"type": "node", "id": str(id_), "labels": labels, "properties": properties}


def edge(label: str, start: dict[str, Any], end: dict[str, Any], **properties: Any) -> Any:
    ends = {
        name: {"id": one["id"], "labels": one["labels"]}
        for name, one in (("start", start), ("end", end))
    }
    return {"id": "0", "type": "relationship", "label": label, **ends, "properties": properties}


def lines(folder: Path, *rows: object) -> Path:
    file = folder / "all.json"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


PLACE = {"crs": "wgs-84", "latitude": 33.5, "longitude": 13.1, "height": None}
ADAM = node(0, "User", name="Adam", age=42, born="2015-07-04T19:32:24", kids=["Sam"], place=PLACE)
JIM = node(1, "User", name="Jim\nBob", age=42.5, kids=[])
ROME = node(2, "City", "Capital", **{"Full Name": "Rome", "id": 7, "since": [1, 2.5]})
NOBODY = node(3, since="2024-05-31", odd=[1, "a"])


def test_nodes_and_relationships_keep_their_values(tmp_path: Path) -> None:
    knows, lives = edge("KNOWS", ADAM, JIM, since=1993), edge("LIVES_IN", ADAM, ROME)
    source = lines(tmp_path, knows, ADAM, JIM, ROME, NOBODY, lives)
    graph = import_into(tmp_path, source)
    assert nodes_of(graph, "User") == [
        {
            "id": "0",
            "name": "Adam",
            "age": 42,
            "born": "2015-07-04T19:32:24.000Z",
            "kids": ["Sam"],
            "place": json.dumps(PLACE),
        },
        {"id": "1", "name": "Jim\nBob", "age": 42.5, "kids": []},
    ]
    # Of labels that as many nodes have the first by name is the type.
    assert nodes_of(graph, "Capital") == [
        {"node_id": "2", "full_Name": "Rome", "id": 7, "since": [1, 2.5]}
        | {"labels": ["Capital", "City"]}
    ]
    assert nodes_of(graph, "Node") == [{"id": "3", "since": "2024-05-31", "odd": ["1", "a"]}]
    assert edges_of(graph, "Knows") == [("0", "1", {"since": 1993})]
    assert edges_of(graph, "LivesIn") == [("0", "2", {})]


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=20)
@given(st.lists(NUMBERS, min_size=1, max_size=4), st.lists(st.lists(NUMBERS, max_size=3)))
def test_numbers_of_one_property_come_back_whatever_the_others_are(
    numbers: list[float], many: list[list[float]]
) -> None:
    rows = [node(n, "T", number=number) for n, number in enumerate(numbers)]
    rows += [node(len(rows) + n, "T", many=items) for n, items in enumerate(many)]
    with tempfile.TemporaryDirectory() as folder:
        graph = import_into(Path(folder), lines(Path(folder), *rows))
        found = {int(row.pop("id")): row for row in nodes_of(graph, "T")}
    for row in rows:
        ((name, value),) = row["properties"].items()
        items, ours = value if name == "many" else [value], found[int(row["id"])].pop(name)
        for item, back in zip(items, ours if name == "many" else [ours], strict=True):
            # What no number of ours has room for is kept as text.
            assert back == (json.dumps(item) if isinstance(back, str) else item)


def test_a_person_is_told_what_was_widened_renamed_and_read_as_a_time(tmp_path: Path) -> None:
    plan = ImportPlan.of(lines(tmp_path, ADAM, JIM, ROME))
    notes = "\n".join(plan.notes)
    assert "User.age has values of F64 and I64, so it is F64" in notes
    assert "Capital.full_Name holds Full Name" in notes
    assert "texts that are all days or times" in notes
    assert "age: F64\n" in plan.schema and "born: DateTime?\n" in plan.schema


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"type":"node","id":"0"}\n{"type":"node",\n', "all.json:2:16: broken JSON"),
        (b'{"type":"node","id":"0"', "all.json:1:24: broken JSON"),
        (b'{"type":"node","id":"0"}\n\n{"a":1}\n', "all.json:3: the line is neither a node"),
        (b'{"type":"node","id":"0","labels":"x"}\n', "all.json:1: the line is neither a node"),
        (b'{"type":"relationship","id":"0","label":"K","start":1,"end":2}\n', "all.json:1: the "),
        (b'{"type":"node","id":"\xff"}\n', "all.json:1: the line is not UTF-8"),
        (b'{"type":"node","id":"0","properties":{"a":"\\ud800"}}\n', "all.json:1: a text contains"),
        (b'{"type":"node","id":"\\ud800"}\n', "all.json:1: a text contains half"),
        (
            b'{"type":"node","id":"0","labels":["a","\\uD800"]}\n',
            "all.json:1: a text contains half",
        ),
        (b'{"type":"node","id":"0","properties":{"\\ud800":1}}\n', "all.json:1: a text contains"),
        (b'{"type":"node","id":true}\n', "all.json:1: the line is neither a node"),
        (
            b'{"type":"node","id":"0","labels":["A"]}\n{"type":"node","id":"0","labels":["B"]}\n',
            "all.json:2: the id 0 is that of a node of type A and of another of type B",
        ),
        (b'\xef\xbb\xbf [{"type":"node","id":"0"}]\n', "all.json:1: the file is one array of JSON"),
        (b'{"a":' * 100_000, "all.json:1: the JSON is nested too deep"),
        (b'{"type":"node","id":"0","properties":{"a":' + b"9" * 5000 + b"}}", "broken JSON"),
        (b"\n", "it has no nodes"),
    ],
)
def test_lines_that_are_none_of_apoc_are_refused_by_place(
    text: bytes, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "all.json"
    file.write_bytes(text)
    with pytest.raises(OmnigraphError) as caught:
        ImportPlan.of(file, format="apoc")
    assert said in str(caught.value)


def test_an_edge_that_does_not_say_what_it_joins_is_joined_all_the_same(tmp_path: Path) -> None:
    silent = {"type": "relationship", "id": "9", "label": "K"}
    ends = {"start": {"id": "0"}, "end": {"id": "2", "labels": None}}
    source = lines(tmp_path, ADAM, ROME, silent | ends)
    assert edges_of(import_into(tmp_path, source), "K") == [("0", "2", {})]


TYPES: tuple[FoundType, ...] = (
    *(one for one in Scalar if one is not Scalar.BLOB),
    *(ListOf(one) for one in (Scalar.I64, Scalar.U64, Scalar.F32, Scalar.STRING, Scalar.DATE)),
    *(VectorOf(2), VectorOf(3), ANY_LIST),
)


def test_the_type_of_a_column_does_not_depend_on_the_order_of_its_values() -> None:
    for one, two, three in product(TYPES, repeat=3):
        assert widest(one, two) == widest(two, one)
        assert widest(widest(one, two), three) == widest(one, widest(two, three))


def test_a_text_is_a_time_only_if_it_is_one() -> None:
    texts = ["2024-05-31T12:00:00+25:00", "0001-01-01T00:00:00+05:30", "9999-12-31T23:59:59-01:00"]
    times = ["1969-12-31T23:59:59.999999999", "2024-05-31T12:00:00+05:30", "9999-12-31T23:59:59Z"]
    assert [type_of(text) for text in texts] == [Scalar.STRING] * 3
    assert [type_of(time) for time in times] == [Scalar.DATETIME] * 3


def test_types_widen_to_the_smallest_that_holds_both() -> None:
    cases: list[tuple[FoundType, FoundType, FoundType]] = [
        (Scalar.I32, Scalar.U32, Scalar.I64),
        (Scalar.I64, Scalar.U64, Scalar.F64),
        (Scalar.I64, Scalar.F64, Scalar.F64),
        (Scalar.BOOL, Scalar.I64, Scalar.STRING),
        (Scalar.DATE, Scalar.DATETIME, Scalar.STRING),
        (ListOf(Scalar.I64), ListOf(Scalar.F64), ListOf(Scalar.F64)),
        (ListOf(Scalar.I64), Scalar.I64, Scalar.STRING),
        (ANY_LIST, ListOf(Scalar.BOOL), ListOf(Scalar.BOOL)),
    ]
    for left, right, both in cases:
        assert widest(left, right) == widest(right, left) == both
