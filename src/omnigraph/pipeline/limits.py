"""The thresholds of a load, as one value that the settings carry and every step is handed.

The defaults are measured. Other values are for tests, in which any load can be a large one.
"""

from dataclasses import field

from omnigraph.base.frozen import frozen

__all__ = ["InputLimits", "LoadLimits"]


@frozen
class InputLimits:
    """How much of the input a task takes into memory at once."""

    # Lines are parsed in blocks, at a few times their size.
    max_block_bytes: int = 16 << 20

    # One row. Longer than this, a file is not lines of JSON at all, and reading on would fill
    # memory.
    max_line_bytes: int = 64 << 20

    # A header is found in the first bytes of a file.
    max_header_bytes: int = 1 << 20

    # Records of CSV, in blocks that Arrow parses at once, at a few times their size.
    max_records_bytes: int = 8 << 20

    # What is read of a file, or unpacked of an archive, in one step.
    chunk_bytes: int = 1 << 20

    # A batch of a table is checked at once; wide rows make it large.
    max_batch_rows: int = 1 << 15

    # Fewer lines are decoded one by one in less time than it takes to halve them further.
    min_fast_lines: int = 64


@frozen
class LoadLimits:
    # A task's input: large enough for files worth having, small enough to show progress and to
    # give every core something to do.
    min_task_bytes: int = 1 << 20
    max_task_bytes: int = 128 << 20
    tasks_per_core: int = 3

    # Input is cut before it is known which runner will read it: finely enough for so many workers.
    # Neighbours that come to lie in one task are joined again.
    max_workers: int = 256

    # The driver reads a CSV file through before it cuts it: smaller files are not worth that.
    min_csv_bytes: int = 8 << 20

    # Input up to this size is loaded in this process unless the caller or a setting says otherwise.
    # Starting Spark takes 10 to 20 seconds, in which one process loads several hundred MiB; from
    # some gigabytes on Spark is faster.
    max_local_load_bytes: int = 64 << 20

    # Rows that came with the call travel to Spark's tasks up to here. More are written to storage,
    # where the tasks read them.
    max_carried_bytes: int = 32 << 20

    # Up to this size of the input the driver holds the rows, unless they turn out to be more
    # (`max_held_bytes`), and looks up the rows they are about instead of reading whole columns. At
    # this size (half a million rows) both ways take about as much processor time in one process,
    # and on Spark a join costs seconds more whatever the size.
    max_lookup_bytes: int = 32 << 20

    # Arrow bytes of all rows that a driver holds. How much room rows take is known only once they
    # are read: a megabyte of an archive or of Parquet may hold a gigabyte of them.
    max_held_bytes: int = 128 << 20

    # Arrow bytes of all types together that a task keeps before it writes them. Larger files read
    # faster later; a worker needs this much memory, and about as much again while it parses.
    max_unwritten_bytes: int = 128 << 20

    # Set checks. A set of so many ids takes a few hundred megabytes in each worker.
    max_worker_ids: int = 4_000_000

    # Up to here claims are compared at once; from here on it pays to look at their hashes first.
    max_plain_claims: int = 200_000

    # Where more claims than these come twice, the load is wrong as a whole: every claim is sent.
    max_repeated_claims: int = 1_000_000

    # Indexes. A load of so many rows builds those that the schema declares when it is done. Fewer
    # rows are quickly looked at one by one, until `optimize`.
    min_indexed_rows: int = 1_000_000

    # An index over more bytes of a table's files is built in parts of about this size, by tasks. A
    # task takes up to a few times as much memory.
    max_index_task_bytes: int = 1 << 30

    # Up to here these tasks run in this process, and do not wait for Spark.
    max_local_index_bytes: int = 16 << 30

    # Merges. Up to so many Arrow bytes of rows that a branch has changed, or moved to other files,
    # are compared in this process's memory. The rows of three sides are held there at once.
    max_merged_bytes: int = 64 << 20

    # Arrow bytes of rows on all sides that a task of a larger merge compares at once. To compare
    # them takes a few times as much.
    max_compared_bytes: int = 64 << 20

    # Ids of so many rows of all sides are matched in this process at once: some 200 MiB. Of more, a
    # part at a time.
    max_matched_rows: int = 2_000_000

    # Up to here a larger merge is done by this process in pieces, and does not wait for Spark.
    max_local_merge_bytes: int = 512 << 20

    # So many rows in conflict are told by a large merge and looked at by themselves. More are
    # counted.
    max_conflicts: int = 1_000

    input: InputLimits = field(default_factory=InputLimits)
