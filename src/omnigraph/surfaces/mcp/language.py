"""How queries are written, as short as a model needs it. Every example is run by a test."""

from omnigraph.engine.gate import Action
from omnigraph.surfaces.mcp.caller import Caller

__all__ = ["CHANGING", "READING", "guide"]

READING = """\
How queries are written (examples for a schema with Person {name: String @key, age: I32?} and the
edges Knows: Person -> Person, WorksAt: Person -> Company {name: String @key}):

Reading (tool `query`):
  query all() { match { $p: Person } return { $p } limit 20 }
  query one($name: String) { match { $p: Person { name: $name } } return { $p.name, $p.age } }
  query friends($name: String) { match { $p: Person { name: $name }  $p knows $f } return { $f.name } }
  query reach() { match { $p: Person { name: "Ada" }  $p knows{1,3} $f } return { $f.name } }
  query who() { match { $p: Person  $p worksAt $c  $c.name starts_with "A" } return { $p.name, $c.name } }
  query lonely() { match { $p: Person  not { $p knows $_ } } return { $p.name } }
  query ages() { match { $p: Person  $p.age >= 18  $p.age is not null } return { avg($p.age) as mean } }
  query popular() { match { $p: Person  $f knows $p } return { $p.name as name, count($f) as n } order { n desc, name } limit 10 }
  query jobs() { match { $p: Person  optional { $p worksAt $c } } return { $p.name, $c.name } }
  query words($q: String) { match { $p: Person } return { $p.name, bm25($p.name, $q) as score } order { score desc } limit 5 }
An edge is written with a lower-case first letter; the left side is its From between nodes of one
type. Conditions in `match` all hold; `or { … } { … }`, `exists { … }`, `in [1, 2]` and
`contains "x"` are there too. $x.id is the id of a node. Parameters are declared with their types,
and `?` makes one optional.
"""
CHANGING = """
Changing (tool `mutate`; several statements are one commit):
  query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }
  query meet() { insert Knows { from: "Ada", to: "Bob" } }
  query older() { update Person set { age: 37 } where name = "Ada" }
  query part() { delete Knows where from = "Ada" }
  query gone() { delete Person where name = "Bob" }
An `insert` with a key that exists replaces the whole row: properties that it does not name become
null or their default. To change some properties of a node or edge that may exist, use `update`, which
leaves the others alone. Without a key, each `insert` makes one more row.
"""


def guide(caller: Caller) -> str:
    """How to write the queries that an agent may run."""
    return f"{READING}{CHANGING}" if caller.may_use(Action.CHANGE) else READING
