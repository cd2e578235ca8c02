"""Policies by themselves: check them, and explain what they say. No graph is needed or changed."""

from typing import Any

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.base.nearest import did_you_mean, name_hint
from omnigraph.base.words import clipped
from omnigraph.engine.gate import SHOWS_MORE
from omnigraph.engine.guard import Guard
from omnigraph.lang.plan.conditions import ALWAYS, NEVER, Condition, show_condition
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.lang.schema.persist import schema_hash
from omnigraph.policy.actions import ACTIONS, ROW_ACTIONS
from omnigraph.policy.bundle import CedarRule
from omnigraph.policy.policy import Decision, FittedPolicy, Policy

__all__ = [
    "PolicyExplanation",
    "PolicySummary",
    "RowsSeen",
    "decided",
    "explain",
    "fitted_to",
    "summary",
]

EFFECTS = {"permit": "allow", "forbid": "deny"}


@frozen
class PolicySummary:
    digest: str
    rules: tuple[str, ...]
    groups: tuple[str, ...]
    actors: tuple[str, ...]
    is_fitted: bool
    """False: it was checked without a schema."""

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "rules": list(self.rules),
            "groups": list(self.groups),
            "actors": list(self.actors),
            "schema_checked": self.is_fitted,
        }


@frozen
class RowsSeen:
    """What is left of one type for an actor."""

    type: str
    condition: Condition
    hidden_properties: tuple[str, ...]
    rules: tuple[tuple[str, str, str], ...] = ()
    """The id of each rule about its rows, allow or deny, and of which rows it is."""

    @property
    def amount(self) -> str:
        if self.condition == ALWAYS:
            return "all"
        return "none" if self.condition == NEVER else "some"

    @property
    def shown(self) -> str:
        words = {"all": "all rows", "none": "no rows"}
        return words.get(self.amount) or show_condition(self.condition)

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "rows": self.amount,
            "condition": show_condition(self.condition) if self.amount == "some" else None,
            "hidden_properties": list(self.hidden_properties),
            "rules": [{"id": i, "effect": e, "condition": c} for i, e, c in self.rules],
        }


@frozen
class PolicyExplanation:
    actor: str
    action: str
    branch: str | None
    is_allowed: bool
    rules: tuple[str, ...]
    reason: str
    note: str | None
    """What is odd about the question: an actor that no file names."""
    types: tuple[RowsSeen, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "action": self.action,
            "branch": self.branch,
            "allowed": self.is_allowed,
            "rules": list(self.rules),
            "reason": self.reason,
            "note": self.note,
            "types": [seen.to_json() for seen in self.types],
        }


def summary(policy: Policy, catalog: Catalog | None) -> PolicySummary:
    """What a policy holds. Raises PolicyInvalid if it does not fit the schema."""
    if catalog is not None:
        policy.fitted(catalog, schema_hash(catalog))
    bundle = policy.bundle
    return PolicySummary(
        policy.digest,
        tuple(rule.id for rule in bundle.rules),
        tuple(sorted(bundle.groups)),
        tuple(sorted(bundle.known_actors)),
        catalog is not None,
    )


def explain(
    policy: Policy,
    catalog: Catalog | None,
    *,
    actor: str,
    action: str,
    branch: str | None = None,
    target_branch: str | None = None,
    query: str | None = None,
    type_name: str | None = None,
) -> PolicyExplanation:
    """Whether an actor may do a thing, by which rules, and what they see of each type."""
    if action not in ACTIONS:
        raise ArgumentInvalid(
            argument="action",
            value=action,
            rule="there is no such action",
            advice=name_hint(action, ACTIONS) or f"actions are {', '.join(ACTIONS)}",
        )
    fitted = fitted_to(policy, catalog)
    decision = decided(
        policy,
        catalog,
        actor=actor,
        action=action,
        branch=branch,
        target_branch=target_branch,
        query=query,
    )
    types: tuple[RowsSeen, ...] = ()
    if catalog is not None and (decision.allowed or type_name) and action in ROW_ACTIONS:
        asked = _RowsAsked(actor, action, branch, target_branch)
        types = _rows_seen(fitted, catalog, asked, type_name)
    elif type_name is not None:
        rule = f"{action} is not done to rows" if catalog else "types are those of a schema"
        advice = None if catalog else "give --schema or --store"
        raise ArgumentInvalid(argument="type", value=type_name, rule=rule, advice=advice)
    note = _note(policy, actor)
    return PolicyExplanation(
        actor, action, branch, decision.allowed, decision.rules, decision.reason, note, types
    )


def fitted_to(policy: Policy, catalog: Catalog | None) -> FittedPolicy:
    """Without a catalog, for a policy that names no types."""
    if catalog is None:
        rules = policy.bundle.rules
        named = next((r.id for r in rules if isinstance(r, CedarRule) or r.types), None)
        if named is not None:
            raise ArgumentInvalid(
                argument="schema",
                value=None,
                rule=f"rule {clipped(named)} is about types, so the schema is needed",
                advice="give --schema or --store",
            )
        catalog = Catalog((), ())
    return policy.fitted(catalog, schema_hash(catalog))


def decided(
    policy: Policy,
    catalog: Catalog | None,
    *,
    actor: str,
    action: str,
    branch: str | None,
    target_branch: str | None,
    query: str | None,
) -> Decision:
    """Whether an actor may do a thing, as the engine decides before it looks at rows."""
    fitted = fitted_to(policy, catalog)
    decision = fitted.decide(
        actor=actor, action=action, branch=branch, target_branch=target_branch, query=query
    )
    brings_rows = action in BRINGS_ROWS and branch is not None and target_branch is not None
    if not decision.allowed or not brings_rows:
        return decision
    assert branch is not None and target_branch is not None
    known = catalog or Catalog((), ())
    head = _Head(branch, known, schema_hash(known))
    if Guard(policy, fitted).shows_more(head, actor, on=target_branch):
        return Decision(allowed=False, rules=decision.rules, reason=SHOWS_MORE)
    return decision


BRINGS_ROWS = ("branch_merge", "branch_create")
"""Actions after which a branch shows the rows of another."""


@frozen
class _Head:
    """A branch whose schema is known, and nothing else."""

    branch: str
    catalog: Catalog
    schema_hash: str


def _note(policy: Policy, actor: str) -> str | None:
    known = policy.bundle.known_actors
    if actor in known:
        return None
    hint = did_you_mean(actor, known)
    said = f"no file names {clipped(actor)}: only rules for everyone are about this actor"
    return f"{said} ({hint})" if hint else said


# Rows ---------------------------------------------------------------------------------------------


@frozen
class _RowsAsked:
    actor: str
    action: str
    branch: str | None
    target_branch: str | None

    def to_words(self) -> dict[str, Any]:
        return {
            name: getattr(self, name) for name in ("actor", "action", "branch", "target_branch")
        }


def _rows_seen(
    fitted: FittedPolicy, catalog: Catalog, asked: _RowsAsked, type_name: str | None
) -> tuple[RowsSeen, ...]:
    sight = fitted.sight(**asked.to_words())
    by_name: dict[str, EntityType] = {entity.name: entity for entity in catalog.entities}
    if type_name is not None and type_name not in by_name:
        raise ArgumentInvalid(
            argument="type",
            value=type_name,
            rule="the schema has no such type",
            advice=name_hint(type_name, by_name),
        )
    names = by_name if type_name is None else [type_name]
    return tuple(
        RowsSeen(
            name,
            sight.rows.get(TypeName(name), ALWAYS),
            tuple(sorted(sight.hidden_properties.get(TypeName(name), ()))),
            _row_rules(fitted, asked, name) if type_name else (),
        )
        for name in names
    )


def _row_rules(
    fitted: FittedPolicy, asked: _RowsAsked, name: str
) -> tuple[tuple[str, str, str], ...]:
    found = fitted.row_rules(**asked.to_words(), type_name=TypeName(name))
    return tuple(
        (rule.rule, EFFECTS[rule.effect], show_condition(rule.condition)) for rule in found
    )
