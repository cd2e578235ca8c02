"""Statistics of a view for the planner and for callers: sizes, and values of a small sample.

A count of values is kept by table and column and not by version. A guess that is a few commits old
is as good as a new one, and plans made with it are kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.lang.plan.stats import PlannerStatistics
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.tables.cache import RuntimeCache
from omnigraph.read.tables.tables import tables_of
from omnigraph.read.values.ordering import encode
from omnigraph.read.view import View
from omnigraph.store.statistics import (
    IndexState,
    Statistics,
    TableStatistics,
    gather,
    index_states,
)

__all__ = ["indexes_of", "statistics_of", "storage_statistics"]

# Enough to tell a flag from a name.
SAMPLE_ROWS = 1_000


def statistics_of(
    view: View, cache: RuntimeCache, types: Iterable[TypeName], properties: Sequence[str]
) -> PlannerStatistics:
    """The sizes of these types, and about how many values their properties of these names have.

    They speak of visible rows alone: plans, their expected rows and their times tell no more.
    """
    catalog = view.catalog
    entities = [catalog.node_by_name.get(t) or catalog.edge_by_name[t] for t in types]
    rows = _row_counts(view, cache, entities)
    distinct = {
        (entity.name, name): _values(view, cache, entity, entity.by_name[name].column)
        for entity in entities
        for name in properties
        if rows[entity.name] and _is_worth_a_look(entity, name)
    }
    return PlannerStatistics(rows, distinct)


def storage_statistics(view: View, cache: RuntimeCache) -> Statistics:
    """Sizes, files and index coverage of every table.

    Of a type that the view shows in part only the visible rows are counted and all else is 0:
    files, bytes and indexes hold hidden rows and properties too.
    """
    gathered = gather(view.snapshot)
    if view.scope is None:
        return gathered
    shown = dict(gathered.tables)
    partial = [entity for entity in view.catalog.entities if view.is_partial(entity)]
    counts = _row_counts(view, cache, partial)
    for entity in partial:
        shown[entity.table_key] = TableStatistics(counts[entity.name], 0, 0, 0, {})
    return Statistics(gathered.commit, shown)


def indexes_of(view: View, entity: EntityType) -> list[IndexState]:
    """The indexes of a table. Of one that the view shows in part nothing is told of what is
    stored: it speaks of hidden rows and properties too."""
    states = index_states(view.snapshot, entity)
    if not view.is_partial(entity):
        return states
    hidden = (replace(state, is_built=False, rows=0, step=None) for state in states)
    return [state for state in hidden if state.is_wanted]


@frozen
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


def _row_counts(
    view: View, cache: RuntimeCache, entities: Sequence[EntityType]
) -> dict[TypeName, int]:
    """How many rows of each type are shown."""
    if not view.hides_rows:
        return {e.name: view.snapshot.tables[e.table_key].row_count for e in entities}
    columns = tables_of(view, cache).columns
    return {entity.name: columns.row_count(entity) for entity in entities}


def _values(view: View, cache: RuntimeCache, entity: EntityType, column: str) -> int:
    path = view.snapshot.tables[entity.table_key].ref.path

    def count() -> _Count:
        columns = tables_of(view, cache).columns
        total, sample = columns.row_count(entity), columns.sample(entity, column, SAMPLE_ROWS)
        seen = encode(sample).size
        # Values that nearly all differ go on differing; a few that repeat are all there are.
        is_scarce = 2 * seen < len(sample) or len(sample) == total
        return _Count(seen if is_scarce else seen * total // max(len(sample), 1))

    return cache.get(("values", path, column, view.restriction(entity)), count).count
