"""Analyze into properties: the answer of an algorithm becomes one commit, by the door of mutations.

A node of the answer that is gone when the commit is made gets nothing; one that is new by then
keeps what it has.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

import pyarrow.compute as pc

from omnigraph.base.errors import ArgumentInvalid, NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.progress import Progress, silent
from omnigraph.base.types import Scalar
from omnigraph.base.words import listed
from omnigraph.engine.analytics import analyze
from omnigraph.engine.analytics_requests import AnalyzeInto
from omnigraph.engine.analytics_results import AnalyticsResult
from omnigraph.engine.engine import Engine
from omnigraph.engine.mutate import MutationStaging, MutationWork
from omnigraph.engine.permit import Permit
from omnigraph.engine.results import CommitInfo
from omnigraph.lang.schema.catalog import Catalog, NodeType
from omnigraph.read.analytics.algorithms import Algorithm, Degrees, PathPairs
from omnigraph.read.analytics.named_types import edge_types_of, node_types_of
from omnigraph.store.commits import CommitKind
from omnigraph.store.snapshot import Snapshot
from omnigraph.write.work import CommitNote, TableEdit, Target, Writer
from omnigraph.write.writer import write

__all__ = ["analyze_into"]

PROPERTY = re.compile("[a-z_][A-Za-z0-9_]*")
"""What a schema can call a property."""


def analyze_into(
    engine: Engine, request: AnalyzeInto, progress: Progress | None = None
) -> AnalyticsResult:
    """Run an algorithm, and give its answer to the nodes as one commit."""
    engine.gate.allow(request)
    if isinstance(request.algorithm, PathPairs):
        rule = "paths between pairs belong to no node, so they can't be written"
        raise ArgumentInvalid("write_to", None, rule, "leave it out")
    _check_columns(request)
    # Before a long run: what can't be written now can't be written after it.
    _targets(Permit.of(engine.gate, engine.store.snapshot(request.branch), request), request)
    result = analyze(engine, request.read, progress)
    (progress or silent)("write", 0, 1)
    written = write(
        engine.store,
        _AnalyticsWriter(engine, request, result, now_ms=engine.store.clock.now_ms()),
        to=Target(request.branch),
        note=CommitNote(CommitKind.MUTATION, request.actor, request.message),
        faults=engine.faults,
    )
    assert written is not None, "an analysis is never there already"
    return replace(
        result,
        written=written.work.by_type,
        commit=CommitInfo.of(written.commit) if written.commit is not None else None,
    )


def _columns_of(algorithm: Algorithm) -> dict[str, bool]:
    """The columns of an answer that can be written; true of those with fractions."""
    if isinstance(algorithm, Degrees):
        return dict.fromkeys(("degree", "in_degree", "out_degree"), False)
    return {algorithm.column: algorithm.column == "score"}


def _check_columns(request: AnalyzeInto) -> None:
    known = tuple(_columns_of(request.algorithm))
    if not request.properties:
        raise ArgumentInvalid("write_to", None, "it must name a property")
    for column in request.properties.values():
        if column not in known:
            raise NameMissing(f"column of {request.algorithm.name}", column, known)


@frozen(kw_only=True, slots=False)
class _AnalyticsWork(MutationWork):
    by_type: Mapping[str, int]


@frozen(slots=False)
class _AnalyticsWriter(Writer[_AnalyticsWork]):
    """Gives nodes their values at any snapshot: nodes that are gone by then get none."""

    engine: Engine
    request: AnalyzeInto
    result: AnalyticsResult
    now_ms: int

    def prepare(self, snapshot: Snapshot) -> _AnalyticsWork:
        permit = Permit.of(self.engine.gate, snapshot, self.request)
        staging = MutationStaging(permit, {}, now_ms=self.now_ms)
        table = self.result.table
        for node in _targets(permit, self.request):
            mine = table.filter(pc.equal(table["type"], node.name))
            values = {
                property_: mine[column].combine_chunks()
                for property_, column in self.request.properties.items()
                if property_ in node.by_name
            }
            staging.assign(node.name, mine["id"].combine_chunks(), values)
        work = staging.finish(self.request.algorithm.name, self.engine.sql)
        return _AnalyticsWork(
            **{f.name: getattr(work, f.name) for f in fields(work)},
            by_type=_counts(work, snapshot.catalog),
        )


def _counts(work: MutationWork, catalog: Catalog) -> dict[str, int]:
    edits = {n.name: work.tables.get(n.table_key) for n in catalog.nodes}
    return {
        str(name): edit.rows.upserts.num_rows
        for name, edit in edits.items()
        if isinstance(edit, TableEdit)
    }


def _targets(permit: Permit, request: AnalyzeInto) -> list[NodeType]:
    """The node types that get a value: those at the edges that have a property for it."""
    catalog = permit.view.catalog
    edges = edge_types_of(catalog, request.edges)
    nodes = [catalog.node_by_name[name] for name in node_types_of(edges)]
    kinds = _columns_of(request.algorithm)
    for name, column in request.properties.items():
        has_fractions = kinds[column] or (request.weight is not None and column != "label")
        having = [node for node in nodes if name in node.by_name]
        if not having:
            raise _no_property(nodes, name, has_fractions=has_fractions)
        for node in having:
            _check_fit(node, name, column, has_fractions=has_fractions)
    return [node for node in nodes if request.properties.keys() & node.by_name.keys()]


def _no_property(nodes: Iterable[NodeType], name: str, *, has_fractions: bool) -> ArgumentInvalid:
    if not PROPERTY.fullmatch(name):
        rule = "a property starts with a lower-case letter or _, and has letters, digits and _"
        return ArgumentInvalid("write_to", name, rule, "name a property of the nodes")
    names = [str(node.name) for node in nodes]
    line = f"{name}: {'F64' if has_fractions else 'I64'}?"
    return ArgumentInvalid(
        "write_to",
        name,
        f"{listed(names)} has no property of this name",
        f"add the line `{line}` to node {names[0]} of the schema, and apply it",
    )


def _check_fit(node: NodeType, name: str, column: str, *, has_fractions: bool) -> None:
    property_ = node.by_name[name]
    type_, what = property_.type, f"{node.name}.{name}"
    is_whole = isinstance(type_, Scalar) and type_.is_integer
    is_float = isinstance(type_, Scalar) and type_.is_float
    if not (is_float or (is_whole and not has_fractions)):
        wanted = "F64" if has_fractions else "I64"
        rule = f"{what} is a {type_}, which can't hold {column}"
        raise ArgumentInvalid("write_to", name, rule, f"write to a property of type {wanted}?")
    if name in node.key:
        rule = f"{what} is part of the key, which never changes"
        raise ArgumentInvalid("write_to", name, rule, "write to another property")
