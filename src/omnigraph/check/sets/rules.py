"""Set checks: the rules of a schema that need more than one row to judge, written once.

Every rule is put to one of three questions, each a statement in the small dialect that DuckDB and
Spark SQL share. A question is asked of all types at once, over relations of keys and nothing else:

| relation | a row says |
|---|---|
| claims | this row claims this term (an id, the text of a unique tuple) for itself alone |
| ends | these edges need a node with this id |
| ids | there is a node with this id |
| degrees | this node is the source of so many edges, or is a source at all |

`place` is the position of an incoming row among the incoming rows of its type, and null for a row
that the graph already holds. Who runs the statements decides where the rows come from:
`write.check` looks up what a small write is about, `pipeline.check` reads the keys of whole tables.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.ids import TableKey
from omnigraph.base.violations import EXAMPLES_PER_KIND, Violation, Violations
from omnigraph.base.words import amount
from omnigraph.lang.schema.catalog import (
    DST,
    ID,
    SRC,
    Catalog,
    EdgeType,
    EntityType,
    NodeType,
    Unique,
)
from omnigraph.store.identity import derive_ids, key_columns, shown_id

__all__ = [
    "CLAIMS",
    "CLASHES",
    "DANGLING",
    "ENDS",
    "IDS",
    "RELATIONS",
    "TALLY",
    "Breach",
    "Claim",
    "Degree",
    "End",
    "Part",
    "Reading",
    "Rule",
    "Touch",
    "bounds_of",
    "breach_of",
    "breaches",
    "extract",
    "extract_at",
    "plan_readings",
    "report",
]

CLAIMS, ENDS, IDS, DEGREES = "claims", "ends", "ids", "degrees"

RELATIONS: Mapping[str, pa.Schema] = {
    CLAIMS: pa.schema([("rule", pa.int32()), ("term", pa.string()), ("place", pa.int64())]),
    ENDS: pa.schema(
        [
            ("rule", pa.int32()),
            ("kind", pa.int32()),
            ("term", pa.string()),
            ("edges", pa.int64()),
            ("place", pa.int64()),
        ]
    ),
    IDS: pa.schema([("kind", pa.int32()), ("term", pa.string())]),
    DEGREES: pa.schema(
        [
            ("rule", pa.int32()),
            ("term", pa.string()),
            ("edges", pa.int64()),
            ("place", pa.int64()),
            ("sources", pa.int64()),
            ("source_place", pa.int64()),
        ]
    ),
}

CLASHES = """
SELECT rule, term, max(place) AS place, min(place) AS other, count(*) AS found,
       count(*) - count(place) AS held,
       count(place) - CASE WHEN count(place) = count(*) THEN 1 ELSE 0 END AS hits
FROM claims
GROUP BY rule, term
HAVING count(*) > 1 AND count(place) > 0
"""

DANGLING = """
SELECT rule, term, min(place) AS place, min(place) AS other, sum(edges) AS found, 0 AS held,
       sum(edges) AS hits
FROM ends
WHERE NOT EXISTS (SELECT 1 FROM ids WHERE ids.kind = ends.kind AND ids.term = ends.term)
GROUP BY rule, term
"""

CROWDED = """
SELECT /*+ BROADCAST(bounds) */
       degrees.rule AS rule, term, max(place) AS place, max(source_place) AS other,
       sum(edges) AS found, 0 AS held, 1 AS hits
FROM degrees JOIN (VALUES {bounds}) AS bounds(rule, least, most) ON bounds.rule = degrees.rule
GROUP BY degrees.rule, term, least, most
HAVING sum(edges) > most OR (sum(edges) < least AND sum(sources) > 0)
"""

# Most writes break nothing. Counting is the cheap way to know, all questions in one statement.
TALLY = "SELECT {question} AS question, count(*) AS broken FROM ({statement}) AS asked"

# Of each rule the first few breaches, and how many rows break it in all.
FIRST_OF_EACH_RULE = """
SELECT rule, term, place, other, found, held, total FROM (
    SELECT *, sum(hits) OVER (PARTITION BY rule) AS total,
           row_number() OVER (PARTITION BY rule ORDER BY place NULLS LAST, term) AS rank
    FROM ({statement}) AS broken
) AS ranked WHERE rank <= {examples} ORDER BY rule, rank
"""

UNBOUNDED = 2**62


@dataclass(frozen=True)
class Claim:
    """No two rows of a type share the id (no properties) or the tuple of properties."""

    number: int
    entity: EntityType
    properties: tuple[str, ...]


@dataclass(frozen=True)
class End:
    """The node at one end of an edge exists."""

    number: int
    edge: EdgeType
    column: str
    node: NodeType


@dataclass(frozen=True)
class Degree:
    """A source has as many edges of a type as the type allows."""

    number: int
    edge: EdgeType
    source: NodeType


Rule = Claim | End | Degree


class Part(Enum):
    INCOMING = "incoming"
    """Rows that the write brings."""
    KEPT = "kept"
    """Rows that the graph holds and that stay as they are."""


@dataclass(frozen=True)
class Reading:
    """A part of a table that a relation takes in, on behalf of a rule."""

    relation: str
    rule: Rule
    entity: EntityType
    part: Part

    @property
    def columns(self) -> tuple[str, ...]:
        """What must be read of the table."""
        match self.rule:
            case Claim(entity=entity, properties=properties) if properties:
                return key_columns(replace(entity, key=properties))
            case End(column=column) if self.relation == ENDS:
                return (column,)
            case Degree() if isinstance(self.entity, EdgeType):
                return (SRC,)
            case Claim() | End() | Degree():
                return (ID,)


@dataclass(frozen=True, slots=True)
class Touch:
    """What a write does to one table, as far as set checks care."""

    adds: bool
    """Rows come, new or in place of old ones."""
    removes: bool
    """Rows go and nothing takes their place."""
    ids_may_clash: bool
    """Rows come that must not be there yet."""


@dataclass(frozen=True)
class Breach:
    """One term of one rule, the incoming row to blame for it, and what is wrong."""

    rule: int
    violation: Violation
    entity: EntityType
    place: int | None
    """Among the incoming rows of `entity`; None where a kept row is to blame."""
    total: int
    """How many rows break the rule, of which this is one."""
    is_taken: bool
    """An id that came is already in the graph."""


def plan_readings(catalog: Catalog, touched: Mapping[TableKey, Touch]) -> list[Reading]:
    """What must be read to judge a write: nothing of types that it can't have harmed."""
    untouched = Touch(adds=False, removes=False, ids_may_clash=False)
    touches = {e.table_key: touched.get(e.table_key, untouched) for e in catalog.entities}
    readings: list[Reading] = []
    for rule in _rules(catalog):
        match rule:
            case Claim():
                readings += _claim_readings(rule, touches[rule.entity.table_key])
            case End():
                edges, nodes = touches[rule.edge.table_key], touches[rule.node.table_key]
                readings += _end_readings(rule, edges, nodes)
            case Degree():
                edges, nodes = touches[rule.edge.table_key], touches[rule.source.table_key]
                readings += _degree_readings(rule, edges, nodes)
    return readings


def extract(reading: Reading, rows: pa.Table, first_place: int) -> pa.Table:
    """What rows of a table say in a relation; the first of them stands at `first_place`."""
    return extract_at(reading, rows, np.arange(first_place, first_place + rows.num_rows))


def extract_at(
    reading: Reading, rows: pa.Table, places: np.ndarray, *, each: bool = False
) -> pa.Table:
    """What rows at these places say. With `each`, every row says it for itself (see `blame`)."""
    is_kept = np.full(rows.num_rows, reading.part is Part.KEPT)
    rows = rows.append_column("place", pa.array(places, pa.int64(), mask=is_kept))
    schema = RELATIONS[reading.relation]
    said = _said(reading, rows, _one_by_one if each else _counted)
    count = len(said["term"])
    columns = [said.get(f.name, pa.scalar(None, f.type)) for f in schema]
    return pa.table(
        [c if isinstance(c, pa.Array | pa.ChunkedArray) else pa.repeat(c, count) for c in columns],
        schema=schema,
    )


def breaches(
    readings: Sequence[Reading], query: Callable[[str], Sequence[Mapping[str, Any]]]
) -> list[Breach]:
    """Ask the questions that the readings are for, and tell what is wrong in words."""
    rules = {reading.rule.number: reading.rule for reading in readings}
    asked = {reading.relation for reading in readings}
    degrees = [rule for rule in rules.values() if isinstance(rule, Degree)]
    statements = [
        *([CLASHES] if CLAIMS in asked else []),
        *([DANGLING] if ENDS in asked else []),
        *([CROWDED.format(bounds=", ".join(map(bounds_of, degrees)))] if degrees else []),
    ]
    tallies = [TALLY.format(question=i, statement=s) for i, s in enumerate(statements)]
    broken = [row["question"] for row in query(" UNION ALL ".join(tallies)) if row["broken"]]
    return [
        breach_of(rules[row["rule"]], row)
        for question in sorted(broken)
        for row in query(
            FIRST_OF_EACH_RULE.format(statement=statements[question], examples=EXAMPLES_PER_KIND)
        )
    ]


def report(
    found: Sequence[Breach], place: Callable[[EntityType, int], tuple[str, int]] | None = None
) -> Violations:
    """Breaches as a report; `place` tells the file and line of an incoming row."""
    violations = Violations()
    counted: set[int] = set()
    for breach in found:
        examples = sum(other.rule == breach.rule for other in found)
        count = 1 if breach.rule in counted else 1 + breach.total - examples
        counted.add(breach.rule)
        violation = breach.violation
        if place is not None and breach.place is not None:
            file, line = place(breach.entity, breach.place)
            violation = replace(violation, file=file, line=line)
        violations.add(violation, count=count)
    return violations


# Which rules a write can break --------------------------------------------------------------------


def _rules(catalog: Catalog) -> Iterator[Rule]:
    number = itertools.count()
    for entity in catalog.entities:
        yield Claim(next(number), entity, ())
        for constraint in entity.constraints:
            if isinstance(constraint, Unique):
                yield Claim(next(number), entity, constraint.properties)
    for edge in catalog.edges:
        source, target = catalog.node_by_name[edge.source], catalog.node_by_name[edge.target]
        yield End(next(number), edge, SRC, source)
        yield End(next(number), edge, DST, target)
        if not edge.cardinality.is_free:
            yield Degree(next(number), edge, source)


def _claim_readings(rule: Claim, touch: Touch) -> list[Reading]:
    if not touch.adds or not (rule.properties or touch.ids_may_clash):
        return []
    return [Reading(CLAIMS, rule, rule.entity, part) for part in Part]


def _end_readings(rule: End, edges: Touch, nodes: Touch) -> list[Reading]:
    ends = [
        *([Reading(ENDS, rule, rule.edge, Part.INCOMING)] if edges.adds else []),
        *([Reading(ENDS, rule, rule.edge, Part.KEPT)] if nodes.removes else []),
    ]
    return [*ends, *(Reading(IDS, rule, rule.node, part) for part in Part if ends)]


def _degree_readings(rule: Degree, edges: Touch, nodes: Touch) -> list[Reading]:
    least = rule.edge.cardinality.least
    if not (edges.adds or edges.removes or (least and nodes.adds)):
        return []
    return [
        *(Reading(DEGREES, rule, rule.edge, part) for part in Part),
        *(Reading(DEGREES, rule, rule.source, part) for part in Part if least),
    ]


# What rows say ------------------------------------------------------------------------------------


def _said(
    reading: Reading, rows: pa.Table, count: Callable[[pa.Table, str], tuple[Any, Any, Any]]
) -> dict[str, Any]:
    rule = reading.rule
    number = pa.scalar(rule.number, pa.int32())
    match rule:
        case Claim(properties=()):
            return {"rule": number, "term": rows[ID], "place": rows["place"]}
        case Claim(entity=entity, properties=properties):
            tuples = derive_ids(replace(entity, key=properties), _by_name(rows))
            # A null in the tuple exempts the row.
            there = tuples.is_valid()
            place = rows["place"].filter(there)
            return {"rule": number, "term": tuples.filter(there), "place": place}
        case End(column=column, node=node):
            kind = pa.scalar(node.id, pa.int32())
            if reading.relation == IDS:
                return {"kind": kind, "term": rows[ID]}
            term, edges, place = count(rows, column)
            return {"rule": number, "kind": kind, "term": term, "edges": edges, "place": place}
        case Degree():
            one, none = pa.scalar(1, pa.int64()), pa.scalar(0, pa.int64())
            if isinstance(reading.entity, NodeType):
                place = {"source_place": rows["place"]}
                return {"rule": number, "term": rows[ID], "edges": none, "sources": one, **place}
            term, edges, place = count(rows, SRC)
            return {"rule": number, "term": term, "edges": edges, "sources": none, "place": place}


def _by_name(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: rows[name] for name in rows.column_names}


def _counted(rows: pa.Table, column: str) -> tuple[Any, Any, Any]:
    """Each value once, how often it stands there, and where last: fewer rows to send around."""
    every = pc.CountOptions(mode="all")
    counted = rows.group_by(column).aggregate([("place", "count", every), ("place", "max")])
    return counted[column], counted["place_count"], counted["place_max"]


def _one_by_one(rows: pa.Table, column: str) -> tuple[Any, Any, Any]:
    return rows[column], pa.scalar(1, pa.int64()), rows["place"]


# What is wrong, in words --------------------------------------------------------------------------


def bounds_of(rule: Degree) -> str:
    bounds = rule.edge.cardinality
    return f"({rule.number}, {bounds.least}, {UNBOUNDED if bounds.most is None else bounds.most})"


def breach_of(rule: Rule, row: Mapping[str, Any]) -> Breach:
    term, place = row["term"], row["place"]
    found, total = int(row["found"]), int(row["total"])
    match rule:
        case Claim(entity=entity, properties=properties):
            is_held = row["held"] > 0
            holder = "is already in the graph" if is_held else f"comes {found} times"
            if not properties:
                message = f"{entity.name} {shown_id(entity, term)} {holder}"
                kind, name, entity_id = "key", None, term
            else:
                name = ", ".join(properties)
                message = f"{entity.name}: {name} must be unique, and {term} {holder}"
                kind, entity_id = "unique", None
            violation = Violation(kind, message, entity.name, name, entity_id)
            return Breach(
                rule.number, violation, entity, place, total, is_taken=is_held and not properties
            )
        case End(edge=edge, column=column, node=node):
            end, id_ = "from" if column == SRC else "to", shown_id(node, term)
            message = (
                f'{edge.name}: "{end}" is {id_}, and there is no such {node.name}'
                if place is not None
                else f"{node.name} {id_} would be gone, and {edge.name} edges need it"
            )
            violation = Violation("endpoint", message, edge.name, end, term)
            return Breach(rule.number, violation, edge, place, total, is_taken=False)
        case Degree(edge=edge, source=source):
            bounds = edge.cardinality
            allowed = f"{bounds.least}..{'*' if bounds.most is None else bounds.most}"
            message = (
                f"{source.name} {shown_id(source, term)} would have "
                f"{amount(found, f'{edge.name} edge')}, "
                f"and {allowed} are allowed"
            )
            violation = Violation("cardinality", message, edge.name, None, term)
            if found < bounds.least:
                return Breach(rule.number, violation, source, row["other"], total, is_taken=False)
            return Breach(rule.number, violation, edge, place, total, is_taken=False)
