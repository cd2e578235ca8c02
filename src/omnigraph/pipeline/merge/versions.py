"""The versions of one table that a merge looks at: ours, the bases, and bases of several bases.

Each has a number: 0 is ours. Found out in the driver: where all rows lie in a version that have the
id of a row that matters there. Rows that lie in the same place of the same file everywhere never
matter.
"""

from collections.abc import Iterable, Sequence

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.merge.base import StoredBases
from omnigraph.merge.joining import PlainBases, pairs_of
from omnigraph.read.changes.locate import (
    Stretch,
    stretches_beside,
    stretches_in_touch,
    stretches_of,
)
from omnigraph.store.datasets import Dataset, DatasetRef
from omnigraph.store.history import MAX_BASE_LEVELS
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot

__all__ = ["OURS", "BaseVersions", "Version", "base_versions", "refs_of"]

OURS = 0

# Where rows are narrow: what SQL says of the rows of a stretch takes some hundred bytes for each.
MAX_STRETCH_ROWS = 500_000


@frozen
class Version:
    """A table at one commit."""

    ref: DatasetRef
    entity: EntityType
    """The type as this commit has it."""


@frozen(slots=False)
class BaseVersions:
    """The bases of a merge for one table, by number."""

    bases: PlainBases[int]
    versions: tuple[Version | None, ...]
    """By number, from 1 on; None: the commit does not have the type."""
    came: tuple[Stretch, ...]
    """Rows of theirs that one of the latest bases has elsewhere, or not at all."""
    gone: tuple[tuple[int, Stretch], ...]
    """Rows of the latest bases that theirs has elsewhere, or not at all."""
    known: tuple[tuple[int, Stretch], ...]
    """More rows with ids that matter. A row may come twice."""


def refs_of(bases: StoredBases, entity: EntityType) -> list[DatasetRef | None]:
    """The version of a table on each of the latest bases; None: it does not have the type."""
    return [_ref(base, entity) for base in bases.latest]


def base_versions(
    bases: StoredBases,
    entity: EntityType,
    theirs: Dataset,
    *,
    limit_bytes: int,
    limit_ids: int,
) -> BaseVersions:
    """Where rows lie that theirs may have changed, and the rows with their ids on all bases.

    A stretch of theirs has so many rows that they take about `limit_bytes` on all sides together.
    Of other stretches only ids are read.
    """
    found = _Numbering(entity, bases.latest[0].root, limit_ids)
    plain = found.plain(bases)
    sides = [(found.number(base), found.dataset(base)) for base in bases.latest]
    datasets = [dataset for _, dataset in sides]
    row_bytes = max(side.row_bytes for side in (theirs, *datasets) if side is not None)
    sides_of_row = 2 + len(found.versions)
    limit_rows = max(1, min(limit_bytes // (sides_of_row * row_bytes), MAX_STRETCH_ROWS))
    came = found.beside(theirs, datasets, limit_rows=limit_rows)
    touched = {stretch.fragment.files for stretch in came}
    gone: list[tuple[int, Stretch]] = []
    for number, dataset in sides:
        if dataset is not None:
            beside = found.beside(dataset, [theirs], limit_rows=limit_rows)
            gone += [(number, stretch) for stretch in beside]
            found.add(number, stretches_of(found.root, dataset, touched, limit_rows=limit_ids))
    return BaseVersions(plain, tuple(found.versions), tuple(came), tuple(gone), tuple(found.known))


class _Numbering:
    """Gives numbers to commits, and collects the rows that are wanted of each."""

    def __init__(self, entity: EntityType, root: Location, limit_ids: int) -> None:
        self.root = root
        self.versions: list[Version | None] = []
        self.known: dict[tuple[int, Stretch], None] = {}
        self._entity = entity
        self._limit_ids = limit_ids
        self._numbers: dict[CommitId, int] = {}

    def number(self, base: Snapshot) -> int:
        if base.commit.id not in self._numbers:
            was, ref = base.catalog.by_id.get(self._entity.id), _ref(base, self._entity)
            self.versions.append(None if was is None or ref is None else Version(ref, was))
            self._numbers[base.commit.id] = OURS + len(self.versions)
        return self._numbers[base.commit.id]

    def dataset(self, base: Snapshot) -> Dataset | None:
        was = base.catalog.by_id.get(self._entity.id)
        return None if was is None else base.dataset(was)

    def add(self, number: int, stretches: Iterable[Stretch]) -> None:
        self.known |= {(number, stretch): None for stretch in stretches}

    def plain(self, bases: StoredBases) -> PlainBases[int]:
        """The numbers of the bases, and of those below that a joint base can ask for."""
        between: dict[tuple[int, int], tuple[int, ...]] = {}
        level = [bases]
        for _ in range(MAX_BASE_LEVELS - 1):
            below: list[StoredBases] = []
            pairs = ((above, pair) for above in level for pair in pairs_of(above))
            for above, (one, other) in pairs:
                there, beside = above.latest[one], above.latest[other]
                numbers = self.number(there), self.number(beside)
                if numbers in between or _ref(there, self._entity) == _ref(beside, self._entity):
                    continue
                found = above.below(one, other)
                self._add_rows_unlike(there, beside, found.latest)
                between[numbers] = tuple(map(self.number, found.latest))
                below.append(found)
            level = below
        return PlainBases(tuple(map(self.number, bases.latest)), between)

    def _add_rows_unlike(self, one: Snapshot, other: Snapshot, below: Sequence[Snapshot]) -> None:
        """Add the rows of bases below with ids that the bases above do not have in one place."""
        there = self.dataset(one)
        changed = [] if there is None else self.beside(there, [self.dataset(other)])
        for base in below:
            if (here := self.dataset(base)) is not None:
                self.add(self.number(base), self.in_touch(here, there, changed))

    def in_touch(
        self, here: Dataset, there: Dataset | None, changed: Sequence[Stretch]
    ) -> list[Stretch]:
        if there is None:
            return self.beside(here, [None])
        return stretches_in_touch(self.root, here, there, changed, limit_rows=self._limit_ids)

    def beside(
        self, here: Dataset, others: Sequence[Dataset | None], *, limit_rows: int | None = None
    ) -> list[Stretch]:
        """The rows of `here` that one of the others has elsewhere, or not at all."""
        limit = self._limit_ids if limit_rows is None else limit_rows
        there = [other for other in others if other is not None]
        if len(there) == len(others):
            return stretches_beside(self.root, here, *there, limit_rows=limit)
        files = {fragment.files for fragment in here.fragments}
        return stretches_of(self.root, here, files, limit_rows=limit)


def _ref(base: Snapshot, entity: EntityType) -> DatasetRef | None:
    was = base.catalog.by_id.get(entity.id)
    return None if was is None else base.tables[was.table_key].ref
