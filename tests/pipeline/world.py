"""A small schema with one of everything that a load can get wrong, and builders around it."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omnigraph.base.clock import ulid_text
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.limits import InputLimits
from omnigraph.pipeline.rows.conform import Conformed, TypedRows, conform_split
from omnigraph.pipeline.sources.splits import InlineLines
from omnigraph.store.graph_store import GraphStore

INPUT_LIMITS = InputLimits()
NOW_MS = 1_700_000_000_000

SCHEMA = """
node Person {
    email: String @key
    name: String
    age: I32?
    score: F32?
    status: enum(active, gone) @default("active")
    nick: String? @default("none")
    tags: [String]?
    born: Date?
    seen: DateTime?
    face: Vector(2)?
    photo: Blob?
    @range(age, 0..150)
    @check(email, "@")
    @unique(name, age)
}
node City { code: I64 @key  id: String? }
node Day { on: Date @key }
node Note { text: String }
node Pair { a: String  b: I64  @key(a, b) }
edge Knows: Person -> Person { since: Date?  weight: F64? }
edge LivesIn: Person -> City @card(0..1)
edge BornOn: Person -> Day
edge Likes: Person -> Person { @key(src, dst) }
edge Has: Person -> Pair @card(1..2)
"""

CATALOG: Catalog = compile_schema(SourceText(SCHEMA, "world.pg"))


def node(type_: str, *, id_: str | None = None, **data: Any) -> dict[str, Any]:
    return {"type": type_, **({"id": id_} if id_ is not None else {}), "data": data}


def edge(type_: str, from_: Any, to: Any, **data: Any) -> dict[str, Any]:
    return {"edge": type_, "from": from_, "to": to, "data": data}


def person(name: str, **data: Any) -> dict[str, Any]:
    return node("Person", email=f"{name}@x.org", name=name, **data)


def text(lines: Iterable[dict[str, Any] | str]) -> str:
    """Lines of NDJSON; a string is a line as it is."""
    return "".join(f"{o if isinstance(o, str) else json.dumps(o)}\n" for o in lines)


def write(path: Path, *lines: dict[str, Any] | str) -> str:
    path.write_text(text(lines))
    return str(path)


def conformed(
    data: bytes, catalog: Catalog = CATALOG, limits: InputLimits = INPUT_LIMITS
) -> Conformed:
    lines = InlineLines("in.jsonl", 0, data)
    (block,) = conform_split(lines, catalog=catalog, now_ms=NOW_MS, limits=limits)
    return block


def rows(result: Conformed) -> dict[int, dict[str, Any]]:
    """Every row by its line (from 1), without ids that were made up."""
    return rows_by_line(result.rows)


def rows_by_line(found_rows: Iterable[TypedRows]) -> dict[int, dict[str, Any]]:
    found = {}
    for typed in found_rows:
        for line, row in zip(typed.lines.tolist(), typed.batch.to_pylist(), strict=True):
            made_up = not typed.entity.key and row["id"].startswith(ulid_text(NOW_MS << 80)[:10])
            found[line + 1] = {
                "type": typed.entity.name,
                **row,
                "id": None if made_up else row["id"],
            }
    return found


def new_graph(place: Path, schema: str = SCHEMA) -> GraphStore:
    return GraphStore.init(str(place), compile_schema(SourceText(schema, "g.pg")), source=schema)
