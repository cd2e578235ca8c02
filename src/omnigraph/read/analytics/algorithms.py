"""The algorithms as values: what each is asked for beside the edges that it runs over.

They are the same for a run in this process and on Spark. All that can be checked without a graph is
checked where they are made.
"""

import math
import sys
from typing import ClassVar

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen

__all__ = [
    "Algorithm",
    "Betweenness",
    "Components",
    "Cores",
    "Degrees",
    "Labels",
    "NodeKey",
    "PageRank",
    "PathPairs",
    "PathsFrom",
    "StrongComponents",
    "Triangles",
]

MAX_ROUNDS = 10_000
"""A run that takes more rounds than this is bounded by its time, and not by a number."""
MAX_PAIRS = 100_000
"""Their paths are held in memory."""


@frozen
class NodeKey:
    """A node as a caller names it. Without a type it is whichever node has the id."""

    id: str
    type_name: str | None = None

    def __str__(self) -> str:
        return self.id if self.type_name is None else f"{self.type_name}:{self.id}"


@frozen(kw_only=True)
class PageRank:
    name: ClassVar[str] = "pagerank"
    column: ClassVar[str] = "score"
    is_weighable: ClassVar[bool] = True

    damping: float = 0.85
    tolerance: float = 1e-6
    """The scores are done when a round changes them, all together, by no more."""
    max_iterations: int = 100
    sources: tuple[tuple[NodeKey, float], ...] | None = None
    """Where a walk begins again, and how often there; None: at every node alike."""

    def __post_init__(self) -> None:
        if not (_is_number(self.damping) and 0 < self.damping < 1):
            rule = "it must be a number between 0 and 1, and neither of them"
            raise ArgumentInvalid("damping", str(self.damping), rule, "0.85 is the usual one")
        if not (_is_number(self.tolerance) and self.tolerance > 0):
            rule = "it must be a number above 0"
            raise ArgumentInvalid("tolerance", str(self.tolerance), rule)
        _check_rounds(self.max_iterations)
        if self.sources is not None:
            shares = [share for _, share in self.sources]
            is_right = all(_is_number(share) and share >= 0 for share in shares)
            if not (is_right and 0 < sum(shares) <= sys.float_info.max):
                rule = "it must name one node or more, and their weights must be 0 or more"
                raise ArgumentInvalid("sources", None, rule, "leave it out to begin everywhere")


@frozen(kw_only=True)
class Components:
    """Weak ones: directions do not count."""

    name: ClassVar[str] = "connected_components"
    column: ClassVar[str] = "component"
    is_weighable: ClassVar[bool] = False


@frozen(kw_only=True)
class StrongComponents:
    name: ClassVar[str] = "strongly_connected_components"
    column: ClassVar[str] = "component"
    is_weighable: ClassVar[bool] = False


@frozen(kw_only=True)
class Labels:
    name: ClassVar[str] = "label_propagation"
    column: ClassVar[str] = "label"
    is_weighable: ClassVar[bool] = True

    max_iterations: int = 30

    def __post_init__(self) -> None:
        _check_rounds(self.max_iterations)


@frozen(kw_only=True)
class Triangles:
    name: ClassVar[str] = "triangle_count"
    column: ClassVar[str] = "triangles"
    is_weighable: ClassVar[bool] = False


@frozen(kw_only=True)
class Degrees:
    name: ClassVar[str] = "degrees"
    column: ClassVar[str] = "degree"
    is_weighable: ClassVar[bool] = True


@frozen(kw_only=True)
class Cores:
    name: ClassVar[str] = "k_core"
    column: ClassVar[str] = "core"
    is_weighable: ClassVar[bool] = False


@frozen(kw_only=True)
class Betweenness:
    name: ClassVar[str] = "betweenness"
    column: ClassVar[str] = "score"
    is_weighable: ClassVar[bool] = False

    samples: int | None = 256
    """Paths from so many nodes are looked at; None, or more than there are: from all."""
    seed: int = 0
    normalized: bool = True

    def __post_init__(self) -> None:
        if self.samples is not None and not (_is_whole(self.samples) and self.samples >= 1):
            rule = "it must be a whole number above 0, or None for all nodes"
            raise ArgumentInvalid("samples", str(self.samples), rule)
        if not (_is_whole(self.seed) and self.seed >= 0):
            rule = "it must be a whole number that is not negative"
            raise ArgumentInvalid("seed", str(self.seed), rule)
        if not isinstance(self.normalized, bool):
            raise ArgumentInvalid("normalized", str(self.normalized), "it must be true or false")


@frozen(kw_only=True)
class PathsFrom:
    """The distance of every node from one."""

    name: ClassVar[str] = "shortest_paths"
    column: ClassVar[str] = "distance"
    is_weighable: ClassVar[bool] = True

    source: NodeKey


@frozen(kw_only=True)
class PathPairs:
    """A shortest path for each pair."""

    name: ClassVar[str] = "shortest_paths"
    column: ClassVar[str] = "distance"
    is_weighable: ClassVar[bool] = True

    pairs: tuple[tuple[NodeKey, NodeKey], ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.pairs) <= MAX_PAIRS:
            rule = f"it must have 1 to {MAX_PAIRS:,} pairs of nodes"
            raise ArgumentInvalid("pairs", None, rule)


Algorithm = (
    PageRank
    | Components
    | StrongComponents
    | Labels
    | Triangles
    | Degrees
    | Cores
    | Betweenness
    | PathsFrom
    | PathPairs
)
"""Each has a `name`, the `column` of its answer that counts, and says whether edges may weigh."""


def _check_rounds(value: object) -> None:
    if not (_is_whole(value) and 1 <= value <= MAX_ROUNDS):  # type: ignore[operator]
        rule = f"it must be a whole number from 1 to {MAX_ROUNDS:,}"
        raise ArgumentInvalid("max_iterations", str(value), rule)


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    # A whole number may be too large for any fraction.
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= sys.float_info.max


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
