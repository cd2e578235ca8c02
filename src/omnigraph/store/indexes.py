"""Which indexes a table should have, which it has, and what has to be done about the difference.

Values and pure functions: nothing here opens a dataset. `optimize` follows the steps that
`steps_of` gives, and `Graph.indexes` shows them.

Lance unites the rows that an index covers with those that it does not, so an index that lags makes
an answer slow and never wrong. Two kinds are an exception to how an index may catch up
(`FORGETFUL`): a second segment over a row that was changed leaves the old value of it in the first,
where it would be found again. They are built anew instead.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from omnigraph.base.frozen import frozen
from omnigraph.base.types import EnumOf, ListOf, Scalar, ValueType, VectorOf
from omnigraph.base.words import amount
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType, Index, Unique

__all__ = [
    "FOLLOWING",
    "FORGETFUL",
    "MAX_INDEX_SEGMENTS",
    "MIN_VECTORS",
    "IndexChange",
    "IndexKind",
    "IndexStep",
    "IndexedFragment",
    "Segment",
    "StoredIndex",
    "WantedIndex",
    "steps_of",
    "stored_as",
    "wanted_indexes",
]

# Every look-up asks every segment of an index; past this many they are written anew as one.
MAX_INDEX_SEGMENTS = 4

# In the background an index waits until so many of the rows are not covered. To extend it is work
# for those rows, to build it anew is work for all.
MIN_SHARE_TO_EXTEND = 0.01
MIN_SHARE_TO_REPLACE = 0.1

# Fewer vectors are looked at one by one in less time than it takes to choose lists.
MIN_VECTORS = 256


class IndexKind(StrEnum):
    BTREE = "btree"
    """Sorted values: equality, ranges, beginnings of texts."""
    INVERTED = "inverted"
    """The words of texts, by the one analysis that searches have."""
    NGRAM = "ngram"
    """Every three letters of texts in a row: `contains`."""
    LABEL_LIST = "label_list"
    """The members of lists."""
    VECTOR = "vector"
    """Vectors in lists by direction."""


# A further segment of these still finds the old value of a row that was changed.
FORGETFUL = frozenset({IndexKind.INVERTED, IndexKind.LABEL_LIST})

# These name rows by their row ids, and go with them into the files of a compaction. A BTREE names
# rows by where they lie, and forgets those that move.
FOLLOWING = frozenset({IndexKind.INVERTED, IndexKind.NGRAM, IndexKind.LABEL_LIST, IndexKind.VECTOR})


@frozen
class WantedIndex:
    column: str
    kind: IndexKind

    @property
    def name(self) -> str:
        return f"{self.column}_{self.kind.value}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it may have, the best first.

        Searches bring texts into Unicode's normal form NFC before they take them apart, and Lance
        does not. An index over texts that are not in it goes by another name: it is kept for other
        readers, and no search of ours relies on it.
        """
        if self.kind is IndexKind.INVERTED:
            return self.name, f"{self.name}_as_written"
        return (self.name,)


@frozen
class Segment:
    uuid: str
    fragments: frozenset[int]
    version: int
    """Of the dataset, when the segment was written."""


@frozen
class StoredIndex:
    column: str
    kind: IndexKind
    name: str
    segments: tuple[Segment, ...]
    rows: int
    """How many rows it answers for; the others are scanned."""

    @property
    def covered(self) -> frozenset[int]:
        return frozenset[int]().union(*(segment.fragments for segment in self.segments))


@frozen
class IndexedFragment:
    """What has to be known of a fragment to index it."""

    id: int
    rows: int
    oldest_row: int | None
    """The version that first wrote the oldest of its rows; None: not known."""


# What should be there ----------------------------------------------------------------------------


def wanted_indexes(entity: EntityType) -> tuple[WantedIndex, ...]:
    """Of identity and ends, and what the schema declares as unique or as worth an index."""
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    wanted = [WantedIndex(column, IndexKind.BTREE) for column in (ID, *ends)]
    for constraint in entity.constraints:
        if isinstance(constraint, Unique | Index):
            for name in constraint.properties:
                if name in entity.by_name:
                    property_ = entity.by_name[name]
                    kinds = _kinds(property_.type, constraint)
                    wanted += [WantedIndex(property_.column, kind) for kind in kinds]
    return tuple(dict.fromkeys(wanted))


def _kinds(type_: ValueType, declared: Unique | Index) -> tuple[IndexKind, ...]:
    match declared, type_:
        case Index(kind="ngram"), _:
            return (IndexKind.NGRAM,)
        case Index(), Scalar.STRING:
            return (IndexKind.BTREE, IndexKind.INVERTED)
        case Index(), ListOf():
            return (IndexKind.LABEL_LIST,)
        case Index(), VectorOf():
            return (IndexKind.VECTOR,)
        case _, Scalar.BLOB:
            return ()
        case _, Scalar() | EnumOf():
            return (IndexKind.BTREE,)
        case _:
            return ()


# What to do about it -----------------------------------------------------------------------------


class IndexChange(StrEnum):
    BUILD = "build"
    EXTEND = "extend"
    """Another segment, for the fragments that none covers."""
    REPLACE = "replace"
    """One segment over everything, instead of those that are there."""
    DROP = "drop"
    WAIT = "wait"
    """There is nothing to build it of yet."""


@frozen
class IndexStep:
    change: IndexChange
    index: WantedIndex
    fragments: tuple[int, ...]
    """Those to be covered by a new segment."""
    removed: tuple[str, ...]
    """The uuids of the segments that go."""
    why: str
    stored: str | None = None
    """The name under which it is stored; None: it is not."""
    share: float = 1.0
    """Of the rows, how many are to come under it."""

    @property
    def is_due(self) -> bool:
        """False while it would cost much for the few rows that came or changed."""
        match self.change:
            case IndexChange.EXTEND:
                return self.share >= MIN_SHARE_TO_EXTEND
            case IndexChange.REPLACE:
                return self.share >= MIN_SHARE_TO_REPLACE
            case IndexChange.BUILD | IndexChange.DROP | IndexChange.WAIT:
                return True


def steps_of(
    wanted: Sequence[WantedIndex],
    stored: Mapping[str, StoredIndex],
    fragments: Sequence[IndexedFragment],
) -> tuple[IndexStep, ...]:
    """What makes the indexes that are stored those that are wanted, for all rows.

    `stored` has the indexes by name.
    """
    steps = [_step(index, stored_as(index, stored), fragments) for index in wanted]
    return (*(step for step in steps if step is not None), *_dropped(wanted, stored))


def stored_as(index: WantedIndex, stored: Mapping[str, StoredIndex]) -> StoredIndex | None:
    """What is stored of an index, by whichever of its names."""
    return next((stored[name] for name in index.names if name in stored), None)


def _dropped(
    wanted: Collection[WantedIndex], stored: Mapping[str, StoredIndex]
) -> Iterator[IndexStep]:
    for index in stored.values():
        ours = WantedIndex(index.column, index.kind)
        # One of another name is somebody else's.
        if index.name in ours.names and ours not in wanted:
            uuids = tuple(segment.uuid for segment in index.segments)
            why = "the schema does not ask for it any more"
            yield IndexStep(IndexChange.DROP, ours, (), uuids, why, index.name)


def _step(
    index: WantedIndex, stored: StoredIndex | None, fragments: Sequence[IndexedFragment]
) -> IndexStep | None:
    """What is to be done about one index; None: it answers for all rows."""
    rows = sum(fragment.rows for fragment in fragments)
    everything = tuple(fragment.id for fragment in fragments)
    if not rows:
        return IndexStep(IndexChange.WAIT, index, (), (), "the table is empty")
    if index.kind is IndexKind.VECTOR and stored is None and rows < MIN_VECTORS:
        few = f"{amount(rows, 'row')} are too few for lists: from {MIN_VECTORS} on it is built"
        return IndexStep(IndexChange.WAIT, index, (), (), few)
    segments = stored.segments if stored is not None else ()
    name = stored.name if stored is not None else None
    live = [segment for segment in segments if segment.fragments]
    gone = tuple(segment.uuid for segment in segments)
    if not live:
        why = "it is not built yet" if stored is None else "all of its rows have moved"
        return IndexStep(IndexChange.BUILD, index, everything, gone, why, name)
    covered = frozenset[int]().union(*(segment.fragments for segment in live))
    missing = [fragment for fragment in fragments if fragment.id not in covered]
    if not missing:
        return None
    share = sum(fragment.rows for fragment in missing) / rows
    if (reason := _why_anew(index.kind, live, missing, rows)) is not None:
        return IndexStep(IndexChange.REPLACE, index, everything, gone, reason, name, share)
    empty = tuple(segment.uuid for segment in segments if not segment.fragments)
    late = f"{amount(sum(f.rows for f in missing), 'row')} came later or moved"
    fragments_left = tuple(fragment.id for fragment in missing)
    return IndexStep(IndexChange.EXTEND, index, fragments_left, empty, late, name, share)


def _why_anew(
    kind: IndexKind, live: Sequence[Segment], missing: Sequence[IndexedFragment], rows: int
) -> str | None:
    """Why an index is built anew and not extended; None: it is extended."""
    newest = max(segment.version for segment in live)
    older = [f for f in missing if f.oldest_row is None or f.oldest_row <= newest]
    if kind in FORGETFUL and older:
        return f"rows in {amount(len(older), 'file')} have changed since it was built"
    if len(live) >= MAX_INDEX_SEGMENTS:
        return f"it has {len(live)} segments, and one answers quicker"
    if kind is IndexKind.VECTOR and 2 * sum(f.rows for f in missing) > rows:
        return "more than half of the rows came later: its lists no longer fit"
    return None
