"""Who is to blame: the questions of `rules` again, asked so that every row at fault is named.

A write that fails wants counts and a few examples. One that goes on without the rows at fault wants
all of them, and no others. Which row of several that clash must go is decided here, once:

| broken | the row that goes |
|---|---|
| an id or a unique tuple comes several times | all but the first in the order of the input |
| the graph holds it already | every row that comes with it |
| a node at an end is missing | the edge |
| too many edges of a source | the incoming edges past the allowed number, in the input's order |
| too few edges of a source | the source, if it is incoming |

To take a row out may break another rule, so the questions are asked in turn, nodes before edges,
until none finds anything. Where only rows that the graph already holds are at fault, nothing that
could be taken out would help: such a breach has no place.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.base.ids import TableKey
from omnigraph.check.sets.rules import (
    CLASHES,
    DANGLING,
    TALLY,
    Breach,
    Claim,
    Degree,
    End,
    Reading,
    Rule,
    bounds_of,
    breach_of,
)
from omnigraph.lang.schema.catalog import EntityType, NodeType

__all__ = ["Query", "Question", "blamed", "certain", "is_broken", "questions"]

Query = Callable[[str], Sequence[Mapping[str, Any]]]

CLASHING = f"SELECT * FROM ({CLASHES}) AS clashes WHERE rule IN ({{rules}})"

LATER_CLAIMS = """
SELECT claims.rule AS rule, claims.term AS term, claims.place AS place, broken.other AS other,
       broken.found AS found, broken.held AS held, 1 AS total
FROM claims JOIN ({broken}) AS broken ON broken.rule = claims.rule AND broken.term = claims.term
WHERE claims.place IS NOT NULL AND (broken.held > 0 OR claims.place > broken.other)
"""

LOOSE_ENDS = """
SELECT rule, term, place, place AS other, edges AS found, 0 AS held, 1 AS total
FROM ends
WHERE NOT EXISTS (SELECT 1 FROM ids WHERE ids.kind = ends.kind AND ids.term = ends.term)
"""

TOO_MANY = """
SELECT /*+ BROADCAST(bounds) */ degrees.rule AS rule, term, most, sum(edges) AS found
FROM degrees JOIN (VALUES {bounds}) AS bounds(rule, least, most) ON bounds.rule = degrees.rule
GROUP BY degrees.rule, term, most
HAVING sum(edges) > most
"""

# Edges that stay come first, whatever comes.
EDGES_PAST_THE_MOST = """
SELECT rule, term, place, place AS other, found, 0 AS held, 1 AS total FROM (
    SELECT degrees.rule AS rule, degrees.term AS term, place, most, found,
           sum(edges) OVER (
               PARTITION BY degrees.rule, degrees.term ORDER BY place NULLS FIRST
               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
           ) AS so_far
    FROM degrees JOIN ({broken}) AS broken
    ON broken.rule = degrees.rule AND broken.term = degrees.term
    WHERE edges > 0
) AS counted WHERE so_far > most
"""

TOO_FEW = """
SELECT /*+ BROADCAST(bounds) */ degrees.rule AS rule, term, sum(edges) AS found
FROM degrees JOIN (VALUES {bounds}) AS bounds(rule, least, most) ON bounds.rule = degrees.rule
GROUP BY degrees.rule, term, least
HAVING sum(edges) < least AND sum(sources) > 0
"""

SHORT_SOURCES = """
SELECT degrees.rule AS rule, degrees.term AS term, place, source_place AS other, found, 0 AS held,
       1 AS total
FROM degrees JOIN ({broken}) AS broken
ON broken.rule = degrees.rule AND broken.term = degrees.term
WHERE sources > 0
"""


@dataclass(frozen=True)
class Question:
    rules: Mapping[int, Rule]
    broken: str
    """Statement: the terms that break a rule."""
    blamed: str
    """Statement: the rows at fault."""

    @property
    def rules_by_type(self) -> Counter[TableKey]:
        """How many rules a row of each type may break."""
        return Counter(_judged(rule).table_key for rule in self.rules.values())


def questions(readings: Sequence[Reading]) -> list[Question]:
    """The questions that the readings can answer, in the order in which they are asked."""
    rules = {reading.rule.number: reading.rule for reading in readings}
    return list(_questions(list(rules.values())))


def is_broken(asked: Sequence[Question], query: Query) -> bool:
    """Whether any of the questions finds something wrong: cheap, for most writes break nothing."""
    tallies = [TALLY.format(question=i, statement=q.broken) for i, q in enumerate(asked)]
    return any(row["broken"] for row in query(" UNION ALL ".join(tallies)))


def blamed(asked: Sequence[Question], query: Query, *, limit_rows: int) -> list[Breach]:
    """Every row at fault by the first question that finds any, once for each rule it breaks; of
    more than `limit_rows`, at least so many. It wants relations in which rows speak one by one."""
    statements = [
        f"SELECT {i} AS question, blamed.* FROM ({q.blamed}) AS blamed" for i, q in enumerate(asked)
    ]
    each = max(most for question in asked for most in question.rules_by_type.values())
    found = query(f"{' UNION ALL '.join(statements)} ORDER BY question LIMIT {limit_rows * each}")
    if not found:
        return []
    first = min(row["question"] for row in found)
    rules = asked[first].rules
    return [breach_of(rules[row["rule"]], row) for row in found if row["question"] == first]


def certain(readings: Sequence[Reading], *, rejected: frozenset[str | None]) -> list[Reading]:
    """What can be told for sure although rows of the types in `rejected` are left out.

    None among them: of some rows not even the type is known. The node at the end of an edge, or an
    edge that a source lacks, may be among them; a clash or an edge too many stays one.
    """
    if not rejected:
        return list(readings)
    sure = []
    for reading in readings:
        rule = reading.rule
        match rule:
            case End(node=node) if None in rejected or node.name in rejected:
                continue
            case Degree(edge=edge) if None in rejected or edge.name in rejected:
                if edge.cardinality.most is None:
                    continue
                free = replace(edge.cardinality, least=0)
                reading = replace(reading, rule=replace(rule, edge=replace(edge, cardinality=free)))
        sure.append(reading)
    return sure


def _judged(rule: Rule) -> EntityType:
    return rule.entity if isinstance(rule, Claim) else rule.edge


def _questions(rules: Sequence[Rule]) -> Iterator[Question]:
    """Rows that a claim takes out leave edges loose; edges that go leave sources short."""
    claims = [rule for rule in rules if isinstance(rule, Claim)]
    of_nodes = [rule for rule in claims if isinstance(rule.entity, NodeType)]
    of_edges = [rule for rule in claims if rule not in of_nodes]
    ends = [rule for rule in rules if isinstance(rule, End)]
    degrees = [rule for rule in rules if isinstance(rule, Degree)]
    yield from _claims(of_nodes)
    if ends:
        yield Question(_by_number(ends), DANGLING, LOOSE_ENDS)
    yield from _claims(of_edges)
    if degrees:
        bounds = ", ".join(map(bounds_of, degrees))
        for broken, at_fault in ((TOO_MANY, EDGES_PAST_THE_MOST), (TOO_FEW, SHORT_SOURCES)):
            terms = broken.format(bounds=bounds)
            yield Question(_by_number(degrees), terms, at_fault.format(broken=terms))


def _claims(claims: Sequence[Claim]) -> Iterator[Question]:
    """Ids first: a row whose id is taken claims no tuple either."""
    ids = [claim for claim in claims if not claim.properties]
    tuples = [claim for claim in claims if claim.properties]
    for group in (ids, tuples):
        if group:
            clashing = CLASHING.format(rules=", ".join(str(claim.number) for claim in group))
            yield Question(_by_number(group), clashing, LATER_CLAIMS.format(broken=clashing))


def _by_number(rules: Sequence[Rule]) -> dict[int, Rule]:
    return {rule.number: rule for rule in rules}
