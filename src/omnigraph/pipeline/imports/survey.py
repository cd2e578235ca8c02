"""The survey of a source: which types of nodes and edges there are, and what their columns hold.

A node with several labels is of one type all the same: of the label that most nodes have, by name
where several have as many. So the nodes of a label stay together, and the edges between them. All
its labels are kept in a column. Edges are told apart by their label and the types at their ends.
"""

import json
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.types import ListOf, Scalar, ValueType
from omnigraph.base.words import clipped
from omnigraph.pipeline.imports.blocks import (
    Columns,
    EdgeBlock,
    End,
    Labels,
    NodeBlock,
    Reader,
    place,
)
from omnigraph.pipeline.imports.values import (
    ANY_LIST,
    FoundType,
    cell_of,
    has_exact,
    settled,
    text_array,
    widest,
)

__all__ = [
    "END_COLUMN",
    "ID_COLUMN",
    "LABELS",
    "START_COLUMN",
    "Draft",
    "EdgeKey",
    "Join",
    "Resolver",
    "Survey",
    "changed",
    "resolving",
    "survey",
]

NO_LABEL = "Node"
"""The type of nodes without a label."""
LABELS = ":LABEL"
"""The column of all labels, where a node of the type has several."""
ID_COLUMN, START_COLUMN, END_COLUMN = ":ID", ":START_ID", ":END_ID"
"""The columns of ids without a name, and of the ends of edges."""


@dataclass(slots=True)
class Draft:
    """What is known of a type so far."""

    row_count: int = 0
    types: dict[str, FoundType] = field(default_factory=dict)
    filled: Counter[str] = field(default_factory=Counter)
    """How many rows have a value in each column."""
    open: set[str] = field(default_factory=set)
    """Columns in which rows may lack values that nobody has looked at."""
    mixed: dict[str, set[str]] = field(default_factory=dict)
    """Columns whose rows have several types, and these."""
    exact: set[str] = field(default_factory=set)
    """Columns with whole numbers that a float would round."""
    defaults: dict[str, str] = field(default_factory=dict)
    id_name: str | None = None
    id_names: set[str] = field(default_factory=set)
    """All names of the ids: the first is the one that they get."""
    id_type: ValueType | None = None
    is_to_one: bool = False

    def add(self, columns: Columns, row_count: int) -> None:
        for name, cells in columns.cells.items():
            self.filled[name] += len(cells) - cells.null_count
        self.open |= columns.types.keys() if columns.is_optional else set()
        self._widen(columns.types)
        self._mix(columns.mixed)
        self.exact |= {name for name in _whole(columns) if has_exact(columns.cells[name])}
        self.defaults |= columns.defaults
        self.row_count += row_count

    def identify(self, name: str | None, type_: ValueType | None) -> None:
        """The ids have this name and type, unless others do already."""
        self.id_name = self.id_name or name
        self.id_names |= {name} if name is not None else set()
        if self.id_type is not None and type_ not in (None, self.id_type):
            type_ = Scalar.STRING
        self.id_type = type_ or self.id_type

    def join(self, more: "Draft") -> None:
        """Take the rows of another set of labels, which are of the same type."""
        self.filled += more.filled
        self.open |= more.open
        self._widen(more.types)
        self._mix(more.mixed)
        self.exact |= more.exact
        self.defaults |= more.defaults
        self.row_count += more.row_count
        self.identify(more.id_name, more.id_type)
        self.id_names |= more.id_names
        self.is_to_one |= more.is_to_one

    def type_of(self, column: str) -> ValueType:
        """The type that holds every value of the column as it is."""
        found = settled(self.types[column])
        if column not in self.exact:
            return found
        match found:
            case Scalar.F64:
                return Scalar.STRING
            case ListOf(Scalar.F64):
                return ListOf(Scalar.STRING)
            case _:
                return found

    def is_optional(self, column: str) -> bool:
        return column in self.open or self.filled[column] < self.row_count

    def _mix(self, mixed: Mapping[str, Set[str]]) -> None:
        for name, words in mixed.items():
            self.mixed.setdefault(name, set()).update(words)

    def _widen(self, types: Mapping[str, FoundType]) -> None:
        for name, type_ in types.items():
            known = self.types.setdefault(name, type_)
            if known != type_:
                self.types[name] = widest(known, type_)
                if ANY_LIST not in (known, type_):
                    self.mixed.setdefault(name, {str(known)}).add(str(type_))


def _whole(columns: Columns) -> Iterator[str]:
    """The columns that have whole numbers, and may come to have fractions too."""
    for name, type_ in columns.types.items():
        item = type_.item if isinstance(type_, ListOf) else type_
        is_whole = item is Scalar.I64 or (item is Scalar.F64 and name in columns.mixed)
        if is_whole and name in columns.cells:
            yield name


class EdgeKey(NamedTuple):
    label: str
    source: str
    target: str


class Join(NamedTuple):
    """What an edge joins: the types that its ends can have, several where no node has the id."""

    label: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def first(self) -> EdgeKey:
        return EdgeKey(self.label, self.sources[0], self.targets[0])

    @property
    def is_known(self) -> bool:
        """True if both ends can have one type only."""
        return len(self.sources) == len(self.targets) == 1

    def fits(self, key: EdgeKey) -> bool:
        same = self.label == key.label
        return same and key.source in self.sources and key.target in self.targets


@frozen(eq=False)
class Survey:
    nodes: dict[str, Draft]
    edges: dict[EdgeKey, Draft]
    key_of_join: dict[Join, EdgeKey]
    type_of_labels: dict[Labels, str]
    types_of_space: dict[str, tuple[str, ...]]
    labelled: frozenset[str]
    """Types with a column of all labels."""

    def node_type(self, block: NodeBlock) -> str:
        found = self.type_of_labels.get(block.labels)
        if found is None:
            raise changed(block.file)
        return found

    def edge_key(self, join: Join, file: str) -> EdgeKey:
        if (found := self.key_of_join.get(join)) is None:
            raise changed(file)
        return found

    def with_labels(self, block: NodeBlock) -> Columns:
        """The columns of a block, with the one of all labels where its type has it."""
        columns = block.columns
        if self.node_type(block) not in self.labelled:
            return columns
        cell = cell_of(list(block.labels), ListOf(Scalar.STRING))
        cells = {**columns.cells, LABELS: text_array([cell] * len(block.lines))}
        types = {**columns.types, LABELS: ListOf(Scalar.STRING)}
        return replace(columns, cells=cells, types=types)


def survey(reader: Reader) -> Survey:
    found = _survey_nodes(reader)
    drafts: dict[Join, Draft] = {}
    with resolving(reader, found) as resolver:
        for block in reader.survey_edges():
            _require_free((START_COLUMN, END_COLUMN), block)
            for join, part in resolver.parts(block):
                draft = drafts.setdefault(join, Draft())
                draft.add(part.columns, len(part.lines))
                draft.is_to_one |= part.is_to_one
    found.key_of_join.update(_keys_of(drafts))
    for join, draft in drafts.items():
        key = found.key_of_join[join]
        found.edges.setdefault(key, Draft()).join(draft)
        for name in (key.source, key.target):
            # An edge may name nodes that the source does not have.
            found.nodes.setdefault(name, Draft(id_type=Scalar.STRING))
    return found


def _keys_of(drafts: Mapping[Join, Draft]) -> dict[Join, EdgeKey]:
    """The type of each join. Of edges that lead nowhere it is the most common of those that they
    fit: one slip in a source would give its edges another name otherwise."""
    counts = {join.first: draft.row_count for join, draft in drafts.items() if join.is_known}
    keys = {}
    for join in drafts:
        fitting = [key for key in counts if join.fits(key)]
        keys[join] = min(fitting, key=lambda key: (-counts[key], key), default=join.first)
    return keys


def _survey_nodes(reader: Reader) -> Survey:
    sets: dict[Labels, Draft] = {}
    spaces: dict[str, set[Labels]] = defaultdict(set)
    for block in reader.survey_nodes():
        _require_free((ID_COLUMN, LABELS), block)
        draft = sets.setdefault(block.labels, Draft())
        draft.add(block.columns, len(block.lines))
        draft.identify(block.id_name, block.id_type)
        spaces[block.space].add(block.labels)
    counts: Counter[str] = Counter()
    for labels, draft in sets.items():
        counts.update(dict.fromkeys(labels, draft.row_count))
    type_of = {labels: _chosen(labels, counts) for labels in sets}
    labelled = frozenset(type_of[labels] for labels in sets if len(labels) > 1)
    nodes: dict[str, Draft] = {}
    for labels in sorted(sets):
        nodes.setdefault(type_of[labels], Draft()).join(sets[labels])
    for name in labelled:
        nodes[name].types[LABELS] = ListOf(Scalar.STRING)
        nodes[name].filled[LABELS] = nodes[name].row_count
    types_of_space = {
        space: tuple(sorted({type_of[labels] for labels in of})) for space, of in spaces.items()
    }
    return Survey(nodes, {}, {}, _Chosen(counts, type_of), types_of_space, labelled)


def _require_free(names: tuple[str, ...], block: NodeBlock | EdgeBlock) -> None:
    """Raise where a property has the name of a column of ours: one of the two would be lost."""
    if both := sorted(block.columns.types.keys() & set(names)):
        raise SourceInvalid(
            file=block.file,
            column=both[0],
            reason="a property has this name, and an import uses it for ids, labels and ends",
            advice="give the property another name in the source",
        )


class _Chosen(dict[Labels, str]):
    """The type of each set of labels: also of sets that only edges name."""

    def __init__(self, counts: Counter[str], known: dict[Labels, str]) -> None:
        super().__init__(known)
        self._counts = counts

    def __missing__(self, labels: Labels) -> str:
        return _chosen(labels, self._counts)


def _chosen(labels: Labels, counts: Counter[str]) -> str:
    return min(labels, key=lambda label: (-counts[label], label), default=NO_LABEL)


def changed(file: str) -> SourceInvalid:
    return SourceInvalid(
        file=file,
        reason="it has changed since it was read first",
        advice="import it again when nothing writes to it any more",
    )


# The types at the ends of edges -------------------------------------------------------------------

# CROSS keeps the order: each id that is wanted is looked up. The other way round SQLite would go
# through all that is wanted for every id of the space.
ADDED = "INSERT OR IGNORE INTO ids VALUES (?, ?, ?)"
LOOKED_UP = """
SELECT ids.id, ids.type FROM json_each(?) AS wanted
CROSS JOIN ids ON ids.space = ? AND ids.id = wanted.value
"""


Types = tuple[str, ...]


class Resolver:
    """Tells the types at the ends of edges, from labels, from the space of an id, or by looking."""

    def __init__(self, found: Survey, ids: sqlite3.Connection | None) -> None:
        self._found = found
        self._ids = ids

    def parts(self, block: EdgeBlock) -> Iterator[tuple[Join, EdgeBlock]]:
        """The block by the types at its ends."""
        sources, targets = (self._types(end, block.file) for end in (block.source, block.target))
        if isinstance(sources, tuple) and isinstance(targets, tuple):
            yield Join(block.label, sources, targets), block
            return
        count = len(block.lines)
        pairs = [*zip(_each(sources, count), _each(targets, count), strict=True)]
        for pair in sorted(set(pairs)):
            rows = np.flatnonzero([one == pair for one in pairs])
            yield Join(block.label, *pair), _taken(block, rows)

    def _types(self, end: End, file: str) -> Types | list[Types]:
        """The types that the ends of all edges can have, or those that the end of each can have."""
        if end.labels is not None:
            return (self._found.type_of_labels[end.labels],)
        types = self._found.types_of_space.get(end.space)
        if types is None:
            named = f"the id space {end.space}" if end.space else "ids without a space"
            reason = f"its edges end in {named}, and no nodes have such ids"
            raise SourceInvalid(file=file, reason=reason, advice="add the file with these nodes")
        if len(types) == 1 or not len(end.ids):
            return types
        assert self._ids is not None, "such a space was indexed"
        # One question for the whole block: a question for each id takes ten times as long.
        wanted = json.dumps(end.ids.unique().drop_null().to_pylist())
        known = dict(self._ids.execute(LOOKED_UP, (wanted, end.space)))
        of_id = {id_: (type_,) for id_, type_ in known.items()}
        return [of_id.get(id_, types) for id_ in end.ids.to_pylist()]


@contextmanager
def resolving(reader: Reader, found: Survey) -> Iterator[Resolver]:
    """A resolver, with an index of ids on disk if a space has nodes of several types."""
    unclear = {space for space, types in found.types_of_space.items() if len(types) > 1}
    if not unclear:
        yield Resolver(found, None)
        return
    with (
        tempfile.TemporaryDirectory(prefix="omnigraph-import-") as folder,
        closing(sqlite3.connect(Path(folder) / "ids", isolation_level=None)) as ids,
    ):
        # Nobody needs it after a crash.
        ids.execute("PRAGMA journal_mode = OFF")
        ids.execute("PRAGMA synchronous = OFF")
        ids.execute("CREATE TABLE ids (space, id, type, PRIMARY KEY (space, id)) WITHOUT ROWID")
        ids.execute("BEGIN")
        for block in reader.nodes():
            if block.space in unclear:
                type_ = found.node_type(block)
                added = ids.executemany(ADDED, _rows(block, type_))
                if added.rowcount < len(block.ids):
                    _refuse_other_types(ids, block, type_)
        ids.execute("COMMIT")
        yield Resolver(found, ids)


def _refuse_other_types(ids: sqlite3.Connection, block: NodeBlock, type_: str) -> None:
    """An id of nodes of two types: which of them an edge means can't be told. Of two nodes of one
    type a load says it, and can set one aside."""
    wanted = json.dumps(block.ids.drop_null().to_pylist())
    known = dict(ids.execute(LOOKED_UP, (wanted, block.space)))
    for id_, line in zip(block.ids.to_pylist(), block.lines.tolist(), strict=True):
        if known.get(id_, type_) != type_:
            types = f"{clipped(known[id_])} and of another of type {clipped(type_)}"
            reason = f"the id {clipped(id_)} is that of a node of type {types}"
            advice = (
                "an edge could mean either: give one of them another id. CSV for neo4j-admin can "
                "name spaces of ids instead, such as :ID(Person)"
            )
            raise SourceInvalid(file=place(block.file, line), reason=reason, advice=advice)


def _rows(block: NodeBlock, type_: str) -> Iterable[tuple[str, str, str]]:
    return ((block.space, id_, type_) for id_ in block.ids.to_pylist())


def _each(types: Types | list[Types], count: int) -> list[Types]:
    return [types] * count if isinstance(types, tuple) else types


def _taken(block: EdgeBlock, rows: np.ndarray) -> EdgeBlock:
    which = pa.array(rows)
    cells = {name: cells.take(which) for name, cells in block.columns.cells.items()}
    return replace(
        block,
        lines=block.lines[rows],
        source=replace(block.source, ids=block.source.ids.take(which)),
        target=replace(block.target, ids=block.target.ids.take(which)),
        columns=replace(block.columns, cells=cells),
    )
