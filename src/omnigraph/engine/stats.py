"""Sizes: rows, files and index coverage of every table, without reading a row."""

from omnigraph.base.words import amount
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import StatsRead
from omnigraph.engine.results import IndexInfo
from omnigraph.engine.travel import view_for
from omnigraph.read.statistics import storage_statistics
from omnigraph.store.statistics import Statistics
from omnigraph.write.upkeep import indexed_columns

__all__ = ["indexes", "stats"]


def stats(engine: Engine, request: StatsRead) -> Statistics:
    """What storage knows of every table at one commit."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        return storage_statistics(view, engine.cache)


def indexes(engine: Engine, request: StatsRead) -> list[IndexInfo]:
    """Every index that is built or wanted, by tables and columns, which go by their properties."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        entities = {entity.table_key: entity for entity in view.catalog.entities}
        tables = storage_statistics(view, engine.cache).tables
    found = []
    for key, table in sorted(tables.items()):
        names = {p.column: p.name for p in entities[key].properties}
        wanted = indexed_columns(entities[key])
        for column in sorted({*table.indexed_rows, *wanted}):
            rows = table.indexed_rows.get(column, 0)
            pending = _pending(table.row_count, rows) if column in wanted else None
            name = names.get(column, column)
            found.append(IndexInfo(key, name, "btree", table.row_count, rows, pending))
    return found


def _pending(rows: int, indexed: int) -> str | None:
    """Why an index does not answer for all rows; None: it does."""
    if not rows:
        return "the table is empty"
    if not indexed:
        return "it is not built yet: optimize builds it"
    missing = rows - indexed
    return f"{amount(missing, 'row')} came later: optimize adds them" if missing else None
