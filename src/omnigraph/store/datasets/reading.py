"""One version of a dataset, open for reading."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.dataset import LanceDataset, serialize_row_addrs
from lance.fragment import LanceFragment
from numpy.typing import NDArray

from omnigraph.base.looks import Look, never
from omnigraph.store.datasets.addresses import ROW_ADDRESS
from omnigraph.store.datasets.blobs import BlobCell, parts_within
from omnigraph.store.datasets.deletions import ReadFile
from omnigraph.store.datasets.fragments import Files, Fragment, stored_fragment
from omnigraph.store.datasets.lance_values import (
    failures,
    is_blob,
    lance_filter,
    lance_words,
    open_handle,
    sql_text,
)
from omnigraph.store.indexes import IndexKind, Segment, StoredIndex
from omnigraph.store.layout import BLOB_MARK
from omnigraph.store.location import Location
from omnigraph.store.row_filters import HasWords, RowFilter
from omnigraph.store.transactions import DatasetRef

__all__ = [
    "MAX_PREDICATE_VALUES",
    "ROW_ADDRESS",
    "ROW_ID",
    "ROW_LOCATOR",
    "WRITTEN_AT",
    "Dataset",
    "RowSet",
    "open_at",
    "row_set",
]

# Past this many values a list in a predicate costs more than reading the column.
MAX_PREDICATE_VALUES = 10_000

# An IN list reaches an index where there is one. One pass over the column is cheaper for more ids
# than these, unless the column is so much longer than the list.
LOOKUP_BY_LIST = 1_000
ROWS_PER_LISTED_ID = 200

# To find the n-th row among deleted ones Lance counts these, for each row anew: thousands of rows
# take it a second. For more than so many, a pass over the row ids is quicker.
TAKEN_ONE_BY_ONE = 32

# Rows are about so much larger in memory than in a file, and never more of them come at once.
UNPACKED = 4
MAX_BATCH_ROWS = 16_384
# More would only wait in memory: the code that takes batches is slower than the disk.
BATCHES_AHEAD = 2

# So many times the rows that are asked for are judged by their own vectors.
REFINED = 4

SCORE = "_score"

ROW_ID = "_rowid"

# Which row it is, for good, and where it lies in one version of the table.
ROW_LOCATOR = ("id", ROW_ID, ROW_ADDRESS)

WRITTEN_AT = "_row_last_updated_at_version"
"""The version of the row's own line that wrote it. On another line the number means nothing."""

INDEX_KINDS = {
    "BTree": IndexKind.BTREE,
    "Inverted": IndexKind.INVERTED,
    "NGram": IndexKind.NGRAM,
    "LabelList": IndexKind.LABEL_LIST,
    "IVF_FLAT": IndexKind.VECTOR,
    "IVF_SQ": IndexKind.VECTOR,
}
"""By what Lance calls them."""

RowSet = bytes
"""Some rows of a dataset, by row id: a compressed bitmap that tasks may take along."""


def row_set(row_ids: NDArray[np.uint64]) -> RowSet:
    return bytes(serialize_row_addrs(row_ids.tolist()))


def open_at(location: Location, version: int | None = None) -> "Dataset":
    """A dataset that is no graph's, at its newest version if none is named."""
    handle = open_handle(location, version)
    return Dataset(DatasetRef(str(location), None, handle.version), handle)


class Dataset:
    """One version of a dataset, open for reading."""

    def __init__(
        self, ref: DatasetRef, handle: LanceDataset, read_file: ReadFile = lambda _: None
    ) -> None:
        """`read_file` reads a small file of the graph; without it more is scanned."""
        assert handle.version == ref.version, f"asked for {ref}, got version {handle.version}"
        self.ref = ref
        self._handle = handle
        self._read_file = read_file

    @property
    def row_count(self) -> int:
        with failures("count rows of", self.ref.path):
            return int(self._handle.count_rows())

    @property
    def column_names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def schema(self) -> pa.Schema:
        with failures("read the schema of", self.ref.path):
            return self._handle.schema

    @property
    def schema_metadata(self) -> Mapping[bytes, bytes]:
        return self.schema.metadata or {}

    @property
    def fragment_ids(self) -> tuple[int, ...]:
        return tuple(fragment.fragment_id for fragment in self._fragments())

    @property
    def files(self) -> "Files":
        """How the rows lie in files, from what Lance keeps in memory of an open dataset."""
        counted = self._counted()
        fragments = [fragment.metadata.to_json() for fragment in self._fragments()]
        return Files(
            fragments=counted["num_fragments"],
            deleted_rows=counted["num_deleted_rows"],
            bytes=sum(file["file_size_bytes"] or 0 for f in fragments for file in f["files"]),
        )

    def small_fragments(self, fewer_than_rows: int) -> int:
        """How many fragments hold fewer rows than that."""
        return self._counted(fewer_than_rows)["num_small_files"]

    @property
    def indexed_rows(self) -> Mapping[str, int]:
        """For each column with a BTREE, how many rows it answers for; the others are scanned."""
        return {i.column: i.rows for i in self.indexes.values() if i.kind is IndexKind.BTREE}

    @property
    def indexes(self) -> Mapping[str, StoredIndex]:
        """The indexes of the kinds that we build, by name."""
        return {
            name: StoredIndex(
                column=description.field_names[0],
                kind=INDEX_KINDS[description.index_type],
                name=name,
                segments=tuple(
                    Segment(
                        str(segment.uuid),
                        frozenset(segment.fragment_ids),
                        segment.dataset_version_at_last_update,
                    )
                    for segment in description.segments
                ),
                rows=description.num_rows_indexed,
            )
            for name, description in self._indexes().items()
            if description.index_type in INDEX_KINDS
        }

    def segments_covering(self) -> Mapping[int, frozenset[str]]:
        """For each fragment, the segments that cover it and that follow rows to other files."""
        covering = defaultdict[int, set[str]](set)
        for description in self._indexes().values():
            if INDEX_KINDS.get(description.index_type) is not IndexKind.BTREE:
                for segment in description.segments:
                    for fragment in segment.fragment_ids:
                        covering[fragment].add(str(segment.uuid))
        return {fragment: frozenset(uuids) for fragment, uuids in covering.items()}

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        """The fragments in the order in which a scan reads them."""
        with failures("read fragments of", self.ref.path):
            fragments = [fragment.metadata for fragment in self._handle.get_fragments()]
            bases = self._handle.base_paths()
        # Lance numbers the lines that a version reads from, in each version anew.
        lines: dict[int | None, str | None] = {None: self.ref.branch}
        lines |= {number: base.name for number, base in bases.items()}
        return tuple(stored_fragment(fragment, lines) for fragment in fragments)

    def addresses(self, fragment_id: int) -> NDArray[np.uint64]:
        """Where each row of a fragment lies in it, ascending: deleted rows are missing."""
        rows = self.scan([], with_row_address=True, fragment_ids=[fragment_id])
        return np.asarray(rows[ROW_ADDRESS].to_numpy())

    def take(self, rows: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
        """Rows by their positions in a scan."""
        if len(rows) > TAKEN_ONE_BY_ONE and self._has_deletions:
            return self._take_by_row_id(rows, columns)
        with failures("read", self.ref.path):
            return self._handle.take(rows.tolist(), columns=list(columns))

    @property
    def _has_deletions(self) -> bool:
        return self._counted()["num_deleted_rows"] > 0

    def _take_by_row_id(self, rows: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
        positions, order = np.unique(rows, return_inverse=True)
        row_ids = self.scan([], with_row_id=True)[ROW_ID].to_numpy()[positions]
        return self.rows_at(row_set(row_ids), columns).select(list(columns)).take(order)

    def head(self, column: str, *, limit_rows: int) -> pa.Array:
        """The first values of a column."""
        return self._read([column], limit=limit_rows)[column].combine_chunks()

    def sample_written(
        self, column: str, fragment_ids: Sequence[int], *, step_rows: int
    ) -> pa.Array:
        """Each so-many-th value of these fragments: the same whatever was deleted since."""
        parts = [pa.array([], self.schema.field(column).type)]
        next_row = 0
        with failures("read", self.ref.path):
            scanner = self._handle.scanner(
                columns=[column],
                fragments=[self._fragment(i) for i in fragment_ids],
                with_row_id=True,
                include_deleted_rows=True,
                scan_in_order=True,
            )
            for batch in scanner.to_batches():
                rows = np.arange(next_row, batch.num_rows, step_rows)
                next_row += len(rows) * step_rows - batch.num_rows
                parts.append(batch.column(column).take(pa.array(rows)))
        return pa.concat_arrays(parts)

    def _indexes(self) -> dict[str, Any]:
        with failures("read indexes of", self.ref.path):
            return {d.name: d for d in self._handle.describe_indices()}

    def scan(
        self,
        columns: Sequence[str],
        *,
        predicate: RowFilter | None = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        fragment_ids: Sequence[int] | None = None,
        without: RowSet | None = None,
        rows: range | None = None,
        look: Look = never,
    ) -> pa.Table:
        """The rows that satisfy the predicate, of all fragments or of those named.

        `rows` are the only ones wanted, counted in the order of the scan. A look that raises ends
        the reading.
        """
        fragments = None
        if fragment_ids is not None:
            fragments = [self._fragment(i) for i in fragment_ids]
        if isinstance(predicate, HasWords):
            # Lance warns on the screen unless its score is asked for.
            tested: dict[str, Any] = {"full_text_query": lance_words(predicate)}
            columns = [*columns, SCORE]
        else:
            tested = {"filter": None if predicate is None else lance_filter(predicate)}
        found = self._read(
            columns,
            **tested,
            with_row_id=with_row_id,
            with_row_address=with_row_address,
            fragments=fragments,
            row_addr_blocklist=without,
            offset=rows.start if rows is not None else None,
            limit=len(rows) if rows is not None else None,
            look=look,
        )
        return found.drop_columns([SCORE]) if isinstance(predicate, HasWords) else found

    def bounded_batches(
        self,
        columns: Sequence[str],
        *,
        limit_bytes: int,
        fragment_ids: Sequence[int] | None = None,
        predicate: RowFilter | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a scan, about so many bytes at a time, however large the table is.

        Blobs count too, as bytes; one that is larger than the limit comes by itself. Rows are those
        that satisfy the predicate, of all fragments or of those named.
        """
        assert not isinstance(predicate, HasWords), "words are asked of whole tables"
        blobs = [f.name for f in self.schema if f.name in columns and is_blob(f)]
        fragments = None
        if fragment_ids is not None:
            fragments = [self._fragment(i) for i in fragment_ids]
        with failures("read", self.ref.path):
            scanner = self._handle.scanner(
                columns=list(columns),
                filter=None if predicate is None else lance_filter(predicate),
                fragments=fragments,
                blob_handling="blobs_descriptions",
                with_row_id=bool(blobs),
                batch_size=self._rows_within(limit_bytes),
                batch_readahead=BATCHES_AHEAD,
            )
            for batch in scanner.to_batches():
                for part in parts_within(batch, blobs, limit_bytes):
                    yield self._with_bytes(part, blobs).select(list(columns))

    @property
    def row_bytes(self) -> int:
        """About how many bytes a row takes in memory, going by the size of the files."""
        return self.files.bytes * UNPACKED // max(1, self.row_count) + 1

    def _rows_within(self, limit_bytes: int) -> int:
        """How many rows take about so many bytes in memory."""
        return min(max(1, limit_bytes // self.row_bytes), MAX_BATCH_ROWS)

    def _with_bytes(self, rows: pa.RecordBatch, blobs: Sequence[str]) -> pa.RecordBatch:
        """The rows with the bytes of their blobs instead of descriptions of them."""
        for name in blobs:
            ids = rows["_rowid"].to_pylist()
            read = self._handle.read_blobs(name, ids=ids, preserve_order=True) if ids else []
            values = pa.array([value for _, value in read], pa.large_binary())
            rows = rows.set_column(rows.schema.get_field_index(name), name, values)
        return rows

    def batches(
        self, columns: Sequence[str], *, fragment_ids: Sequence[int], batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Rows of these fragments in order, not all in memory at once."""
        with failures("read", self.ref.path):
            yield from self._handle.scanner(
                columns=list(columns),
                fragments=[self._fragment(i) for i in fragment_ids],
                batch_size=batch_rows,
                blob_handling="all_binary",
                scan_in_order=True,
            ).to_batches()

    def _read(self, columns: Sequence[str], *, look: Look = never, **options: Any) -> pa.Table:
        with failures("read", self.ref.path):
            scanner = self._handle.scanner(
                columns=list(columns), blob_handling="all_binary", **options
            )
            if look is never:
                return scanner.to_table()
            batches = []
            for batch in scanner.to_batches():
                look()
                batches.append(batch)
            return pa.Table.from_batches(batches, scanner.projected_schema)

    def _counted(self, *small_rows: int) -> Any:
        with failures("count files of", self.ref.path):
            return self._handle.stats.dataset_stats(*small_rows)

    def _fragments(self) -> list[LanceFragment]:
        with failures("list fragments of", self.ref.path):
            return self._handle.get_fragments()

    def _fragment(self, fragment_id: int) -> LanceFragment:
        with failures("list fragments of", self.ref.path):
            fragment = self._handle.get_fragment(fragment_id)
        assert fragment is not None, f"{self.ref} has no fragment {fragment_id}"
        return fragment

    def as_stored(self, rows: pa.Table) -> pa.Table:
        """The rows with the marks of this dataset's columns, which a scan does not give back.

        Without its mark, a blob column of rows that were read would be refused as plain binary.
        """
        blobs = {field.name for field in self.schema if is_blob(field)}
        marked = (
            f.with_metadata({**(f.metadata or {}), **BLOB_MARK}) if f.name in blobs else f
            for f in rows.schema
        )
        return rows.cast(pa.schema(marked))

    def is_normal(self, column: str, fragment_ids: Sequence[int]) -> bool:
        """Whether the texts of these fragments are all in Unicode's normal form NFC."""
        for batch in self.batches([column], fragment_ids=fragment_ids, batch_rows=MAX_BATCH_ROWS):
            texts = batch.column(column)
            odd = texts.filter(pc.invert(pc.string_is_ascii(texts)))
            if not pc.all(pc.equal(odd, pc.utf8_normalize(odd, form="NFC"))).as_py() and len(odd):
                return False
        return True

    def ids_without(self, column: str, *, limit_rows: int) -> list[str]:
        """The ids of the first rows in which the column, which may be of blobs, is null."""
        ids: list[str] = self._read(["id"], filter=f"`{column}` IS NULL", limit=limit_rows)[
            "id"
        ].to_pylist()
        return ids

    def row_ids_without(self, column: str, *, fragment_ids: Sequence[int]) -> NDArray[np.uint64]:
        """The row ids of the rows of these fragments in which the column is null."""
        fragments = [self._fragment(i) for i in fragment_ids]
        # As SQL: Lance can't translate an expression over vectors.
        found = self._read([], filter=f"`{column}` IS NULL", with_row_id=True, fragments=fragments)
        return np.asarray(found[ROW_ID].to_numpy())

    def blob_cell(self, column: str, id_: str) -> BlobCell | None:
        """Where the blob of the row with this id lies. No byte of it is read."""
        with failures("read", self.ref.path):
            found = self._handle.scanner(
                columns=[column, WRITTEN_AT],
                filter=f"id = {sql_text(id_)}",
                with_row_id=True,
                blob_handling="blobs_descriptions",
            ).to_table()
        if not found.num_rows:
            return None
        (row,) = found.to_pylist()
        size = None if row[column] is None else row[column]["size"]
        return BlobCell(row["_rowid"], row[WRITTEN_AT], size)

    def read_blob(self, column: str, row_id: int, *, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end` of a blob; no others are read from storage."""
        with failures("read", self.ref.path):
            request = (row_id, start, end - start)
            ((_, _, read),) = self._handle.read_blob_ranges(column, [request], selector="ids")
        assert read is not None and len(read) == end - start, f"{self.ref}: a blob changed size"
        return read

    def rows_of(self, ids: pa.Array, columns: Sequence[str] = ()) -> pa.Table:
        """`id`, `_rowid`, `_rowaddr` and the columns of the rows with these ids."""
        wanted = ["id", *columns]
        if len(ids) <= self._listed_ids:
            among = _among("id", ids)
            return self._read(wanted, filter=among, with_row_id=True, with_row_address=True)
        found = self.scan(["id"], with_row_id=True, with_row_address=True)
        found = found.filter(pc.is_in(found["id"], value_set=ids))
        if not columns:
            return found
        rows = self.rows_at(row_set(found[ROW_ID].to_numpy()), columns)
        order = pc.index_in(found[ROW_ID], value_set=rows[ROW_ID].combine_chunks())
        for column in columns:
            found = found.append_column(rows.schema.field(column), rows[column].take(order))
        return found.select([*wanted, ROW_ID, ROW_ADDRESS])

    @property
    def _listed_ids(self) -> int:
        """How many ids are looked up by a list of them."""
        of_size = min(self.row_count // ROWS_PER_LISTED_ID, MAX_PREDICATE_VALUES)
        return max(LOOKUP_BY_LIST, of_size)

    def nearest(
        self,
        column: str,
        query: NDArray[np.float32],
        *,
        limit_rows: int,
        lists: int,
        among: RowSet | None = None,
    ) -> NDArray[np.uint64]:
        """The addresses of about the nearest rows, by the vectors in the nearest lists of an index.

        Rows that it does not cover are all looked at. Distances are those of the rows themselves:
        what an index keeps of a vector may be less.
        """
        asked = {
            "column": column,
            "q": query,
            "k": limit_rows,
            "metric": "cosine",
            "nprobes": lists,
            "refine_factor": REFINED,
        }
        found = self._read(
            ["_distance"], nearest=asked, with_row_address=True, row_addr_allowlist=among
        )
        return np.asarray(found[ROW_ADDRESS].to_numpy())

    def list_centres(self, index: str) -> pa.Array:
        """The centres of the lists that an index keeps vectors in: those of their directions."""
        with failures("read", self.ref.path):
            return self._handle.get_ivf_model(index).centroids

    def rows_at(
        self, rows: RowSet, columns: Sequence[str], *, with_row_address: bool = False
    ) -> pa.Table:
        """The columns and `_rowid` of the rows with these row ids, in the order of a scan."""
        return self._read(
            columns,
            with_row_id=True,
            with_row_address=with_row_address,
            row_addr_allowlist=rows,
        )

    def rows_among(self, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """`id`, `_rowid`, `_rowaddr` and the columns of the rows with one of these values in one.

        A look-up where the column has an index, a pass over it where it has none.
        """
        wanted = list(dict.fromkeys(["id", column, *columns]))
        if pa.types.is_floating(values.type):
            # Lance and Arrow tell 0 from -0; NumPy compares numbers.
            found = self.scan(wanted, with_row_id=True, with_row_address=True)
            return found.filter(pa.array(np.isin(found[column].to_numpy(), values.to_numpy())))
        if len(values) > MAX_PREDICATE_VALUES:
            found = self.scan(wanted, with_row_id=True, with_row_address=True)
            return found.filter(pc.is_in(found[column], value_set=values))
        among = _among(column, values)
        return self._read(wanted, filter=among, with_row_id=True, with_row_address=True)


def _among(column: str, values: pa.Array) -> pc.Expression | str:
    """The predicate that a column has one of these values."""
    if not len(values):
        return "false"
    if pa.types.is_unsigned_integer(values.type):
        # Lance can't translate an expression over unsigned integers.
        return f"`{column}` IN ({', '.join(map(str, values.to_pylist()))})"
    if pa.types.is_string(values.type) and len(values) <= LOOKUP_BY_LIST:
        # As SQL, since to translate an expression takes Lance as long as a small look-up.
        return f"`{column}` IN ({', '.join(map(sql_text, values.to_pylist()))})"
    return pc.field(column).isin(values)
