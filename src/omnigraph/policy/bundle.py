"""A bundle as it is written: groups, actors and rules, each with its place.

Nothing here knows a schema. Files of YAML are read by `yaml_bundle`, those of Cedar by
`cedar_bundle`; what both hold together is a `Bundle`.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.policy.actions import ScopeKind
from omnigraph.policy.cedar import Json
from omnigraph.policy.findings import Place
from omnigraph.policy.row_fields import FieldKind

__all__ = [
    "Attribute",
    "Bundle",
    "CedarRule",
    "Effect",
    "Everyone",
    "Group",
    "Members",
    "Named",
    "Rule",
    "Scope",
    "Written",
    "WrittenRule",
]

Effect = Literal["permit", "forbid"]
"""In the words of Cedar; in YAML they are allow and deny."""

Attribute = str | int | bool | tuple[str, ...]


@frozen
class Named:
    """A name, and where it is written."""

    name: str
    place: Place


@frozen
class Written:
    """A condition: what Cedar has read, and where it is written."""

    body: Json = field(hash=False)
    place: Place


@frozen
class Members:
    """Some actors, and all actors of some groups."""

    actors: tuple[Named, ...] = ()
    groups: tuple[Named, ...] = ()


@frozen
class Everyone:
    """Every actor that has a name, known or not."""


@frozen
class Group:
    name: Named
    members: Members


@frozen
class Scope:
    """Of a rule: only where the branch is protected, or only where it is not."""

    kind: ScopeKind
    is_protected: bool


@frozen
class Rule:
    """A rule of YAML."""

    id: str
    place: Place
    effect: Effect
    actors: Members | Everyone
    actions: tuple[str, ...]
    scope: Scope | None = None
    types: tuple[Named, ...] | None = None
    """None: the rule is about the graph and all that is in it."""
    properties: tuple[Named, ...] | None = None
    when: Written | None = None
    unless: Written | None = None

    @property
    def decisive_place(self) -> Place:
        """Where to look for what is wrong with the policies that the rule becomes."""
        written = [clause for clause in (self.when, self.unless) if clause is not None]
        return written[0].place if len(written) == 1 else self.place


@frozen
class CedarRule:
    """A policy of a file of Cedar."""

    id: str
    place: Place
    policy: Json = field(hash=False)

    @property
    def decisive_place(self) -> Place:
        return self.place

    @property
    def effect(self) -> Effect:
        return "permit" if self.policy["effect"] == "permit" else "forbid"


WrittenRule = Rule | CedarRule


@frozen(eq=False)
class Bundle:
    sources: tuple[SourceText, ...]
    groups: Mapping[str, Group] = field(default_factory=dict)
    attributes: Mapping[str, Mapping[str, Attribute]] = field(default_factory=dict)
    """Of each actor that has some."""
    attribute_kinds: Mapping[str, FieldKind] = field(default_factory=dict)
    protected_branches: frozenset[str] = frozenset()
    rules: tuple[WrittenRule, ...] = ()

    def groups_of(self, actor: str) -> list[str]:
        """The groups that name the actor."""
        return sorted(
            name
            for name, group in self.groups.items()
            if any(member.name == actor for member in group.members.actors)
        )

    def groups_around(self, group: str) -> list[str]:
        """The groups that have the group as a member."""
        return sorted(
            name
            for name, other in self.groups.items()
            if any(member.name == group for member in other.members.groups)
        )

    @property
    def known_actors(self) -> frozenset[str]:
        """Those that a group, the section of actors, or a rule names."""
        named = {a.name for group in self.groups.values() for a in group.members.actors}
        for rule in self.rules:
            if isinstance(rule, Rule) and isinstance(rule.actors, Members):
                named.update(actor.name for actor in rule.actors.actors)
        return frozenset(named | set(self.attributes))
