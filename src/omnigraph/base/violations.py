"""Rows that break a rule: each one, and the report that counts them all and shows the first few.

A report is mergeable, since every Spark task makes its own and the driver adds them up.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.words import amount, clipped, listed, quoted

__all__ = ["MAX_EXAMPLES", "MAX_EXAMPLES_PER_RULE", "UNREADABLE", "Rule", "Violation", "Violations"]

# Enough to see the pattern; the counts tell the rest. A rule is a kind, a type and a property.
MAX_EXAMPLES_PER_RULE = 20

# A report travels in one answer. If more rules than this are broken, some have no example.
MAX_EXAMPLES = 200

# What a terminal shows of a rule: so many different messages, and for each so many more places.
MAX_SHOWN_MESSAGES = 5
MAX_SHOWN_PLACES = 5

Rule = tuple[str, str | None, str | None]
"""The kind, the type and the property of violations that are counted together."""

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
    def rule(self) -> Rule:
        """What the violation is counted by: its kind, its type and its property."""
        return self.kind, self.type_name, self.property_name

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
    """All violations counted by rule, with examples.

    Of each rule the first `MAX_EXAMPLES_PER_RULE` are kept, and `MAX_EXAMPLES` in total: a rule
    with many examples gives way to one with fewer, so that each rule has one while there is room.
    """

    counts: dict[Rule, int] = field(default_factory=dict)
    examples: list[Violation] = field(default_factory=list)
    _kept: Counter[Rule] = field(init=False, repr=False, compare=False)
    """How many examples each rule has."""

    def __post_init__(self) -> None:
        self._kept = Counter(violation.rule for violation in self.examples)

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
        rule = violation.rule
        self.counts[rule] = self.counts.get(rule, 0) + count
        if self._kept[rule] == MAX_EXAMPLES_PER_RULE:
            return
        if len(self.examples) == MAX_EXAMPLES:
            longest, most = self._kept.most_common(1)[0]
            if most <= self._kept[rule] + 1:
                return
            last = max(i for i, kept in enumerate(self.examples) if kept.rule == longest)
            del self.examples[last]
            self._kept[longest] -= 1
        self.examples.append(violation)
        self._kept[rule] += 1

    def merge(self, other: "Violations") -> None:
        """Take over the counts and examples of another report; examples come in input order."""
        examples = sorted((*self.examples, *other.examples), key=_input_order)
        self.examples, self._kept = [], Counter()
        for violation in examples:
            self.add(violation, count=0)
        for rule, count in other.counts.items():
            self.counts[rule] = self.counts.get(rule, 0) + count

    def __bool__(self) -> bool:
        return bool(self.counts)

    @property
    def sentence(self) -> str:
        more = self.total - 1
        return f"{self.examples[0]}" + (f" (and {more:,} more)" if more else "")

    @property
    def report(self) -> str:
        """Every rule with its count and some examples, for a terminal."""
        lines = [f"{amount(self.total, 'violation')} of the rules"]
        for rule, count in sorted(self.counts.items(), key=str):
            kind, *names = rule
            where = ".".join(name for name in names if name)
            lines.append(f"  {kind}{f' {where}' if where else ''}: {count:,}")
            lines += _shown([violation for violation in self.examples if violation.rule == rule])
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


def _shown(examples: Sequence[Violation]) -> list[str]:
    """A line for each message that examples of one rule have, with the places where it is true."""
    by_message: dict[str, list[Violation]] = {}
    for violation in examples:
        by_message.setdefault(violation.message, []).append(violation)
    groups = list(by_message.values())
    lines = [f"    {same[0]}{_other_places(same)}" for same in groups[:MAX_SHOWN_MESSAGES]]
    hidden = sum(map(len, groups[MAX_SHOWN_MESSAGES:]))
    return [*lines, f"    … and {hidden:,} more like these"] if hidden else lines


def _other_places(same: Sequence[Violation]) -> str:
    """` (also in lines 3 and 5)`; nothing for one violation, or where the places are unknown."""
    first, *others = same
    are_lines = all(v.line is not None and v.file == first.file for v in others)
    names = [str(v.line) if are_lines else v.place or clipped(v.entity_id or "") for v in others]
    names = list(dict.fromkeys(name for name in names if name))
    if not names:
        return ""
    what = ("line " if len(names) == 1 else "lines ") if are_lines else ""
    few = names[:MAX_SHOWN_PLACES]
    text = f"{', '.join(few)}, …" if len(names) > len(few) else listed(few, "and")
    return f" (also in {what}{text})"
