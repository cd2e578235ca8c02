from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import LimitExceeded
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.picture.diagram import schema_mermaid
from omnigraph.lang.schema.picture.drawing import MAX_DRAWN_TYPES, schema_svg
from omnigraph.lang.schema.picture.layout import Box, Line, Place, arrange

SCHEMA = """
interface Named { name: String }
node Person @description("one of <us> & \\u0001") implements Named {
    email: String @key  age: I32?  mood: enum(good, bad)  tags: [String]  vec: Vector(3)?
    nick: String @unique
}
node Company {}
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company @card(0..1)
edge Owns: Person -> Company @card(1..*)
edge BornIn: Person -> Company @card(1..1) { at: DateTime }
"""


def compiled(text: str) -> Catalog:
    return compile_schema(SourceText(text))


def test_a_diagram_in_mermaid() -> None:
    assert schema_mermaid(compiled(SCHEMA)) == (
        "erDiagram\n"
        "    Company {\n"
        "    }\n"
        '    Person["Person (Named)"] {\n'
        "        String email PK\n"
        '        I32 age "nullable"\n'
        '        enum mood "bad | good"\n'
        "        String name\n"
        "        String nick UK\n"
        "        String[] tags\n"
        '        Vector(3) vec "nullable"\n'
        "    }\n"
        '    Person }o--|| Company : "BornIn 1..1 (at)"\n'
        '    Person }o--o{ Person : "Knows (since)"\n'
        '    Person }o--|{ Company : "Owns 1..*"\n'
        '    Person }o--o| Company : "WorksAt 0..1"\n'
    )


def test_a_drawing_shows_every_type_and_property() -> None:
    svg = ElementTree.fromstring(schema_svg(compiled(SCHEMA)))
    shown = {"".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Person", "implements Named", "email", "I32?", "enum(bad, good)"} <= shown
    assert {"WorksAt0..1", "Knows0..*", "since: Date?"} <= shown
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) > 4


def test_an_empty_schema_is_an_empty_picture() -> None:
    ElementTree.fromstring(schema_svg(compiled("")))


def test_what_nobody_could_make_out_is_not_drawn() -> None:
    many = "".join(f"node N{i} {{}}\n" for i in range(MAX_DRAWN_TYPES + 1))
    with pytest.raises(LimitExceeded):
        schema_svg(compiled(many))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Line]]:
    count = draw(st.integers(1, 9))
    sizes = st.integers(20, 200)
    boxes = [Box(f"b{i}", draw(sizes), draw(sizes)) for i in range(count)]
    ends = draw(st.lists(st.tuples(*[st.integers(0, count - 1)] * 2), max_size=14))
    lines = [
        Line(f"l{i}", f"b{source}", f"b{target}", draw(sizes), 20)
        for i, (source, target) in enumerate(ends)
    ]
    return boxes, lines


def overlap(one: Place, other: Place) -> bool:
    apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
    apart_y = one.y + one.height <= other.y + 1e-6 or other.y + other.height <= one.y + 1e-6
    return not (apart_x or apart_y)


@given(graphs())
def test_no_box_and_no_label_covers_another(graph: tuple[list[Box], list[Line]]) -> None:
    boxes, lines = graph
    layout = arrange(boxes, lines)
    assert set(layout.boxes) == {box.name for box in boxes}
    assert set(layout.routes) == {line.name for line in lines}
    places = [*layout.boxes.values(), *(route.label for route in layout.routes.values())]
    assert not any(overlap(one, other) for one, other in combinations(places, 2))
    for place in places:
        assert place.x >= 0
        assert place.y >= -1e-6
        assert place.x + place.width <= layout.width + 1e-6
        assert place.y + place.height <= layout.height + 1e-6


@given(graphs())
def test_a_line_runs_from_its_source_to_its_target(graph: tuple[list[Box], list[Line]]) -> None:
    boxes, lines = graph
    layout = arrange(boxes, lines)
    for line in lines:
        points = layout.routes[line.name].points
        for end, (x, y) in ((line.source, points[0]), (line.target, points[-1])):
            box = layout.boxes[end]
            assert x in (box.x, box.x + box.width)
            assert box.y - 9 <= y <= box.y + box.height + 9


@given(graphs())
def test_a_layout_does_not_depend_on_the_order_given(graph: tuple[list[Box], list[Line]]) -> None:
    boxes, lines = graph
    assert arrange(boxes, lines) == arrange(boxes[::-1], lines[::-1])
