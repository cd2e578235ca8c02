"""Violations of set rules: the row at fault, the sentence about it, and the report of them all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.violations import Violation, Violations
from omnigraph.base.words import amount
from omnigraph.check.sets.rules import Claim, Degree, End, SetRule
from omnigraph.lang.schema.catalog import EntityType, shown_property
from omnigraph.store.identity import shown_id

__all__ = ["SetViolation", "report", "violation_of"]


@frozen(slots=False)
class SetViolation:
    """One term of one rule, the incoming row at fault, and the sentence about it."""

    rule: int
    violation: Violation
    entity: EntityType
    """The type of the row at fault."""
    place: int | None
    """Its place among the incoming rows of `entity`; None where a kept row is at fault."""
    total: int
    """How many rows break the rule, this one included."""
    is_taken: bool
    """True if the row came with an id that is already in the graph."""


def report(
    found: Sequence[SetViolation],
    place: Callable[[EntityType, int], tuple[str, int]] | None = None,
) -> Violations:
    """All of them counted, the first few shown; `place` tells the file and line of a row."""
    violations = Violations()
    counted: set[int] = set()
    for each in found:
        examples = sum(other.rule == each.rule for other in found)
        count = 1 if each.rule in counted else 1 + each.total - examples
        counted.add(each.rule)
        violation = each.violation
        if place is not None and each.place is not None:
            file, line = place(each.entity, each.place)
            violation = replace(violation, file=file, line=line)
        violations.add(violation, count=count)
    return violations


def violation_of(rule: SetRule, row: Mapping[str, Any]) -> SetViolation:
    """The violation that a row of an answer of `questions` tells of."""
    term, place = row["term"], row["place"]
    found, total = int(row["found"]), int(row["total"])
    match rule:
        case Claim(entity=entity, properties=properties):
            is_taken = row["kept"] > 0
            holder = "is already in the graph" if is_taken else f"comes {found} times"
            if not properties:
                message = f"{entity.name} {shown_id(entity, term)} {holder}"
                kind, name, entity_id = "key", None, term
            else:
                name = ", ".join(shown_property(entity, name) for name in properties)
                message = f"{entity.name}: {name} must be unique, and {term} {holder}"
                kind, entity_id = "unique", None
            violation = Violation(kind, message, entity.name, name, entity_id)
            return SetViolation(
                rule.number, violation, entity, place, total, is_taken=is_taken and not properties
            )
        case End(edge=edge, column=column, node=node):
            end, id_ = shown_property(edge, column), shown_id(node, term)
            message = (
                f'{edge.name}: "{end}" is {id_}, and there is no such {node.name}'
                if place is not None
                else f"{node.name} {id_} would be gone, and {edge.name} edges need it"
            )
            violation = Violation("endpoint", message, edge.name, end, term)
            return SetViolation(rule.number, violation, edge, place, total, is_taken=False)
        case Degree(edge=edge, source=source):
            bounds = edge.cardinality
            allowed = f"{bounds.least}..{'*' if bounds.most is None else bounds.most}"
            message = (
                f"{source.name} {shown_id(source, term)} would have "
                f"{amount(found, f'{edge.name} edge')}, "
                f"and {allowed} are allowed"
            )
            violation = Violation("cardinality", message, edge.name, None, term)
            at_fault, at = (source, row["other"]) if found < rule.least else (edge, place)
            return SetViolation(rule.number, violation, at_fault, at, total, is_taken=False)
