"""Who sees and writes what on a walk: rules as files have them, and again as plain functions.

The two are written down side by side and share nothing, so that one can be held to the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from omnigraph.base.span import SourceText
from omnigraph.policy.policy import Policy

BOSS, ACTORS = "boss", ("ann", "ben")

Row = Mapping[str, Any]
"""The values of a row by name, with `id`, and with `from` and `to` if it is an edge."""


@dataclass(frozen=True)
class Rule:
    """Rows of a type that are meant: in Cedar, and in Python."""

    type: str
    word: str
    """`unless`, or `when` of the rows that are not meant."""
    text: str
    means: Callable[[Row], bool]


def _at_least(value: object, least: int) -> bool:
    return isinstance(value, int) and value >= least


RULES = (
    Rule("Person", "unless", 'resource.team == "red"', lambda r: r["team"] == "red"),
    Rule("Person", "when", 'resource.team == "blue"', lambda r: r["team"] not in (None, "blue")),
    Rule("Person", "unless", "resource.pay >= 1", lambda r: _at_least(r["pay"], 1)),
    Rule("Person", "when", 'resource.key == "p1"', lambda r: r["key"] != "p1"),
    Rule(
        "Person",
        "unless",
        'resource.team == "red" || resource.pay >= 2',
        lambda r: r["team"] == "red" or _at_least(r["pay"], 2),
    ),
    Rule(
        "Person",
        "when",
        'resource has team && resource.team like "b*"',
        lambda r: not (r["team"] or "").startswith("b"),
    ),
    Rule("Note", "unless", 'resource.team == "red"', lambda r: r["team"] == "red"),
    Rule("Note", "when", 'resource.id == "n0"', lambda r: r["id"] != "n0"),
    Rule("Team", "when", 'resource.name == "blue"', lambda r: r["name"] != "blue"),
    Rule("Knows", "unless", "resource.since >= 1", lambda r: _at_least(r["since"], 1)),
    Rule("Knows", "when", 'resource.from == "p0"', lambda r: r["from"] != "p0"),
    Rule("In", "when", 'resource.to == "red"', lambda r: r["to"] != "red"),
)
TYPES_TO_HIDE = ("Note", "Team", "Knows", "About", "In")
PROPERTIES_TO_HIDE = ("Person.pay", "Person.badge", "Person.bio", "Person.team", "Knows.since")


@dataclass(frozen=True)
class Role:
    """What is left of the graph for one actor, and what they may write of it."""

    reads: tuple[Rule, ...] = ()
    hidden_types: tuple[str, ...] = ()
    hidden_properties: tuple[str, ...] = ()
    changes: tuple[Rule, ...] = ()
    merges: tuple[Rule, ...] = ()

    def sees(self, type_: str, row: Row) -> bool:
        """True if the row is in sight, as far as it depends on itself."""
        is_hidden = type_ in self.hidden_types
        return not is_hidden and all(rule.means(row) for rule in self.reads if rule.type == type_)

    def sees_whole(self, type_: str) -> bool:
        """True if no rule is about what is seen of a node type."""
        rules = {rule.type for rule in self.reads} | {*self.hidden_types}
        return type_ not in rules | {name.partition(".")[0] for name in self.hidden_properties}

    def may_change(self, type_: str, row: Row) -> bool:
        return all(rule.means(row) for rule in self.changes if rule.type == type_)

    def may_merge(self, type_: str, row: Row) -> bool:
        return all(rule.means(row) for rule in self.merges if rule.type == type_)

    @property
    def names(self) -> frozenset[str]:
        """The types and properties that its rules speak of."""
        rules = {rule.type for rule in (*self.reads, *self.changes, *self.merges)}
        return frozenset({*rules, *self.hidden_types, *self.hidden_properties})


def random_role(random: Random) -> Role:
    def some(rules: tuple[Rule, ...], most: int) -> tuple[Rule, ...]:
        return tuple(random.sample(rules, random.randint(0, most)))

    hides_type, hides_property = random.random() < 0.3, random.random() < 0.4
    return Role(
        some(RULES, 3),
        (random.choice(TYPES_TO_HIDE),) if hides_type else (),
        (random.choice(PROPERTIES_TO_HIDE),) if hides_property else (),
        some(RULES, 1),
        some(RULES, 1),
    )


def policy_of(roles: Mapping[str, Role]) -> Policy:
    """The rules as a file of YAML has them. The boss may do and see everything."""
    does = "read, export, change, branch_create, branch_delete, branch_merge"
    lines = [
        "version: 1",
        "rules:",
        f"  - {{id: all, allow: {{actors: everyone, actions: [{does}]}}}}",
        f"  - {{id: boss, allow: {{actors: [{BOSS}], actions: [schema_apply, admin]}}}}",
    ]
    for actor, role in roles.items():
        parts = [
            *(_of_rule(rule, "read, export") for rule in role.reads),
            *(_of_rule(rule, "change") for rule in role.changes),
            *(_of_rule(rule, "branch_merge") for rule in role.merges),
            *(f"actions: [read, export], types: [{name}]" for name in role.hidden_types),
        ]
        for name in role.hidden_properties:
            type_, _, property_ = name.partition(".")
            parts.append(f"actions: [read, export], types: [{type_}], properties: [{property_}]")
        lines += [
            f"  - {{id: {actor}-{number}, deny: {{actors: [{actor}], {part}}}}}"
            for number, part in enumerate(parts)
        ]
    return Policy.of_text(SourceText("\n".join(lines) + "\n", "policy.yaml"))


def _of_rule(rule: Rule, actions: str) -> str:
    return f"actions: [{actions}], types: [{rule.type}], {rule.word}: '{rule.text}'"
