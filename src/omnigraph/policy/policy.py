"""A policy: what the engine's gate asks.

`Policy.read` takes the files of a bundle. `fitted` holds it to the schema of a snapshot, since a
rule means something only there. What is fitted answers two questions: whether an actor may do a
thing at all (`decide`), and which rows and properties of each type it is about (`sight`).

Everything unclear is a no: no actor, a rule that fails, no decision.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.base.recent import Recent
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped, listed
from omnigraph.lang.plan.conditions import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Condition,
    Not,
    check_condition,
)
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.policy.actions import ACTIONS, ROW_ACTIONS, SERVER_ACTIONS, ScopeKind
from omnigraph.policy.bundle import Bundle, Effect
from omnigraph.policy.cedar import (
    Asked,
    CedarRefused,
    Entities,
    Json,
    Outcome,
)
from omnigraph.policy.cedar_schema import ACTION, ACTOR, GRAPH, ROOT, SERVER
from omnigraph.policy.entities import actor_entities
from omnigraph.policy.expressions import FALSE, Expression, Fails, expression_of
from omnigraph.policy.fit import Fit, fit_bundle
from omnigraph.policy.read_bundle import bundle_of, digest_of, read_file
from omnigraph.policy.tidy import tidied
from omnigraph.policy.translate import (
    Failing,
    NotAPredicate,
    Subject,
    condition_for,
    property_subject,
)

__all__ = ["Decision", "FittedPolicy", "Policy", "RowRule", "Sight"]

# Schemas that are in use at one time: branches, and moments of the past.
MAX_FITTED = 16
MAX_ACTORS = 1000
MAX_DECISIONS = 10_000
MAX_SIGHTS = 1000


@frozen(slots=False)
class Sight:
    """What one actor may see, write or merge, of the rows of one schema."""

    rows: Mapping[TypeName, Condition]
    """Only types with a condition: of every other type, all rows."""
    hidden_types: frozenset[TypeName]
    """Types of which no row is meant, whatever it holds: the actor must not learn their names."""
    hidden_properties: Mapping[TypeName, frozenset[str]]


@frozen(slots=False)
class Decision:
    allowed: bool
    rules: tuple[str, ...]
    """The ids of the rules that decided."""
    reason: str
    """One sentence, for logs and for whoever may read the policy; never for the actor."""


@frozen(slots=False)
class RowRule:
    """What one rule says of rows of one type to one actor."""

    rule: str
    effect: Effect
    condition: Condition


class Policy:
    """A bundle, checked as far as it can be without a schema. Equal bundles are equal."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.digest = digest_of(bundle.sources)
        self._fitted: Recent[str, FittedPolicy] = Recent(MAX_FITTED)

    @classmethod
    def read(cls, *paths: str | os.PathLike[str]) -> "Policy":
        """The bundle in these files: at most one of YAML, and any number of Cedar.

        Raises PolicyInvalid with all findings, or FileMissing.
        """
        return cls.of_text(*(read_file(Path(path)) for path in paths))

    @classmethod
    def of_text(cls, *sources: str | SourceText) -> "Policy":
        """The bundle in these texts. Their names tell YAML from Cedar; without one it is YAML.

        Raises PolicyInvalid with all findings.
        """
        named = (SourceText(s, "<policy>.yaml") if isinstance(s, str) else s for s in sources)
        return cls(bundle_of(tuple(named)))

    def fitted(self, catalog: Catalog, schema_hash: str) -> "FittedPolicy":
        """The policy for snapshots with this schema. Raises PolicyInvalid with all findings."""
        known = self._fitted.get(schema_hash)
        if known is None:
            known = FittedPolicy(self.bundle, catalog, fit_bundle(self.bundle, catalog))
            self._fitted.put(schema_hash, known)
        return known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Policy {self.digest[:12]}: {len(self.bundle.rules)} rules>"


class FittedPolicy:
    """A policy for one schema. What it has said once it remembers, within limits."""

    def __init__(self, bundle: Bundle, catalog: Catalog, fit: Fit) -> None:
        self._bundle = bundle
        self._catalog = catalog
        self._fit = fit
        self._actors: Recent[str, Entities] = Recent(MAX_ACTORS)
        self._decisions: Recent[tuple[str | None, ...], Decision] = Recent(MAX_DECISIONS)
        self._possible: Recent[tuple[str, str], bool] = Recent(MAX_DECISIONS)
        self._sights: Recent[tuple[str | None, ...], Sight] = Recent(MAX_SIGHTS)

    def decide(
        self,
        *,
        actor: str | None,
        action: str,
        branch: str | None,
        target_branch: str | None = None,
        query: str | None = None,
    ) -> Decision:
        """Whether the actor may do this at all; which rows it is about, `sight` says.

        What is done to a branch itself is done to `target_branch`, or to `branch` where the two are
        the same.
        """
        assert action in ACTIONS, f"{action} is no action of policies"
        if not actor:
            return _denied("no actor is named")
        key = (actor, action, branch, target_branch, query)
        known = self._decisions.get(key)
        if known is None:
            known = self._decided(
                actor, action, self._context(action, branch, target_branch, query)
            )
            self._decisions.put(key, known)
        return known

    def may_ever(self, *, actor: str | None, action: str) -> bool:
        """False if the policy denies this to the actor on every branch and for every row."""
        if not actor:
            return False
        known = self._possible.get((actor, action))
        if known is None:
            known = self._may_ever(actor, action)
            self._possible.put((actor, action), known)
        return known

    def _may_ever(self, actor: str, action: str) -> bool:
        resource = (SERVER if action in SERVER_ACTIONS else GRAPH, ROOT)
        who, what = (ACTOR, actor), (ACTION, action)
        try:
            return self._fit.policies.may_allow(who, what, resource, self._entities(actor))
        except CedarRefused:
            return False

    def sight(
        self,
        *,
        actor: str | None,
        action: str,
        branch: str | None,
        target_branch: str | None = None,
    ) -> Sight:
        """The rows and properties that the actor may `read`, `export`, `change` or, with
        `branch_merge`, bring from `branch` to `target_branch`.

        A row that is changed or merged is judged by the values that it has and those that it gets.
        """
        assert action in ROW_ACTIONS, f"{action} is not done to rows"
        if not actor:
            return self._blind()
        key = (actor, action, branch, target_branch)
        known = self._sights.get(key)
        if known is None:
            known = self._seen(actor, action, branch, target_branch)
            self._sights.put(key, known)
        return known

    def row_rules(
        self,
        *,
        actor: str,
        action: str,
        branch: str | None,
        target_branch: str | None = None,
        type_name: TypeName,
    ) -> list[RowRule]:
        """Each rule about rows of a type and what it asks of them, for an explanation."""
        assert action in ROW_ACTIONS, f"{action} is not done to rows"
        try:
            rests = self._rests(actor, action, branch, target_branch)
        except CedarRefused:
            return []
        subject, found = self._fit.types[type_name], []
        for name in self._fit.about_rows.get(type_name, ()):
            if name in rests:
                part = self._fit.parts[name]
                condition = tidied(_asked_of(rests[name], subject, part.effect))
                if condition != NEVER:
                    found.append(RowRule(part.rule, part.effect, condition))
        return found

    # Decisions -----------------------------------------------------------------------------------

    def _decided(self, actor: str, action: str, context: Mapping[str, Json]) -> Decision:
        resource = (SERVER if action in SERVER_ACTIONS else GRAPH, ROOT)
        asked = Asked((ACTOR, actor), (ACTION, action), context)
        try:
            outcome = self._fit.policies.decide(asked, resource, self._entities(actor))
        except CedarRefused as refused:
            return _denied(f"it could not be decided: {refused}")
        return self._told(outcome)

    def _told(self, outcome: Outcome) -> Decision:
        rules = tuple(dict.fromkeys(self._fit.parts[name].rule for name in outcome.policies))
        if outcome.errors:
            return _denied(f"a rule failed: {clipped('; '.join(outcome.errors), 300)}", rules)
        if not rules:
            return _denied("no rule allows it")
        word = "allows" if outcome.is_allowed else "denies"
        noun = "rule" if len(rules) == 1 else "rules"
        verb = word if len(rules) == 1 else word.removesuffix("s").replace("denie", "deny")
        return Decision(outcome.is_allowed, rules, f"{noun} {listed(rules, 'and')} {verb} it")

    def _context(
        self, action: str, branch: str | None, target_branch: str | None, query: str | None
    ) -> Mapping[str, Json]:
        if target_branch is None and ACTIONS[action] is ScopeKind.TARGET:
            target_branch = branch
        protected = self._bundle.protected_branches
        given = {"branch": branch, "target_branch": target_branch, "query": query}
        return {
            **{name: value for name, value in given.items() if value is not None},
            "branch_is_protected": branch in protected,
            "target_branch_is_protected": target_branch in protected,
        }

    def _entities(self, actor: str) -> Entities:
        """The actor with its groups, and the graph: all that policies may ask for."""
        known = self._actors.get(actor)
        if known is None:
            known = self._fit.schema.entities(actor_entities(self._bundle, actor))
            self._actors.put(actor, known)
        return known

    # Rows ----------------------------------------------------------------------------------------

    def _blind(self) -> Sight:
        every = frozenset(entity_.name for entity_ in self._catalog.entities)
        return Sight(dict.fromkeys(every, NEVER), every, {})

    def _rests(
        self, actor: str, action: str, branch: str | None, target_branch: str | None
    ) -> Mapping[str, Expression]:
        """What is left of each policy, of those that are not settled as never applying."""
        context = self._context(action, branch, target_branch, None)
        asked = Asked((ACTOR, actor), (ACTION, action), context)
        residuals = self._fit.policies.residuals(asked, self._entities(actor))
        rests = {name: expression_of(body, is_residual=True) for name, body in residuals.items()}
        return {name: rest for name, rest in rests.items() if rest != FALSE}

    def _seen(
        self, actor: str, action: str, branch: str | None, target_branch: str | None
    ) -> Sight:
        try:
            rests = self._rests(actor, action, branch, target_branch)
        except CedarRefused:
            return self._blind()
        rows = {
            type_: condition
            for type_ in self._fit.types
            if (condition := self._condition(type_, rests)) != ALWAYS
        }
        hidden: dict[TypeName, set[str]] = {}
        for (type_, name), policies in self._fit.about_properties.items():
            subject = property_subject(f"{type_}.{name}")
            left = [rests[policy] for policy in policies if policy in rests]
            if any(_asked_of(rest, subject, "forbid") != NEVER for rest in left):
                hidden.setdefault(type_, set()).add(name)
        sight = self._of(rows, {type_: frozenset(names) for type_, names in hidden.items()})
        return self._also_readable(sight, actor, branch) if action == "export" else sight

    def _condition(self, type_: TypeName, rests: Mapping[str, Expression]) -> Condition:
        subject = self._fit.types[type_]
        grants: list[Condition] = []
        denials: list[Condition] = []
        for name in self._fit.about_rows.get(type_, ()):
            if (rest := rests.get(name)) is not None:
                effect = self._fit.parts[name].effect
                sides = grants if effect == "permit" else denials
                sides.append(_asked_of(rest, subject, effect))
        condition = tidied(AllOf((AnyOf(tuple(grants)), Not(AnyOf(tuple(denials))))))
        check_condition(condition)
        return condition

    def _of(
        self, rows: Mapping[TypeName, Condition], properties: Mapping[TypeName, frozenset[str]]
    ) -> Sight:
        never = frozenset(type_ for type_, condition in rows.items() if condition == NEVER)
        return Sight(rows, never, properties)

    def _also_readable(self, sight: Sight, actor: str, branch: str | None) -> Sight:
        """Of what may be exported, that which may be read, by an actor who may read at all."""
        if not self.decide(actor=actor, action="read", branch=branch).allowed:
            return sight
        read = self.sight(actor=actor, action="read", branch=branch)
        rows = {
            type_: tidied(AllOf((sight.rows.get(type_, ALWAYS), read.rows.get(type_, ALWAYS))))
            for type_ in (*sight.rows, *read.rows)
        }
        hidden = {
            type_: sight.hidden_properties.get(type_, frozenset())
            | read.hidden_properties.get(type_, frozenset())
            for type_ in (*sight.hidden_properties, *read.hidden_properties)
        }
        return self._of(rows, hidden)


def _denied(reason: str, rules: tuple[str, ...] = ()) -> Decision:
    return Decision(allowed=False, rules=rules, reason=reason)


def _asked_of(rest: Expression, subject: Subject, effect: Effect) -> Condition:
    """The condition of one rule. A rule that fails allows nothing, and denies everything."""
    failed = NEVER if effect == "permit" else ALWAYS
    if isinstance(rest, Fails):
        return failed
    try:
        return condition_for(rest, subject)
    except Failing:
        return failed
    except NotAPredicate as refused:
        raise AssertionError(f"a rule that was checked is no condition: {refused}") from refused
