"""Requests for graph algorithms: what to run over which edges, and where the answer goes."""

import threading
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from omnigraph.base.choices import LoadEngine, check_choice
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.engine.arguments import check_cancel, check_limit, names_in
from omnigraph.engine.requests import Moment, Read, Write
from omnigraph.read.analytics.algorithms import Algorithm
from omnigraph.store.snapshot import Snapshot

__all__ = ["Analyze", "AnalyzeInto"]


# Without slots: a class can take the slots of one base only.
@frozen(kw_only=True, slots=False)
class _Analysis:
    """One algorithm over some edges, and how it is run."""

    algorithm: Algorithm
    edges: tuple[str, ...] | None = None
    """None: all edge types."""
    is_directed: bool = True
    weight: str | None = None
    """A property of the edges; None: each weighs 1."""
    engine: LoadEngine | None = None
    spark: Any = None
    timeout_s: float | None = None
    memory_bytes: int | None = None
    """None: what the settings say."""
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_limit("memory_bytes", self.memory_bytes)
        check_cancel(self.cancel)
        if not isinstance(self.is_directed, bool):
            raise ArgumentInvalid("directed", str(self.is_directed), "it must be true or false")
        names_in("edge", self.edges)
        names_in("weight", self.weight)
        if self.edges is not None and not self.edges:
            rule = "it must name one edge type or more"
            raise ArgumentInvalid("edge", None, rule, "leave it out for all edge types")
        if self.engine is not None:
            check_choice("engine", self.engine, LoadEngine)
        if self.engine == "local" and self.spark is not None:
            rule = "work in this process can't use the Spark session that was passed"
            raise ArgumentInvalid("engine", self.engine, rule, "leave out engine or spark")
        if self.weight is not None and not self.algorithm.is_weighable:
            rule = f"{self.algorithm.name} counts edges and does not weigh them"
            raise ArgumentInvalid("weight", self.weight, rule, "leave it out")


@frozen(kw_only=True)
class Analyze(_Analysis, Read):
    """The answer as a table."""


@frozen(kw_only=True)
class AnalyzeInto(_Analysis, Write):
    """The answer as a table, and as properties of the nodes at the head of `branch`."""

    properties: Mapping[str, str]
    """By property, the column of the answer that it takes."""
    of_branch: BranchName = MAIN
    is_branch_named: bool = False
    moment: Moment | Snapshot | None = None
    """The branch and the moment that are read: as of a `Read`."""

    def __post_init__(self) -> None:
        _Analysis.__post_init__(self)
        names_in("write_to", (*self.properties, *self.properties.values()))

    @property
    def read(self) -> Analyze:
        """What is asked of the graph before anything is written."""
        of_analysis = {f.name: getattr(self, f.name) for f in fields(_Analysis)}
        return Analyze(
            **of_analysis,
            branch=self.of_branch,
            is_branch_named=self.is_branch_named,
            moment=self.moment,
            actor=self.actor,
        )
