"""The environment, read once and passed down as a value; no other module looks at it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """`OMNIGRAPH_SPARK_MASTER` (default `local[*]`), `OMNIGRAPH_SPARK_REMOTE` (`sc://…`, wins),
    `OMNIGRAPH_SPARK_LOG` (a file for Spark's own log)."""

    spark_master: str = "local[*]"
    spark_remote: str | None = None
    spark_log: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        return cls(
            spark_master=environment.get("OMNIGRAPH_SPARK_MASTER") or "local[*]",
            spark_remote=environment.get("OMNIGRAPH_SPARK_REMOTE") or None,
            spark_log=environment.get("OMNIGRAPH_SPARK_LOG") or None,
        )
