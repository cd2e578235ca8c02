"""A schema as an SVG picture, drawn by ourselves: a box per node type, an arrow per edge type.

Text is measured by rule of thumb, since fonts differ between machines: what must line up is set in
a monospaced font, and everything else has room to spare.
"""

from collections.abc import Iterator, Mapping
from html import escape

from omnigraph.base.errors import LimitExceeded
from omnigraph.base.types import Value
from omnigraph.lang.schema.catalog import Catalog, EdgeType, NodeType, Property
from omnigraph.lang.schema.picture.diagram import cardinality_text, key_first
from omnigraph.lang.schema.picture.layout import Box, Line, Place, Route, arrange

__all__ = ["schema_svg"]

# A picture of more than this is no picture; the text of a diagram has no such limit.
MAX_DRAWN_TYPES = 500

MARGIN = 28.0
TITLE_HEIGHT = 32.0
INTERFACES_HEIGHT = 16.0
ROW_HEIGHT = 21.0
PADDING = 14.0
KEY_WIDTH = 16.0
LABEL_HEIGHT = 22.0
NOTE_HEIGHT = 14.0
MAX_NOTES = 3
TYPE_CHARACTERS = 28

# Width of a character in ems: exact for the monospaced font, generous for the other.
MONO_EM = 0.602
SANS_EM = 0.6

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
  .mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
  .page { fill: #ffffff; }
  .box { fill: #ffffff; stroke: #9fb3c8; }
  .head { fill: #334e68; }
  .title { fill: #ffffff; font-size: 14px; font-weight: 600; }
  .interfaces { fill: #bcccdc; font-size: 11px; }
  .row { stroke: #e4e9f0; }
  .name { fill: #243b53; font-size: 12px; }
  .key { font-weight: 700; }
  .type { fill: #829ab1; font-size: 12px; }
  .line { fill: none; stroke: #829ab1; stroke-width: 1.5; }
  .tip { fill: #829ab1; }
  .pill { fill: #f0f4f8; stroke: #bcccdc; }
  .edge { fill: #102a43; font-size: 12px; font-weight: 600; }
  .card { fill: #627d98; font-weight: 400; }
  .note { fill: #627d98; font-size: 10.5px; }
  .mark { fill: none; stroke: #de911d; stroke-width: 1.8; }
"""


# On a page of somebody else's, light or dark: nothing is painted behind, and no rule reaches
# further than the picture.
INLINE_CLASS = ' class="og-schema"'
INLINE_STYLE = """
  .og-schema text { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; }
  .og-schema .mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
  .og-schema .box { fill: none; stroke: currentColor; stroke-opacity: 0.4; }
  .og-schema .head { fill: #486581; }
  .og-schema .title { fill: #ffffff; font-size: 14px; font-weight: 600; }
  .og-schema .interfaces { fill: #d9e2ec; font-size: 11px; }
  .og-schema .row { stroke: currentColor; stroke-opacity: 0.15; }
  .og-schema .name { fill: currentColor; font-size: 12px; }
  .og-schema .key { font-weight: 700; }
  .og-schema .type { fill: currentColor; fill-opacity: 0.65; font-size: 12px; }
  .og-schema .line { fill: none; stroke: #829ab1; stroke-width: 1.5; }
  .og-schema .tip { fill: #829ab1; }
  .og-schema .pill { fill: #486581; stroke: none; }
  .og-schema .edge { fill: #ffffff; font-size: 12px; font-weight: 600; }
  .og-schema .card { fill: #d9e2ec; font-weight: 400; }
  .og-schema .note { fill: #d9e2ec; font-size: 10.5px; }
  .og-schema .mark { fill: none; stroke: #de911d; stroke-width: 1.8; }
"""


def schema_svg(catalog: Catalog, *, is_inline: bool = False) -> str:
    """A picture as a file, or to stand inside of a page.

    Raises LimitExceeded where there are too many types to make out.
    """
    count = len(catalog.entities)
    if count > MAX_DRAWN_TYPES:
        raise LimitExceeded(what="types in one drawing", limit=MAX_DRAWN_TYPES, found=count)
    layout = arrange(
        [Box(node.name, _width(node), _height(node)) for node in catalog.nodes],
        [_line(edge) for edge in catalog.edges],
    )
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    page = f'<rect class="page" width="{width:.0f}" height="{height:.0f}" rx="8"/>'
    tip = "og-schema-tip" if is_inline else "tip"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Graph schema"'
        f"{INLINE_CLASS * is_inline}>",
        f"<style>{INLINE_STYLE if is_inline else STYLE}</style>",
        f'<defs><marker id="{tip}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse">'
        '<path class="tip" d="M0 0 L10 5 L0 10 z"/></marker></defs>',
        *([] if is_inline else [page]),
        f'<g transform="translate({MARGIN:.0f} {MARGIN:.0f})">',
        *(_path(layout.routes[edge.name], tip) for edge in catalog.edges),
        *(part for node in catalog.nodes for part in _box(node, layout.boxes[node.name])),
        *(part for e in catalog.edges for part in _label(e, layout.routes[e.name].label)),
        "</g>",
        "</svg>",
    ]
    return "".join(f"{line}\n" for line in lines)


# Boxes ------------------------------------------------------------------------------------------


def _width(node: NodeType) -> float:
    rows = (
        KEY_WIDTH + (len(p.name) + 3 + len(_type_text(p))) * 12 * MONO_EM for p in node.properties
    )
    title = len(node.name) * 14 * SANS_EM
    interfaces = len(_interfaces_text(node)) * 11 * SANS_EM
    return round(max(title, interfaces, *rows, 90.0) + 2 * PADDING)


def _height(node: NodeType) -> float:
    rows = max(1, len(node.properties)) * ROW_HEIGHT
    return TITLE_HEIGHT + INTERFACES_HEIGHT * bool(node.interfaces) + rows + 6


def _box(node: NodeType, place: Place) -> Iterator[str]:
    head = TITLE_HEIGHT + INTERFACES_HEIGHT * bool(node.interfaces)
    width, height = place.width, place.height
    yield f'<g transform="translate({place.x:.1f} {place.y:.1f})">{_tooltip(node.annotations)}'
    yield f'<rect class="box" width="{width:.0f}" height="{height:.0f}" rx="6"/>'
    yield (
        f'<path class="head" d="M0 {head:.0f} V6 Q0 0 6 0 H{width - 6:.0f} '
        f'Q{width:.0f} 0 {width:.0f} 6 V{head:.0f} z"/>'
    )
    yield _text("title", PADDING, 21, node.name)
    if node.interfaces:
        yield _text("interfaces", PADDING, 38, _interfaces_text(node))
    for i, prop in enumerate(key_first(node)):
        yield from _row(node, prop, head + 3 + i * ROW_HEIGHT, width, is_first=i == 0)
    yield "</g>"


def _row(
    node: NodeType, prop: Property, y: float, width: float, *, is_first: bool
) -> Iterator[str]:
    is_key = prop.name in node.key
    if not is_first:
        yield f'<path class="row" d="M{PADDING:.0f} {y:.1f} H{width - PADDING:.0f}"/>'
    if is_key:
        x, middle = PADDING - 2, y + 10.5
        yield f'<circle class="mark" cx="{x + 3:.1f}" cy="{middle:.1f}" r="2.8"/>'
        yield f'<path class="mark" d="M{x + 6:.1f} {middle:.1f} h6.5 v3 m-3 -3 v2.4"/>'
    name_class = "mono name key" if is_key else "mono name"
    yield _text(name_class, PADDING + KEY_WIDTH, y + 15, prop.name, _tooltip(prop.annotations))
    right = width - PADDING
    shown, full = _type_text(prop), f"{prop.type}{'?' * prop.is_nullable}"
    tooltip = f"<title>{_safe(full)}</title>" if shown != full else ""
    yield (
        f'<text class="mono type" text-anchor="end" x="{right:.0f}" y="{y + 15:.1f}">'
        f"{_safe(shown)}{tooltip}</text>"
    )


def _type_text(prop: Property) -> str:
    text = f"{prop.type}{'?' * prop.is_nullable}"
    return text if len(text) <= TYPE_CHARACTERS else f"{text[: TYPE_CHARACTERS - 1]}…"


def _interfaces_text(node: NodeType) -> str:
    return f"implements {', '.join(node.interfaces)}" if node.interfaces else ""


# Lines ------------------------------------------------------------------------------------------


def _line(edge: EdgeType) -> Line:
    title = (len(edge.name) + len(cardinality_text(edge)) + 2) * 12 * SANS_EM
    notes = _notes(edge)
    width = max(title, *(len(note) * 10.5 * MONO_EM for note in notes), 0.0) + 20
    return Line(
        edge.name, edge.source, edge.target, round(width), LABEL_HEIGHT + NOTE_HEIGHT * len(notes)
    )


def _notes(edge: EdgeType) -> list[str]:
    """The first properties of an edge, one a line."""
    notes = [f"{p.name}: {_type_text(p)}" for p in key_first(edge)]
    if len(notes) <= MAX_NOTES:
        return notes
    return [*notes[: MAX_NOTES - 1], f"and {len(notes) - MAX_NOTES + 1} more"]


def _path(route: Route, tip: str) -> str:
    (x, y), *rest = route.points
    path = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if abs(to_y - y) < 0.5:
            path.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            middle = (x + to_x) / 2
            path.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return f'<path class="line" marker-end="url(#{tip})" d="{" ".join(path)}"/>'


def _label(edge: EdgeType, place: Place) -> Iterator[str]:
    middle = place.width / 2
    yield f'<g transform="translate({place.x:.1f} {place.y:.1f})">{_tooltip(edge.annotations)}'
    yield f'<rect class="pill" width="{place.width:.0f}" height="{place.height:.0f}" rx="8"/>'
    yield (
        f'<text class="edge" text-anchor="middle" x="{middle:.1f}" y="15.5">{_safe(edge.name)}'
        f'<tspan class="card" dx="6">{cardinality_text(edge)}</tspan></text>'
    )
    for i, note in enumerate(_notes(edge), start=1):
        y = 14 + i * NOTE_HEIGHT
        yield (
            f'<text class="mono note" text-anchor="middle" x="{middle:.1f}" y="{y:.1f}">'
            f"{_safe(note)}</text>"
        )
    yield "</g>"


# Text -------------------------------------------------------------------------------------------


def _text(classes: str, x: float, y: float, text: str, inside: str = "") -> str:
    return f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}">{_safe(text)}{inside}</text>'


def _tooltip(annotations: Mapping[str, tuple[Value, ...]]) -> str:
    match annotations.get("description"):
        case (str() as text,):
            return f"<title>{_safe(text)}</title>"
        case _:
            return ""


def _safe(text: str) -> str:
    """XML can't hold control characters at all, escaped or not."""
    return escape("".join(c if c.isprintable() or c == "\n" else " " for c in text))
