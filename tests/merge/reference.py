"""Three-way merge in plain Python, over all rows of three images: what the engine must agree with.

It looks at every row of all sides and at the whole merged image. The engine looks only at rows that
the source changed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.merge.world import ENDS, Image

Told = tuple[str, str, str, str | None]
"""Kind, type, id and property of a conflict."""

BOUNDS = {"Boss": (0, 1), "Home": (0, 2), "Seat": (1, 2)}
ENDS_CALLED = {"src": "from", "dst": "to"}


def merged(base: Image, ours: Image, theirs: Image, take: str | None = None) -> Image:
    """The rows of both. Of a row in conflict, those of ours, or of the side that is taken."""
    image: Image = {}
    for kind, id_ in _ids(base, ours, theirs):
        b, o, t = (side.get(kind, {}).get(id_) for side in (base, ours, theirs))
        row = (t if take == "theirs" else o) if _is_conflict(b, o, t) else t if o == b else o
        if row is not None:
            image.setdefault(kind, {})[id_] = row
    return image


def conflicts(base: Image, ours: Image, theirs: Image) -> set[Told]:
    """All that is wrong with the merge as a whole."""
    of_rows = row_conflicts(base, ours, theirs)
    of_sets = set_conflicts(merged(base, ours, theirs), ours)
    # An edge that may go anyway is not also told to lack a node.
    unsure = {(kind, id_) for what, kind, id_, _ in of_rows if what == "delete_vs_update"}
    return of_rows | {told for told in of_sets if (told[1], told[2]) not in unsure}


def row_conflicts(base: Image, ours: Image, theirs: Image) -> set[Told]:
    found: set[Told] = set()
    for kind, id_ in _ids(base, ours, theirs):
        b, o, t = (side.get(kind, {}).get(id_) for side in (base, ours, theirs))
        if not _is_conflict(b, o, t):
            continue
        if o is None or t is None:
            found.add(("delete_vs_update", kind, id_, None))
            continue
        what = "divergent_insert" if b is None else "divergent_update"
        found |= {(what, kind, id_, ENDS_CALLED.get(p, p)) for p in o if o[p] != t[p]}
    return found


def set_conflicts(image: Image, ours: Image) -> set[Told]:
    """What is wrong with a merged image; `ours` tells which rows have come."""
    return {*_orphans(image), *_clashes(image, ours), *_degrees(image)}


def _orphans(image: Image) -> Iterator[Told]:
    for kind, nodes in ENDS.items():
        for id_, row in image.get(kind, {}).items():
            for end, node in zip(("src", "dst"), nodes, strict=True):
                if row[end] not in image.get(node, {}):
                    yield "orphan_edge", kind, id_, ENDS_CALLED[end]


def _clashes(image: Image, ours: Image) -> Iterator[Told]:
    holders = defaultdict(list)
    for id_, row in image.get("Item", {}).items():
        if row["u"] is not None:
            holders[row["u"]].append(id_)
    for ids in holders.values():
        for id_ in ids if len(ids) > 1 else []:
            if image["Item"][id_] != ours.get("Item", {}).get(id_):
                yield "unique_violation", "Item", id_, "u"


def _degrees(image: Image) -> Iterator[Told]:
    for kind, (least, most) in BOUNDS.items():
        source = ENDS[kind][0]
        edges = Counter(row["src"] for row in image.get(kind, {}).values())
        for id_ in {*image.get(source, {}), *edges}:
            is_there = id_ in image.get(source, {})
            if edges[id_] > most or (is_there and edges[id_] < least):
                yield "cardinality_violation", source, id_, kind


def _is_conflict(base: object, ours: object, theirs: object) -> bool:
    return ours != theirs and ours != base and theirs != base


def _ids(*images: Image) -> list[tuple[str, str]]:
    return sorted({(kind, id_) for image in images for kind, rows in image.items() for id_ in rows})
