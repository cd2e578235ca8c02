"""A bundle against a schema: every rule is compiled and checked, or told what is wrong with it.

A rule that passes here never fails later for its form: Cedar's strict check has seen that values of
one type meet and that a null is asked for before it is used, and ours that it can become a
condition on rows of every type it can be about.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.base.nearest import name_hint
from omnigraph.lang.plan.conditions import NEVER
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.policy.actions import ROW_ACTIONS
from omnigraph.policy.bundle import Bundle, Effect, WrittenRule
from omnigraph.policy.cedar import CedarRefused, CedarSchema, Json, Policies
from omnigraph.policy.cedar_schema import ACTION, PROPERTY, cedar_schema, row_type
from omnigraph.policy.compile import Compiler
from omnigraph.policy.expressions import Constant, Expression, Later, expression_of
from omnigraph.policy.findings import Findings
from omnigraph.policy.nodes import all_of, entity, negation, variable
from omnigraph.policy.row_fields import row_fields
from omnigraph.policy.translate import (
    NotAPredicate,
    Subject,
    UnknownWord,
    condition_for,
    property_subject,
)

__all__ = ["Fit", "Part", "PropertyName", "fit_bundle"]

PropertyName = tuple[TypeName, str]


@frozen
class Part:
    """One policy that a rule became."""

    rule: str
    """The id of the rule."""
    effect: Effect


@frozen(eq=False)
class Fit:
    """A bundle that fits a schema, ready to be asked."""

    schema: CedarSchema
    policies: Policies
    parts: Mapping[str, Part]
    """By the name of the policy."""
    types: Mapping[TypeName, Subject]
    """The rows of each type of the catalog."""
    about_rows: Mapping[TypeName, tuple[str, ...]]
    """The policies that can be about rows of each type."""
    about_properties: Mapping[PropertyName, tuple[str, ...]]
    """The policies that can hide a property, of each that some policy can hide."""


def fit_bundle(bundle: Bundle, catalog: Catalog) -> Fit:
    """Raises PolicyInvalid with all findings."""
    findings = Findings()
    compiler = Compiler(bundle, catalog, findings)
    fitter = _Fitter(catalog, CedarSchema(cedar_schema(catalog, bundle.attribute_kinds)), findings)
    for number, rule in enumerate(bundle.rules):
        findings.rule = rule.id
        for at, policy in enumerate(compiler.policies(rule)):
            fitter.add(f"{number}.{at}", rule, policy)
    findings.raise_any()
    return fitter.fit()


@dataclass(eq=False)
class _Fitter:
    catalog: Catalog
    schema: CedarSchema
    findings: Findings
    _policies: dict[str, Json] = field(default_factory=dict)
    _parts: dict[str, Part] = field(default_factory=dict)
    _rows: dict[TypeName, list[str]] = field(default_factory=lambda: defaultdict(list))
    _hiding: dict[PropertyName, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._types = {entity.name: _subject(entity) for entity in self.catalog.entities}

    def add(self, name: str, rule: WrittenRule, policy: Json) -> None:
        """Check one policy of a rule, and keep it."""
        before = len(self.findings)
        for misfit in self.schema.misfits(policy):
            message = f"rule {rule.id} does not fit the schema: {misfit}"
            self.findings.add("A015", rule.decisive_place, message)
        if rule.effect == "permit" and _is_about_properties(policy):
            message = "properties are shown unless a rule hides them, so no rule permits them"
            self.findings.add(
                "A017", rule.decisive_place, message, "write forbid, for properties to hide"
            )
        if len(self.findings) == before and _can_be_about_rows(policy):
            self._look_at_rows(name, rule, policy)
        self._policies[name] = policy
        self._parts[name] = Part(rule.id, rule.effect)

    def fit(self) -> Fit:
        try:
            policies = Policies(self._policies)
        except CedarRefused as refused:
            raise AssertionError(f"policies that were checked can't be used: {refused}") from None
        return Fit(
            self.schema,
            policies,
            self._parts,
            self._types,
            {type_: tuple(names) for type_, names in self._rows.items()},
            {property_: tuple(names) for property_, names in self._hiding.items()},
        )

    def _look_at_rows(self, name: str, rule: WrittenRule, policy: Json) -> None:
        expression = written_expression(policy)
        for type_, subject in self._types.items():
            try:
                condition = condition_for(expression, subject, as_written=True)
            except UnknownWord as unknown:
                hint = name_hint(unknown.word, unknown.words)
                message = f"rule {rule.id}: {unknown.sentence}"
                self.findings.add("A013", rule.decisive_place, message, hint)
                return
            except NotAPredicate as refused:
                message = f"rule {rule.id} can't become a test of rows: {refused.sentence}"
                self.findings.add("A016", rule.decisive_place, message, refused.hint)
                return
            if condition != NEVER:
                self._rows[type_].append(name)
        # A rule that looks at nothing of what it is about shuts the door, and behind it nothing is
        # seen.
        if rule.effect == "forbid" and not isinstance(expression, Constant | Later):
            for property_ in self._properties_of(policy):
                subject = property_subject(".".join(property_))
                if condition_for(expression, subject) != NEVER:
                    self._hiding[property_].append(name)

    def _properties_of(self, policy: Json) -> Iterator[PropertyName]:
        """The properties that a policy could be about."""
        scope = policy["resource"]
        if scope["op"] == "is" and scope["entity_type"] != PROPERTY:
            return
        named = (
            scope["entity"]["id"] if _is_about_properties(policy) and "entity" in scope else None
        )
        for found in ((e.name, p.name) for e in self.catalog.entities for p in e.properties):
            if named in (None, ".".join(found)):
                yield found


def written_expression(policy: Json) -> Expression:
    """What a policy asks of the resource, before an actor is known."""
    tests = [*_resource_tests(policy["resource"])]
    for condition in policy["conditions"]:
        body = condition["body"]
        tests.append(body if condition["kind"] == "when" else negation(body))
    return expression_of(all_of(tests), is_residual=False)


def _subject(type_: EntityType) -> Subject:
    fields = row_fields(type_)
    others = {p.name: str(p.type) for p in type_.properties if p.name not in fields}
    return Subject(row_type(type_.name), fields, unknown_fields=others)


def _resource_tests(scope: Json) -> Iterator[Json]:
    row = variable("resource")
    match scope["op"]:
        case "==" | "in" as word:
            yield {word: {"left": row, "right": {"Value": {"__entity": scope["entity"]}}}}
        case "is":
            yield {"is": {"left": row, "entity_type": scope["entity_type"]}}
            if "in" in scope:
                above = {"Value": {"__entity": scope["in"]["entity"]}}
                yield {"in": {"left": row, "right": above}}
        case _:
            return


def _can_be_about_rows(policy: Json) -> bool:
    scope = policy["action"]
    named = [*scope.get("entities", []), *([scope["entity"]] if "entity" in scope else [])]
    rows = [entity(ACTION, action) for action in ROW_ACTIONS]
    return scope["op"] == "All" or any(action in rows for action in named)


def _is_about_properties(policy: Json) -> bool:
    scope = policy["resource"]
    return PROPERTY in (scope.get("entity_type"), scope.get("entity", {}).get("type"))
