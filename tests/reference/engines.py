"""Engines for tests that ask use cases directly, often about a snapshot of another graph."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.engine.engine import Engine
from omnigraph.engine.gate import Gate
from omnigraph.engine.guard import Guard
from omnigraph.lang.plan.conditions import Condition
from tests.reference.table_policy import FittedTable, Role, Sees, TablePolicy

SOMEONE = "someone"


def an_engine(place: Path) -> Engine:
    """The engine of an empty graph."""
    return Graph.init(place, "node Any { id: String @key }", durability="relaxed").engine


def seeing(engine: Engine, visible: Mapping[TypeName, Condition]) -> Engine:
    """An engine for which SOMEONE sees only rows that meet the conditions."""
    roles = {SOMEONE: Role(Sees(visible))}
    # Fitted to no schema yet: it is asked about snapshots of other graphs.
    guard = Guard(TablePolicy(roles), FittedTable(roles))
    return replace(engine, gate=Gate(engine.gate.uri, guard=guard))
