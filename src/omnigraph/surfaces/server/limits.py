"""Limits of a server, as one value. Each bounds what one client, or all together, can take."""

import os
from dataclasses import field

from omnigraph.base.frozen import frozen

__all__ = ["ServerLimits"]

MIN_READ_THREADS = 4


def _read_threads() -> int:
    return max(MIN_READ_THREADS, os.cpu_count() or 1)


@frozen
class ServerLimits:
    max_body_bytes: int = 1 << 20
    """Of a request, unpacked. A load has a limit of its own."""
    max_load_bytes: int = 32 << 20
    max_header_bytes: int = 32 << 10
    """All headers of a request with its first line; the parser itself has no limit."""
    header_timeout_s: float = 10.0
    """From the connection, or the first byte of the next request, to the end of the headers."""
    body_timeout_s: float = 60.0
    """For a whole body: a client that sends a byte now and then is cut off, too."""
    stall_timeout_s: float = 60.0
    """For a client to take the next part of a streamed answer."""
    keep_alive_s: int = 75
    max_connections: int = 1000

    read_threads: int = field(default_factory=_read_threads)
    """Reads run Python, one at a time: more threads than cores only add waiting."""
    own_threads: int = 4
    """For what a server says of itself: is it well, its metrics, its pages."""
    write_threads: int = 64
    """Writers of a branch wait for each other, and not in the way of readers."""
    export_threads: int = 8
    """An export holds its thread for as long as its client takes to read it."""

    max_actor_writes: int = 16
    max_actor_reads: int = field(default_factory=lambda: _read_threads() - 1)
    """Reads of one actor at once; more of them wait. One thread is left for other actors."""
    max_actor_bytes: int = 4 << 30
    """Bodies of one actor that are held at once."""
    retry_after_s: int = 1

    query_timeout_s: float = 300.0
    """A request may ask for less with `Omnigraph-Timeout-Ms`, never for more."""
    query_memory_bytes: int | None = None
    """None: what the settings say. Less may be asked for with `Omnigraph-Memory-Bytes`."""
    max_answer_rows: int = 1_000_000
    """Of one query. More rows than a client can use at once are for pages, or for an export."""
    max_answer_bytes: int = 256 << 20
    """Of one query, in Arrow. The rows stay in memory until the client has taken them."""
    slow_query_s: float = 1.0
    """Reads that take longer are told in the log."""
    max_job_bytes: int = 64 << 30
    """What one load job may upload."""
    max_spool_bytes: int = 256 << 30
    """What all jobs together may have uploaded and not loaded yet."""
    max_parts: int = 10_000
    """Of one upload: as many as object stores take, and few enough to be listed."""
    max_actor_jobs: int = 16
    """Jobs of one actor that have not ended."""
    running_jobs: int = 2
    """At once, each on a branch of its own; a load uses all cores by itself."""
    upload_expiry_s: float = 24 * 3600.0
    """An upload that gets no part for so long is forgotten."""
    ended_job_expiry_s: float = 7 * 24 * 3600.0
    """How long it is told what a job came to."""

    shutdown_s: int = 30
    """How long requests under way may take after a signal to stop; writes always end."""
