"""The questions of set checks, in the small dialect that DuckDB and Spark SQL share.

Every kind of rule has one question: which terms break it? It is asked of all types at once, over
the relations of `relations`. A write that fails wants counts and the first few violations
(`first_violations`). A load that goes on without the rows at fault wants all of them, and no others
(`rows_at_fault`). Which row of several that clash must go is decided here, once:

| broken | the row that goes |
|---|---|
| an id or a unique tuple comes several times | all but the first in the order of the input |
| the graph has it already | every row that comes with it |
| a node at an end is missing | the edge |
| too many edges of a source | the incoming edges past the allowed number, in the input's order |
| too few edges of a source | the source, if it is incoming |

To take a row out may break another rule, so rows at fault are asked for in steps, nodes before
edges, until no step finds any. Where only rows that the graph already has are at fault, nothing
that could be taken out would help: such a violation has no place.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TableKey
from omnigraph.base.violations import MAX_EXAMPLES_PER_RULE
from omnigraph.check.sets.rules import CLAIMS, ENDS, Claim, Degree, End, Reading, SetRule
from omnigraph.check.sets.violations import SetViolation, violation_of
from omnigraph.lang.schema.catalog import EntityType, NodeType

__all__ = [
    "Query",
    "all_violations",
    "count_violations",
    "first_violations",
    "is_any_broken",
    "rows_at_fault",
]

Query = Callable[[str], Sequence[Mapping[str, Any]]]
"""Answers a statement in which the relations go by their names."""

# Which terms break a rule. `place` and `other` are those of rows that an example can name, `kept`
# counts rows that the graph has, `hits` all rows that the example stands for.

CLASHES = """
SELECT rule, term, max(place) AS place, min(place) AS other, count(*) AS found,
       count(*) - count(place) AS kept,
       count(place) - CASE WHEN count(place) = count(*) THEN 1 ELSE 0 END AS hits
FROM claims
GROUP BY rule, term
HAVING count(*) > 1 AND count(place) > 0
"""

LOOSE_ENDS = """
SELECT rule, term, place, place AS other, edges AS found, 0 AS kept, 1 AS total
FROM ends
WHERE NOT EXISTS (SELECT 1 FROM ids WHERE ids.kind = ends.kind AND ids.term = ends.term)
"""

MISSING_NODES = f"""
SELECT rule, term, min(place) AS place, min(place) AS other, sum(found) AS found, 0 AS kept,
       sum(found) AS hits
FROM ({LOOSE_ENDS}) AS loose
GROUP BY rule, term
"""

OUT_OF_BOUNDS = """
SELECT /*+ BROADCAST(bounds) */
       degrees.rule AS rule, term, max(place) AS place, max(source_place) AS other,
       sum(edges) AS found, 0 AS kept, 1 AS hits, least, most
FROM degrees JOIN (VALUES {bounds}) AS bounds(rule, least, most) ON bounds.rule = degrees.rule
GROUP BY degrees.rule, term, least, most
HAVING sum(edges) > most OR (sum(edges) < least AND sum(sources) > 0)
"""

UNBOUNDED = 2**62

# Most writes break nothing. Counting is the cheap way to know, all questions in one statement.
TALLY = "SELECT {number} AS number, count(*) AS broken FROM ({statement}) AS asked"

# Of each rule the first few violations, and how many rows break it in all.
FIRST_OF_EACH_RULE = """
SELECT rule, term, place, other, found, kept, total FROM (
    SELECT *, sum(hits) OVER (PARTITION BY rule) AS total,
           row_number() OVER (PARTITION BY rule ORDER BY place NULLS LAST, term) AS rank
    FROM ({statement}) AS broken
) AS ranked WHERE rank <= {examples} ORDER BY rule, rank
"""

EACH_TERM = """
SELECT rule, term, place, other, found, kept, hits AS total FROM ({statement}) AS broken
ORDER BY rule, term LIMIT {limit}
"""

# Which rows are at fault for terms that break a rule. Loose ends are such rows already.

LATER_CLAIMS = """
SELECT claims.rule AS rule, claims.term AS term, claims.place AS place, broken.other AS other,
       broken.found AS found, broken.kept AS kept, 1 AS total
FROM claims
JOIN (SELECT * FROM ({broken}) AS clashes WHERE rule IN ({rules})) AS broken
ON broken.rule = claims.rule AND broken.term = claims.term
WHERE claims.place IS NOT NULL AND (broken.kept > 0 OR claims.place > broken.other)
"""

# Edges that stay are counted before those that come.
EDGES_PAST_THE_MOST = """
SELECT rule, term, place, place AS other, found, 0 AS kept, 1 AS total FROM (
    SELECT degrees.rule AS rule, degrees.term AS term, degrees.place AS place, most, found,
           sum(edges) OVER (
               PARTITION BY degrees.rule, degrees.term ORDER BY degrees.place NULLS FIRST
               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
           ) AS so_far
    FROM degrees
    JOIN (SELECT * FROM ({broken}) AS bounded WHERE found > most) AS broken
    ON broken.rule = degrees.rule AND broken.term = degrees.term
    WHERE edges > 0
) AS counted WHERE so_far > most
"""

SHORT_SOURCES = """
SELECT degrees.rule AS rule, degrees.term AS term, degrees.place AS place, source_place AS other,
       found, 0 AS kept, 1 AS total
FROM degrees
JOIN (SELECT * FROM ({broken}) AS bounded WHERE found < least) AS broken
ON broken.rule = degrees.rule AND broken.term = degrees.term
WHERE sources > 0
"""


def is_any_broken(readings: Sequence[Reading], query: Query) -> bool:
    """True if a rule is broken. It costs less than to learn which, and most writes break none."""
    return bool(_broken(_questions(readings), query))


def first_violations(readings: Sequence[Reading], query: Query) -> list[SetViolation]:
    """Of each broken rule the first few violations; `total` tells how many rows break it."""
    rules = _rules(readings)
    return [
        violation_of(rules[row["rule"]], row)
        for statement in _broken(_questions(readings), query)
        for row in query(
            FIRST_OF_EACH_RULE.format(statement=statement, examples=MAX_EXAMPLES_PER_RULE)
        )
    ]


def all_violations(
    readings: Sequence[Reading], query: Query, *, limit_terms: int = UNBOUNDED
) -> list[tuple[SetRule, str, SetViolation]]:
    """Every term that breaks a rule, and the sentence about it; of each question so many."""
    rules = _rules(readings)
    return [
        (rules[row["rule"]], row["term"], violation_of(rules[row["rule"]], row))
        for statement in _broken(_questions(readings), query)
        for row in query(EACH_TERM.format(statement=statement, limit=limit_terms))
    ]


def count_violations(readings: Sequence[Reading], query: Query) -> int:
    """How many terms break a rule."""
    return sum(_tallies(_questions(readings), query).values())


def rows_at_fault(
    readings: Sequence[Reading], query: Query, *, limit_rows: int
) -> list[SetViolation]:
    """Every row at fault by the first step that finds any, once for each rule it breaks.

    Of more than `limit_rows` rows at least so many are told. The keys must have been extracted
    `one_by_one`.
    """
    steps = list(_steps(list(_rules(readings).values())))
    statements = [
        f"SELECT {i} AS step, rows_at_fault.* FROM ({step.statement}) AS rows_at_fault"
        for i, step in enumerate(steps)
    ]
    each = max(most for step in steps for most in step.rules_by_type.values())
    found = query(f"{' UNION ALL '.join(statements)} ORDER BY step LIMIT {limit_rows * each}")
    if not found:
        return []
    first = min(row["step"] for row in found)
    rules = steps[first].rules
    return [violation_of(rules[row["rule"]], row) for row in found if row["step"] == first]


# Which terms break a rule -------------------------------------------------------------------------


def _rules(readings: Sequence[Reading]) -> dict[int, SetRule]:
    return {reading.rule.number: reading.rule for reading in readings}


def _questions(readings: Sequence[Reading]) -> list[str]:
    relations = {reading.relation for reading in readings}
    degrees = [rule for rule in _rules(readings).values() if isinstance(rule, Degree)]
    return [
        *([CLASHES] if CLAIMS in relations else []),
        *([MISSING_NODES] if ENDS in relations else []),
        *([_out_of_bounds(degrees)] if degrees else []),
    ]


def _out_of_bounds(rules: Sequence[Degree]) -> str:
    bounds = (
        f"({rule.number}, {rule.least}, {UNBOUNDED if rule.most is None else rule.most})"
        for rule in rules
    )
    return OUT_OF_BOUNDS.format(bounds=", ".join(bounds))


def _broken(questions: Sequence[str], query: Query) -> list[str]:
    """The questions that find something."""
    counts = _tallies(questions, query)
    return [statement for i, statement in enumerate(questions) if counts[i]]


def _tallies(questions: Sequence[str], query: Query) -> dict[int, int]:
    """How many terms each question finds, by its number."""
    tallies = [TALLY.format(number=i, statement=s) for i, s in enumerate(questions)]
    return {row["number"]: row["broken"] for row in query(" UNION ALL ".join(tallies))}


# Which rows are at fault --------------------------------------------------------------------------


@frozen(slots=False)
class _Step:
    """Rules of which rows at fault are taken out at once, and the statement that finds these."""

    rules: Mapping[int, SetRule]
    statement: str

    @property
    def rules_by_type(self) -> Counter[TableKey]:
        """How many rules a row of each type may break."""
        return Counter(_checked_type(rule).table_key for rule in self.rules.values())


def _checked_type(rule: SetRule) -> EntityType:
    return rule.entity if isinstance(rule, Claim) else rule.edge


def _steps(rules: Sequence[SetRule]) -> Iterator[_Step]:
    """Rows that a claim takes out leave edges loose; edges that go leave sources short."""
    claims = [rule for rule in rules if isinstance(rule, Claim)]
    of_nodes = [rule for rule in claims if isinstance(rule.entity, NodeType)]
    of_edges = [rule for rule in claims if rule not in of_nodes]
    ends = [rule for rule in rules if isinstance(rule, End)]
    degrees = [rule for rule in rules if isinstance(rule, Degree)]
    yield from _claim_steps(of_nodes)
    if ends:
        yield _Step(_by_number(ends), LOOSE_ENDS)
    yield from _claim_steps(of_edges)
    if degrees:
        broken = _out_of_bounds(degrees)
        yield _Step(_by_number(degrees), EDGES_PAST_THE_MOST.format(broken=broken))
        yield _Step(_by_number(degrees), SHORT_SOURCES.format(broken=broken))


def _claim_steps(claims: Sequence[Claim]) -> Iterator[_Step]:
    """Ids first: a row whose id is taken claims no tuple either."""
    ids = [claim for claim in claims if not claim.properties]
    tuples = [claim for claim in claims if claim.properties]
    for group in (ids, tuples):
        if group:
            numbers = ", ".join(str(claim.number) for claim in group)
            yield _Step(_by_number(group), LATER_CLAIMS.format(broken=CLASHES, rules=numbers))


def _by_number(rules: Sequence[SetRule]) -> dict[int, SetRule]:
    return {rule.number: rule for rule in rules}
