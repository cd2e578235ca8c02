"""Our conditions on rows say what Cedar says, row by row.

Random rules are asked twice. Once as a graph asks them: a policy fitted to a schema, its conditions
read over Arrow columns. And once as Cedar is asked by itself: a request for each row, with the row
as an entity. Cedar's answers come straight from its package; nothing of ours stands in between.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import cedarpy
import pyarrow as pa
import pytest

from omnigraph.base.errors import PolicyInvalid
from omnigraph.base.ids import TypeName
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.conditions import ALWAYS, NEVER
from omnigraph.lang.schema.catalog import DST, ID, SRC, Catalog, EdgeType, EntityType
from omnigraph.policy.entities import actor_entities
from omnigraph.policy.policy import Policy, Sight
from omnigraph.read.scope import Scope
from omnigraph.read.values.conditions import meets
from omnigraph.store.arrow import arrow_type
from tests.policy.random_rules import (
    ACTOR_NAMES,
    ACTORS,
    RuleMaker,
    catalog,
    random_rows,
    row_entity,
    row_id,
)

ROWS_OF_A_TYPE = 8
CATALOG = catalog()


@dataclass
class Tally:
    decisions: int = 0
    allowed: int = 0
    bundles: int = 0
    refused: int = 0
    conditions: int = 0
    """That are neither always nor never."""
    errors: int = 0
    codes: set[str] = field(default_factory=set)


def table(entity: EntityType, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows as they lie in the tables of a graph."""
    columns = {ID: pa.array([row_id(entity.name, row) for row in rows], pa.string())}
    if isinstance(entity, EdgeType):
        columns[SRC] = pa.array([row["from"] for row in rows], pa.string())
        columns[DST] = pa.array([row["to"] for row in rows], pa.string())
    for known in entity.properties:
        values = [row.get(known.name) for row in rows]
        columns[known.column] = pa.array(values, arrow_type(known.type))
    return pa.table(columns)


def seen_by_us(sight: Sight, known: Catalog, rows: Mapping[str, list[dict[str, Any]]]) -> set[Any]:
    scope = Scope.of(known, sight.rows)
    seen = set()
    for entity in known.entities:
        condition = scope.conditions.get(entity.name, ALWAYS)
        mask = meets(condition, table(entity, rows[entity.name]))
        for row, is_met in zip(rows[entity.name], mask, strict=True):
            if is_met:
                seen.add((entity.name, row_id(entity.name, row)))
    return seen


def seen_by_cedar(
    text: str,
    policy: Policy,
    asked: Mapping[str, Any],
    rows: Mapping[str, list[dict[str, Any]]],
) -> tuple[set[Any], int]:
    """The rows that Cedar allows, and how many of its answers had an error in them."""
    every = [(type_, row) for type_, of_type in rows.items() for row in of_type]
    actor, branch, target = asked["actor"], asked["branch"], asked["target_branch"]
    entities = [*actor_entities(policy.bundle, actor), *(row_entity(t, row) for t, row in every)]
    context = {
        "branch": branch,
        "branch_is_protected": branch == "main",
        "target_branch_is_protected": target == "main",
        **({} if target is None else {"target_branch": target}),
    }
    requests = [
        {
            "principal": {"type": "Omnigraph::Actor", "id": actor},
            "action": {"type": "Omnigraph::Action", "id": asked["action"]},
            "resource": {"type": f"Row::{type_}", "id": row_id(type_, row)},
            "context": context,
        }
        for type_, row in every
    ]
    handle = cedarpy.PolicySet.from_str(text)
    known = cedarpy.Entities.from_json_str(json.dumps(entities))
    answers = cedarpy.is_authorized_batch(requests, handle, known)
    seen = {
        (type_, row_id(type_, row))
        for (type_, row), answer in zip(every, answers, strict=True)
        if answer.allowed
    }
    return seen, sum(bool(answer.diagnostics.errors) for answer in answers)


def rows_of(random: Random) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for type_, row in random_rows(random, ROWS_OF_A_TYPE):
        rows.setdefault(type_, []).append(row)
    return rows


def compare_round(seed: int, tally: Tally, *, may_overflow: bool = False) -> None:
    """One random bundle, two actors, all rows."""
    random = Random(seed)
    text = RuleMaker(random, may_overflow=may_overflow).bundle()
    rows = rows_of(random)
    sources = [SourceText(ACTORS, "actors.yaml"), SourceText(text, "rules.cedar")]
    try:
        policy = Policy.of_text(*sources)
        fitted = policy.fitted(CATALOG, "hash")
    except PolicyInvalid as invalid:
        tally.refused += 1
        tally.codes |= {finding.diagnostic.code for finding in invalid.findings}
        return
    tally.bundles += 1
    for actor in random.sample(ACTOR_NAMES, 2):
        action = random.choice(["read", "read", "branch_merge"])
        asked: dict[str, Any] = {
            "actor": actor,
            "action": action,
            "branch": random.choice(["main", "a/1"]),
            "target_branch": random.choice(["main", "a/2"]) if action == "branch_merge" else None,
        }
        sight = fitted.sight(**asked)
        ours = seen_by_us(sight, CATALOG, rows)
        theirs, errors = seen_by_cedar(text, policy, asked, rows)
        if may_overflow:
            # Cedar fails where a row makes it look at the sum; for us the rule fails as a whole.
            tally.errors += errors
            assert ours <= theirs, (seed, actor, text, ours - theirs)
        else:
            assert not errors and ours == theirs, (seed, actor, text, ours ^ theirs)
        assert sight.hidden_types == {TypeName(t) for t, c in sight.rows.items() if c == NEVER}
        tally.decisions += sum(map(len, rows.values()))
        tally.allowed += len(ours)
        tally.conditions += sum(condition != NEVER for condition in sight.rows.values())


def run(decisions: int, *, first_seed: int, may_overflow: bool = False) -> Tally:
    tally = Tally()
    seed = first_seed
    while tally.decisions < decisions:
        compare_round(seed, tally, may_overflow=may_overflow)
        seed += 1
    # Random rules that all say yes, or no, or are refused would show nothing.
    assert decisions / 10 < tally.allowed < decisions * 9 / 10
    assert tally.conditions > decisions / 200
    assert tally.refused < 2 * tally.bundles
    assert tally.codes <= {"A013", "A015"}
    return tally


@pytest.mark.parametrize("part", range(4))
def test_conditions_say_of_every_row_what_cedar_says(
    part: int, request: pytest.FixtureRequest
) -> None:
    decisions = 250_000 if request.config.getoption("--deep") else 2_500
    run(decisions, first_seed=part * 10_000_000)


def test_a_rule_that_fails_for_an_actor_never_shows_a_row_that_cedar_hides(
    request: pytest.FixtureRequest,
) -> None:
    decisions = 100_000 if request.config.getoption("--deep") else 1_000
    assert run(decisions, first_seed=900_000_000, may_overflow=True).errors > decisions / 200
