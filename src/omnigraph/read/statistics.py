"""What the planner is told of a snapshot: sizes from the manifest, values from a small sample.

A count of values is kept by table and column and not by version. A guess that is a few commits old
is as good as a new one, and plans made with it are kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.base.ids import TypeName
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.plan.stats import Statistics
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.values.ordering import encode
from omnigraph.store.snapshot import Snapshot

__all__ = ["statistics_of"]

# Enough to tell a flag from a name.
SAMPLE_ROWS = 1_000


def statistics_of(
    snapshot: Snapshot, cache: RuntimeCache, types: Iterable[TypeName], properties: Sequence[str]
) -> Statistics:
    """The sizes of these types, and about how many values their properties of these names have."""
    catalog = snapshot.catalog
    entities = [catalog.node_by_name.get(t) or catalog.edge_by_name[t] for t in types]
    rows = {e.name: snapshot.tables[e.table_key].row_count for e in entities}
    distinct = {
        (entity.name, name): _values(snapshot, cache, entity, entity.by_name[name].column)
        for entity in entities
        for name in properties
        if rows[entity.name] and _is_worth_a_look(entity, name)
    }
    return Statistics(rows, distinct)


@dataclass(frozen=True, slots=True)
class _Count:
    count: int

    @property
    def nbytes(self) -> int:
        return 8


def _is_worth_a_look(entity: EntityType, name: str) -> bool:
    """Not where the schema says how many values there are, or where values can't be counted."""
    if name not in entity.by_name or entity.key == (name,):
        return False
    kind: ValueType = entity.by_name[name].type
    return kind not in (Scalar.BOOL, Scalar.BLOB) and not isinstance(
        kind, EnumOf | ListOf | VectorOf
    )


def _values(snapshot: Snapshot, cache: RuntimeCache, entity: EntityType, column: str) -> int:
    entry = snapshot.tables[entity.table_key]

    def count() -> _Count:
        sample: pa.Array = snapshot.dataset(entity).head(column, limit_rows=SAMPLE_ROWS)
        seen = encode(sample).size
        # Values that nearly all differ go on differing; a few that repeat are all there are.
        is_scarce = 2 * seen < len(sample) or len(sample) == entry.row_count
        return _Count(seen if is_scarce else seen * entry.row_count // max(len(sample), 1))

    return cache.get(("values", entry.ref.path, column), count).count
