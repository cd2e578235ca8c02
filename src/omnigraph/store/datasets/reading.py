"""One version of a dataset, open for reading."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.dataset import LanceDataset, serialize_row_addrs
from lance.fragment import LanceFragment
from numpy.typing import NDArray

from omnigraph.store.datasets.lance_values import failures, sql_text
from omnigraph.store.transactions import DatasetRef

__all__ = ["VALUES_IN_PREDICATE", "Dataset", "Files", "Piece", "RowSet", "row_set"]

# Past this many values a list in a predicate costs more than reading the column.
VALUES_IN_PREDICATE = 10_000

# An IN list reaches an index where there is one; past this many ids one pass over the column is
# cheaper than the list.
LOOKUP_BY_LIST = 1_000


RowSet = bytes
"""Some rows of a dataset, by row id: a compressed bitmap that tasks may take along."""


def row_set(row_ids: NDArray[np.uint64]) -> RowSet:
    return bytes(serialize_row_addrs(row_ids.tolist()))


@dataclass(frozen=True, slots=True)
class Files:
    fragments: int
    deleted_rows: int
    """Rows that are gone and still take room."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A fragment of a version. Pieces with the same files and deletions hold the same rows."""

    id: int
    files: tuple[str, ...]
    deletions: str | None
    rows: int

    @property
    def has_deletions(self) -> bool:
        return self.deletions is not None


class Dataset:
    """One version of a dataset, open for reading."""

    def __init__(self, ref: DatasetRef, handle: LanceDataset) -> None:
        assert handle.version == ref.version, f"asked for {ref}, got version {handle.version}"
        self.ref = ref
        self._handle = handle

    @property
    def row_count(self) -> int:
        return int(self._handle.count_rows())

    @property
    def column_names(self) -> list[str]:
        return list(self._handle.schema.names)

    @property
    def schema_metadata(self) -> Mapping[bytes, bytes]:
        return self._handle.schema.metadata or {}

    @property
    def fragment_ids(self) -> tuple[int, ...]:
        return tuple(fragment.fragment_id for fragment in self._handle.get_fragments())

    @property
    def files(self) -> "Files":
        """How the rows lie in files, from what Lance keeps in memory of an open dataset."""
        counted = self._handle.stats.dataset_stats()
        fragments = [fragment.metadata.to_json() for fragment in self._handle.get_fragments()]
        return Files(
            fragments=counted["num_fragments"],
            deleted_rows=counted["num_deleted_rows"],
            bytes=sum(file["file_size_bytes"] or 0 for f in fragments for file in f["files"]),
        )

    def small_fragments(self, fewer_than_rows: int) -> int:
        """How many fragments hold fewer rows than that."""
        return self._handle.stats.dataset_stats(fewer_than_rows)["num_small_files"]

    @property
    def indexed_rows(self) -> Mapping[str, int]:
        """For each column with a BTREE, how many rows it answers for; the others are scanned."""
        return {
            description.field_names[0]: description.num_rows_indexed
            for description in self._indexes().values()
            if description.index_type == "BTree"
        }

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The fragments in the order in which a scan reads them."""
        metadata = [fragment.metadata for fragment in self._handle.get_fragments()]
        return tuple(
            Piece(
                id=fragment.id,
                files=tuple(file.path for file in fragment.files),
                deletions=None if fragment.deletion_file is None else str(fragment.deletion_file),
                rows=fragment.num_rows,
            )
            for fragment in metadata
        )

    def addresses(self, fragment_id: int) -> NDArray[np.uint64]:
        """Where each row of a fragment lies in it, ascending: deleted rows are missing."""
        rows = self.scan([], with_row_address=True, fragment_ids=[fragment_id])
        return np.asarray(rows["_rowaddr"].to_numpy())

    def take(self, rows: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
        """Rows by their place in a scan."""
        with failures("read", self.ref.path):
            return self._handle.take(rows.tolist(), columns=list(columns))

    def head(self, column: str, *, limit_rows: int) -> pa.Array:
        """The first values of a column."""
        return self._read([column], limit=limit_rows)[column].combine_chunks()

    def _indexes(self) -> dict[str, Any]:
        with failures("read indexes of", self.ref.path):
            return {d.name: d for d in self._handle.describe_indices()}

    def scan(
        self,
        columns: Sequence[str],
        *,
        predicate: pc.Expression | None = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        fragment_ids: Sequence[int] | None = None,
        without: RowSet | None = None,
    ) -> pa.Table:
        """The rows that satisfy the predicate, of all fragments or of those named."""
        fragments = None
        if fragment_ids is not None:
            fragments = [self._fragment(i) for i in fragment_ids]
        return self._read(
            columns,
            filter=predicate,
            with_row_id=with_row_id,
            with_row_address=with_row_address,
            fragments=fragments,
            row_addr_blocklist=without,
        )

    def _read(self, columns: Sequence[str], **options: Any) -> pa.Table:
        with failures("read", self.ref.path):
            return self._handle.scanner(
                columns=list(columns), blob_handling="all_binary", **options
            ).to_table()

    def _fragment(self, fragment_id: int) -> LanceFragment:
        fragment = self._handle.get_fragment(fragment_id)
        assert fragment is not None, f"{self.ref} has no fragment {fragment_id}"
        return fragment

    def rows_of(self, ids: pa.Array, columns: Sequence[str] = ()) -> pa.Table:
        """`id`, `_rowid`, `_rowaddr` and the columns of the rows with these ids."""
        wanted = ["id", *columns]
        if len(ids) <= LOOKUP_BY_LIST:
            # As SQL, since to translate an expression takes Lance as long as a small look-up.
            among = f"id IN ({', '.join(map(sql_text, ids.to_pylist()))})" if len(ids) else "false"
            return self._read(wanted, filter=among, with_row_id=True, with_row_address=True)
        found = self.scan(["id"], with_row_id=True, with_row_address=True)
        found = found.filter(pc.is_in(found["id"], value_set=ids))
        if not columns:
            return found
        rows = self.rows_at(row_set(found["_rowid"].to_numpy()), columns)
        order = pc.index_in(found["_rowid"], value_set=rows["_rowid"].combine_chunks())
        for column in columns:
            found = found.append_column(rows.schema.field(column), rows[column].take(order))
        return found.select([*wanted, "_rowid", "_rowaddr"])

    def rows_at(self, rows: RowSet, columns: Sequence[str]) -> pa.Table:
        """The columns and `_rowid` of the rows with these row ids, in the order of a scan."""
        return self._read(columns, with_row_id=True, row_addr_allowlist=rows)

    def rows_among(self, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """`id` and the columns of the rows with one of these values in a column.

        A look-up where the column has an index, a pass over it where it has none.
        """
        wanted = list(dict.fromkeys(["id", column, *columns]))
        if pa.types.is_floating(values.type):
            # Lance and Arrow tell 0 from -0; NumPy compares numbers.
            found = self.scan(wanted)
            return found.filter(pa.array(np.isin(found[column].to_numpy(), values.to_numpy())))
        if len(values) > VALUES_IN_PREDICATE:
            found = self.scan(wanted)
            return found.filter(pc.is_in(found[column], value_set=values))
        if pa.types.is_unsigned_integer(values.type):
            # Lance can't translate an expression over unsigned integers.
            listed = ", ".join(str(int(value)) for value in values.to_pylist())
            return self._read(wanted, filter=f"`{column}` IN ({listed})" if listed else "false")
        return self.scan(wanted, predicate=pc.field(column).isin(values))

    def rows_written_after(self, version: int, columns: Sequence[str]) -> pa.Table:
        """The rows that versions after `version` on this dataset's line added or replaced."""
        # Lance takes its virtual columns in SQL only, not in Arrow's expressions.
        return self._read(columns, filter=f"_row_last_updated_at_version > {int(version)}")
