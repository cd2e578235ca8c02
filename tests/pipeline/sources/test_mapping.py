"""Which columns feed what, by rules and by obvious names."""

import re
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest

from omnigraph.base.errors import (
    FileMissing,
    MappingInvalid,
    OmnigraphError,
    SourceInvalid,
    StorageFailed,
)
from omnigraph.pipeline.sources.feed import Feed
from omnigraph.pipeline.sources.mapping import feed_for, read_mapping
from tests.pipeline.forms import bad_rows, conform_all, rows_by_type
from tests.pipeline.world import CATALOG
from tests.reference.small_graph import catalog_of

PEOPLE = pa.table({"mail": ["a@x"], "name": ["a"], "note": ["?"]})


def test_one_rule_is_for_every_frame() -> None:
    rule = {"node": "person", "properties": {"email": "mail"}, "ignore": ["no*"]}
    (row,) = rows_by_type(conform_all(PEOPLE, mapping=rule))["Person"]
    assert (row["email"], row["name"]) == ("a@x", "a")


def test_rules_are_tried_in_order_and_obvious_tables_need_none() -> None:
    rules = {
        "peo*": {"node": "Person", "properties": {"email": "mail"}, "ignore": ["*"]},
        "*": {"node": "Note", "properties": {"text": "name"}, "ignore": ["*"]},
    }
    found = rows_by_type(conform_all({"people": PEOPLE, "other": PEOPLE}, mapping=rules))
    assert ([row["name"] for row in found["Person"]], [row["text"] for row in found["Note"]]) == (
        ["a"],
        ["a"],
    )
    frames = {"people": PEOPLE, "CITY": pa.table({"code": [1]})}
    found = rows_by_type(conform_all(frames, mapping={"people": rules["peo*"]}))
    assert [row["code"] for row in found["City"]] == [1]


def test_types_whose_names_differ_only_in_case_are_told_apart() -> None:
    catalog = catalog_of("node Thing { a: I32? }  node THing { a: I32? }")
    for name in ("Thing", "THing"):
        found = feed_for(name, ["a"], rules=(), catalog=catalog, names=[name])
        (rule,) = read_mapping({"node": name}, catalog)
        assert (found.entity(catalog).name, rule.entity.name) == (name, name)
    with pytest.raises(SourceInvalid):
        feed_for("thing", ["a"], rules=(), catalog=catalog, names=["thing"])
    with pytest.raises(MappingInvalid, match="did you mean"):
        read_mapping({"node": "thing"}, catalog)


OBVIOUS = pa.table(
    {"id": ["1"], "text": ["a"], "from": ["a@x"], "to": ["b@x"], "src": ["s@x"], "dst": ["d@x"]}
)


@pytest.mark.parametrize("column", ["id", "i?"])
@pytest.mark.parametrize(
    ("rule", "others"),
    [({"node": "Note"}, ["from", "to", "src", "dst"]), ({"edge": "LivesIn"}, ["text", "src"])],
    ids=["node", "edge"],
)
def test_an_id_that_is_ignored_is_not_taken(
    rule: dict[str, str], others: list[str], column: str
) -> None:
    table = OBVIOUS if "node" in rule else OBVIOUS.drop_columns(["dst"])
    fed = [feed(table, rule | {"ignore": ignored}) for ignored in ([*others], [column, *others])]
    assert [one.id for one in fed] == ["id", None]


def test_columns_are_ignored_though_the_type_has_a_place_for_them() -> None:
    rule = {"edge": "Knows", "ignore": ["fro?", "to", "id", "text", "since"]}
    fed = feed(OBVIOUS.append_column("since", pa.array(["1970-01-02"])), rule)
    assert (fed.id, fed.source, fed.target, fed.properties) == (None, ("src",), ("dst",), ())


def test_a_star_ignores_nothing_that_is_taken_and_a_pattern_nothing_that_the_rule_names() -> None:
    fed = feed(OBVIOUS, {"node": "Note", "ignore": ["*"]})
    assert (fed.id, fed.properties) == ("id", (("text", "text"),))
    named = {"node": "Note", "id": "src", "properties": {"text": "to"}, "ignore": ["?*"]}
    fed = feed(OBVIOUS, named)
    assert (fed.id, fed.properties) == ("src", (("text", "to"),))
    for word in ("src", "to"):
        with pytest.raises(MappingInvalid, match=f"column {word} is ignored and used"):
            feed(OBVIOUS, named | {"ignore": [word, "*"]})


def feed(table: pa.Table, rule: dict[str, Any]) -> Feed:
    rules = read_mapping(rule, CATALOG)
    return feed_for("table", table.column_names, rules=rules, catalog=CATALOG, names=["table"])


def test_constants_are_values_of_every_row_and_are_checked_like_any_other() -> None:
    constants = {"status": "gone", "age": 7, "tags": ["a"], "face": [1, 2], "born": "1970-01-02"}
    rule = {"node": "Person", "properties": {"email": "mail"}, "ignore": ["note"]}
    (row,) = rows_by_type(conform_all(PEOPLE, mapping={**rule, "constants": constants}))["Person"]
    assert (row["status"], row["age"], row["tags"], row["face"]) == ("gone", 7, ["a"], [1.0, 2.0])
    bad = bad_rows(conform_all(PEOPLE, mapping={**rule, "constants": {"age": 200}}))
    assert [reason.kind for row in bad for reason in row.reasons] == ["range"]


ENDS: list[tuple[str, str, Any, list[str | None]]] = [
    ("text ids", "Knows", ["b@x", None], ["b@x", None]),
    ("numbers", "LivesIn", [5, 7], ["5", "7"]),
    ("numbers as floats", "LivesIn", [5.0, None], ["5", None]),
    ("numbers as text", "LivesIn", ["5", "007"], ["5", "7"]),
    ("dates", "BornOn", pa.array([10, 11], pa.date32()), ["10", "11"]),
    ("dates as text", "BornOn", ["1970-01-11", "10"], ["10", "10"]),
    ("ids of several keys", "Has", ['["x","2"]'], ['["x","2"]']),
]


@pytest.mark.parametrize(
    ("edge", "targets", "ids"), [case[1:] for case in ENDS], ids=[case[0] for case in ENDS]
)
def test_an_end_is_an_id_or_a_key_of_any_make(
    edge: str, targets: Any, ids: list[str | None]
) -> None:
    table = pa.table({"src": ["a@x"] * len(targets), "dst": targets})
    blocks = conform_all({edge: table})
    found = [row["dst"] for row in rows_by_type(blocks)[edge]]
    assert found == [id_ for id_ in ids if id_ is not None]
    assert [r.kind for row in bad_rows(blocks) for r in row.reasons] == ["required"] * (
        len(ids) - len(found)
    )


def test_a_key_of_several_properties_is_found_in_as_many_columns() -> None:
    table = pa.table({"who": ["a@x"] * 3, "a": ["x", "y", None], "b": [2, 2.5, 3]})
    rule = {"edge": "Has", "from": "who", "to": ["a", "b"]}
    blocks = conform_all(table, mapping=rule)
    assert [row["dst"] for row in rows_by_type(blocks)["Has"]] == ['["x","2"]']
    assert [
        (row.number, r.kind, r.property_name) for row in bad_rows(blocks) for r in row.reasons
    ] == [
        (1, "type", "to"),
        (2, "required", "to"),
    ]


def test_an_index_of_pandas_is_columns_by_its_names_and_else_is_not_loaded() -> None:
    frame = pandas.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    plain = rows_by_type(conform_all({"Pair": frame}))["Pair"]
    for index in (["a"], ["a", "b"]):
        indexed = frame.set_index(index)
        assert rows_by_type(conform_all({"Pair": indexed}))["Pair"] == plain
    shuffled = frame.set_axis(["seven", "eight"])
    assert rows_by_type(conform_all({"Pair": shuffled}))["Pair"] == plain
    with pytest.raises(SourceInvalid, match="c: Pair has no property of this name"):
        conform_all({"Pair": shuffled.rename_axis("c")})
    with pytest.raises(SourceInvalid, match="cannot insert a, already exists"):
        conform_all({"Pair": shuffled.rename_axis("a")})


def test_ids_come_from_the_id_column_unless_that_is_a_property() -> None:
    notes = pa.table({"id": [7, None], "text": ["a", "b"]})
    found = rows_by_type(conform_all({"Note": notes}))["Note"]
    assert [row["id"] for row in found] == ["7", None]
    cities = pa.table({"code": [1], "id": ["a property"], "key": ["1"]})
    (row,) = rows_by_type(conform_all(cities, mapping={"node": "City", "id": "key"}))["City"]
    assert (row["id"], "a property" in row.values()) == ("1", True)


@pytest.mark.parametrize(
    ("ids", "loaded", "rejected"),
    [
        (pa.array([1.5, 2.0, None]), ["2"], [0]),
        (pa.array([float("nan"), 1e300, 3.0]), ["3"], [0, 1]),
        (pa.array([2**64 - 1, 0, None], pa.uint64()), [f"{2**64 - 1}", "0"], []),
        (pa.array([-1, 2**63 - 1, None]), ["-1", f"{2**63 - 1}"], []),
    ],
    ids=["a fraction", "no number", "large", "whole"],
)
def test_an_id_that_is_no_whole_number_rejects_its_row(
    ids: pa.Array, loaded: list[str], rejected: list[int]
) -> None:
    notes = pa.table({"id": ids, "text": ["a", "b", "c"]})
    blocks = conform_all({"Note": notes})
    found = rows_by_type(blocks).get("Note", [])
    assert [row["id"] for row in found if row["id"] is not None] == loaded
    bad = bad_rows(blocks)
    assert [row.number for row in bad] == rejected
    assert {(r.kind, r.property_name) for row in bad for r in row.reasons} <= {("type", "id")}
    assert len(found) + len(bad) == 3


def test_an_id_that_does_not_fit_is_not_passed_over_beside_a_key() -> None:
    cities = pa.table({"code": [1, 2], "key": [1.5, 2.0]})
    blocks = conform_all(cities, mapping={"node": "City", "id": "key"})
    assert [row.reasons[0].message for row in bad_rows(blocks)] == [
        'City: "id" is 1.5, which can\'t be an id: text or a whole number'
    ]
    assert [row["id"] for row in rows_by_type(blocks)["City"]] == ["2"]


WRONG: list[tuple[str, Any, str]] = [
    ("an unknown type", {"node": "Persn"}, r"mapping: .*no node type Persn.*did you mean Person"),
    ("an edge as a node", {"node": "Knows"}, "Knows is no node type: write edge: Knows"),
    ("a node as an edge", {"edge": "person"}, "Person is no edge type: write node: Person"),
    ("an unknown edge", {"edge": "Knos"}, "did you mean Knows"),
    ("neither", {"p": {"id": "a"}}, "mapping, p: the rule does not name a type: add node"),
    ("both", {"p": {"node": "Person", "edge": "Knows"}}, "both node and edge: keep one"),
    ("an unknown word", {"node": "Person", "propertys": {}}, "propertys.*did you mean properties"),
    ("an end on a node", {"node": "Person", "from": "a"}, "from is not a word"),
    ("an unknown property", {"node": "Person", "properties": {"nam": "x"}}, "did you mean name"),
    ("a column that is no text", {"node": "Person", "properties": {"name": 1}}, "must be text"),
    ("an unknown column", {"node": "Person", "properties": {"email": "mial"}}, "mean mail"),
    ("a number", 5, "mapping: a mapping must hold rules.*not 5"),
    ("bytes", b"a.yaml", "mapping: a mapping must hold rules.*a.yaml"),
    ("an empty pattern", {"": {"node": "Person"}}, "mapping, : .*is empty"),
    ("a pattern of nothing", {"./": {"node": "Person"}}, "mapping, ./: .*is empty"),
    ("half a character", {"node": "Person", "constants": {"nick": "\ud800"}}, "nick contains half"),
    ("an unknown id", {"node": "Person", "id": "key"}, "no column key"),
    ("a constant that fits not", {"node": "Person", "constants": {"age": "x"}}, "constants.age"),
    (
        "fed twice",
        {"node": "Person", "properties": {"age": "a"}, "constants": {"age": 1}},
        "stands under constants and under properties",
    ),
    (
        "too many columns",
        {"edge": "Has", "from": "a", "to": ["a", "b", "c"]},
        "the key of Pair has 2",
    ),
    (
        "a list of too few columns",
        {"edge": "Has", "from": "a", "to": ["a"]},
        r"to names 1 column; the key of Pair has 2 \(a, b\)",
    ),
    (
        "a list of too many columns for a key of one property",
        {"edge": "Knows", "from": ["a", "b"], "to": "c"},
        "from names 2 columns; the key of Person has 1",
    ),
    ("node misspelt", {"p": {"nod": "Person"}}, r"p: nod is not a word.*did you mean node\?"),
    ("edge misspelt", {"p": {"egde": "Knows", "from": "a"}}, r"egde.*did you mean edge\?"),
    ("one rule, misspelt", {"nodee": "Person"}, r"nodee must be.*did you mean node\?"),
    ("a list of rules", {"p": ["x"]}, "must be a set of words"),
    ("properties as a list", {"node": "Person", "properties": ["a"]}, "must map names"),
]


@pytest.mark.parametrize(
    ("mapping", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG]
)
def test_a_mapping_that_names_what_is_not_there_is_refused(mapping: Any, message: str) -> None:
    with pytest.raises(MappingInvalid, match=message):
        conform_all(PEOPLE, mapping=mapping)


FILES: list[tuple[str, str, type[OmnigraphError], str]] = [
    ("no YAML", "a: [", MappingInvalid, r"m\.yaml:1:5: this is not valid YAML"),
    ("too deep", "[" * 5_000 + "]" * 5_000, MappingInvalid, "nested too deeply"),
    (
        "a name twice",
        "a: {node: Person}\na: {node: City}",
        MappingInvalid,
        r"m\.yaml:2:1: a comes twice: on line 1 too",
    ),
    ("text", "hello", MappingInvalid, "must hold rules"),
    ("an unknown type", "\n\nx.csv: {node: Nobody}", MappingInvalid, r"m\.yaml:3: the schema"),
]


@pytest.mark.parametrize(
    ("text", "error", "message"), [case[1:] for case in FILES], ids=[case[0] for case in FILES]
)
def test_a_mapping_file_that_can_not_be_used_is_refused_with_its_line(
    tmp_path: Path, text: str, error: type[OmnigraphError], message: str
) -> None:
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(error, match=message):
        read_mapping(tmp_path / "m.yaml", CATALOG)


def test_a_mapping_file_of_an_impossible_name_can_not_be_read() -> None:
    for name in ("a\0b", "x" * 5_000):
        with pytest.raises(StorageFailed):
            read_mapping(name, CATALOG)


def test_a_mapping_file_that_is_not_there_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        read_mapping(str(tmp_path / "none.yaml"), CATALOG)


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("people", ["email"], "no type of the schema has its name"),
        ("Knows", ["from"], "needs a column to or dst"),
        ("Person", ["emial"], "column emial.*did you mean email"),
        ("Person", ["email", "email"], "two columns"),
        ("Person", ["email", ""], 'column 2 has no name.*list "" under ignore'),
        ("Person", ["email;name"], "column email;name: .*separate fields by commas"),
        ("Person", ["email\tname"], "separate fields by commas, or by tabs"),
        ("Person", ["email", "a;b"], "name its property in a mapping"),
    ],
)
def test_a_table_that_is_not_obvious_needs_a_rule(
    name: str, columns: list[str], message: str
) -> None:
    with pytest.raises(SourceInvalid) as refused:
        feed_for(name, columns, rules=(), catalog=CATALOG, names=[name])
    assert re.search(message, f"{refused.value} {refused.value.hint}")


@pytest.mark.parametrize("word", ["properties", "constants"])
def test_a_column_whose_property_comes_from_elsewhere_is_told_so(word: str) -> None:
    mapping = {"node": "Person", word: {"name": "email"}}
    with pytest.raises(SourceInvalid, match=r"says of Person\.name .* from elsewhere"):
        feed_for(
            "p", ["email", "name"], rules=read_mapping(mapping, CATALOG), catalog=CATALOG, names=[]
        )


PERSON = {"node": "Person", "properties": {"email": "mail"}, "ignore": ["*"]}
LINE = {"type": "Person", "data": {"email": "a@x"}}


@pytest.mark.parametrize(
    ("name", "tables", "message"),
    [
        (
            "Peson",
            ["Person"],
            r"mapping, Peson: no table .* called Peson \(did you mean Person\?\); ",
        ),
        ("Person?", ["Person"], r"called Person\? .*; there is Person"),
        ("2024/*", ["Person", "City"], r"called 2024/\*; there is Person and City"),
        ("x", [f"t{n}" for n in range(9)], "there are 9 tables"),
        ("x", [], "there are no tables"),
    ],
)
def test_a_rule_that_is_for_no_table_is_refused_before_columns_are_looked_at(
    name: str, tables: list[str], message: str
) -> None:
    frames = {table: pa.table({"odd": [1]}) for table in tables}
    with pytest.raises(MappingInvalid, match=message):
        conform_all(frames, mapping={name: PERSON})
    with pytest.raises(MappingInvalid, match="mapping, other: "):
        conform_all(PEOPLE, mapping={"frame": PERSON, "other": PERSON})


def test_a_misspelt_name_of_a_file_is_refused_with_the_one_it_is_close_to(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("City.csv: {node: City}\nPersn.csv: {node: Person}\n")
    for name in ("City", "Person"):
        (tmp_path / f"in/{name}.csv").parent.mkdir(exist_ok=True)
        (tmp_path / f"in/{name}.csv").write_text("odd\n1\n")
    with pytest.raises(MappingInvalid) as raised:
        conform_all(str(tmp_path / "in"), mapping=tmp_path / "m.yaml")
    assert raised.value.position == f"{tmp_path / 'm.yaml'}:2"
    told = "called Persn.csv (did you mean Person.csv?); there is City.csv and Person.csv"
    assert raised.value.reason.endswith(told)


def test_lines_are_no_table_that_a_rule_could_be_for(tmp_path: Path) -> None:
    (tmp_path / "Person.jsonl").write_text('{"type":"Person","data":{"email":"a@x"}}\n')
    for source in (str(tmp_path / "Person.jsonl"), [LINE], b""):
        with pytest.raises(MappingInvalid, match="lines name their types themselves"):
            conform_all(source, mapping={"Person.jsonl": {"node": "Person"}})


def test_a_rule_for_every_table_and_a_table_without_rows_are_no_mistake(tmp_path: Path) -> None:
    assert conform_all([LINE], mapping={"node": "Person"})
    (tmp_path / "Person.csv").write_text("")
    (tmp_path / "City.csv").write_text("code\n1\n")
    rules = {"Person.csv": PERSON, "C*": {"node": "City"}, "*": {"node": "Note"}}
    found = rows_by_type(conform_all(str(tmp_path), mapping=rules))
    assert [*found] == ["City"]
    # The first of two rules counts; the second names what is there all the same.
    both = {"frame": PERSON, "fr*": {"node": "City"}}
    assert [*rows_by_type(conform_all(PEOPLE, mapping=both))] == ["Person"]
