"""How a Spark session is begun: its settings, its Java, and where its output goes.

Nothing of a load is here. What a newcomer would get wrong: a session takes most of these settings
once, when its JVM starts; one that is joined later keeps those it was begun with.
"""

import contextlib
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from omnigraph.base.errors import DependencyMissing, SparkFailed
from omnigraph.pipeline.java import find_java_home

__all__ = ["SparkSettings", "connect", "first_reason", "launch", "open_log"]

# The JVM shuffles keys; rows live in the Python workers, which need the rest of the memory.
DRIVER_MEMORY_SHARE = 0.25
DRIVER_MEMORY_MIB = range(1024, 8192 + 1)

# On one machine Spark tries a task once unless its master says otherwise: too few where the system
# kills a worker for its memory. A cluster's own number is four.
TRIES_ON_ONE_MACHINE = 2

LOOPBACK = "127.0.0.1"
CONNECT_PORT, CONNECT_TIMEOUT_S = 15002, 10

LOG_TAIL_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where bulk work runs. `remote` (`sc://host:port`) wins over `master`.

    `log` is a file that gets what Spark prints; without it the output is dropped when all went
    well. `options` are Spark's own settings and win over ours.
    """

    master: str = "local[*]"
    remote: str | None = None
    log: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def launch(settings: SparkSettings, environment: Mapping[str, str], log: IO[bytes]) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for name, value in {**_options(settings.master), **settings.options}.items():
        conf.set(name, value)
    surroundings = {
        "JAVA_HOME": str(find_java_home(environment)),
        **_python(settings.master, environment),
        **({"SPARK_LOCAL_IP": LOOPBACK} if _is_local(settings.master) else {}),
    }
    try:
        with _environment(surroundings), warnings.catch_warnings():
            # Lance warns of any fork; this one becomes the JVM at once.
            warnings.filterwarnings("ignore", message="lance is not fork-safe")
            # A stopped session leaves its JVM behind, and the next one runs in it.
            gateway = SparkContext._gateway or launch_gateway(conf, {"stdout": log, "stderr": log})
            with _own_interrupts():
                return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except PySparkException as error:
        raise SparkFailed(doing="starting", reason=_tail(log) or str(error)) from error


def connect(remote: str, options: Mapping[str, str]) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        # The client itself goes on trying for ten minutes before it says so.
        address = urlsplit(remote)
        server = (address.hostname or "", address.port or CONNECT_PORT)
        socket.create_connection(server, timeout=CONNECT_TIMEOUT_S).close()
        builder = SparkSession.builder.remote(remote)
        for name, value in options.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    except ImportError as missing:
        raise DependencyMissing(
            what="a client for Spark Connect", install='pip install "omnigraph[spark]"'
        ) from missing
    except (OSError, ValueError, PySparkException) as error:
        raise SparkFailed(
            doing=f"connecting to {remote}", reason=first_reason(str(error))
        ) from error


def _python(master: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The interpreter of the workers: on this machine ours, elsewhere perhaps another's path."""
    elsewhere = None if _is_local(master) else environment.get("PYSPARK_PYTHON")
    return {"PYSPARK_PYTHON": elsewhere or sys.executable}


def _options(master: str) -> dict[str, str]:
    options = {
        "spark.app.name": "omnigraph",
        "spark.master": re.sub(
            r"^local\[([^],]+)\]$", rf"local[\1,{TRIES_ON_ONE_MACHINE}]", master
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    if _is_local(master):
        options |= {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.memory": f"{_driver_memory_mib()}m",
            # The JVM's second compiler costs a third more processor time in the first load of a
            # session, and pays off only where millions of keys are shuffled.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            # One machine: more shuffle files than cores only cost.
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
            # Workers import the package that the driver runs, installed or not.
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
        }
    return options


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _driver_memory_mib() -> int:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    share = int(machine * DRIVER_MEMORY_SHARE)
    return min(max(share, DRIVER_MEMORY_MIB.start), DRIVER_MEMORY_MIB.stop - 1)


@contextlib.contextmanager
def _own_interrupts() -> Iterator[None]:
    """Spark makes Ctrl-C cancel whatever runs. Which jobs to cancel is ours to say."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Spark takes these from the process's environment alone, at launch."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def open_log(path: str | None) -> IO[bytes]:
    return tempfile.TemporaryFile() if path is None else Path(path).open("a+b")


def _tail(log: IO[bytes]) -> str:
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - LOG_TAIL_BYTES))
    return log.read().decode(errors="replace").strip()


def first_reason(text: str) -> str:
    """What went wrong, out of a message that goes on with Java's stack."""
    lines = text.strip().split("\n")
    told = next((line for line in lines if line.startswith(": ")), lines[0])
    return re.split(r"(?:^|: )(?:[a-z]+\.)+\w+(?:Exception|Error): ", told)[-1]
