"""Where boxes and lines of a drawing go: in layers, left to right, equal for equal graphs.

Boxes stand in even layers. Each line passes through the layers between its ends by stations of its
own, and the one that carries its label is as large as the label: so no label ever covers a box or
another label. A line that runs against the layers is laid out as if it ran along them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from omnigraph.base.frozen import frozen

__all__ = ["Box", "Layout", "Line", "Place", "Route", "arrange"]

LAYER_GAP = 40.0
ROW_GAP = 20.0
PART_GAP = 48.0
STATION_HEIGHT = 8.0
# Parts stand beside each other up to this width: a screen's.
SHELF_WIDTH = 1200.0
# Sweeps over the layers; the picture hardly changes after a few.
SWEEPS = 12
LOOP_WIDTH = 16.0


@frozen
class Box:
    name: str
    width: float
    height: float


@frozen
class Line:
    """From box to box; width and height are those of its label."""

    name: str
    source: str
    target: str
    width: float
    height: float


@frozen
class Place:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    def moved(self, x: float, y: float) -> "Place":
        return Place(self.x + x, self.y + y, self.width, self.height)


@frozen
class Route:
    """The way of a line, from its source to its target, and where its label stands."""

    points: tuple[tuple[float, float], ...]
    label: Place

    def moved(self, x: float, y: float) -> "Route":
        return Route(tuple((px + x, py + y) for px, py in self.points), self.label.moved(x, y))


@frozen
class Layout:
    width: float
    height: float
    boxes: Mapping[str, Place]
    routes: Mapping[str, Route]


def arrange(boxes: Sequence[Box], lines: Sequence[Line]) -> Layout:
    """Each connected part by itself, the parts on shelves, the largest first."""
    places: dict[str, Place] = {}
    routes: dict[str, Route] = {}
    laid_out = [_Layers(b, li).layout() for b, li in _parts(boxes, lines)]
    widest = max([SHELF_WIDTH, *(part.width for part in laid_out)])
    x = y = shelf = width = 0.0
    for part in laid_out:
        if x and x + part.width > widest:
            x, y, shelf = 0.0, y + shelf + PART_GAP, 0.0
        places |= {name: place.moved(x, y) for name, place in part.boxes.items()}
        routes |= {name: route.moved(x, y) for name, route in part.routes.items()}
        width, shelf = max(width, x + part.width), max(shelf, part.height)
        x += part.width + PART_GAP
    return Layout(width, y + shelf, places, routes)


def _parts(boxes: Sequence[Box], lines: Sequence[Line]) -> list[tuple[list[Box], list[Line]]]:
    neighbours: dict[str, set[str]] = {box.name: set() for box in boxes}
    for line in lines:
        neighbours[line.source].add(line.target)
        neighbours[line.target].add(line.source)
    part_of: dict[str, str] = {}
    for start in sorted(neighbours):
        waiting = [start] if start not in part_of else []
        while waiting:
            name = waiting.pop()
            if name not in part_of:
                part_of[name] = start
                waiting += neighbours[name]
    groups: dict[str, tuple[list[Box], list[Line]]] = defaultdict(lambda: ([], []))
    for box in sorted(boxes, key=lambda b: b.name):
        groups[part_of[box.name]][0].append(box)
    for line in sorted(lines, key=lambda li: li.name):
        groups[part_of[line.source]][1].append(line)
    return sorted(groups.values(), key=lambda g: (-len(g[0]), g[0][0].name))


Station = tuple[str, int]
"""A box, with -1, or a line in one of the layers it passes."""
BOX = -1


class _Layers:
    """One connected part on its way from boxes and lines to places."""

    def __init__(self, boxes: Sequence[Box], lines: Sequence[Line]) -> None:
        self.lines = lines
        self.ranks = _ranks([box.name for box in boxes], lines)
        self.size = {(box.name, BOX): (box.width, box.height) for box in boxes}
        self.layers: list[list[Station]] = [[] for _ in range(2 * max(self.ranks.values()) + 2)]
        for box in boxes:
            self.layers[2 * self.ranks[box.name]].append((box.name, BOX))
        self.left: dict[Station, list[Station]] = defaultdict(list)
        self.right: dict[Station, list[Station]] = defaultdict(list)
        self.labels: dict[str, Station] = {}
        self.chains = {line.name: self._chain(line) for line in lines}
        self.middle: dict[Station, float] = {}

    def layout(self) -> Layout:
        self._order()
        self._stack()
        columns = self._columns()
        top = min(self.middle[s] - self.size[s][1] / 2 for s in self.middle)
        places = {
            station: Place(
                columns[n][0],
                self.middle[station] - self.size[station][1] / 2 - top,
                *self.size[station],
            )
            for n, layer in enumerate(self.layers)
            for station in layer
        }
        bottom = max(place.y + place.height for place in places.values())
        width = max(x + w for (x, w), layer in zip(columns, self.layers, strict=True) if layer)
        boxes = {name: place for (name, layer), place in places.items() if layer == BOX}
        return Layout(width, bottom, boxes, self._routes(places, columns))

    def _is_along(self, line: Line) -> bool:
        return self.ranks[line.source] <= self.ranks[line.target]

    def _chain(self, line: Line) -> list[Station]:
        """The stations of a line from left to right, linked to each other and to its ends."""
        ends = (line.source, line.target) if self._is_along(line) else (line.target, line.source)
        first, last = (2 * self.ranks[end] for end in ends)
        last = last if last > first else first + 2  # a line from a box to itself
        stations = [(line.name, layer) for layer in range(first + 1, last)]
        label = stations[(len(stations) - 1) // 4 * 2]  # near the middle, and between boxes
        self.labels[line.name] = label
        for station in stations:
            is_label = station == label
            self.size[station] = (line.width, line.height) if is_label else (1.0, STATION_HEIGHT)
            self.layers[station[1]].append(station)
        path = [(ends[0], BOX), *stations]
        if line.source != line.target:
            path.append((ends[1], BOX))
        for one, other in pairwise(path):
            self.right[one].append(other)
            self.left[other].append(one)
        return stations

    def _order(self) -> None:
        """Sort each layer by where its neighbours stand, to and fro: fewer lines cross."""
        for sweep in range(SWEEPS):
            near, layers = (
                (self.right, self.layers[::-1]) if sweep % 2 else (self.left, self.layers)
            )
            for before, layer in pairwise(layers):
                index = {station: float(i) for i, station in enumerate(before)}
                wanted = [
                    (_mean([index[n] for n in near[s]], default=float(i)), i, s)
                    for i, s in enumerate(layer)
                ]
                layer[:] = [station for _, _, station in sorted(wanted)]

    def _stack(self) -> None:
        """Give each station a height near those of its neighbours, none overlapping."""
        for layer in self.layers:
            self._settle(layer, dict.fromkeys(layer, 0.0))
        for sweep in range(SWEEPS):
            for layer in self.layers[::-1] if sweep % 2 else self.layers:
                wanted = {
                    s: _mean(
                        [self.middle[n] for n in (*self.left[s], *self.right[s])],
                        default=self.middle[s],
                    )
                    for s in layer
                }
                self._settle(layer, wanted)

    def _settle(self, layer: Sequence[Station], wanted: Mapping[Station, float]) -> None:
        """The heights nearest to the wanted ones that keep the order and the gaps.

        Stations that would overlap are pooled and stand around their common mean.
        """
        pools: list[tuple[float, list[Station]]] = []
        above: dict[Station, float] = {}  # how far below the first one a station stands at least
        total = 0.0
        for station in layer:
            above[station] = total + self.size[station][1] / 2
            total += self.size[station][1] + ROW_GAP
            pools.append((wanted[station] - above[station], [station]))
            while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
                (one, firsts), (other, lasts) = pools[-2:]
                count = len(firsts) + len(lasts)
                mean = (one * len(firsts) + other * len(lasts)) / count
                pools[-2:] = [(mean, firsts + lasts)]
        for start, stations in pools:
            for station in stations:
                self.middle[station] = start + above[station]

    def _columns(self) -> list[tuple[float, float]]:
        """The left edge and the width of each layer."""
        columns: list[tuple[float, float]] = []
        x = 0.0
        for layer in self.layers:
            width = max((self.size[station][0] for station in layer), default=0.0)
            columns.append((x, width))
            x += width + (LAYER_GAP if layer else 0.0)
        return columns

    def _routes(
        self, places: Mapping[Station, Place], columns: Sequence[tuple[float, float]]
    ) -> dict[str, Route]:
        leaving, arriving = _ports(places, self.right, 1.0), _ports(places, self.left, 0.0)
        routes = {}
        for line in self.lines:
            stations = self.chains[line.name]
            label = places[self.labels[line.name]]
            if line.source == line.target:
                routes[line.name] = _loop(leaving[stations[0]], label)
                continue
            points = [leaving[stations[0]]]
            for station in stations:
                x, width = columns[station[1]]
                points += [(x, places[station].middle), (x + width, places[station].middle)]
            points.append(arriving[stations[-1]])
            routes[line.name] = Route(
                tuple(points if self._is_along(line) else reversed(points)), label
            )
        return routes


def _ports(
    places: Mapping[Station, Place], near: Mapping[Station, list[Station]], side: float
) -> dict[Station, tuple[float, float]]:
    """Where on a side of its box each line begins or ends, by the station beside the box."""
    ports = {}
    for station, place in places.items():
        if station[1] != BOX:
            continue
        beside = sorted(near.get(station, ()), key=lambda s: (places[s].middle, s))
        for i, other in enumerate(beside, start=1):
            y = place.y + place.height * i / (len(beside) + 1)
            ports[other] = (place.x + place.width * side, y)
    return ports


def _loop(port: tuple[float, float], label: Place) -> Route:
    """Out of the box, behind the label, and back into the box a little lower."""
    (x, y), turn = port, label.x + min(12.0, label.width / 2)
    points = (
        (x, y - LOOP_WIDTH / 2),
        (turn, label.middle - LOOP_WIDTH / 2),
        (turn, label.middle + LOOP_WIDTH / 2),
        (x, y + LOOP_WIDTH / 2),
    )
    return Route(points, label)


def _ranks(names: Sequence[str], lines: Sequence[Line]) -> dict[str, int]:
    """How far to the right each box stands: one step beyond the furthest box before it."""
    after: dict[str, set[str]] = {name: set() for name in names}
    for line in lines:
        if line.source != line.target:
            after[line.source].add(line.target)
    order, pairs = _without_cycles(after)
    before: dict[str, list[str]] = defaultdict(list)
    beyond: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        before[target].append(source)
        beyond[source].append(target)
    ranks: dict[str, int] = {}
    for name in order:
        ranks[name] = max((ranks[n] + 1 for n in before[name]), default=0)
    for name in order:
        if not before[name] and beyond[name]:  # a box that starts lines stands close to their ends
            ranks[name] = min(ranks[n] for n in beyond[name]) - 1
    return ranks


def _without_cycles(
    after: Mapping[str, set[str]],
) -> tuple[list[str], list[tuple[str, str]]]:
    """The boxes in an order in which all pairs run forwards, those that closed a cycle turned."""
    targets = {target for names in after.values() for target in names}
    finished: list[str] = []
    state: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    for start in sorted(after, key=lambda name: (name in targets, name)):
        if start in state:
            continue
        state[start] = "open"
        path = [(start, iter(sorted(after[start])))]
        while path:
            name, rest = path[-1]
            following = next(rest, None)
            if following is None:
                state[name] = "done"
                finished.append(name)
                path.pop()
                continue
            is_back = state.get(following) == "open"
            pairs.append((following, name) if is_back else (name, following))
            if following not in state:
                state[following] = "open"
                path.append((following, iter(sorted(after[following]))))
    return finished[::-1], pairs


def _mean(values: Sequence[float], *, default: float) -> float:
    return sum(values) / len(values) if values else default
