"""Find: nodes by what a person types, over all node types that they see.

The best hits come first: a node with this very id, then ids and names that begin with the text,
then those that hold it, then nodes whose searchable texts have its words, then any text that holds
it. Columns are looked through as wholes, so a hundred thousand nodes take some milliseconds.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId, TypeName
from omnigraph.base.types import Scalar
from omnigraph.base.words import is_whole
from omnigraph.engine.engine import Engine
from omnigraph.engine.explore_requests import FindRead
from omnigraph.engine.labels import LABELS, label_of
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import ID, Catalog, NodeType
from omnigraph.read.context import Budget
from omnigraph.read.pace import Pace
from omnigraph.read.tables.tables import Tables, tables_of
from omnigraph.read.topology.csr import Ordinals
from omnigraph.store.indexes import IndexKind, wanted_indexes

__all__ = ["Found", "Hit", "HowFound", "find"]

HowFound = Literal["key", "prefix", "substring", "words", "text"]
STEP = "find"
# Of matches that are many, so many are ranked by their length; more are not told apart.
MAX_RANKED = 10_000
EXCERPT_LETTERS = 120


@frozen
class Hit:
    type_name: TypeName
    id: str
    label: str
    how: HowFound
    """`key`: it is the id. `prefix`, `substring`: of the id or a name. `words`: by text search.
    `text`: some text of the node holds it."""
    property: str
    """Where it was found; `id` of a node whose key is no single property."""
    excerpt: str
    score: float | None = None
    """Of `words`: the relevance, greater is better."""


@frozen
class Found:
    """Nodes that a text may mean, the likeliest first."""

    graph_commit_id: CommitId
    text: str
    hits: tuple[Hit, ...]
    has_more: bool
    """True if there are more hits than were asked for."""


class _Candidates(NamedTuple):
    """Rows of one type that were found in one way, best first."""

    entity: NodeType
    how: HowFound
    property: str
    column: str
    """Of the property: one that is called id is not the node's own id."""
    rows: Ordinals
    ranks: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    """Less is better; they are compared among all types."""


def find(engine: Engine, request: FindRead) -> Found:
    """The nodes that a text may mean. An empty text means none."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        tables = tables_of(view, engine.cache, engine.settings.traversal_mode)
        budget = Budget(engine.settings.query_memory_bytes, request.timeout_s, request.cancel)
        types = _types(view.catalog, request.types)
        text = request.text.strip()
        hits: list[Hit] = []
        if text and is_whole(text):
            search = _Search(tables, budget, text, request.limit)
            hits = search.run(types)
        commit = view.commit.id
    has_more = len(hits) > request.limit
    return Found(commit, request.text, tuple(hits[: request.limit]), has_more)


def _types(catalog: Catalog, names: tuple[str, ...] | None) -> list[NodeType]:
    known = catalog.node_by_name
    for name in names or ():
        if name not in known:
            raise NameMissing(what="node type", name=name, known=tuple(known))
    return [node for node in catalog.nodes if names is None or node.name in names]


class _Search:
    def __init__(self, tables: Tables, budget: Budget, text: str, limit: int) -> None:
        self._columns, _, self._searches = tables
        self._budget = budget
        self._text = text
        self._wanted = limit + 1
        """One more, to know whether there is more."""

    def run(self, types: list[NodeType]) -> list[Hit]:
        hits: list[Hit] = []
        seen: set[tuple[str, int]] = set()
        steps: tuple[Callable[[NodeType], Iterator[_Candidates]], ...] = (
            self._by_key,
            self._by_prefix,
            self._by_part,
            self._by_words,
            self._by_any_text,
        )
        for step in steps:
            if step == self._by_words and any(hit.how == "key" for hit in hits):
                # A key was typed: nodes that mention it are not meant.
                return hits
            found = [each for entity in types for each in step(entity)]
            order = sorted(
                (float(rank), number, place)
                for number, each in enumerate(found)
                for place, rank in enumerate(each.ranks)
            )
            for rank, number, place in order:
                if len(hits) == self._wanted:
                    return hits
                each = found[number]
                row = int(each.rows[place])
                if (each.entity.name, row) not in seen:
                    seen.add((each.entity.name, row))
                    hits.append(self._hit(each, row, -rank if each.how == "words" else None))
        return hits

    # Ways -----------------------------------------------------------------------------------------

    def _by_key(self, entity: NodeType) -> Iterator[_Candidates]:
        self._budget.check(STEP)
        rows = self._columns.find(entity, pa.array([self._text], pa.string()))
        if (rows >= 0).any():
            yield _Candidates(entity, "key", _key_name(entity), ID, rows, np.zeros(len(rows)))

    def _by_prefix(self, entity: NodeType) -> Iterator[_Candidates]:
        for name, column in _named(entity):
            yield from self._matching(entity, "prefix", name, column, pc.starts_with)

    def _by_part(self, entity: NodeType) -> Iterator[_Candidates]:
        for name, column in _named(entity):
            yield from self._matching(entity, "substring", name, column, pc.match_substring)

    def _by_words(self, entity: NodeType) -> Iterator[_Candidates]:
        names = {p.column: p.name for p in entity.properties}
        for index in wanted_indexes(entity):
            if index.kind is IndexKind.INVERTED and index.column in names:
                pace = Pace(lambda: self._budget.check(STEP))
                words = self._searches.text(entity, index.column)
                ranked = words.best(self._text, self._wanted, None, pace)
                first = slice(0, self._wanted)
                yield _Candidates(
                    entity,
                    "words",
                    names[index.column],
                    index.column,
                    ranked.rows[first],
                    -ranked.scores[first],
                )

    def _by_any_text(self, entity: NodeType) -> Iterator[_Candidates]:
        known = {column for _, column in _named(entity)}
        for each in entity.properties:
            if each.type is Scalar.STRING and each.column not in known:
                matches = pc.match_substring
                yield from self._matching(entity, "text", each.name, each.column, matches)

    def _matching(
        self,
        entity: NodeType,
        how: HowFound,
        name: str,
        column: str,
        matches: Callable[..., pa.Array],
    ) -> Iterator[_Candidates]:
        """Rows whose value matches: the shorter, the more of it is what was typed."""
        self._budget.check(STEP)
        values = self._columns.values(entity, column, None)
        mask = pc.fill_null(matches(values, self._text, ignore_case=True), fill_value=False)
        rows = np.flatnonzero(mask.to_numpy(zero_copy_only=False))[:MAX_RANKED]
        if not len(rows):
            return
        lengths = pc.utf8_length(values.take(pa.array(rows))).to_numpy(zero_copy_only=False)
        best = np.argsort(lengths, kind="stable")[: self._wanted]
        yield _Candidates(entity, how, name, column, rows[best], lengths[best].astype(np.float64))

    # Hits -----------------------------------------------------------------------------------------

    def _hit(self, found: _Candidates, row: int, score: float | None) -> Hit:
        entity, rows = found.entity, np.array([row])
        id_ = self._value(entity, ID, rows)
        shown = [n for n in (*LABELS, *entity.key) if n in entity.by_name]
        properties = {n: self._value(entity, entity.by_name[n].column, rows) for n in shown}
        value = str(id_) if found.column == ID else str(self._value(entity, found.column, rows))
        return Hit(
            type_name=entity.name,
            id=str(id_),
            label=label_of(properties, id_),
            how=found.how,
            property=found.property,
            excerpt=_excerpt(value, self._text),
            score=score,
        )

    def _value(self, entity: NodeType, column: str, rows: Ordinals) -> object:
        return self._columns.values(entity, column, rows)[0].as_py()


def _key_name(entity: NodeType) -> str:
    """The property that is the id."""
    return entity.key[0] if len(entity.key) == 1 and entity.key[0] in entity.by_name else ID


def _named(entity: NodeType) -> list[tuple[str, str]]:
    """What people call a node by: the id, and texts that name it, with their columns."""
    key = _key_name(entity)
    named = [(key, ID)]
    for name in LABELS:
        found = entity.by_name.get(name)
        if found is not None and found.type is Scalar.STRING and name != key:
            named.append((name, found.column))
    return named


def _excerpt(value: str, text: str) -> str:
    """The part of a long value around what was typed."""
    if len(value) <= EXCERPT_LETTERS:
        return value
    at = max(value.casefold().find(text.casefold()), 0)
    start = max(0, at - EXCERPT_LETTERS // 3)
    end = start + EXCERPT_LETTERS
    return f"{'…' * (start > 0)}{value[start:end]}{'…' * (end < len(value))}"
