"""Where work of the pipeline runs: in this process, or on Spark.

Loads, merges, exports, embeddings, builds of indexes and analytics all ask here, each with the size
of its own work and the most that it does in this process.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

from omnigraph.base.choices import LoadEngine
from omnigraph.base.errors import DependencyMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.words import in_bytes
from omnigraph.engine.settings import Settings

__all__ = ["RunnerChoice", "WorkSize", "choose_runner"]

WITHOUT_SPARK = (
    'pip install "omnigraph[spark]", or load in this process: --engine local (engine="local")'
)


@frozen
class RunnerChoice:
    engine: Literal["local", "spark"]
    reason: str
    """Why, as a clause: `the input has 1.2 KiB, up to 64 MiB`."""


@frozen
class WorkSize:
    """How much there is to do, and the most that is done in this process."""

    size: int
    most_local: int
    unit: Literal["bytes", "rows"] = "bytes"

    @property
    def is_large(self) -> bool:
        return self.size > self.most_local

    @property
    def claim(self) -> str:
        """`the input has 1.2 GiB, more than 64 MiB`."""
        than = "more than" if self.is_large else "up to"
        size, most = map(self._shown, (self.size, self.most_local))
        return f"the input has {size}, {than} {most}"

    def _shown(self, number: int) -> str:
        return in_bytes(number) if self.unit == "bytes" else f"{number:,} rows"


def choose_runner(
    settings: Settings,
    measured: Callable[[], WorkSize],
    *,
    asked: LoadEngine | None = None,
    session: Any = None,
    load: Literal["files", "rows"] | None = None,
    may_start_spark: bool = True,
) -> RunnerChoice:
    """Who does the work. Its size is `measured` only if the answer depends on it.

    `asked` is what the caller said, if anything; `session` is a session of Spark that came with the
    call; `load` says what a load reads: files, or rows that came with the call.

    Files are loaded by the Spark that is configured, whatever their size: the files may be where
    only its workers can read them. A load that is too large for this process is refused where Spark
    is not installed. Other work is then done in this process, more slowly. So is work
    that names no engine if the caller may not start Spark.
    """
    if session is not None and asked != "local":
        return RunnerChoice("spark", "a Spark session, or a frame of one, came with the call")
    if asked is not None and asked != "auto":
        return RunnerChoice(asked, "the caller asked for it")
    if asked is None and settings.load_engine != "auto":
        return RunnerChoice(settings.load_engine, "OMNIGRAPH_LOAD_ENGINE names it")
    place = settings.configured_spark if load == "files" else None
    if place is None and not (work := measured()).is_large:
        return RunnerChoice("local", work.claim)
    reason = work.claim if place is None else f"{place} is configured"
    if not may_start_spark:
        return RunnerChoice("local", "the caller may not start Spark")
    if find_spec("pyspark") is not None:
        return RunnerChoice("spark", reason)
    if load is not None:
        what = f"the load is one for Spark, since {reason}, and pyspark"
        raise DependencyMissing(what=what, install=WITHOUT_SPARK)
    return RunnerChoice("local", "pyspark is not installed")
