"""Graphs by both handles: opened here, and reached through a server."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from tests.surfaces.client.doors import ROWS, SCHEMA, SET_AGE


@dataclass(frozen=True)
class Pair:
    local: Graph
    remote: Graph


def make(place: Path) -> Graph:
    graph = Graph.init(
        place / "people.omni",
        SCHEMA,
        durability="relaxed",
        settings=Settings(),
        actor="founder",
        message="first",
    )
    graph.load(ROWS, mode="append", engine="local")
    for branch, name in (("side/1", "ada"), ("clash", "bob")):
        graph.branch_create(branch)
        graph.mutate(SET_AGE, "set_age", {"name": name, "age": 30}, branch=branch)
    graph.mutate(SET_AGE, "set_age", {"name": "bob", "age": 31})
    return graph


def unlike(value: Any) -> Any:
    """The same, with a number for each id and time, in the order in which they come."""
    known: dict[str, str] = {}

    def masked(match: re.Match[str]) -> str:
        return known.setdefault(match[0], f"<{len(known)}>")

    text = re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", masked, repr(value))
    times = r"datetime\.datetime\(20[^)]*\)|20\d\d-\d\d-\d\dT[\d:.+]+"
    return re.sub(rf"{times}|(?:nodes|edges)/\w{{16}}", "<…>", text)
