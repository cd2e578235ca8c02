"""Cases of a policy, tried.

A case about a row is judged as the engine judges rows: by the condition of the actor's sight, read
over columns.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText
from omnigraph.base.types import ListOf, Scalar, ValueType
from omnigraph.base.words import clipped
from omnigraph.engine.policies import decided, fitted_to
from omnigraph.lang.plan.conditions import ALWAYS, fields_in, show_condition
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.policy.cases import Case, Fact, read_cases
from omnigraph.policy.findings import Findings, Place
from omnigraph.policy.policy import Decision, FittedPolicy, Policy, Sight
from omnigraph.policy.row_fields import FieldKind, RowField, row_fields
from omnigraph.read.scope import Scope
from omnigraph.read.values.conditions import meets
from omnigraph.read.values.rows import column_of
from omnigraph.store.arrow import arrow_type

__all__ = ["CaseResult", "try_cases"]

WORDS = {True: "allow", False: "deny"}
TYPES: dict[FieldKind, ValueType] = {
    FieldKind.TEXT: Scalar.STRING,
    FieldKind.NUMBER: Scalar.I64,
    FieldKind.BOOLEAN: Scalar.BOOL,
    FieldKind.TEXTS: ListOf(Scalar.STRING),
}


@frozen
class CaseResult:
    id: str
    is_expected: bool
    """What the case expects: allowed or not."""
    decision: Decision

    @property
    def passed(self) -> bool:
        return self.is_expected == self.decision.allowed

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "passed": self.passed,
            "expect": WORDS[self.is_expected],
            "got": WORDS[self.decision.allowed],
            "rules": list(self.decision.rules),
            "reason": self.decision.reason,
        }


def try_cases(policy: Policy, catalog: Catalog | None, source: SourceText) -> list[CaseResult]:
    """What the policy says to each case of a file. Raises PolicyInvalid for a wrong file."""
    cases, findings = read_cases(source), Findings()
    fitted = fitted_to(policy, catalog)
    judge = _Judge(policy, fitted, catalog or Catalog((), ()), findings)
    results = [CaseResult(case.id, case.is_allowed, judge.decide(case)) for case in cases]
    findings.raise_any()
    return results


@frozen
class _Judge:
    policy: Policy
    fitted: FittedPolicy
    catalog: Catalog
    findings: Findings

    def decide(self, case: Case) -> Decision:
        decision = decided(
            self.policy,
            self.catalog,
            actor=case.actor,
            action=case.action,
            branch=case.branch,
            target_branch=case.target_branch,
            query=case.query,
        )
        refusal = next(self._refusals(case), None)
        if not decision.allowed or refusal is None:
            return decision
        return Decision(allowed=False, rules=decision.rules, reason=refusal)

    def _refusals(self, case: Case) -> Iterator[str]:
        """Why the case is denied by what it says of rows."""
        if case.type is None:
            return
        by_name: Mapping[str, EntityType] = {e.name: e for e in self.catalog.entities}
        if not self._is_known("A012", "the schema", case.type.name, case.type.place, by_name):
            return
        entity = by_name[case.type.name]
        sight = self.fitted.sight(
            actor=case.actor,
            action=case.action,
            branch=case.branch,
            target_branch=case.target_branch,
        )
        if case.property is not None:
            name, place = case.property.name, case.property.place
            if self._is_known("A013", entity.name, name, place, entity.by_name) and (
                name in sight.hidden_properties.get(entity.name, ())
            ):
                yield f"{entity.name}.{name} is hidden"
        if case.row is not None and not self._is_met(case, entity, sight):
            yield f"the row does not meet {show_condition(sight.rows[entity.name])}"
        elif entity.name in sight.hidden_types:
            verb = {"change": "changed", "branch_merge": "merged"}.get(case.action, "shown")
            yield f"no row of {entity.name} may be {verb}"

    def _is_known(
        self, code: str, owner: str, name: str, place: Place, known: Iterable[str]
    ) -> bool:
        if name in known:
            return True
        what = "type" if code == "A012" else "property"
        message = f"{owner} has no {what} {clipped(name)}"
        self.findings.add(code, place, message, name_hint(name, known))
        return False

    def _is_met(self, case: Case, entity: EntityType, sight: Sight) -> bool:
        assert case.row is not None, "the case is about a row"
        before, fields = len(self.findings), row_fields(entity)
        for named, value in case.row.items():
            known = [*fields, *entity.by_name]
            self._is_known("A013", entity.name, named.name, named.place, known)
            if named.name in fields and not _fits(value, fields[named.name]):
                message = f"{named.name} is {fields[named.name].kind.value}, and this is not"
                self.findings.add("A004", named.place, message)
        facts = {named.name: value for named, value in case.row.items()}
        condition = sight.rows.get(entity.name, ALWAYS)
        judged = set(fields_in(condition))
        for name, field in fields.items():
            if field.field in judged and not field.is_optional and facts.get(name) is None:
                message = f"the rules look at {name}, which every row has: the row needs it"
                self.findings.add("A003", case.place, message)
        if len(self.findings) > before or condition == ALWAYS:
            return True
        of_columns = Scope.of(self.catalog, {entity.name: condition}).conditions[entity.name]
        return bool(meets(of_columns, _table(facts, fields, entity))[0])


def _fits(value: Fact, field: RowField) -> bool:
    match value, field.kind:
        case None, _:
            return field.is_optional
        case (bool(), FieldKind.BOOLEAN) | (str(), FieldKind.TEXT) | (tuple(), FieldKind.TEXTS):
            return True
        case bool(), _:
            return False
        case int(), FieldKind.NUMBER:
            return -(2**63) <= value < 2**63
        case _:
            return False


def _table(
    facts: Mapping[str, Fact], fields: Mapping[str, RowField], entity: EntityType
) -> pa.Table:
    """One row, with the columns that conditions can look at."""
    return pa.table(
        {
            column_of(field.field, entity): pa.array(
                [facts.get(name)], arrow_type(TYPES[field.kind])
            )
            for name, field in fields.items()
        }
    )
