"""A second opinion on the text of a query: what a set of clauses means, whatever their order.

`Clauses` is a list of clauses as plain data, `text` writes it as a query, and `Meaning` finds its
rows by trying every node and edge for every variable. It knows nothing of plans, and shares no code
with the checker, the planner or the reader.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.reference.naive import Entity, PlainGraph

Row = dict[str, Entity | None]
Side = tuple[str, str] | int
"""A property of a variable, or a number."""


@dataclass(frozen=True)
class Declared:
    variable: str
    type: str

    def __str__(self) -> str:
        return f"${self.variable}: {self.type}"


@dataclass(frozen=True)
class Walked:
    left: str
    edge: str
    right: str
    name: str | None = None

    def __str__(self) -> str:
        called = f"${self.name}:" if self.name else ""
        return f"${self.left} {called}{self.edge[0].lower()}{self.edge[1:]} ${self.right}"


@dataclass(frozen=True)
class Compared:
    left: Side
    op: str
    right: Side

    def __str__(self) -> str:
        return f"{_side(self.left)} {self.op} {_side(self.right)}"


@dataclass(frozen=True)
class Nested:
    kind: Literal["not", "exists", "optional", "count"]
    clauses: "Clauses"
    op: str = ">="
    bound: int = 1

    def __str__(self) -> str:
        end = f" {self.op} {self.bound}" if self.kind == "count" else ""
        return f"{self.kind} {{ {written(self.clauses)} }}{end}"


@dataclass(frozen=True)
class AnyOf:
    blocks: tuple["Clauses", ...]

    def __str__(self) -> str:
        return "or " + " ".join(f"{{ {written(block)} }}" for block in self.blocks)


Clause = Declared | Walked | Compared | Nested | AnyOf
Clauses = tuple[Clause, ...]


def written(clauses: Clauses) -> str:
    return " ".join(str(clause) for clause in clauses)


def _side(side: Side) -> str:
    return str(side) if isinstance(side, int) else f"${side[0]}.{side[1]}"


def bound_by(clauses: Clauses) -> dict[str, None]:
    """The variables that are bound in every row of the clauses, `optional` ones left out."""
    bound: dict[str, None] = {}
    for clause in clauses:
        match clause:
            case Declared(variable=variable):
                bound[variable] = None
            case Walked(left=left, right=right, name=name):
                bound |= dict.fromkeys([left, right] if name is None else [left, name, right])
            case AnyOf(blocks=blocks):
                first, *others = (bound_by(block) for block in blocks)
                bound |= {v: None for v in first if all(v in other for other in others)}
            case _:
                pass
    return bound


@dataclass(frozen=True)
class Meaning:
    """`types`: the node or edge type of each variable, which the text may leave unsaid."""

    graph: PlainGraph
    types: Mapping[str, str]

    def rows(self, clauses: Clauses, outer: Row) -> list[Row]:
        """The rows of the clauses next to an outer row, each with the outer row's variables."""
        walks = [c for c in clauses if isinstance(c, Walked)]
        named = [c.variable for c in clauses if isinstance(c, Declared)]
        named += [v for w in walks for v in (w.left, w.name, w.right) if v is not None]
        found: list[Row] = [outer]
        for variable in dict.fromkeys(v for v in named if v not in outer):
            found = [
                row | {variable: entity}
                for row in found
                for entity in self.every(self.types[variable])
            ]
            # A walk is asked as soon as it can be, so that there are never many rows.
            found = [r for r in found if all(self.walks(w, r) for w in walks if _is_bound(w, r))]
        found = [row for row in found if all(self.walks(w, row) for w in walks)]
        for clause in clauses:
            if isinstance(clause, AnyOf):
                found = [wider for row in found for wider in self.any_of(clause, row)]
        for clause in clauses:
            if isinstance(clause, Nested) and clause.kind == "optional":
                found = [wider for row in found for wider in self.optional(clause, row)]
        return [row for row in found if all(self.holds(clause, row) for clause in clauses)]

    def every(self, type_: str) -> list[Entity]:
        return [*self.graph.nodes.get(type_, ()), *self.graph.edges.get(type_, ())]

    def walks(self, walk: Walked, row: Row) -> bool:
        left, right = row[walk.left], row[walk.right]
        if left is None or right is None:
            return False
        edges = self.graph.edges[walk.edge] if walk.name is None else [row[walk.name]]
        return any(e is not None and (e.src, e.dst) == (left.id, right.id) for e in edges)

    def any_of(self, clause: AnyOf, row: Row) -> Iterator[Row]:
        """Each distinct combination of the variables that all blocks bind, once."""
        shared = [v for v in bound_by((clause,)) if v not in row]
        made = {}
        for block in clause.blocks:
            for inner in self.rows(block, row):
                made[tuple(inner[v] for v in shared)] = {v: inner[v] for v in shared}
        for values in made.values():
            yield row | values

    def optional(self, clause: Nested, row: Row) -> list[Row]:
        nulls: Row = {v: None for v in bound_by(clause.clauses) if v not in row}
        return self.rows(clause.clauses, row) or [row | nulls]

    def holds(self, clause: Clause, row: Row) -> bool:
        match clause:
            case Compared(left=left, op=op, right=right):
                return _holds(self.value(left, row), op, self.value(right, row))
            case Nested(kind="not", clauses=inner):
                return not self.rows(inner, row)
            case Nested(kind="exists", clauses=inner):
                return bool(self.rows(inner, row))
            case Nested(kind="count", clauses=inner, op=op, bound=bound):
                return _holds(len(self.rows(inner, row)), op, bound)
            case _:
                return True

    def value(self, side: Side, row: Row) -> Any:
        if isinstance(side, int):
            return side
        entity = row[side[0]]
        return None if entity is None else entity.values[side[1]]


def _is_bound(walk: Walked, row: Row) -> bool:
    names = [walk.left, walk.right] if walk.name is None else [walk.left, walk.right, walk.name]
    return all(name in row for name in names)


def _holds(left: Any, op: str, right: Any) -> bool:
    if left is None or right is None:
        return False
    holds = {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }
    return bool(holds[op])
