"""GraphML is imported with the types of its attributes, safely and as it comes in."""

import tempfile
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import ImportPlan
from omnigraph.errors import ConstraintViolated, OmnigraphError
from omnigraph.pipeline.imports.blocks import BLOCK_ROWS
from tests.pipeline.imports.imported import edges_of, import_into, nodes_of

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEYS = """
<key id="c" for="node" attr.name="color" attr.type="string"><default>yellow</default></key>
<key id="n" for="node" attr.name="n" attr.type="int"/>
<key id="ok" for="all" attr.name="ok" attr.type="boolean"/>
<key id="w" for="edge" attr.name="weight" attr.type="float"><default>1.5</default></key>
<key id="g" for="node" yfiles.type="nodegraphics"/>
"""
BODY = """
<graph edgedefault="undirected">
  <desc>a graph</desc>
  <node id="a"><data key="n"> 7 </data><data key="ok">1</data>
    <data key="g"><y:Shape xmlns:y="urn:y"><y:Fill c="red">x</y:Fill></y:Shape></data></node>
  <node id="b"><data key="c">a &lt; b</data><graph edgedefault="directed">
    <node id="b::c"/><edge source="b" target="b::c"><data key="w">2</data></edge></graph></node>
  <edge id="e" source="a" target="b"/>
  <edge source="b" target="a" directed="true"/>
</graph>
"""


def document(folder: Path, text: str | bytes) -> Path:
    file = folder / "g.graphml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_attributes_defaults_and_nested_graphs_are_read(tmp_path: Path) -> None:
    source = document(tmp_path, f"{HEAD}{KEYS}{BODY}</graphml>")
    plan = ImportPlan.of(source)
    assert 'color: String @default("yellow")' in plan.schema
    assert "weight: F32 @default(1.5)" in plan.schema
    notes = "\n".join(plan.notes)
    for said in ("which are XML themselves", "within which node", "some edges are undirected"):
        assert said in notes
    graph = import_into(tmp_path, source)
    assert nodes_of(graph, "Node") == [
        {"id": "a", "color": "yellow", "n": 7, "ok": True},
        {"id": "b", "color": "a < b"},
        {"id": "b::c", "color": "yellow"},
    ]
    assert edges_of(graph, "Edge") == [
        ("b", "b::c", {"weight": 2, "directed": True}),
        ("a", "b", {"weight": 1.5, "directed": False, "id": "e"}),
        ("b", "a", {"weight": 1.5, "directed": True}),
    ]


def test_labels_of_neo4j_become_types(tmp_path: Path) -> None:
    text = f"""{HEAD}<key id="name" for="node" attr.name="name"/>
    <key id="labels" for="node" attr.name="labels"/><key id="label" for="edge" attr.name="label"/>
    <graph id="G" edgedefault="directed">
    <node id="n0" labels=":Person"><data key="labels">:Person</data><data key="name">A</data></node>
    <node id="n1" labels=":City"><data key="labels">:City</data><data key="name">Rome</data></node>
    <edge id="e0" source="n0" target="n1" label="LIVES_IN"><data key="label">LIVES_IN</data></edge>
    <edge id="e1" source="n0" target="gone" label="LIVES_IN"/>
    </graph></graphml>"""
    source = document(tmp_path, text)
    with pytest.raises(ConstraintViolated) as caught:
        import_into(tmp_path, source)
    assert {one.line for one in caught.value.violations.examples} == {7}
    schema = ImportPlan.of(source).schema
    assert "node Person {\n    id: String @key\n    name: String\n}" in schema
    assert "edge LivesIn: Person -> City {\n    id: String\n}" in schema


BOMB = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<graphml><graph><node id="&b;"/></graph></graphml>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "g.graphml:2:31: the document declares or uses entities"),
        (
            '<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml>\n&x;</graphml>',
            "g.graphml:2:1: the document declares or uses entities",
        ),
        (f"{HEAD}<graph><node id='a'>", "the document ends before graphml does"),
        (f"{HEAD}<graph>\n<node id='a'></graph>", "g.graphml:2:16: broken XML: mismatched tag"),
        (f"{HEAD}<graph><node id='\xff'/>".encode("latin-1"), "g.graphml:1:"),
        (b"<?xml version='1.0' encoding='klingon'?><graphml/>", "broken XML: unknown encoding"),
        ("<svg/>", "g.graphml:1:1: the document is svg, not graphml"),
        (f"{HEAD}<graph>\n<node/>", "g.graphml:2:1: a node has no id"),
        (f"{HEAD}<graph>\n<edge source='a'/>", "g.graphml:2:1: an edge has no target"),
        (f"{HEAD}\n<key id='k' attr.type='nit'/>", "g.graphml:2:30: the attr.type nit is not"),
        (f"{HEAD}<key id='k'/>\n<key id='k'/>", "g.graphml:2:14: the key k is declared twice"),
        (f"{HEAD}<graph><node id='a'>\n<data key='k'>1</data>", "no key k is declared for a node"),
        (
            f"{HEAD}<key id='k'/><graph><node id='a'><data key='k'/><data key='k'/>",
            "the node has two values of k",
        ),
        (f"{HEAD}<graph>\n<hyperedge/>", "a hyperedge"),
        (HEAD + "<graph>" * 300, "elements within elements"),
        (f"{HEAD}<graph/></graphml>", "it has no nodes"),
    ],
)
def test_documents_that_are_no_graphml_or_would_do_harm_are_refused_by_place(
    text: str | bytes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(OmnigraphError) as caught:
        ImportPlan.of(document(tmp_path, text))
    assert said in str(caught.value)


def test_numbers_that_need_more_room_than_their_type_get_it(tmp_path: Path) -> None:
    text = (
        f'{HEAD}<key id="a" for="node" attr.name="a" attr.type="int"/>'
        '<key id="b" for="node" attr.name="b" attr.type="int"><default>3000000000</default></key>'
        '<key id="c" for="node" attr.name="c" attr.type="int"><default>-2147483648</default></key>'
        '<graph><node id="n"><data key="a">2147483648</data></node><node id="m"/></graph></graphml>'
    )
    graph = import_into(tmp_path, document(tmp_path, text))
    schema = graph.schema().text
    for line in ("a: I64?", "b: I64 @default(3000000000)", "c: I32 @default(-2147483648)"):
        assert line in schema
    assert nodes_of(graph, "Node") == [
        {"id": "n", "a": 2147483648, "b": 3000000000, "c": -2147483648},
        {"id": "m", "b": 3000000000, "c": -2147483648},
    ]


def test_a_number_that_no_type_has_room_for_is_kept_as_text(tmp_path: Path) -> None:
    # NetworkX calls every whole number of Python a long.
    keys = "".join(f'<key id="{k}" attr.name="{k}" attr.type="{t}"/>' for k, t in NUMBERS.items())
    values = "".join(f'<data key="{k}">{2**70}</data>' for k in NUMBERS)
    text = f'{HEAD}{keys}<graph><node id="n">{values}</node><node id="m"><data key="a">7</data>'
    source = document(tmp_path, f"{text}</node></graph></graphml>")
    assert "Node.a has values of I64 and String, so it is String" in ImportPlan.of(source).notes
    assert nodes_of(import_into(tmp_path, source), "Node") == [
        {"id": "n", "a": str(2**70), "b": str(2**70), "c": float(2**70)},
        {"id": "m", "a": "7"},
    ]


NUMBERS = {"a": "long", "b": "int", "c": "double"}


def test_an_empty_value_is_a_text_and_no_value_of_another_type(tmp_path: Path) -> None:
    kinds = ("int", "long", "float", "double", "boolean", "string")
    keys = "".join(f'<key id="{k}" attr.name="{k}" attr.type="{k}"/>' for k in kinds)
    keys += '<key id="d" attr.name="d" attr.type="int"><default> </default></key>'
    keys += '<key id="e" attr.name="e" attr.type="int"><default>5</default></key>'
    empty = "".join(f'<data key="{k}"></data>' for k in (*kinds, "e"))
    full = "".join(f'<data key="{k}">1</data>' for k in (*kinds, "d"))
    nodes = f'<node id="n">{empty}</node><node id="m">{full}</node>'
    graph = import_into(
        tmp_path, document(tmp_path, f"{HEAD}{keys}<graph>{nodes}</graph></graphml>")
    )
    some = {"int": 1, "long": 1, "float": 1, "double": 1, "boolean": True, "string": "1", "d": 1}
    assert nodes_of(graph, "Node") == [
        {"id": "n", "string": "", "e": 5},
        {"id": "m", **some, "e": 5},
    ]


def test_a_default_is_one_of_the_type_that_the_property_came_to_have(tmp_path: Path) -> None:
    def key(id_: str, name: str, type_: str, default: str) -> str:
        written = f"<default>{default}</default>" if default else ""
        return f'<key id="{id_}" attr.name="{name}" attr.type="{type_}">{written}</key>'

    text = (
        f"{HEAD}{key('a', 'text', 'int', ' +5')}{key('b', 'text', 'string', '')}"
        f"{key('c', 'real', 'int', '5')}{key('d', 'real', 'double', '')}"
        f"{key('e', 'is', 'boolean', '1')}{key('f', 'is', 'int', '')}"
        f"{key('g', 'large', 'float', '1e39')}"
        '<graph><node id="n"><data key="b">x</data><data key="d">1.5</data><data key="f">1</data>'
        '<data key="g">1</data></node><node id="m"><data key="g">2</data></node></graph></graphml>'
    )
    graph = import_into(tmp_path, document(tmp_path, text))
    schema = graph.schema().text
    for line in ('text: String @default("5")', "real: F64 @default(5.0)", "large: F32\n"):
        assert line in schema
    assert nodes_of(graph, "Node") == [
        {"id": "n", "text": "x", "real": 1.5, "is": "1", "large": 1},
        {"id": "m", "text": "5", "real": 5, "is": "true", "large": 2},
    ]


def test_an_id_of_an_edge_is_never_taken_for_its_attribute_of_that_name(tmp_path: Path) -> None:
    # Rows are read in blocks, and the attribute stands in the last one alone.
    edges = [f'<edge id="e{n}" source="n" target="n"/>' for n in range(BLOCK_ROWS)]
    text = (
        f'{HEAD}<key id="a" for="edge" attr.name="id" attr.type="string"/><graph><node id="n"/>'
        f'{"".join(edges)}<edge id="last" source="n" target="n"><data key="a">own</data></edge>'
        "</graph></graphml>"
    )
    found = edges_of(import_into(tmp_path, document(tmp_path, text)), "Edge")
    assert [row["id"] for _, _, row in found if "id" in row] == ["own"]
    assert {row["edge_id"] for _, _, row in found} >= {"e0", "last"}


def test_a_value_that_is_partly_xml_is_left_out_whole(tmp_path: Path) -> None:
    text = (
        f'{HEAD}<key id="a" for="node" attr.name="a" attr.type="string"/><graph>'
        '<node id="n"><data key="a">before<b xmlns="other">in</b>after</data></node>'
        "</graph></graphml>"
    )
    source = document(tmp_path, text)
    assert any("values of a, which are XML" in note for note in ImportPlan.of(source).notes)
    assert nodes_of(import_into(tmp_path, source), "Node") == [{"id": "n"}]


@pytest.mark.parametrize(
    ("items", "cells", "type_", "values"),
    [
        ("long", ["[1,-9223372036854775808]", "[]"], "[I64]", [[1, -(2**63)], []]),
        ("int", ["[3000000000]"], "[I64]", [[3_000_000_000]]),
        ("double", ["[1,0.5]"], "[F64]", [[1, 0.5]]),
        ("boolean", ["[true, false]"], "[Bool]", [[True, False]]),
        ("string", ['["a, b","2024-05-31"]'], "[String]", [["a, b", "2024-05-31"]]),
        # What is no list is not lost, and neither is a list beside it.
        ("string", ['["a"]', "a;b"], "String", ['["a"]', "a;b"]),
        ("duration", ['["P1D"]'], "String", ['["P1D"]']),
    ],
)
def test_lists_of_neo4j_are_lists(
    items: str, cells: list[str], type_: str, values: list[Any], tmp_path: Path
) -> None:
    nodes = "".join(
        f'<node id="{n}" labels=":T"><data key="v">{cell}</data></node>'
        for n, cell in enumerate(cells)
    )
    key = f'<key id="v" for="node" attr.name="v" attr.type="string" attr.list="{items}"/>'
    source = tmp_path / "g.graphml"
    source.write_text(f"<graphml>{key}<graph>{nodes}</graph></graphml>")
    assert f"v: {type_}\n" in ImportPlan.of(source).schema
    assert [row["v"] for row in nodes_of(import_into(tmp_path, source), "T")] == values


WORDS = st.text(
    st.one_of(st.sampled_from(" <&>\"',\n"), st.characters(exclude_categories=["Cs", "Cc"])),
    max_size=5,
)
LONG = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "whole": LONG,
        "real": FLOATS,
        "number": LONG | FLOATS,
        "is it": st.booleans(),
        "text": WORDS,
        "mixed": st.one_of(st.booleans(), LONG, WORDS),
    },
)


@st.composite
def graphs(draw: st.DrawFn) -> Any:
    kinds = st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
    graph: Any = draw(kinds)()
    ids = draw(st.lists(WORDS.map(str.strip), min_size=1, max_size=4, unique=True))
    for id_ in ids:
        graph.add_node(id_, **draw(VALUES))
    for _ in range(draw(st.integers(0, 4))):
        graph.add_edge(draw(st.sampled_from(ids)), draw(st.sampled_from(ids)), **draw(VALUES))
    return graph


@settings(max_examples=20)
@given(graphs())
def test_a_graph_of_networkx_comes_back_equal(graph: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        nx.write_graphml_xml(graph, f"{name}/g.graphml")
        # What another reader of the file finds in it.
        theirs = nx.read_graphml(f"{name}/g.graphml", force_multigraph=True)
        ours = import_into(Path(name), f"{name}/g.graphml")
        nodes = {row.pop("id"): row for row in nodes_of(ours, "Node")}
        edges = edges_of(ours, "Edge") if theirs.number_of_edges() else []
    assert nodes.keys() == set(theirs.nodes)
    for id_, values in theirs.nodes(data=True):
        assert_same(nodes[id_], values)
    pairs = list(theirs.edges(data=True))
    assert len(edges) == len(pairs)
    for source, target, values in pairs:
        found = [
            one
            for one in edges
            if (one[0], one[1]) in ((source, target), (target, source) * (not theirs.is_directed()))
            and is_same(one[2], values)
        ]
        assert found, (source, target, values)


def assert_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert is_same(ours, theirs), (ours, theirs)


def is_same(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    wanted = {"is_it" if name == "is it" else name: v for name, v in theirs.items()}
    found = {name: value for name, value in ours.items() if name != "id"}
    wanted.pop("id", None)
    return found.keys() == wanted.keys() and all(
        _equal(found[name], value) for name, value in wanted.items()
    )


def _equal(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, str) and not isinstance(theirs, str):
        return ours == str(theirs)  # a column of several types is text
    return bool(ours == theirs)
