"""Sizes: rows, files and index coverage of every table, without reading a row."""

from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import StatsRead
from omnigraph.engine.results import IndexInfo
from omnigraph.engine.travel import view_for
from omnigraph.read.statistics import indexes_of, storage_statistics
from omnigraph.store.indexes import IndexChange, IndexStep
from omnigraph.store.statistics import Statistics

__all__ = ["indexes", "stats"]

DOES = {
    IndexChange.BUILD: "optimize builds it",
    IndexChange.EXTEND: "optimize adds them",
    IndexChange.REPLACE: "optimize builds it anew",
    IndexChange.DROP: "optimize drops it",
}


def stats(engine: Engine, request: StatsRead) -> Statistics:
    """What storage knows of every table at one commit."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        return storage_statistics(view, engine.cache)


def indexes(engine: Engine, request: StatsRead) -> list[IndexInfo]:
    """Every index that is built or wanted, by tables and columns, which go by their properties."""
    engine.gate.allow(request)
    found = []
    with view_for(engine, request) as view:
        tables = storage_statistics(view, engine.cache).tables
        for entity in sorted(view.catalog.entities, key=lambda entity: entity.table_key):
            names = {p.column: p.name for p in entity.properties}
            found += [
                IndexInfo(
                    table=entity.table_key,
                    column=names.get(state.index.column, state.index.column),
                    kind=state.index.kind.value,
                    declared=state.is_wanted,
                    built=state.is_built,
                    rows=tables[entity.table_key].row_count,
                    rows_indexed=state.rows,
                    pending=_pending(state.step),
                )
                for state in indexes_of(view, entity)
            ]
    return found


def _pending(step: IndexStep | None) -> str | None:
    if step is None:
        return None
    return step.why if step.change is IndexChange.WAIT else f"{step.why}: {DOES[step.change]}"
