"""How a Spark session is begun: its settings, its Java, and where its output goes.

Nothing of a load is here. What a newcomer would get wrong: a session takes most of these settings
once, when its JVM starts; one that is joined later keeps those it was begun with.
"""

import contextlib
import logging
import os
import re
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from omnigraph.base.errors import DependencyMissing, SparkFailed, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.machine import memory_bytes
from omnigraph.pipeline.spark.java import find_java_home

__all__ = [
    "ALL_CORES",
    "STOPPED",
    "SparkSettings",
    "connect",
    "first_reason",
    "forget_stopped",
    "is_stopped",
    "launch",
    "name_interpreter",
    "open_log",
]

# Where Spark runs if nothing says where: on all cores of this machine.
ALL_CORES = "local[*]"

# The JVM shuffles keys; rows live in the Python workers, which need the rest of the memory.
DRIVER_MEMORY_SHARE = 0.25
DRIVER_MEMORY_MIB = range(1024, 8192 + 1)

# On one machine Spark tries a task once unless its master says otherwise: too few where the system
# kills a worker for its memory. A cluster's own number is four.
TRIES_ON_ONE_MACHINE = 2

# The JVM's second compiler costs a third more processor time in the first small load of a session,
# and halves that of a shuffle of millions of keys. So it begins ten times as late as by itself.
LATE_COMPILER = " ".join(
    f"-XX:Tier4{name}={calls}"
    for name, calls in {
        "InvocationThreshold": 50_000,
        "MinInvocationThreshold": 6_000,
        "CompileThreshold": 150_000,
        "BackEdgeThreshold": 400_000,
    }.items()
)
# What a core sorts at a time should fit in memory: too few parts of many rows go to disk and back.
# Of few rows Spark puts parts together again.
PARTS_PER_CORE = 12

LOOPBACK = "127.0.0.1"
STANDALONE = "spark://"
# What Spark says of a context that it has stopped by itself.
STOPPED = "stopped SparkContext"
CONNECT_PORT, CONNECT_TIMEOUT_S = 15002, 30
# A server that does not answer any more is given up after half a minute, and not after ten.
CONNECT_TRIES, CONNECT_PAUSE_MS = 9, 5_000

# Java's word for a failure elsewhere: what stands below it was the cause.
NO_REASON = re.compile(r"Exception thrown in awaitResult: ?$|in stage materialization:$")

LOG_TAIL_BYTES = 2_000


@frozen
class SparkSettings:
    """Where bulk work runs. `remote` (`sc://host:port`) wins over `master`.

    `log` is a file that gets what Spark prints; without it the output is dropped when all went
    well. `options` are Spark's own settings and win over ours.
    """

    master: str = ALL_CORES
    remote: str | None = field(default=None, repr=False)
    log: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def launch(settings: SparkSettings, environment: Mapping[str, str], log: IO[bytes]) -> Any:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _require_master(settings.master)
    conf = SparkConf(loadDefaults=False)
    for name, value in {**_options(settings.master), **settings.options}.items():
        conf.set(name, value)
    surroundings = {
        "JAVA_HOME": str(find_java_home(environment)),
        **_python(settings.master, environment),
        **({"SPARK_LOCAL_IP": LOOPBACK} if _is_local(settings.master) else {}),
    }

    def begin() -> Any:
        # A stopped session leaves its JVM behind, and the next one runs in it.
        gateway = SparkContext._gateway or launch_gateway(conf, {"stdout": log, "stderr": log})
        return SparkSession(SparkContext(conf=conf, gateway=gateway))

    try:
        with _environment(surroundings), warnings.catch_warnings():
            # Lance warns of any fork; this one becomes the JVM at once.
            warnings.filterwarnings("ignore", message="lance is not fork-safe")
            # A Ctrl-C is told once, and not with a traceback of the call that it came in.
            logging.getLogger().addFilter(_is_no_interrupt_of_py4j)
            return _begun(begin)
    # Java's own errors come as they are before there is a session.
    except Py4JError as error:
        if STOPPED in str(error) and settings.master.startswith(STANDALONE):
            raise _unheard(settings.master, "no Spark master there took us on") from error
        raise SparkFailed(doing="starting", reason=first_reason(str(error))) from error
    except PySparkException as error:
        raise SparkFailed(doing="starting", reason=_last_words(log) or str(error)) from error


def is_stopped(context: Any) -> bool:
    """True if a context is of no use any more: Spark has stopped it, or its JVM has died."""
    from py4j.protocol import Py4JError

    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return True


def forget_stopped() -> None:
    """Make room for another context where this process has one that is of no use any more."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or not is_stopped(context):
        return
    if not _answers(SparkContext._jvm):
        # There is nobody to be told to stop, and the next context needs another JVM.
        if java := getattr(SparkContext._gateway, "proc", None):
            java.stdin.close()
        context._jsc = SparkContext._gateway = SparkContext._jvm = None
    context.stop()


def _answers(jvm: Any) -> bool:
    from py4j.protocol import Py4JError

    try:
        jvm.System.nanoTime()
    except (Py4JError, OSError):
        return False
    return True


def _require_master(master: str) -> None:
    """Spark itself asks a master that is not there for a minute, then says that it was stopped."""
    if not master.startswith(STANDALONE):
        return
    try:
        masters = [urlsplit(f"//{one}") for one in master.removeprefix(STANDALONE).split(",")]
        servers = [(one.hostname, one.port) for one in masters]
    except ValueError:
        return  # Spark knows better what is wrong with it
    if not all(host and port for host, port in servers):
        return
    failed: OSError | None = None
    for server in servers:
        try:
            socket.create_connection(server, timeout=CONNECT_TIMEOUT_S).close()
        except OSError as error:
            failed = error
        else:
            return
    assert failed is not None, "there is a master"
    raise _unheard(master, failed.strerror or str(failed)) from failed


def _unheard(master: str, reason: str) -> SparkFailed:
    advice = (
        "check that a Spark master of this version runs there, that its address and port are "
        "those that its log tells (7077 where none is chosen), and that this machine reaches it"
    )
    return SparkFailed(doing=f"connecting to {master}", reason=reason, advice=advice)


def connect(remote: str, options: Mapping[str, str]) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.retries import DefaultPolicy

    try:
        # The client itself goes on trying for ten minutes before it says so.
        address = urlsplit(remote)
        server = (address.hostname or "", address.port or CONNECT_PORT)
        socket.create_connection(server, timeout=CONNECT_TIMEOUT_S).close()
        builder = SparkSession.builder.remote(remote)
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.client.set_retry_policies(
            [DefaultPolicy(CONNECT_TRIES, max_backoff=CONNECT_PAUSE_MS)]
        )
        return session
    except ImportError as missing:
        raise DependencyMissing(
            what="a client for Spark Connect", install='pip install "omnigraph[spark]"'
        ) from missing
    except (OSError, ValueError, PySparkException) as error:
        server_name, reason = _without_secrets(remote, first_reason(str(error)))
        advice = (
            "check that a Spark Connect server runs there, and that this machine reaches it at "
            f"this address and port ({CONNECT_PORT} where none is chosen)"
        )
        raise SparkFailed(
            doing=f"connecting to {server_name}", reason=reason, advice=advice
        ) from error


def _without_secrets(remote: str, reason: str) -> tuple[str, str]:
    """Where the server is, and the reason, neither with what else the address says: tokens."""
    scheme, mark, rest = remote.rpartition("://")
    names = re.split(r"[/;?#]", rest)
    user, _, host = names[0].rpartition("@")
    for secret in (user, *(name.rpartition("=")[2] for name in names[1:])):
        if secret:
            reason = reason.replace(secret, "…")
    return f"{scheme}{mark}{host}", reason


def _python(master: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The interpreter of the workers: on this machine ours, elsewhere perhaps another's path."""
    elsewhere = None if _is_local(master) else environment.get("PYSPARK_PYTHON")
    return {"PYSPARK_PYTHON": elsewhere or sys.executable}


def name_interpreter(context: Any, environment: Mapping[str, str] = os.environ) -> None:
    """Let workers on this machine run our interpreter, unless another one was named.

    Spark by itself takes the `python3` of the path. In an environment that is not activated that is
    the system's, which has neither pyarrow nor this package.
    """
    named = environment.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if _is_local(context.master) and not named:
        context.pythonExec = sys.executable


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
        # What is collected is the answer, or a part of its size.
        "spark.driver.maxResultSize": "0",
    }
    if _is_local(master):
        options |= {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.memory": f"{_driver_memory_mib()}m",
            "spark.driver.extraJavaOptions": LATE_COMPILER,
            "spark.sql.shuffle.partitions": str(PARTS_PER_CORE * (os.cpu_count() or 1)),
            # Workers import the package that the driver runs, installed or not.
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
        }
    return options


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _driver_memory_mib() -> int:
    share = int((memory_bytes() >> 20) * DRIVER_MEMORY_SHARE)
    return min(max(share, DRIVER_MEMORY_MIB.start), DRIVER_MEMORY_MIB.stop - 1)


def _begun(begin: Callable[[], Any]) -> Any:
    """The session that `begin` makes, in a thread of its own.

    In the main one Spark makes Ctrl-C cancel whatever runs, where which jobs to cancel is ours to
    say. And a Ctrl-C would come in the midst of a start: it leaves a JVM that never ends, or an
    answer of Java's for the next call to find.
    """
    with ThreadPoolExecutor(1, "omnigraph-spark") as threads:
        beginning = threads.submit(begin)
        try:
            return beginning.result()
        except BaseException:
            # It can't be stopped halfway: some seconds, and then nothing is left behind.
            if beginning.exception() is None:
                beginning.result().stop()
            raise


def _is_no_interrupt_of_py4j(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    return kind is not KeyboardInterrupt or "py4j" not in record.pathname


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
    if path is None:
        return tempfile.TemporaryFile()
    try:
        return Path(path).open("a+b")
    except (OSError, ValueError) as error:
        raise StorageFailed(doing="write", path=path, reason=str(error)) from error


def _last_words(log: IO[bytes]) -> str:
    """What ended a Java that never came up; all that it said last where that is not told."""
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - LOG_TAIL_BYTES))
    tail = log.read().decode(errors="replace").strip()
    thrown = re.findall(r'^Exception in thread "[^"]*" (.*)', tail, re.MULTILINE)
    return first_reason(thrown[-1]) if thrown else tail


def first_reason(text: str) -> str:
    """What went wrong, out of a message that goes on with Java's stack or begins with Python's."""
    if told_by_grpc := re.search(r'^\s*details = "(.*)"$', text, re.MULTILINE):
        return told_by_grpc[1]
    before, trace, raised = text.strip().rpartition("Traceback (most recent call last):\n")
    lines = raised.split("\n")
    if trace:
        told = next((line for line in lines if line[:1].strip()), before)
    else:
        told = next((line for line in lines if line.startswith(": ")), lines[0])
        causes = [line for line in lines if line.startswith("Caused by: ")]
        if NO_REASON.search(told):
            told = causes[-1] if causes else " ".join(map(str.strip, lines[:2]))
    return re.split(r"(?:^|: )(?:[a-z]+\.)+\w+(?:Exception|Error): ", told)[-1]
