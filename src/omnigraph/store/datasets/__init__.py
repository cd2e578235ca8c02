"""The only door to Lance: open a dataset at a version, read it, stage a change, land it.

Four things a newcomer would get wrong:

- `max_retries=0` is not a compare-and-swap. Lance rebases one append onto another in silence, so
  `land` checks that the new version is exactly the next one and carries our uuid.
- Lance lands one transaction twice if it is committed twice. `land` refuses any base that is not
  the newest version, and recovery looks for the uuid first (`origins_after`).
- `Restore` lands over anything, also over a commit that it never saw.
- A dataset's handle remembers a wrong `uri` after `checkout_version`: paths are made here, from the
  root, and never taken from a handle.
"""

from omnigraph.store.datasets.addresses import (
    ROW_ADDRESS,
    fragment_of,
    fragments_of,
    offsets_of,
)
from omnigraph.store.datasets.beside import row_ids_beside, row_ids_gone
from omnigraph.store.datasets.blobs import BlobCell
from omnigraph.store.datasets.collection import Datasets
from omnigraph.store.datasets.files import (
    TableHome,
    discard_fragments,
    fragment_batches,
    has_fragments,
    read_fragment_columns,
    write_fragments,
    write_scratch,
)
from omnigraph.store.datasets.fragment_edits import EditCounts
from omnigraph.store.datasets.fragments import Files, Fragment, StoredFile, fragments_beside
from omnigraph.store.datasets.indexing import (
    SegmentJob,
    SegmentTask,
    index_steps,
    write_segment,
)
from omnigraph.store.datasets.lance_values import LandingRefused, VersionOrigin, with_row_ids
from omnigraph.store.datasets.reading import (
    MAX_PREDICATE_VALUES,
    ROW_ID,
    ROW_LOCATOR,
    WRITTEN_AT,
    Dataset,
    RowSet,
    open_at,
    row_set,
)
from omnigraph.store.datasets.reshape import ColumnFill
from omnigraph.store.datasets.versions import FolderState
from omnigraph.store.datasets.words import words_of
from omnigraph.store.transactions import DatasetRef

__all__ = [
    "MAX_PREDICATE_VALUES",
    "ROW_ADDRESS",
    "ROW_ID",
    "ROW_LOCATOR",
    "WRITTEN_AT",
    "BlobCell",
    "ColumnFill",
    "Dataset",
    "DatasetRef",
    "Datasets",
    "EditCounts",
    "Files",
    "FolderState",
    "Fragment",
    "LandingRefused",
    "RowSet",
    "SegmentJob",
    "SegmentTask",
    "StoredFile",
    "TableHome",
    "VersionOrigin",
    "discard_fragments",
    "fragment_batches",
    "fragment_of",
    "fragments_beside",
    "fragments_of",
    "has_fragments",
    "index_steps",
    "offsets_of",
    "open_at",
    "read_fragment_columns",
    "row_ids_beside",
    "row_ids_gone",
    "row_set",
    "with_row_ids",
    "words_of",
    "write_fragments",
    "write_scratch",
    "write_segment",
]
