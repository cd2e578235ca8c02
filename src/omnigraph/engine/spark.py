"""The Spark session of an engine: started when it is first needed, stopped with the handle."""

import threading
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.engine.settings import Settings

if TYPE_CHECKING:
    from omnigraph.pipeline.spark.session import Spark

__all__ = ["SparkOnDemand"]


class SparkOnDemand:
    """Nothing of Spark is imported before a session is asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._own: Spark | None = None
        # Two loads that begin at once would each start a session; a process can hold one.
        self._lock = threading.Lock()

    def session(self, given: Any = None) -> "Spark":
        """The caller's own session if one is given, else the one session of this engine."""
        from omnigraph.pipeline.spark.session import ALL_CORES, Spark, SparkSettings

        if given is not None:
            if not (isinstance(given, Spark) or hasattr(given, "createDataFrame")):
                rule, advice = "it must be a session of Spark", "leave it out to have one started"
                raise ArgumentInvalid("spark", type(given).__name__, rule, advice)
            return given if isinstance(given, Spark) else Spark.adopt(given)
        with self._lock:
            if self._own is not None and self._own.is_over:
                # Its cluster has gone, or has given it up: there may be another one by now.
                self._own.close()
                self._own = None
            if self._own is None:
                self._own = Spark.open(
                    SparkSettings(
                        master=self._settings.spark_master or ALL_CORES,
                        remote=self._settings.spark_remote,
                        log=self._settings.spark_log,
                        options=self._settings.spark_options,
                    )
                )
            return self._own

    def close(self) -> None:
        """Stop the session that was started here; a session that was given goes on."""
        with self._lock:
            if self._own is not None:
                self._own.close()
                self._own = None
