"""`Analytics`: algorithms over the edges of a graph, a branch or a moment.

    graph.analytics.pagerank("Knows", weight="since")
    graph.branch("scores").analytics.pagerank("Knows", write_to="rank")

Each method builds a request and calls a use case; it does nothing else.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from omnigraph.base.choices import LoadEngine
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.ids import BranchName
from omnigraph.base.progress import Progress
from omnigraph.engine.analytics import analyze
from omnigraph.engine.analytics_requests import Analyze, AnalyzeInto
from omnigraph.engine.analytics_results import AnalyticsResult
from omnigraph.engine.analytics_write import analyze_into
from omnigraph.engine.arguments import names_in
from omnigraph.engine.backend import Backend
from omnigraph.read.analytics.algorithms import (
    Algorithm,
    Betweenness,
    Components,
    Cores,
    Degrees,
    Labels,
    NodeKey,
    PageRank,
    PathPairs,
    PathsFrom,
    StrongComponents,
    Triangles,
)

__all__ = ["Analytics", "EdgeNames", "NodeName", "RunOptions"]

EdgeNames = str | Iterable[str] | None
"""One edge type or several; None: all of them."""

OF_A_RUN = ("engine", "spark", "timeout_s", "memory_bytes", "cancel")

NodeName = str | tuple[str, str]
"""An id; where several types have it, `Person:ada` or `("Person", "ada")`."""


class RunOptions(TypedDict, total=False):
    """What every algorithm takes beside its own arguments."""

    engine: LoadEngine | None
    """`local`, `spark`, or `auto`: this process, unless the edges take more than its memory."""
    spark: Any
    """A session of Spark to use."""
    timeout_s: float | None
    memory_bytes: int | None
    cancel: threading.Event | None
    """Set it from another thread to have the run end."""
    progress: Progress | None
    write_to: str | Mapping[str, str] | None
    """The property that takes the answer, as one commit; or by property the column it takes."""
    write_branch: str | None
    """The branch of that commit: the handle's own, if left out."""
    actor: str | None
    message: str | None
    """Who makes that commit, and why."""


class Analytics:
    """Algorithms at the head of a branch, or at a moment. `Graph.analytics` makes it.

    `edge` names the edge types to follow; the nodes are those of all types that these join. A
    `weight` is a property of the edges, a number that is 0 or more. The answer has a row for each
    node, by type and id.
    """

    def __init__(self, backend: Backend, where: Mapping[str, Any]) -> None:
        self._backend = backend
        self._place = where

    def pagerank(
        self,
        edge: EdgeNames = None,
        *,
        directed: bool = True,
        weight: str | None = None,
        damping: float = 0.85,
        sources: Iterable[NodeName] | Mapping[NodeName, float] | None = None,
        tolerance: float = 1e-6,
        max_iterations: int = 100,
        **options: Unpack[RunOptions],
    ) -> AnalyticsResult:
        """How often a walk along the edges is at each node: `score`; all of them add up to 1.

        The walk begins again, once in `1 / (1 - damping)` steps, at any node; with `sources` at one
        of these, as often as they weigh. Rounds end when one changes the scores, all together, by
        no more than `tolerance`, or with `converged` false after `max_iterations`.
        """
        algorithm = PageRank(
            damping=damping,
            tolerance=tolerance,
            max_iterations=max_iterations,
            sources=_shares(sources),
        )
        return self._run(algorithm, edge, options, directed=directed, weight=weight)

    def connected_components(
        self, edge: EdgeNames = None, **options: Unpack[RunOptions]
    ) -> AnalyticsResult:
        """Nodes that edges join, whichever way these lead: `component`, numbered from 0 on."""
        return self._run(Components(), edge, options)

    def strongly_connected_components(
        self, edge: EdgeNames = None, **options: Unpack[RunOptions]
    ) -> AnalyticsResult:
        """Nodes that reach each other along the edges: `component`, numbered from 0 on."""
        return self._run(StrongComponents(), edge, options)

    def label_propagation(
        self,
        edge: EdgeNames = None,
        *,
        directed: bool = False,
        weight: str | None = None,
        max_iterations: int = 30,
        **options: Unpack[RunOptions],
    ) -> AnalyticsResult:
        """Communities: `label`, numbered from 0 on. Each node takes the label that weighs most
        around it, round by round, until none changes or `max_iterations` are over.

        With `directed` a node hears those that lead to it.
        """
        algorithm = Labels(max_iterations=max_iterations)
        return self._run(algorithm, edge, options, directed=directed, weight=weight)

    def triangle_count(
        self, edge: EdgeNames = None, **options: Unpack[RunOptions]
    ) -> AnalyticsResult:
        """In how many `triangles` it is; directions, loops and parallel edges don't count."""
        return self._run(Triangles(), edge, options)

    def degrees(
        self,
        edge: EdgeNames = None,
        *,
        weight: str | None = None,
        **options: Unpack[RunOptions],
    ) -> AnalyticsResult:
        """How many edges each node has: `degree`, of which `in_degree` lead to it and `out_degree`
        away. With a `weight`, what they weigh. A loop counts in both."""
        return self._run(Degrees(), edge, options, weight=weight)

    def k_core(self, edge: EdgeNames = None, **options: Unpack[RunOptions]) -> AnalyticsResult:
        """`core`: the largest k for which a node stays when all with fewer than k neighbours go."""
        return self._run(Cores(), edge, options)

    def betweenness(
        self,
        edge: EdgeNames = None,
        *,
        directed: bool = True,
        samples: int | None = 256,
        seed: int = 0,
        normalized: bool = True,
        **options: Unpack[RunOptions],
    ) -> AnalyticsResult:
        """What part of the shortest paths between others leads through each node: `score`.

        Paths from `samples` nodes stand for all; None looks at all. The same `seed` takes the same
        nodes. Unless `normalized`, scores are numbers of paths.
        """
        algorithm = Betweenness(samples=samples, seed=seed, normalized=normalized)
        return self._run(algorithm, edge, options, directed=directed)

    def shortest_paths(
        self,
        edge: EdgeNames = None,
        *,
        source: NodeName | None = None,
        pairs: Sequence[tuple[NodeName, NodeName]] | None = None,
        directed: bool = True,
        weight: str | None = None,
        **options: Unpack[RunOptions],
    ) -> AnalyticsResult:
        """The `distance` of each node from `source`: hops, or with a `weight` their sum; null where
        no path leads there.

        With `pairs` instead, a row for each pair, with its distance and the ids on one shortest
        path.
        """
        if (source is None) == (pairs is None):
            rule = "pass the node to begin at, or pairs of nodes, and not both"
            raise ArgumentInvalid(argument="source", value=None, rule=rule)
        algorithm: Algorithm
        if source is not None:
            algorithm = PathsFrom(source=_node("source", source))
        else:
            algorithm = PathPairs(pairs=_pairs(pairs))
        return self._run(algorithm, edge, options, directed=directed, weight=weight)

    # Inside ---------------------------------------------------------------------------------------

    def _run(
        self,
        algorithm: Algorithm,
        edge: EdgeNames,
        options: RunOptions,
        *,
        directed: bool = True,
        weight: str | None = None,
    ) -> AnalyticsResult:
        if unknown := options.keys() - RunOptions.__annotations__.keys():
            raise TypeError(f"{algorithm.name}() has no argument {min(unknown)!r}")
        progress, write_to = options.get("progress"), options.get("write_to")
        of_run = {name: value for name, value in options.items() if name in OF_A_RUN}
        analysis: dict[str, Any] = {
            "algorithm": algorithm,
            "edges": names_in("edge", edge),
            "is_directed": directed,
            "weight": weight,
            **of_run,
        }
        if write_to is None:
            for name in ("write_branch", "actor", "message"):
                if options.get(name) is not None:
                    rule = "it is about the commit that write_to makes"
                    raise ArgumentInvalid(name, None, rule, "pass write_to too")
            return self._backend.run(analyze, Analyze(**analysis, **self._place), progress)
        actor = options.get("actor")
        request = AnalyzeInto(
            **analysis,
            of_branch=self._place["branch"],
            is_branch_named=self._place["is_branch_named"],
            moment=self._place["moment"],
            branch=self._branch_to_write(options.get("write_branch")),
            actor=self._place["actor"] if actor is None else actor,
            message=options.get("message"),
            properties=_properties(write_to, algorithm),
        )
        return self._backend.run(analyze_into, request, progress)

    def _branch_to_write(self, named: str | None) -> BranchName:
        if named is not None:
            return BranchName(named)
        if self._place["moment"] is not None:
            rule = "a moment is not written to"
            raise ArgumentInvalid("write_to", None, rule, "say which branch is: write_branch=…")
        branch: BranchName = self._place["branch"]
        return branch


def _properties(write_to: object, algorithm: Algorithm) -> dict[str, str]:
    if isinstance(write_to, str):
        return {write_to: algorithm.column}
    if isinstance(write_to, Mapping):
        return dict(write_to)
    rule = "it must be the name of a property, or a dict of columns by property"
    advice = f'such as {{"rank": "{algorithm.column}"}}'
    raise ArgumentInvalid("write_to", str(write_to), rule, advice)


def _node(argument: str, name: object) -> NodeKey:
    if isinstance(name, str):
        return NodeKey(name)
    if isinstance(name, tuple) and len(name) == 2 and all(isinstance(part, str) for part in name):
        return NodeKey(name[1], name[0])
    rule = "a node is an id, or a type and an id"
    raise ArgumentInvalid(argument, str(name), rule, 'such as "ada", or ("Person", "ada")')


def _shares(
    sources: Iterable[NodeName] | Mapping[NodeName, float] | None,
) -> tuple[tuple[NodeKey, float], ...] | None:
    if sources is None:
        return None
    if isinstance(sources, str) or not isinstance(sources, Iterable):
        sources = [sources]
    shares = sources.items() if isinstance(sources, Mapping) else ((s, 1.0) for s in sources)
    return tuple((_node("sources", name), share) for name, share in shares)


def _pairs(
    pairs: Iterable[object] | None,
) -> tuple[tuple[NodeKey, NodeKey], ...]:
    found = []
    for pair in pairs if isinstance(pairs, Iterable) else (pairs,):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            rule = "a pair is two nodes: where a path begins, and where it ends"
            raise ArgumentInvalid("pairs", str(pair), rule, 'such as [("ada", "bob")]')
        found.append((_node("pairs", pair[0]), _node("pairs", pair[1])))
    return tuple(found)
