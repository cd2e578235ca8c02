"""Names and values that any user would pick, on every way that data takes.

A word of SQL, of ours or of a storage engine is a good name for a property, a type, an edge, a
column, a parameter and a query; a value may hold any character. Every way is tried with some of the
words, every word on some way, and in a deep run all of them on all.
"""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.base.errors import ConstraintViolated, KeyTaken, OmnigraphError
from omnigraph.base.span import SourceText
from omnigraph.lang.query.lint.lint import lint_source
from omnigraph.lang.query.text.format import format_source
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.picture.diagram import schema_mermaid
from omnigraph.lang.schema.picture.drawing import schema_svg
from omnigraph.lang.schema.text.format import format_schema
from omnigraph.pipeline.spark.session import Spark
from tests.pipeline.forms import csv_text

OF_SQL = """
select from where order group by having table index user desc asc limit offset null true false key
value count sum avg min max date timestamp time interval join left on using union all distinct case
when then else end cast and or not in is like between exists primary references default check unique
create insert update delete into values set view column row rows schema with as string int boolean
struct array map double decimal ctid rowid
"""
OF_OURS = """
query match return node edge id type src dst to data interface implements enum optional top contains
starts_with branch nearest search fuzzy match_text bm25 rrf score now datetime collect commit
snapshot description file line blob vector id__2 src__3 _distance _score
"""
ODD = "_x __ x1 firstName firstname fIRSTnAME first_name FIRST".replace("FIRST", "l" * 128)
WORDS = list(dict.fromkeys(f"{OF_SQL} {OF_OURS} {ODD}".split()))
ALWAYS = ["id", "src", "true", "count", "order", "firstName"]
ON_EDGES = [word for word in WORDS if word not in ("src", "dst", "from", "to")]
# A type is no built-in one, and two edges differ in more than their case.
TYPES = {
    word[0].upper() + word[1:120]: word
    for word in WORDS
    if word[0] != "_"
    and word not in ("string", "date", "blob", "vector", "firstname", "fIRSTnAME", "l" * 128)
}

VALUES = [
    *["", " ", "'", "''", '"', "\\", "\\\\", "\\n", "\n", "\r\n", "\t", "\0", "a\0b", "%", "_"],
    *["a%b_c", "`", "``", "${x}", "{}", "$1", "?", ":x", ";--", "/* */", "//", "a,b", "a|b"],
    *["\u00e9", "e\u0301", "\u0130", "\u00df", "\U0001f600", "\u05e9\u05dc\u05d5\u05dd"],
    *["\u202eabc", "\u2028", "\ufeff", "\U0010ffff", "\x7f", "\x01"],
    *["null", "NULL", "true", "1", "-0", "NaN", "2024-01-01", '["a"]', "base64:aGk=", "x" * 5000],
]
QUOTES = "a'\"\\`"

SCHEMA = (
    "node Thing {\n    k: String @key\n"
    + "".join(f"    {word}: String? @index\n" for word in WORDS)
    + "}\nedge Link: Thing -> Thing {\n    @key(src, dst)\n"
    + "".join(f"    {word}: I64?\n" for word in ON_EDGES)
    + "}\n"
)
THINGS: list[dict[str, Any]] = [
    {"k": f"k{value}", **dict.fromkeys(WORDS, value)} for value in VALUES
]
LINKS: list[dict[str, Any]] = [
    {"from": f"k{value}", "to": "k'", **dict.fromkeys(ON_EDGES, number)}
    for number, value in enumerate(VALUES)
]


def envelopes() -> list[dict[str, Any]]:
    ends = ("from", "to")
    return [
        *({"type": "Thing", "data": row} for row in THINGS),
        *(
            {
                "edge": "Link",
                **{end: row[end] for end in ends},
                "data": {name: value for name, value in row.items() if name not in ends},
            }
            for row in LINKS
        ),
    ]


@pytest.fixture
def words(request: pytest.FixtureRequest) -> list[str]:
    """Some of the words, others for each test; all of them in a deep run."""
    if request.config.getoption("--deep"):
        return WORDS
    ways = sorted(name for name in globals() if name.startswith("test_"))
    shuffled = Random(0).sample(WORDS, len(WORDS))
    mine = shuffled[ways.index(request.function.__name__) :: len(ways)]
    return list(dict.fromkeys([*ALWAYS, *mine]))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = Graph.init(tmp_path_factory.mktemp("plain") / "g.omni", SCHEMA, durability="relaxed")
    graph.load(envelopes(), mode="append")
    return graph


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = Graph.init(tmp_path_factory.mktemp("indexed") / "g.omni", SCHEMA, durability="relaxed")
    graph.load(envelopes(), mode="append")
    graph.optimize()
    return graph


@pytest.fixture(params=["plain", "indexed"])
def graph(request: pytest.FixtureRequest) -> Graph:
    made: Graph = request.getfixturevalue(request.param)
    return made


def ask(
    graph: Graph, text: str, given: dict[str, Any] | None = None, **moment: Any
) -> list[dict[str, Any]]:
    return graph.query(text, given or {}, **moment).to_pylist()


def lines_of(graph: Graph, place: Path) -> list[str]:
    graph.export(place, overwrite=True)
    return sorted(place.read_bytes().decode().split("\n"))


# Reading ------------------------------------------------------------------------------------------


def test_values_are_found_by_parameters(graph: Graph, words: list[str]) -> None:
    for word in words:
        query = f"""query {word}(${word}: String) {{
            match {{ $t: Thing {{ {word}: ${word} }}  $t.{word} = ${word} }}
            return {{ $t.k as k  $t.{word} as {word}, {word} as again }}
            order {{ {word} desc  k }}
        }}"""
        for value in VALUES:
            found = graph.query(query, word, {word: value}).to_pylist()
            assert found == [{"k": f"k{value}", word: value, "again": value}], (word, value)


def test_values_are_found_by_literals(graph: Graph, words: list[str]) -> None:
    for word in words[:8]:
        for value in VALUES:
            text = json.dumps(value, ensure_ascii=False)
            where = f"$t.{word} = {text}  $t.{word} in [{text}, {text}]"
            query = f"query q() {{ match {{ $t: Thing  {where} }} return {{ $t.{word} as v }} }}"
            assert ask(graph, query) == [{"v": value}], (word, value)
            query = query.replace(where, f"$t.{word} contains {text}  $t.{word} starts_with {text}")
            begin = {row["v"] for row in ask(graph, query)}
            assert begin == {v for v in VALUES if v.startswith(value)}, (word, value)


def test_columns_are_grouped_and_sorted_by_any_name(plain: Graph, words: list[str]) -> None:
    for word in words:
        found = ask(
            plain,
            f"""query q() {{ match {{ $t: Thing }}
                return {{ $t.{word} as {word}  count($t) as n  max({word}) as most }}
                order {{ {word} }} }}""",
        )
        assert found == [{word: value, "n": 1, "most": value} for value in sorted(VALUES)], word


def test_properties_of_edges_have_any_name(plain: Graph, words: list[str]) -> None:
    for word in set(words) & set(ON_EDGES):
        found = ask(
            plain,
            f"""query q() {{
                match {{ $a: Thing  $a $e:link $b  $e.{word} >= 3  $b.k = "k'" }}
                return {{ $a.k as a  $e.{word} as {word} }}
                order {{ $e.{word} }} }}""",
        )
        assert found == [{"a": f"k{VALUES[n]}", word: n} for n in range(3, len(VALUES))], word


def test_a_whole_node_has_all_its_properties(plain: Graph) -> None:
    query = 'query q() { match { $t: Thing { k: "k\'" } } return { $t } }'
    (found,) = ask(plain, query)
    assert {name: found["t"][name] for name in WORDS} == dict.fromkeys(WORDS, "'")


def test_plans_findings_and_formatted_texts_name_them(plain: Graph, words: list[str]) -> None:
    for word in words:
        query = f"""query {word}(${word}: String) {{
            match {{ ${word}_: Thing {{ {word}: ${word} }} }}
            return {{ ${word}_.{word} as {word}, count(${word}_) }} order {{ {word} }} }}"""
        source = SourceText(query)
        formatted = format_source(source)
        assert format_source(SourceText(formatted)) == formatted
        assert not lint_source(source, plain.schema().catalog).all_findings
        assert f"{word}_.{word} = ${word}" in str(plain.explain(query, word, {word: "x"}))
        with pytest.raises(OmnigraphError, match=f"no property {word}x"):
            plain.query(query.replace(f".{word} as", f".{word}x as"), word, {word: "x"})


# Writing ------------------------------------------------------------------------------------------


def test_values_are_changed_on_a_branch_and_merged(tmp_path: Path, words: list[str]) -> None:
    graph = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    graph.load(envelopes(), mode="append")
    before = graph.commits(limit=1)[0]
    graph.branch_create("dev")
    values = Random(1).sample(VALUES, len(VALUES))
    chosen = [(word, values[number % len(values)]) for number, word in enumerate(words)]
    for word, value in chosen:
        update = f"""query q($old: String, $new: String, $k: String) {{
            update Thing set {{ {word}: $new }} where {word} = $old and k = $k }}"""
        given = {"old": value, "new": f"new {word} {value}", "k": f"k{value}"}
        assert graph.mutate(update, given, branch="dev").affected_nodes == 1, word
    graph.branch_merge("dev")
    for word, value in chosen:
        query = f"""query q($v: String) {{
            match {{ $t: Thing {{ {word}: $v }} }} return {{ $t.k as k }} }}"""
        assert ask(graph, query, {"v": f"new {word} {value}"}) == [{"k": f"k{value}"}], word
        assert ask(graph, query, {"v": value}) == [], word
        assert ask(graph, query, {"v": value}, snapshot=before) == [{"k": f"k{value}"}], word
    for word, value in chosen[: len(values)]:
        delete = f"query q($v: String) {{ delete Thing where {word} = $v }}"
        assert graph.mutate(delete, {"v": f"new {word} {value}"}).affected_nodes == 1, word


# Loading ------------------------------------------------------------------------------------------


def test_every_form_of_input_keeps_names_and_values(plain: Graph, tmp_path: Path) -> None:
    expected = lines_of(plain, tmp_path / "expected.jsonl")
    csv = {"Thing": csv_text(THINGS), "Link": csv_text(LINKS)}
    tables = {
        name: pa.Table.from_pylist(rows) for name, rows in (("Thing", THINGS), ("Link", LINKS))
    }
    for name in csv:
        (tmp_path / f"{name}.csv").write_bytes(csv[name].encode())
        pq.write_table(tables[name], tmp_path / f"{name}.parquet")
    plain.export(tmp_path / "parquet", format="parquet")
    sources: dict[str, Any] = {
        "an export": tmp_path / "expected.jsonl",
        "an export as Parquet": tmp_path / "parquet",
        "CSV": [tmp_path / f"{name}.csv" for name in csv],
        "Parquet": [tmp_path / f"{name}.parquet" for name in csv],
        "Arrow": tables,
        "pandas": {name: table.to_pandas() for name, table in tables.items()},
    }
    for form, source in sources.items():
        graph = Graph.init(tmp_path / f"{form}.omni", SCHEMA, durability="relaxed")
        graph.load(source, mode="append", engine="local")
        assert lines_of(graph, tmp_path / "found.jsonl") == expected, form
        result = graph.load(source, mode="merge", engine="local")
        assert (result.inserted, result.updated) == (0, 0), form


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_load_on_spark_keeps_names_and_values(plain: Graph, tmp_path: Path, spark: Spark) -> None:
    expected = lines_of(plain, tmp_path / "expected.jsonl")
    (tmp_path / "Thing.csv").write_bytes(csv_text(THINGS).encode())
    pq.write_table(pa.Table.from_pylist(LINKS), tmp_path / "Link.parquet")
    graph = Graph.init(tmp_path / "g.omni", SCHEMA, durability="relaxed")
    graph.load([tmp_path / "Thing.csv", tmp_path / "Link.parquet"], mode="append", spark=spark)
    assert lines_of(graph, tmp_path / "found.jsonl") == expected
    result = graph.load(tmp_path / "expected.jsonl", mode="merge", spark=spark)
    assert (result.inserted, result.updated) == (0, 0)


# Types --------------------------------------------------------------------------------------------


def types_schema(types: dict[str, str]) -> str:
    """Each type has a key of its own name, rules about it, and an edge between its nodes."""
    return "".join(
        f"node {name} {{ {word}: String @key  n: I64?  @unique(n)  @unique({word}, n)"
        f'  @check({word}, "^[a-z]") }}\n'
        f"edge {name}To: {name} -> {name} @card(0..1) {{ since: Date? }}\n"
        for name, word in types.items()
    )


def test_types_keys_and_rules_have_any_name(tmp_path: Path, words: list[str]) -> None:
    types = {name: word for name, word in TYPES.items() if word in words}
    graph = Graph.init(tmp_path / "g.omni", types_schema(types), durability="relaxed")
    for name, word in types.items():
        nodes = [
            {"type": name, "data": {word: key, "n": n}} for n, key in enumerate((QUOTES, "b\0"))
        ]
        edge = {"edge": f"{name}To", "from": QUOTES, "to": "b\0"}
        graph.load([*nodes, edge], mode="append")
    for name, word in types.items():
        edge_name = f"{name[0].lower()}{name[1:]}To"
        query = f"""query q(${word}: String) {{
            match {{
                $a: {name} {{ {word}: ${word} }}
                $a {edge_name} $b
                not {{ $b {edge_name} $a }}
            }}
            return {{ $a.{word} as {word}  $b.{word} as other }} }}"""
        assert ask(graph, query, {word: QUOTES}) == [{word: QUOTES, "other": "b\0"}]
        refused: dict[str, dict[str, Any]] = {
            "unique": {"type": name, "data": {word: "c", "n": 0}},
            "key": {"type": name, "data": {word: QUOTES, "n": 9}},
            "check": {"type": name, "data": {word: "'"}},
            "cardinality": {"edge": f"{name}To", "from": QUOTES, "to": QUOTES},
            "endpoint": {"edge": f"{name}To", "from": "b\0", "to": f"no {QUOTES}"},
        }
        for kind, line in refused.items():
            with pytest.raises((ConstraintViolated, KeyTaken)) as told:
                graph.load([line], mode="append")
            assert isinstance(told.value, ConstraintViolated | KeyTaken)
            assert [found[:2] for found in told.value.violations.counts] == [
                (kind, f"{name}To" if "edge" in line else name)
            ]
            assert name in told.value.render()
        insert = f"query q($k: String) {{ insert {name} {{ {word}: $k  n: 0 }} }}"
        with pytest.raises(ConstraintViolated, match=name):
            graph.mutate(insert, {"k": "d"})


def test_edges_have_any_name(tmp_path: Path, words: list[str]) -> None:
    types = {name: word for name, word in TYPES.items() if word in words}
    schema = "node Point { k: String @key }\n" + "".join(
        f"edge {name}: Point -> Point {{ {word}: I64? }}\n"
        for name, word in types.items()
        if word in ON_EDGES
    )
    graph = Graph.init(tmp_path / "g.omni", schema, durability="relaxed")
    edges = [name for name in types if f"edge {name}:" in schema]
    graph.load(
        [
            *({"type": "Point", "data": {"k": key}} for key in ("a", QUOTES)),
            *(
                {"edge": name, "from": "a", "to": QUOTES, "data": {types[name]: 7}}
                for name in edges
            ),
        ],
        mode="append",
    )
    for name in edges:
        edge = name[0].lower() + name[1:]
        for way in (f"$a {edge} $b", f"$a {edge}{{1,2}} $b", f"$a $e:{edge} $b", f"$b <{edge}> $a"):
            query = f"""query q() {{ match {{ $a: Point {{ k: "a" }}  {way}  $b: Point }}
                return {{ $b.k as k }} }}"""
            assert ask(graph, query) == [{"k": QUOTES}], way
        query = f"""query q() {{ match {{ $a: Point  $a $e:{edge} $b }}
            return {{ $e.{types[name]} as v }} }}"""
        assert ask(graph, query) == [{"v": 7}], name
        changes = graph.mutate(f'query q() {{ delete {name} where from = "a" }}')
        assert changes.affected_edges == 1, name


def test_diagrams_and_formatted_schemas_name_them() -> None:
    schema = types_schema(TYPES)
    formatted = format_schema(SourceText(schema))
    assert format_schema(SourceText(formatted)) == formatted
    catalog = compile_schema(SourceText(formatted))
    ElementTree.fromstring(schema_svg(catalog))
    for drawn in (schema_svg(catalog), schema_mermaid(catalog)):
        assert all(name in drawn and word in drawn for name, word in TYPES.items())


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ("node Thing { größe: I32 }", "S000"),
        ("node Größe { a: I32 }", "S000"),
        ("node Thing { a-b: I32 }", "S000"),
        ("node Thing { 1st: I32 }", "S000"),
        ("node Thing { `order`: I32 }", "S000"),
        ("node Thing { Name: String }", "S004"),
        ("node thing { a: I32 }", "S003"),
        ("node Thing { _rowid: I32 }", "S006"),
        ("node Thing { a: I32 } edge Link: Thing -> Thing { from: I32 }", "S006"),
        ("node Date { a: I32 }", "S007"),
        (f"node Thing {{ {'l' * 129}: I32 }}", "S008"),
    ],
)
def test_a_name_that_can_not_be_is_pointed_at(schema: str, code: str) -> None:
    with pytest.raises(OmnigraphError) as told:
        compile_schema(SourceText(schema))
    assert f"error[{code}]" in told.value.render()
