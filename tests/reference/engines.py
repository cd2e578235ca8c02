"""Engines for tests that ask use cases directly, often about a snapshot of another graph."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.engine.engine import Engine
from omnigraph.engine.gate import Gate
from omnigraph.read.view import Condition


def an_engine(place: Path) -> Engine:
    """The engine of an empty graph."""
    return Graph.init(place, "node Any { id: String @key }", durability="relaxed").engine


def seeing(engine: Engine, visible: Mapping[TypeName, Condition]) -> Engine:
    """The engine of one who sees only rows that meet the conditions."""
    return replace(engine, gate=Gate(engine.gate.uri, visible=visible))
