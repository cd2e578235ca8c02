"""Rows that break a rule: each one, and the report that counts them all and shows the first few.

A report is mergeable, since every Spark task makes its own and the driver adds them up.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.words import amount, clipped, quoted

__all__ = ["MAX_EXAMPLES_PER_KIND", "UNREADABLE", "Violation", "Violations"]

# Enough to see the pattern, few enough to read; the counts tell the rest.
MAX_EXAMPLES_PER_KIND = 20

UNREADABLE = ("json", "envelope", "csv")


@frozen
class Violation:
    """One row and the rule it breaks.

    `kind` is one of required, enum, range, check, unique, key, endpoint, cardinality, type (the
    schema's rules), embed (a text that the provider refuses), or one of `UNREADABLE` (what came is
    not a row at all).
    """

    kind: str
    message: str
    type_name: str | None = None
    property_name: str | None = None
    entity_id: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def place(self) -> str:
        """The file and line of the row, if it came from a file."""
        parts = [self.file, self.line, self.column]
        return ":".join(str(p) for p in parts if p is not None)

    def __str__(self) -> str:
        """The message, after the place that the row comes from; a stored row is named by its id."""
        if self.place:
            return f"{self.place}: {self.message}"
        # In quotes: a short id is part of many words.
        if self.entity_id is None or quoted(self.entity_id) in self.message:
            return self.message
        return f"row {clipped(self.entity_id)}: {self.message}"

    def to_json(self) -> dict[str, Any]:
        """The violation as values that JSON can carry."""
        return {
            "kind": self.kind,
            "message": self.message,
            "type_name": self.type_name,
            "property": self.property_name,
            "entity_id": self.entity_id,
            "file": self.file,
            "line": self.line,
            "column": self.column,
        }


@dataclass
class Violations:
    """All violations counted by kind, type and property; the first `MAX_EXAMPLES_PER_KIND` kept."""

    counts: dict[tuple[str, str | None, str | None], int] = field(default_factory=dict)
    examples: list[Violation] = field(default_factory=list)

    @classmethod
    def of(cls, violations: Iterable[Violation]) -> "Violations":
        report = cls()
        for violation in violations:
            report.add(violation)
        return report

    @property
    def total(self) -> int:
        """How many violations there are."""
        return sum(self.counts.values())

    def add(self, violation: Violation, *, count: int = 1) -> None:
        """Count `violation` `count` times and keep it as an example if there is room."""
        key = (violation.kind, violation.type_name, violation.property_name)
        self.counts[key] = self.counts.get(key, 0) + count
        if sum(v.kind == violation.kind for v in self.examples) < MAX_EXAMPLES_PER_KIND:
            self.examples.append(violation)

    def merge(self, other: "Violations") -> None:
        for key, count in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        kept = sorted((*self.examples, *other.examples), key=_input_order)
        self.examples = []
        per_kind: dict[str, int] = {}
        for violation in kept:
            per_kind[violation.kind] = per_kind.get(violation.kind, 0) + 1
            if per_kind[violation.kind] <= MAX_EXAMPLES_PER_KIND:
                self.examples.append(violation)

    def __bool__(self) -> bool:
        return bool(self.counts)

    @property
    def sentence(self) -> str:
        more = self.total - 1
        return f"{self.examples[0]}" + (f" (and {more:,} more)" if more else "")

    @property
    def report(self) -> str:
        """Every kind with its count, and the examples of each, for a terminal."""
        lines = [f"{amount(self.total, 'violation')} of the rules"]
        for (kind, type_name, prop), count in sorted(self.counts.items(), key=str):
            where = ".".join(part for part in (type_name, prop) if part)
            lines.append(f"  {kind}{f' {where}' if where else ''}: {count:,}")
            lines += [
                f"    {v}"
                for v in self.examples
                if (v.kind, v.type_name, v.property_name) == (kind, type_name, prop)
            ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Counts and examples as values that JSON can carry."""
        first = self.examples[0]
        return {
            "kind": first.kind,
            "type_name": first.type_name,
            "property": first.property_name,
            "entity_id": first.entity_id,
            "count": self.total,
            "counts": self.counts_json(),
            "examples": [v.to_json() for v in self.examples],
        }

    def counts_json(self) -> list[dict[str, Any]]:
        return [
            {"kind": kind, "type_name": type_name, "property": prop, "count": count}
            for (kind, type_name, prop), count in sorted(self.counts.items(), key=str)
        ]


def _input_order(violation: Violation) -> tuple[str, int, int]:
    return violation.file or "", violation.line or 0, violation.column or 0
