"""The environment, read once and passed down as a value; no other module looks at it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """`OMNIGRAPH_SPARK_MASTER` (default `local[*]`), `OMNIGRAPH_SPARK_REMOTE` (`sc://…`, wins),
    `OMNIGRAPH_SPARK_LOG` (a file for Spark's own log)."""

    spark_master: str = "local[*]"
    spark_remote: str | None = None
    spark_log: str | None = None
    query_memory_bytes: int = field(default_factory=lambda: _machine_memory_bytes() // 4)
    """What one query may take, unless it is told otherwise."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        return cls(
            spark_master=environment.get("OMNIGRAPH_SPARK_MASTER") or "local[*]",
            spark_remote=environment.get("OMNIGRAPH_SPARK_REMOTE") or None,
            spark_log=environment.get("OMNIGRAPH_SPARK_LOG") or None,
        )


def _machine_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
