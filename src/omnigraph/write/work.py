"""The work of one commit, as a value, and the writers that prepare it.

A writer looks at one snapshot and says what its commit is to do to each table, and what it saw to
decide so. Nothing moves before the work is staged: a writer may be asked again at a later snapshot,
and its earlier work is then forgotten.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Literal, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.store.changes import Edits, RowEdits
from omnigraph.store.commits import CommitKind
from omnigraph.store.datasets import ROW_LOCATOR
from omnigraph.store.location import Location
from omnigraph.store.snapshot import Snapshot
from omnigraph.store.transactions import CreateIndex, DatasetRef, Rewrite
from omnigraph.store.transactions import Reshape as ReshapeOperation

__all__ = [
    "CommitNote",
    "OnConflict",
    "Replacement",
    "Replay",
    "Reshape",
    "StagedFiles",
    "TableEdit",
    "TableWork",
    "Target",
    "Upkeep",
    "Work",
    "Writer",
]


class OnConflict(Enum):
    """What to do when a table that the preparation saw has changed since."""

    PREPARE_AGAIN = "prepare_again"
    """The work is a function of the snapshot: mutations of every kind, loads that append or merge,
    upkeep. It is prepared once more, with everyone else kept out, so it comes after the others."""
    RAISE = "raise"
    """The work is what a caller decided on an older view: overwriting loads, branch merges."""


# What is done to one table ------------------------------------------------------------------------


@frozen(slots=False, eq=False)
class TableEdit:
    """Rows in memory that one table gains or loses, and the places of those that they replace."""

    rows: RowEdits
    existing: pa.Table
    """The places (`datasets.ROW_LOCATOR`) of those of the changed ids that the table holds."""
    base: DatasetRef
    """The version that the places are about."""

    @property
    def is_empty(self) -> bool:
        return self.rows.is_empty


@frozen
class StagedFiles:
    """Rows of one table that `datasets.write_fragments` has already written."""

    mode: Literal["append", "overwrite"]
    fragments: tuple[str, ...]
    row_count: int
    written_at: Location
    """Where they lie: `Snapshot.location` when they were written."""

    @property
    def base(self) -> None:
        """New rows name no place in any version."""

    @property
    def is_empty(self) -> bool:
        # To overwrite with nothing empties the table: that is something.
        return self.mode == "append" and not self.fragments


@frozen(slots=False, eq=False)
class Replacement:
    """Rows of one table in files already, some of them in the place of rows that are there, and
    the places of rows that go."""

    base: DatasetRef
    """The version that the addresses are about."""
    fragments: tuple[str, ...]
    """Rows that replace others come first and name their row ids."""
    addresses: NDArray[np.uint64]
    """Where the rows lie that are replaced."""
    inserted: int
    written_at: Location
    """Where they lie: `Snapshot.location` when they were written."""
    deleted: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    """Where the rows lie that go, and that nothing replaces."""

    @property
    def is_empty(self) -> bool:
        return not self.fragments and not len(self.deleted)


@frozen
class Upkeep:
    """Other files for the same rows of one table: a compaction, indexes, or both."""

    base: DatasetRef
    """The version that the files are of, on a line of the branch's own."""
    operations: tuple[Rewrite | CreateIndex, ...]
    """They land one after the other; each was staged as if those before it had landed."""

    @property
    def is_empty(self) -> bool:
        return False


@frozen
class Reshape:
    """Other columns for the rows of one table, which all stay."""

    base: DatasetRef
    """The version that the files of new columns are of, on a line of the branch's own."""
    operation: ReshapeOperation

    @property
    def is_empty(self) -> bool:
        return False


TableWork = TableEdit | StagedFiles | Replacement | Upkeep | Reshape
"""Each knows whether it `is_empty`, and its `base`: the version that it fits; None: it fits any."""


# What one commit does -----------------------------------------------------------------------------


@frozen(slots=False)
class Work:
    """What a commit is to do to each table, and what that depends on."""

    tables: Mapping[TableKey, TableWork]
    reads: frozenset[TableKey] | None
    """The tables that it depends on beside those it changes; None: it depends on every table."""
    on_conflict: OnConflict
    schema_hash: str | None = None
    """Another schema for the graph, which `Schemas.put` has kept; None: it stays as it is."""
    created: tuple[EntityType, ...] = ()
    """Types that get an empty table."""
    dropped: frozenset[TableKey] = frozenset()
    """Tables that the commit no longer has. Their rows stay readable at earlier commits."""
    renamed: Mapping[TableKey, TableKey] = field(default_factory=dict)
    """Tables that the commit has under another key, which no other table has before or after.
    `tables` names them as they were."""
    is_recorded: bool = False
    """True if the commit is made even where no row changes, because its note must be found again:
    the name of a load that has been done."""
    note: "CommitNote | None" = None
    """What the commit says of itself where that depends on what the preparation found; None: what
    the caller of `write` says."""

    @property
    def changed(self) -> frozenset[TableKey]:
        """The tables there are that it changes, renames or drops."""
        return self.dropped | self.tables.keys() | self.renamed.keys()

    def fits(self, snapshot: Snapshot) -> bool:
        """Whether the rows that it names lie where it says; a compaction puts them elsewhere."""
        return all(
            work.base is None or work.base == snapshot.tables[key].ref
            for key, work in self.tables.items()
        )


# Who prepares it, where it goes and what it says of itself ----------------------------------------

W_co = TypeVar("W_co", bound=Work, covariant=True)


class Writer(Protocol[W_co]):
    """Prepares the work of one commit: a mutation, a load, a merge, an upkeep."""

    waits_first: bool = False
    """True if it prepares quickly. It then waits for the other writers of this process before it
    prepares and not after, so that it seldom prepares in vain."""

    def is_done(self) -> bool:
        """True if its commit is already on the branch, so that there is nothing left to write.

        It is asked before the first preparation, and again with all other writers kept out.
        """
        return False

    def prepare(self, snapshot: Snapshot) -> W_co:
        """Read, check, and write heavy files; move nothing.

        It is asked a second time, with all other writers kept out, if the first work no longer fits
        and may be prepared again.
        """
        ...


@frozen(slots=False)
class Replay(Writer[Work]):
    """Makes known edits to the rows that it finds."""

    edits: Edits
    on_conflict: OnConflict = OnConflict.RAISE

    def prepare(self, snapshot: Snapshot) -> Work:
        tables = {}
        for entity in snapshot.catalog.entities:
            if (rows := self.edits.tables.get(entity.table_key)) is not None:
                dataset = snapshot.dataset(entity)
                existing = dataset.rows_of(rows.ids).select(ROW_LOCATOR)
                tables[entity.table_key] = TableEdit(rows, existing, base=dataset.ref)
        return Work(tables, self.edits.reads, self.on_conflict)


@frozen
class Target:
    """The branch to write, and what the caller knows of it."""

    branch: BranchName
    if_commit: CommitId | None = None
    """Write only if the branch shows the rows of this commit."""
    seen: Snapshot | None = field(default=None, repr=False)
    """The head by which the caller has decided: a change since then is a conflict. None: the head
    that the writer finds first."""


@frozen
class CommitNote:
    """What the commit will say of itself."""

    kind: CommitKind
    actor: str | None = None
    message: str | None = None
    merged_parent: CommitId | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
