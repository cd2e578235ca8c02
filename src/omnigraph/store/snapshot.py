"""One commit, held still: its catalog and the version of every table.

A query keeps one snapshot from its first row to its last, and a write is prepared against one. A
snapshot never changes and never goes stale; it is only not the newest any more.
"""

import gc
import threading
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field, replace
from weakref import WeakSet

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, TableKey
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.store.commits import Commit
from omnigraph.store.datasets import Dataset, DatasetRef, Datasets, TableHome
from omnigraph.store.location import Location
from omnigraph.store.manifest import TableEntry

__all__ = ["IN_USE", "Snapshot", "TableEntry", "tables_at"]


@frozen(slots=False, eq=False)
class Snapshot:
    commit: Commit
    branch: BranchName
    """The branch it was asked for; the commit itself may have been made on another."""
    catalog: Catalog
    tables: Mapping[TableKey, TableEntry]
    _datasets: Datasets = field(repr=False)
    _opened: dict[TableKey, Dataset] = field(default_factory=dict, repr=False)
    hidden: Hashable = None
    """What the catalog lacks of the schema, as a key; None: it is the whole schema's."""

    @property
    def schema_hash(self) -> str:
        return self.commit.schema_hash

    def dataset(self, entity: EntityType) -> Dataset:
        """The rows of a type as this commit pins them."""
        key = entity.table_key
        if key not in self._opened:
            self._opened[key] = self._datasets.open(self.tables[key].ref)
        return self._opened[key]

    def other_version(self, ref: DatasetRef) -> Dataset:
        """A table at a version that this commit does not pin."""
        return self._datasets.open(ref)

    def continues(self, entity: EntityType, earlier: DatasetRef) -> bool:
        """True if the version of a type that this commit pins was made from that one."""
        return self._datasets.parting(self.tables[entity.table_key].ref, earlier) == earlier

    def parting(self, entity: EntityType, other: DatasetRef) -> int:
        """The newest version that the rows of a type and those of `other` have in common.

        A row that was written no later is the same row on both lines. 0: nothing is known to be.
        """
        parting = self._datasets.parting(self.tables[entity.table_key].ref, other)
        return 0 if parting is None else parting.version

    def is_stored(self, entity: EntityType) -> bool:
        """True if the rows of a type can still be read: old ones may have been cleaned up."""
        return self._datasets.has_version(self.tables[entity.table_key].ref)

    def showing(self, catalog: Catalog, hidden: Hashable) -> "Snapshot":
        """The same commit for one to whom the types and properties of this catalog are all."""
        return IN_USE.add(replace(self, catalog=catalog, hidden=hidden))

    def followed_by(self, commit: Commit) -> "Snapshot":
        """The snapshot of the commit that comes next on the line. It has the same schema."""
        assert commit.parent == self.commit.id, f"{commit.id} does not follow {self.commit.id}"
        assert commit.schema_hash == self.schema_hash, "another schema has other tables"
        tables = {**self.tables, **commit.entries}
        return Snapshot(commit, self.branch, self.catalog, tables, self._datasets)

    def location(self, entity: EntityType) -> Location:
        """Where the rows of a type lie, and where a load writes files of new ones."""
        ref = self.tables[entity.table_key].ref
        return self._datasets.location(ref.path, ref.branch)

    def home(self, entity: EntityType) -> TableHome:
        """Where a load writes files of new rows, with the columns that the type has here."""
        return TableHome(self.location(entity), self.tables[entity.table_key].ref.version)

    @property
    def root(self) -> Location:
        """Where the graph lies."""
        return self._datasets.root


class SnapshotsInUse:
    """The snapshots that somebody in this process holds, of whichever graph: a clean-up asks."""

    def __init__(self) -> None:
        self._held: WeakSet[Snapshot] = WeakSet()
        self._changing = threading.Lock()

    def add(self, snapshot: Snapshot) -> Snapshot:
        with self._changing:
            self._held.add(snapshot)
        return snapshot

    def of(self, root: Location) -> list[Snapshot]:
        """The snapshots of the graph at `root`."""
        # An error that was caught forms a cycle with the frames it came through. Nobody holds their
        # snapshots any more, but each would stay, and its files, until Python looks for cycles.
        gc.collect()
        with self._changing:
            held = list(self._held)
        return [snapshot for snapshot in held if str(snapshot.root) == str(root)]


IN_USE = SnapshotsInUse()


def tables_at(line: Iterable[Commit], keys: Iterable[TableKey]) -> Mapping[TableKey, TableEntry]:
    """Rebuild what a past commit pinned: the nearest commit on its line that names each table."""
    found: dict[TableKey, TableEntry] = {}
    missing = set(keys)
    for commit in line:
        named = {key: entry for key, entry in commit.entries.items() if key in missing}
        found |= named
        missing -= named.keys()
        if not missing:
            break
    return found
