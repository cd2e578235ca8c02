"""`Drawing`: nodes and edges as a picture, in SVG that stands by itself.

What stands under the mouse tells more (`<title>`), and nothing runs: there is no script.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.base.words import amount, clipped
from omnigraph.engine.notebook.force import Points, arrange
from omnigraph.engine.notebook.page import ALONE, clipped_text, in_page, safe

__all__ = ["Drawing", "DrawnEdge", "DrawnNode"]

RADIUS = 13.0
LABEL_LETTERS = 24
LABEL_HEIGHT = 17.0
LETTER_WIDTH = 6.6
"""Of a text of 12 pixels, generously: fonts differ between machines."""
MARGIN = 16.0
LEGEND_HEIGHT = 26.0
TYPES_IN_LEGEND = 12
PROPERTIES_TOLD = 12
# Of more edges than this the labels would cover each other; the mouse tells them.
MOST_LABELLED_EDGES = 60
# More edges than this with one label between them: the legend says it once.
MOST_EDGES_ALIKE = 5
LINE_WIDTH = 14.0
# Seen on white and on black, and told apart by most eyes.
COLOURS = (
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#e15759",
    "#b07aa1",
    "#39a0a0",
    "#c9a227",
    "#9c755f",
    "#e377a2",
    "#8a8f98",
)


@frozen
class DrawnNode:
    type_name: str
    id: str
    label: str
    properties: Mapping[str, Any]


@frozen
class DrawnEdge:
    """From one of the drawn nodes to another, by their numbers."""

    source: int
    target: int
    label: str
    is_directed: bool
    is_path: bool
    """Nodes that are not drawn may lie between."""
    properties: Mapping[str, Any]


@frozen(repr=False)
class Drawing:
    """A picture of nodes and edges. A notebook shows it; `to_svg` gives it for a file."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    node_count: int
    """All nodes of the answer, drawn or not."""
    has_more_edges: bool = False
    """True if not all edges between the drawn nodes are drawn."""

    def __repr__(self) -> str:
        return f"<Drawing: {self.summary}>"

    @property
    def summary(self) -> str:
        """In one line: how many nodes and edges are drawn, and of how many."""
        nodes, edges = amount(len(self.nodes), "node"), amount(len(self.edges), "edge")
        if self.node_count > len(self.nodes):
            nodes = f"the first {len(self.nodes):,} of {amount(self.node_count, 'node')}"
        return f"{nodes}, {'the first ' * self.has_more_edges}{edges}"

    def to_svg(self) -> str:
        """The picture as a document of its own, for light pages and dark ones."""
        return self._svg(ALONE)

    def _repr_html_(self) -> str:
        return in_page(self._svg(""))

    def _svg(self, style: str) -> str:
        sizes = np.array([_size(node) for node in self.nodes]).reshape(-1, 2)
        places = arrange(sizes, [(edge.source, edge.target) for edge in self.edges])
        # A node is drawn at its middle, and its label hangs below.
        low, room = MARGIN, (places + sizes / 2).max(axis=0, initial=0.0)
        counts = Counter(node.type_name for node in self.nodes)
        entries = [*_legend_entries(counts), *self._edges_in_legend()]
        legend = "".join(_legend(entries))
        width = max(float(room[0]), _legend_width(entries), len(self.summary) * LETTER_WIDTH)
        width, height = width + 2 * MARGIN, float(room[1]) + 2 * MARGIN + 2 * LEGEND_HEIGHT
        places = places + np.array([low, low + LEGEND_HEIGHT - LABEL_HEIGHT / 2])
        # Pictures on one page share their names: each has a tip of its own.
        tip = f"og-{hashlib.sha256(repr((self.nodes, self.edges)).encode()).hexdigest()[:8]}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{safe(self.summary)}" '
            'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">',
            style,
            f'<defs><marker id="{tip}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 1 L10 5 L0 9 z" fill="currentColor" '
            'fill-opacity="0.6"/></marker></defs>',
            legend,
            *self._edges(places, tip),
            *self._nodes(places, sorted(counts)),
            f'<text x="{MARGIN:.0f}" y="{height - 8:.0f}" fill-opacity="0.75">'
            f"{safe(self.summary)}</text>",
            "</svg>",
        ]
        return "".join(parts)

    @property
    def _labels_edges(self) -> bool:
        """True if each edge has its label; otherwise the legend has them."""
        are_alike = len({edge.label for edge in self.edges}) == 1
        return len(self.edges) <= (MOST_EDGES_ALIKE if are_alike else MOST_LABELLED_EDGES)

    def _edges_in_legend(self) -> "Iterator[Entry]":
        if self._labels_edges:
            return
        counts = Counter(edge.label for edge in self.edges)
        for number, (label, count) in enumerate(sorted(counts.items())):
            if number == TYPES_IN_LEGEND:
                yield f"and {len(counts) - number} more", None
                return
            yield f"{clipped(label, LABEL_LETTERS)} {count:,}", LINE

    def _nodes(self, places: Points, types: list[str]) -> Iterator[str]:
        for node, (x, y) in zip(self.nodes, places, strict=True):
            colour = COLOURS[types.index(node.type_name) % len(COLOURS)]
            label = safe(node.label, LABEL_LETTERS)
            yield (
                f"<g>{_title(f'{node.type_name} {clipped(node.id)}', node.properties)}"
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:.0f}" fill="{colour}"/>'
                f'<text x="{x:.1f}" y="{y + RADIUS + 13:.1f}" text-anchor="middle">{label}</text>'
                "</g>"
            )

    def _edges(self, places: Points, tip: str) -> Iterator[str]:
        beside: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, edge in enumerate(self.edges):
            one, other = sorted((edge.source, edge.target))
            beside[one, other].append(number)
        bend = {
            n: i - (len(among) - 1) / 2 for among in beside.values() for i, n in enumerate(among)
        }
        for number, edge in enumerate(self.edges):
            start, end = places[edge.source], places[edge.target]
            if edge.source == edge.target:
                path, middle = _loop(start, bend[number])
            else:
                # To one side whichever way it leads, so that two of a pair never lie on each other.
                side = 1 if edge.source < edge.target else -1
                path, middle = _curve(start, end, side * bend[number] * 30)
            marker = f' marker-end="url(#{tip})"' if edge.is_directed else ""
            dashes = ' stroke-dasharray="5 4"' if edge.is_path else ""
            yield f"<g>{_title(edge.label, edge.properties)}"
            yield f'<path d="{path}" fill="none" stroke="transparent" stroke-width="9"/>'
            yield (
                f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.45" '
                f'stroke-width="1.3"{dashes}{marker}/>'
            )
            if self._labels_edges:
                # Beside an edge that is steep, above another: nodes have their labels below.
                across, down = np.abs(end - start)
                at = (6, 3, "start") if down > across else (0, -3, "middle")
                yield (
                    f'<text x="{middle[0] + at[0]:.1f}" y="{middle[1] + at[1]:.1f}" '
                    f'text-anchor="{at[2]}" font-size="10" fill-opacity="0.75">'
                    f"{safe(edge.label, LABEL_LETTERS)}</text>"
                )
            yield "</g>"


def _size(node: DrawnNode) -> tuple[float, float]:
    letters = min(len(clipped(node.label, LABEL_LETTERS)), LABEL_LETTERS + 1)
    return max(2 * RADIUS, letters * LETTER_WIDTH), 2 * RADIUS + LABEL_HEIGHT


def _title(first: str, properties: Mapping[str, Any]) -> str:
    told = [f"{clipped(name)}: {clipped_text(value)}" for name, value in properties.items()]
    if len(told) > PROPERTIES_TOLD:
        told = [*told[:PROPERTIES_TOLD], f"and {len(told) - PROPERTIES_TOLD} more"]
    return f"<title>{'&#10;'.join(safe(line) for line in (first, *told))}</title>"


def _curve(start: Points, end: Points, bend: float) -> tuple[str, Points]:
    """From rim to rim of two nodes, and where its label stands."""
    along = end - start
    along = along / max(float(np.hypot(*along)), 1e-6)
    control = (start + end) / 2 + np.array([-along[1], along[0]]) * bend
    start, end = _rim(start, control), _rim(end, control, 2.0)
    (x0, y0), (x1, y1), (x2, y2) = start, control, end
    path = f"M{x0:.1f} {y0:.1f} Q{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f}"
    if not bend:
        path = f"M{x0:.1f} {y0:.1f} L{x2:.1f} {y2:.1f}"
    return path, start / 4 + control / 2 + end / 4


def _rim(node: Points, towards: Points, room: float = 0.0) -> Points:
    way = towards - node
    rim: Points = node + way / max(float(np.hypot(*way)), 1e-6) * (RADIUS + room)
    return rim


def _loop(node: Points, bend: float) -> tuple[str, Points]:
    x, y = node
    height = 36.0 + 12 * abs(bend) * 2
    path = (
        f"M{x - 7:.1f} {y - RADIUS + 2:.1f} C{x - 26:.1f} {y - height:.1f} "
        f"{x + 26:.1f} {y - height:.1f} {x + 7:.1f} {y - RADIUS:.1f}"
    )
    return path, np.array([x, y - height + 6])


Entry = tuple[str, str | None]
"""A text of the legend, and the mark before it: the colour of a node, `LINE`, or none."""
LINE = "line"


def _legend(entries: list[Entry]) -> Iterator[str]:
    x = MARGIN
    for text, colour in entries:
        if colour == LINE:
            yield (
                f'<path d="M{x - 1:.1f} 16 h{LINE_WIDTH:.0f}" stroke="currentColor" '
                'stroke-opacity="0.45" stroke-width="1.3"/>'
            )
        elif colour is not None:
            yield f'<circle cx="{x + 6:.1f}" cy="16" r="6" fill="{colour}"/>'
        yield f'<text x="{x + 17:.1f}" y="20">{safe(text)}</text>'
        x += 35 + len(text) * LETTER_WIDTH


def _legend_width(entries: list[Entry]) -> float:
    return sum(35 + len(text) * LETTER_WIDTH for text, _ in entries)


def _legend_entries(counts: Mapping[str, int]) -> Iterator[Entry]:
    for number, name in enumerate(sorted(counts)):
        if number == TYPES_IN_LEGEND:
            yield f"and {len(counts) - number} more types", None
            return
        yield f"{clipped(name, LABEL_LETTERS)} {counts[name]:,}", COLOURS[number % len(COLOURS)]
