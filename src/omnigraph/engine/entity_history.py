"""The history of one entity: the commits of a line that changed it, newest first.

Only commits that wrote to its table are looked at, and of those one row each: how many rows a
commit changed does not matter. A page ends early when many commits were looked at.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa

from omnigraph.base.choices import ChangeOp
from omnigraph.base.errors import (
    ArgumentInvalid,
    CommitReclaimed,
    DeniedError,
    EntityMissing,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId, TypeId
from omnigraph.base.types import Scalar
from omnigraph.base.words import is_whole
from omnigraph.engine.blob import entity_type
from omnigraph.engine.cursor import packed, unpacked
from omnigraph.engine.engine import Engine
from omnigraph.engine.explore_requests import EntityHistoryRead
from omnigraph.engine.results import CommitInfo
from omnigraph.engine.told_values import told_blob, told_value
from omnigraph.engine.travel import told, view_for
from omnigraph.lang.schema.catalog import DST, SRC, EdgeType, EntityType, NodeType
from omnigraph.read.context import Budget
from omnigraph.read.view import View
from omnigraph.store.arrays import with_short_floats
from omnigraph.store.commits import Commit, CommitKind

__all__ = ["EntityChange", "EntityHistory", "PropertyChange", "entity_history"]

PREFIX = "ogh1_"
TokenForm = tuple[str, str, str, str]
"""Of a page token: the next commit, and the kind, type and id of the entity."""

MAX_DIGESTED_BYTES = 1 << 20

Ends = Literal["gone", "hidden"]

Image = dict[str, Any]
"""What is told of an entity at one commit, by names of properties; blobs and vectors by size."""


class _Unknown:
    """No image was read yet."""


UNKNOWN = _Unknown()


@frozen
class PropertyChange:
    property: str
    """Of an edge also `from` and `to`."""
    before: Any
    after: Any


@frozen
class EntityChange:
    """What one commit did to an entity."""

    commit: CommitInfo
    op: ChangeOp
    changes: tuple[PropertyChange, ...]


@frozen
class EntityHistory:
    """A page of the history of an entity, newest first."""

    graph_commit_id: CommitId
    """The commit that the history leads to."""
    entries: tuple[EntityChange, ...]
    next_page_token: str | None
    """None: there is no more, or no more can be told."""
    ends: Ends | None
    """Why nothing earlier can be told, where that is so: rows of earlier commits are not stored any
    more, or lie on a branch that the caller may not read."""


def entity_history(engine: Engine, request: EntityHistoryRead) -> EntityHistory:
    """What commits have made of an entity, along the line of a branch or of a commit."""
    engine.gate.allow(request)
    asked = (request.kind, request.type_name, request.entity_id)
    start: CommitId | None = None
    if request.page_token is not None:
        token: TokenForm = unpacked(PREFIX, request.page_token, TokenForm)
        if token[1:] != asked:
            rule = "it is of another entity"
            raise ArgumentInvalid("page_token", None, rule, "ask for the first page without it")
        start = CommitId(token[0])
    with view_for(engine, request) as view:
        type_ = entity_type(view.catalog, request.kind, request.type_name)
        head = view.commit.id
    if start is not None and all(c.id != start for c in engine.store.history().line_of(head)):
        rule = "it is of another history"
        raise ArgumentInvalid("page_token", None, rule, "ask for the first page without it")
    if not is_whole(request.entity_id):
        raise EntityMissing(type_name=type_.name, entity_id=request.entity_id)
    walk = _Walk(engine, request, type_.id)
    entries = [*walk.entries(start or head)]
    if not entries and start is None and walk.next is None and walk.ends is None:
        if not _is_seen(engine, request):
            raise EntityMissing(type_name=type_.name, entity_id=request.entity_id)
        # The branch shows what is hidden where its commits were made.
        walk.ends = "hidden"
    more = None if walk.next is None else packed(PREFIX, [walk.next, *asked])
    return EntityHistory(head, tuple(entries), more, walk.ends)


def _is_seen(engine: Engine, request: EntityHistoryRead) -> bool:
    with view_for(engine, request) as view:
        type_ = entity_type(view.catalog, request.kind, request.type_name)
        return bool(view.rows_of(type_, pa.array([request.entity_id], pa.string()), []).num_rows)


class _Walk:
    """Back along a line. `next` and `ends` say, afterwards, how it ended."""

    def __init__(self, engine: Engine, request: EntityHistoryRead, type_id: TypeId) -> None:
        self._engine = engine
        self._request = request
        self._type = type_id
        self._history = engine.store.history()
        self._budget = Budget(timeout_s=request.timeout_s, cancel=request.cancel)
        self.next: CommitId | None = None
        self.ends: Ends | None = None

    def entries(self, start: CommitId) -> Iterator[EntityChange]:
        found = looked_at = 0
        known: Image | _Unknown | None = UNKNOWN
        limits = self._engine.settings.read_limits
        # Under a policy every commit counts: which of them wrote to the table tells of hidden rows.
        is_guarded = self._engine.gate.guard is not None
        most = limits.max_history_commits if is_guarded else limits.max_history_rows
        for commit in self._history.line_of(start):
            self._budget.check("look through the history")
            if not self._is_readable(commit.id) or not self._is_readable(commit.parent):
                self.ends = "hidden"
                return
            is_looked_at = self._may_have_changed(commit)
            if is_looked_at:
                try:
                    after = self._image(commit.id) if isinstance(known, _Unknown) else known
                    before = None if commit.parent is None else self._image(commit.parent)
                except CommitReclaimed:
                    self.ends = "gone"
                    return
                except DeniedError:
                    self.ends = "hidden"
                    return
                # The parent's rows stay as they are until the next commit that is looked at. Under
                # a policy the other branch of that commit may show them differently.
                known = UNKNOWN if is_guarded else before
                if (change := self._change(commit, before, after)) is not None:
                    found += 1
                    yield change
            looked_at += is_guarded or is_looked_at
            if found == self._request.limit or looked_at == most:
                self.next = commit.parent
                return

    def _is_readable(self, commit: CommitId | None) -> bool:
        """True if the caller may read the branch that the commit was made on."""
        if commit is None or self._engine.gate.guard is None:
            return True
        made_on = self._history.get(commit).branch
        return self._engine.gate.allows(self._request, made_on)

    def _may_have_changed(self, commit: Commit) -> bool:
        """True if the commit has written to the table; of an edge that a policy may hide, or show
        since one of its ends has changed, also to those."""
        if commit.kind is CommitKind.SCHEMA:
            return True
        type_ = self._engine.store.schemas.catalog(commit.schema_hash).by_id.get(self._type)
        if type_ is None or commit.kind.keeps_rows:
            return False
        keys = {type_.table_key}
        if isinstance(type_, EdgeType) and self._engine.gate.guard is not None:
            nodes = self._engine.store.schemas.catalog(commit.schema_hash).node_by_name
            keys |= {nodes[end].table_key for end in (type_.source, type_.target)}
        return any(change.key in keys for change in commit.changes)

    def _image(self, commit: CommitId) -> Image | None:
        """The entity as the caller sees it at a commit; None: it is not there."""
        request = replace(self._request, moment=commit, is_branch_named=False)
        with view_for(self._engine, request) as view:
            type_ = view.catalog.by_id.get(self._type)
            if not isinstance(type_, NodeType | EdgeType):
                return None
            return _image(view, type_, self._request.entity_id)

    def _change(
        self, commit: Commit, before: Image | None, after: Image | None
    ) -> EntityChange | None:
        if before == after:
            return None
        op: ChangeOp = "insert" if before is None else "delete" if after is None else "update"
        was, now = before or {}, after or {}
        return EntityChange(
            commit=told(self._engine, self._request, commit),
            op=op,
            changes=tuple(
                PropertyChange(name, was.get(name), now.get(name))
                for name in dict.fromkeys((*was, *now))
                if was.get(name) != now.get(name)
            ),
        )


def _image(view: View, type_: EntityType, id_: str) -> Image | None:
    blobs = [p for p in type_.properties if p.type is Scalar.BLOB]
    plain = [p for p in type_.properties if p.type is not Scalar.BLOB]
    ends = [SRC, DST] if isinstance(type_, EdgeType) else []
    rows = view.rows_of(type_, pa.array([id_], pa.string()), [*ends, *(p.column for p in plain)])
    if not rows.num_rows:
        return None
    row = with_short_floats(rows).to_pylist()[0]
    image: Image = {name: row[end] for name, end in zip(("from", "to"), ends, strict=False)}
    image |= {p.name: told_value(p.type, row[p.column]) for p in plain}
    return image | {p.name: _blob(view, type_, p.column, id_) for p in blobs}


def _blob(view: View, type_: EntityType, column: str, id_: str) -> str | None:
    found = view.blob(type_, column, id_)
    if found is None or found.cell.size is None:
        return None
    size, row_id = found.cell.size, found.cell.row_id
    if not 0 < size <= MAX_DIGESTED_BYTES:
        return told_blob(size, None)
    return told_blob(size, found.dataset.read_blob(column, row_id, start=0, end=size))
