"""Loads of actors from whom something is hidden, or who may not write every row.

A load into types that its actor sees whole, and may write whole, is a load like any other. Into
other types it is all or nothing: each row is judged as it was and as it will be, file by file, and
what is wrong is told as far as the actor sees it. It may not overwrite, since that takes every row
away. It may not put bad rows aside, since a rule may tell a bad row by one that is hidden. It may
have no rows of a type with hidden properties, since rows of a load are whole.
"""

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.base.errors import ConstraintViolated, KeyTaken
from omnigraph.engine.permit import Permit
from omnigraph.engine.requests import Load
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType
from omnigraph.pipeline.load.checks import LoadChecks
from omnigraph.pipeline.load.faults import refuse_what_is_wrong
from omnigraph.pipeline.load.load import LoadedTable, LoadMode, StagedLoad
from omnigraph.pipeline.load.resolve import ResolvedLoad
from omnigraph.pipeline.runner import Runner
from omnigraph.read.where.affected import rows_with_ids
from omnigraph.store.arrow import table_schema
from omnigraph.store.datasets import read_fragment_columns
from omnigraph.write.work import Replacement, StagedFiles, TableEdit

__all__ = ["REFUSALS", "PartialLoad", "partial_load"]

REFUSALS = (ConstraintViolated, KeyTaken)
"""What resolving a load raises for its rows."""


def partial_load(permit: Permit, request: Load, staged: StagedLoad) -> "PartialLoad | None":
    """The load as one that must be judged; None: nothing that it meets is hidden or withheld.

    Raises `PolicyDenied` where such a load may not be.
    """
    entities = [table.entity for table in staged.tables.values()]
    if all(map(permit.covers, _met(permit, staged, entities))):
        return None
    scope = permit.view.scope
    has_hidden = scope is not None and any(each.name in scope.lacking for each in entities)
    if has_hidden or staged.mode is LoadMode.OVERWRITE or request.on_error != "fail":
        raise permit.denial()
    return PartialLoad(permit, staged)


def _met(permit: Permit, staged: StagedLoad, loaded: list[EntityType]) -> Iterator[EntityType]:
    """The types whose rows a load brings, or by whose rows it is checked."""
    catalog, names = permit.snapshot.catalog, {each.name for each in loaded}
    yield from loaded
    for edge in catalog.edges:
        ends = (edge.source, edge.target)
        if edge.name in names:
            yield from (catalog.node_by_name[name] for name in ends)
        elif staged.mode is LoadMode.OVERWRITE and not names.isdisjoint(ends):
            yield edge
        elif edge.cardinality.least and edge.source in names:
            yield edge  # which a node must have


class PartialLoad:
    def __init__(self, permit: Permit, staged: StagedLoad) -> None:
        self._permit = permit
        self._staged = staged

    def check_seen(self, runner: Runner) -> None:
        """Raise what is wrong with the rows beside those that the actor sees."""
        view = self._permit.view
        # Rows in files are told of below, in fewer words.
        lookup = view.rows_among if self._staged.is_held else None
        checks = LoadChecks(runner, self._staged, view.snapshot, lookup) if lookup else None
        refuse_what_is_wrong(self._staged, checks)

    def judge(self, resolved: ResolvedLoad) -> None:
        """Raise unless every row may be written."""
        for key, work in resolved.work.tables.items():
            table = self._staged.tables[key]
            match work:
                case TableEdit(rows=rows):
                    ids = table.held[ID].combine_chunks().unique()
                    self._permit.judge(table.entity, rows, touched=ids)
                case StagedFiles(fragments=fragments):
                    self._judge_files(table, fragments)
                case Replacement(fragments=fragments):
                    self._judge_files(table, fragments)
                    self._require_seen(table)
                case _:
                    raise AssertionError(f"a load does no {type(work).__name__}")
            if isinstance(table.entity, EdgeType):
                self._require_ends(table.entity, table)

    def _judge_files(self, table: LoadedTable, fragments: tuple[str, ...]) -> None:
        permit, entity = self._permit, table.entity
        if permit.covers(entity):
            return
        columns = permit.columns_judged(entity)
        for fragment in fragments:
            after = read_fragment_columns(table.location, [fragment], columns)
            before = self._committed(entity, after[ID].combine_chunks())
            permit.judge_images(entity, before, after)
            permit.require_seen(entity, before)

    def _require_seen(self, table: LoadedTable) -> None:
        """Raise if a row of the input meets a hidden one, though it may be equal to it."""
        for file in table.files:
            ids = read_fragment_columns(table.location, [file.fragment], [ID])[ID]
            rows = self._committed(table.entity, ids.combine_chunks().unique())
            self._permit.require_seen(table.entity, rows)

    def _committed(self, entity: EntityType, ids: pa.Array) -> pa.Table:
        columns = [name for name in self._permit.columns_judged(entity) if name != ID]
        return rows_with_ids(self._permit.snapshot, entity, ids, columns)

    def _require_ends(self, edge: EdgeType, table: LoadedTable) -> None:
        """Raise if an edge ends in a node that the actor does not see."""
        for rows in self._rows(table, [SRC, DST]):
            for column, name in ((SRC, edge.source), (DST, edge.target)):
                node = self._permit.snapshot.catalog.node_by_name[name]
                if not self._permit.covers(node):
                    nodes = self._committed(node, rows[column].combine_chunks().unique())
                    self._permit.require_seen(node, nodes)

    @staticmethod
    def _rows(table: LoadedTable, columns: list[str]) -> Iterator[pa.Table]:
        """Columns of all rows of a type, as they came."""
        if table.held.num_rows:
            yield table.held.select(columns)
        else:
            for file in table.files:
                rows = read_fragment_columns(table.location, [file.fragment], columns)
                yield rows.cast(pa.schema([table_schema(table.entity).field(c) for c in columns]))
