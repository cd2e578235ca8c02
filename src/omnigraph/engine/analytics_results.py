"""What an algorithm answers: rows as those of a query, and how they were come by."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from omnigraph.base.frozen import frozen
from omnigraph.base.words import amount
from omnigraph.engine.results import CommitInfo, QueryResult

__all__ = ["AnalyticsResult"]


@frozen(repr=False, kw_only=True)
class AnalyticsResult(QueryResult):
    """A row for each node, by type and id; `query_name` is the algorithm."""

    edges: tuple[str, ...]
    """The edge types that it was run over."""
    engine: Literal["local", "spark"]
    node_count: int
    edge_count: int
    iterations: int | None
    """Rounds that it took; None: it has none."""
    converged: bool
    """False: the rounds ended before the values stood still, and are those of the last round."""
    written: Mapping[str, int] = field(default_factory=dict)
    """By type, how many rows the commit gave another value."""
    commit: CommitInfo | None = None
    """The commit that wrote it; None: nothing was to be written, or nothing changed."""

    def __repr__(self) -> str:
        rows, rounds = amount(len(self), "row"), ""
        if self.iterations is not None:
            rounds = f", {amount(self.iterations, 'round')}"
        if not self.converged:
            rounds += ", not converged"
        over = f"{self.query_name} over {', '.join(self.edges)}"
        return f"<AnalyticsResult of {over}: {rows}{rounds} at {self.graph_commit_id}>"
