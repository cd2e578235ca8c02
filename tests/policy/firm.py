"""A small firm: people with salaries, the notes on them, and who may see what."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph import Graph
from omnigraph.base.ids import TypeName
from omnigraph.base.types import Scalar, ValueType
from omnigraph.engine.settings import Settings
from omnigraph.lang.plan.conditions import Condition
from omnigraph.lang.plan.ir import ROW, Compare, CompareOp, IdentityOf, Literal, PropertyOf
from omnigraph.lang.schema.catalog import Catalog
from tests.reference.table_policy import Role, Sees, TablePolicy

SCHEMA = """
// The firm.
interface Named { name: String }
node Person implements Named {
    email: String @key
    team: String @index
    salary: I64? @range(0..)   // secret
    badge: String? @unique
    photo: Blob?
    @unique(team, salary)
}
node Note implements Named { text: String }
node Team { name: String @key }
edge Knows: Person -> Person { since: I32?  secret: String? }
edge About: Note -> Person
edge In: Person -> Team @card(0..2)
"""

PERSON, NOTE, TEAM = TypeName("Person"), TypeName("Note"), TypeName("Team")
KNOWS, ABOUT, IN = TypeName("Knows"), TypeName("About"), TypeName("In")

PEOPLE = [("ada", "red", 10), ("bo", "red", 20), ("cy", "blue", 30), ("di", "blue", 40)]
KNOWN = [("ada", "bo", 1), ("bo", "cy", 2), ("cy", "di", 3), ("di", "ada", 4)]


def rows() -> list[dict[str, Any]]:
    people = [
        {
            "type": "Person",
            "data": {
                "email": email,
                "name": email.title(),
                "team": team,
                "salary": pay,
                "badge": f"b{pay}",
                "photo": "base64:AAAA",
            },
        }
        for email, team, pay in PEOPLE
    ]
    teams = [{"type": "Team", "data": {"name": name}} for name in ("red", "blue")]
    known = [
        {"edge": "Knows", "from": one, "to": other, "data": {"since": since, "secret": "s"}}
        for one, other, since in KNOWN
    ]
    ins = [{"edge": "In", "from": email, "to": team} for email, team, _ in PEOPLE]
    return [*people, *teams, *known, *ins]


def make(folder: Path) -> Graph:
    graph = Graph.init(folder / "g.omni", SCHEMA, durability="relaxed", actor="founder")
    graph.load(rows(), mode="append")
    return graph


def equals(name: str, value: object, kind: ValueType = Scalar.STRING) -> Condition:
    field = PropertyOf(ROW, name, kind, is_nullable=True)
    return Compare(CompareOp.EQ, field, Literal(value, kind))  # type: ignore[arg-type]


def is_not(id_: str) -> Condition:
    return Compare(CompareOp.NE, IdentityOf(ROW), Literal(id_, Scalar.STRING))


def opened(
    graph: Graph, roles: Mapping[str, Role], actor: str, settings: Settings | None = None
) -> Graph:
    policy = TablePolicy({"boss": Role(), **roles})
    return Graph.open(
        graph.uri, durability="relaxed", policy=policy, actor=actor, settings=settings
    )


RED = Sees({PERSON: equals("team", "red")})
"""Only people of the red team are there, and what is known between them."""
NO_PAY = Sees(hidden_properties={PERSON: frozenset({"salary"}), KNOWS: frozenset({"secret"})})
"""Salaries and secrets are not there."""
NO_PEOPLE = Sees(hidden_types=frozenset({PERSON}))


def names(catalog: Catalog) -> list[str]:
    return [entity.name for entity in catalog.entities]
