"""All small histories of branches that are merged with each other, and what is written in them.

A history is a list of commits: commit 0 is the first, each other one follows one commit or merges
two. One history holds many rows, each written at other commits, so one merge tries them all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import NamedTuple

__all__ = ["Node", "Row", "Shape", "rows_of", "shapes", "shapes_with_three_bases"]


class Node(NamedTuple):
    """A commit, by the commits that it follows."""

    ours: int
    theirs: int | None = None

    @property
    def parents(self) -> tuple[int, ...]:
        return (self.ours,) if self.theirs is None else (self.ours, self.theirs)


Shape = tuple[Node, ...]
"""The commits after the first one: `shape[0]` is commit 1. Two of them have no successor."""


class Row(NamedTuple):
    """How one row is written in a history."""

    starts: str
    """Its value at commit 0, as in `values`."""
    values: tuple[str, ...]
    """Each commit writes `keep`, `gone`, `new` (a value that no other commit writes), or a value.
    A merge takes the row of `ours` or `theirs` if there is a conflict."""


UNIQUE = ("keep", "new", "gone")
FEW = ("0", "1", "gone")


def rows_of(shape: Shape, *, words: Sequence[str], starts: Sequence[str]) -> list[Row]:
    """Every way to write a row in a history."""
    choices = [("ours", "theirs") if len(node.parents) > 1 else words for node in shape]
    return [Row(start, values) for start in starts for values in product(*choices)]


def shapes(length: int) -> Iterator[Shape]:
    """The histories with so many commits after the first, each once, that end in two heads."""
    found = set[object]()
    for shape in _grown((), length):
        if len(heads_of(shape)) == 2 and (key := _canonical(shape)) not in found:
            found.add(key)
            yield shape


def shapes_with_three_bases(length: int) -> Iterator[Shape]:
    """Histories of so many commits, three of which both heads have merged, in different orders.

    Theirs, or both heads, have a commit of their own after that.
    """
    found = set[object]()
    for shape in _grown((), length):
        below = _ancestors(shape)
        for three in combinations(range(length + 1), 3):
            if any(one in below[other] for one, other in permutations(three, 2)):
                continue
            for order, writes in product(permutations(three), (1, 2)):
                whole = _with_heads(shape, three, order, writes)
                if len(heads_of(whole)) == 2 and (key := _canonical(whole)) not in found:
                    found.add(key)
                    yield whole


def heads_of(shape: Shape) -> list[int]:
    followed = {parent for node in shape for parent in node.parents}
    return [number for number in range(len(shape) + 1) if number not in followed]


def _with_heads(shape: Shape, one: Sequence[int], other: Sequence[int], writes: int) -> Shape:
    nodes, tips = [*shape], list[int]()
    for first, *others in (one, other):
        tip = first
        for each in others:
            nodes.append(Node(tip, each))
            tip = len(nodes)
        tips.append(tip)
    for tip in tips[-writes:]:
        nodes.append(Node(tip))
    return tuple(nodes)


def _grown(shape: Shape, length: int) -> Iterator[Shape]:
    if len(shape) == length:
        yield shape
        return
    below = _ancestors(shape)
    numbers = range(len(shape) + 1)
    pairs = ((a, b) for a, b in combinations(numbers, 2) if a not in below[b] | {b})
    for node in (*map(Node, numbers), *(Node(a, b) for a, b in pairs)):
        # Commits that do not follow each other come in one order only.
        is_in_order = not shape or len(shape) in node.parents or _rank(shape[-1]) <= _rank(node)
        if is_in_order:
            yield from _grown((*shape, node), length)


def _rank(node: Node) -> tuple[int, int]:
    return node.ours, -1 if node.theirs is None else node.theirs


def _ancestors(shape: Shape) -> list[set[int]]:
    """Of each commit, those that it descends from, itself included."""
    found = [{0}]
    for number, node in enumerate(shape, 1):
        found.append({number}.union(*(found[parent] for parent in node.parents)))
    return found


def _canonical(shape: Shape) -> object:
    """The same for histories that differ only in how their commits are numbered.

    A commit is described by its parents and children, and these by theirs.
    """
    size = len(shape) + 1
    parents = [(), *(node.parents for node in shape)]
    children = [[c for c in range(size) if number in parents[c]] for number in range(size)]
    marks = [0] * size
    for _ in range(size):
        around = [
            (marks[n], sorted(marks[p] for p in parents[n]), sorted(marks[c] for c in children[n]))
            for n in range(size)
        ]
        order = {repr(each): place for place, each in enumerate(sorted(around, key=repr))}
        marks = [order[repr(each)] for each in around]
    edges = Counter((marks[p], marks[n]) for n in range(size) for p in parents[n])
    return tuple(sorted(Counter(marks).items())), tuple(sorted(edges.items()))
