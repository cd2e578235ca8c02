"""Sizes: rows, files and index coverage of every table, without reading a row."""

from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import StatsRead
from omnigraph.engine.results import IndexInfo
from omnigraph.engine.travel import view_for
from omnigraph.read.statistics import storage_statistics
from omnigraph.store.statistics import Statistics

__all__ = ["indexes", "stats"]


def stats(engine: Engine, request: StatsRead) -> Statistics:
    """What storage knows of every table at one commit."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        return storage_statistics(view, engine.cache)


def indexes(engine: Engine, request: StatsRead) -> list[IndexInfo]:
    """Every index, in the order of tables and columns, which go by the names of properties."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        entities = view.catalog.entities
        names = {(e.table_key, p.column): p.name for e in entities for p in e.properties}
        tables = storage_statistics(view, engine.cache).tables
    return [
        IndexInfo(key, names.get((key, column), column), "btree", table.row_count, rows)
        for key, table in sorted(tables.items())
        for column, rows in sorted(table.indexed_rows.items())
    ]
