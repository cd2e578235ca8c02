"""Loads: those that a branch has taken, newest first, and what each changed."""

from collections.abc import Iterator
from itertools import islice

from omnigraph.base.choices import EntityKind
from omnigraph.base.errors import CommitReclaimed, DeniedError
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.engine.engine import Engine
from omnigraph.engine.explore_requests import LoadsRead
from omnigraph.engine.history import known
from omnigraph.engine.load.earlier import merged_loads
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.travel import told
from omnigraph.read.changes.filter import kind_of
from omnigraph.read.view import View
from omnigraph.store.commits import Commit, CommitKind

__all__ = ["BrokenRule", "LoadReport", "LoadedTable", "PastLoad", "loads"]


@frozen
class LoadedTable:
    """What a load did to one type. Numbers are None where the caller does not see all rows: whether
    the load wrote to such a type at all is not told either."""

    kind: EntityKind
    type_name: TypeName
    inserted: int | None
    updated: int | None
    deleted: int | None
    row_count: int | None
    """All rows of the type afterwards."""


@frozen
class BrokenRule:
    """How many rows of a load broke one rule."""

    kind: str
    type_name: str | None
    property: str | None
    count: int


@frozen
class LoadReport:
    """What became of the rows of a load."""

    mode: str
    read: int
    loaded: int
    rejected: int
    """Rows in the quarantine."""
    superseded: int
    """Rows that a later one with their id took the place of."""
    rules: tuple[BrokenRule, ...]
    """What the rejected rows broke."""


@frozen
class PastLoad:
    commit: CommitInfo
    load_ids: tuple[str, ...]
    """The names that its callers gave it; of a merge, those of the loads that came with it."""
    tables: tuple[LoadedTable, ...]
    report: LoadReport | None
    """None: the load was made before reports were kept, or the caller does not see all of it."""


def loads(engine: Engine, request: LoadsRead) -> list[PastLoad]:
    """The newest loads of a branch, and merges that brought some."""
    engine.gate.allow(request)
    line = known(engine, request, engine.store.history().line(request.branch))
    named = ((commit, _known_names(engine, request, commit)) for commit in line)
    found = ((c, names) for c, names in named if c.kind is CommitKind.LOAD or names)
    return [_told(engine, request, *each) for each in islice(found, request.limit)]


def _known_names(engine: Engine, request: LoadsRead, commit: Commit) -> frozenset[str]:
    """The names of the loads that came with a commit, without those that were made on branches
    that the actor may not read."""
    if engine.gate.guard is None or commit.merged_parent is None or not commit.load_ids:
        return commit.load_ids
    loads = known(engine, request, merged_loads(engine, commit))
    return commit.load_ids & {load.load_id for load in loads if load.load_id}


def _told(engine: Engine, request: LoadsRead, commit: Commit, names: frozenset[str]) -> PastLoad:
    view = None if engine.gate.guard is None else _view(engine, request, commit)
    is_known = engine.gate.guard is None or view is not None
    # A report counts rows of all types, and names those that were rejected.
    sees_all = engine.gate.guard is None or (view is not None and view.scope is None)
    return PastLoad(
        commit=told(engine, request, commit),
        load_ids=tuple(sorted(names)),
        tables=tuple(_tables(engine, commit, view)) if is_known else (),
        report=_report(commit) if sees_all else None,
    )


def _report(commit: Commit) -> LoadReport | None:
    if (found := commit.load_report) is None:
        return None
    rules = tuple(BrokenRule(**counted) for counted in found["counts"])
    numbers = {name: found[name] for name in ("mode", "read", "loaded", "rejected", "superseded")}
    return LoadReport(**numbers, rules=rules)


def _tables(engine: Engine, commit: Commit, view: View | None) -> Iterator[LoadedTable]:
    catalog = engine.store.schemas.catalog(commit.schema_hash) if view is None else view.catalog
    changes = {change.key: change for change in commit.changes}
    for entity in catalog.entities:
        if view is not None and view.is_partial(entity):
            # Of every load: that one wrote to the type would tell of rows that are hidden.
            yield LoadedTable(kind_of(entity), entity.name, None, None, None, None)
        elif (change := changes.get(entity.table_key)) is not None:
            numbers = (change.inserted, change.updated, change.deleted, change.row_count)
            yield LoadedTable(kind_of(entity), entity.name, *numbers)


def _view(engine: Engine, request: LoadsRead, commit: Commit) -> View | None:
    """What the caller sees of it; None: its rows are not stored any more, or shown to nobody since
    the policy does not fit the schema of that time."""
    try:
        return engine.gate.view(engine.store.snapshot_at(commit.id), request)
    except (CommitReclaimed, DeniedError):
        return None
