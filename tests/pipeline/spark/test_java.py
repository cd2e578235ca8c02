import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.base.errors import DependencyMissing, StorageFailed
from omnigraph.pipeline.spark.java import find_java_home

ASK = """
import os, sys
from omnigraph.pipeline.spark.java import find_java_home
print(find_java_home(os.environ))
"""


def pretend(directory: Path, version: str) -> Path:
    """A `java` that says it is this version."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    program.chmod(0o755)
    return directory


@pytest.mark.parametrize("version", ["17.0.15", "21-ea", "25.0.2"])
def test_java_home_is_used_where_it_is_new_enough(tmp_path: Path, version: str) -> None:
    home = pretend(tmp_path / "jdk", version)
    assert find_java_home({"JAVA_HOME": str(home), "PATH": ""}) == home


def test_java_on_the_path_is_used_where_java_home_is_too_old(tmp_path: Path) -> None:
    old, new = pretend(tmp_path / "old", "1.8.0_402"), pretend(tmp_path / "new", "17")
    assert find_java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == new


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "none of your business"])
def test_the_wheel_is_used_where_nothing_installed_is_new_enough(
    tmp_path: Path, version: str
) -> None:
    old = pretend(tmp_path / "old", version)
    home = find_java_home(
        {"JAVA_HOME": str(old), "PATH": str(old / "bin"), "XDG_CACHE_HOME": str(tmp_path / "c")}
    )
    assert home.is_relative_to(tmp_path / "c" / "omnigraph" / "java")


def test_without_any_java_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DependencyMissing, match="Java 17") as caught:
        find_java_home({"PATH": str(tmp_path)})
    assert "omnigraph[spark]" in (caught.value.hint or "")


def test_a_cache_that_can_not_be_written_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "file")}
    with pytest.raises(StorageFailed, match="XDG_CACHE_HOME"):
        find_java_home(environment)


def test_a_machine_without_java_starts_the_wheels_own(tmp_path: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")
    }
    environment |= {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    asked = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    )
    program = Path(asked.stdout.strip()) / "bin" / "java"
    assert program.is_relative_to(tmp_path / "cache")
    # The module that Spark's launcher asks for and the wheel does not have.
    arguments = ["--add-modules=jdk.incubator.vector", "-Dwords=two words", "-version"]
    answer = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    assert "openjdk version" in answer.stderr


def test_two_processes_may_make_the_wrapper_at_once(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        homes = pool.map(find_java_home, [environment] * 8)
    (home,) = set(homes)
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]
    assert os.access(home / "bin" / "java", os.X_OK)
