"""Import: what another system has written is converted beside the graph, and loaded.

The conversion lies in the graph's staging area and goes however the import ends. All else is a
load: the mode, the engine, what becomes of bad rows, the one commit.
"""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.progress import Progress, silent
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.load.frames import head_of
from omnigraph.engine.load.load import load
from omnigraph.engine.requests import Import
from omnigraph.engine.results import LoadResult
from omnigraph.engine.settings import Settings
from omnigraph.lang.schema.catalog import Catalog

if TYPE_CHECKING:
    from omnigraph.engine.import_plan import ImportPlan
    from omnigraph.pipeline.sources.mapping import MappingArgument

__all__ = ["import_", "import_new"]


def import_(engine: Engine, request: Import, progress: Progress | None = None) -> LoadResult:
    """Import a source, or a plan that was made of it, as one commit."""
    engine.gate.allow(request)
    from omnigraph.pipeline.staging.area import Ending, StagingArea

    plan = _plan_of(engine, request)
    mapping = plan.mapping if request.mapping is None else request.mapping
    catalog = engine.gate.view(head_of(engine.store, request), request).catalog
    _check_fit(plan, mapping, catalog)
    area = StagingArea(engine.store)
    try:
        tell = progress or silent
        tables = plan.write_tables(engine.store, folder=area.new_folder(), tell=tell)
        return load(engine, replace(request, source=tables, mapping=mapping), progress)
    finally:
        area.close(Ending.NOTHING)


def import_new(
    uri: str,
    schema: SourceText,
    request: Import,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> LoadResult:
    """Make a graph and import into it. If that fails, or is only rehearsed, no graph is left."""
    engine = Engine.init(
        uri, schema, settings=settings, actor=request.actor, message=request.message
    )
    try:
        result = engine.run(import_, request, progress)
    except (Exception, KeyboardInterrupt):
        engine.store.remove()
        raise
    finally:
        engine.close()
    if request.dry_run:
        engine.store.remove()
    return result


def _plan_of(engine: Engine, request: Import) -> "ImportPlan":
    from omnigraph.engine.import_plan import ImportPlan

    match request.source:
        case ImportPlan() as plan:
            return plan
        case str() | os.PathLike() as source:
            return ImportPlan.of(source, format=request.import_format, settings=engine.settings)
        case other:
            rule = "pass the path of an export, or an ImportPlan of it"
            raise ArgumentInvalid(argument="source", value=type(other).__name__, rule=rule)


def _check_fit(plan: "ImportPlan", mapping: "MappingArgument", catalog: Catalog) -> None:
    """Raise where a table can't be loaded by the schema, before any is written."""
    from omnigraph.pipeline.sources.mapping import check_rules, feed_for, read_mapping

    rules = read_mapping(mapping, catalog)
    check_rules(rules, [type_.table for type_ in plan.proposal.types])
    for type_ in plan.proposal.types:
        feed_for(type_.table, type_.columns, rules=rules, catalog=catalog, names=(type_.name,))
