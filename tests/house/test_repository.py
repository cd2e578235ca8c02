"""What the repository says about itself, where no linter looks."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import omnigraph
from tests import quick
from tests.processes import PATIENCE_S

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
DIRECT = [
    Requirement(line)
    for line in [
        *PROJECT["project"]["dependencies"],
        *(line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines),
        *PROJECT["dependency-groups"]["dev"],
    ]
]
LOCKS = ["requirements.lock", "requirements-tools.lock", "bench/requirements.lock"]

# A path of one developer's machine, or the host a package happened to come from.
FOREIGN = re.compile(
    r"(?<![\w.~-])/(?:farm|home|root|tmp|work|Users)/\w"
    r"|pypi\.org|python[h]osted|npmjs\.|--(?:extra-)?index[-]url|--find[-]links"
)


def pins(lock: str) -> dict[str, str]:
    """The version of every package that a lock names."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


MADE_HERE = {
    line.strip("/\n") for line in (ROOT / ".gitignore").read_text().splitlines() if "*" not in line
}

# The largest files that belong here are the locks.
MAX_FILE_BYTES = 1 << 20
# A case that is about NUL holds one.
BINARY_SUFFIXES = {".gz", ".png", ".webp", ".case"}


def tracked_files() -> list[Path]:
    """Every file of the repository, committed or about to be, that is not ignored."""
    if not (ROOT / ".git").exists():
        # What an sdist unpacked to, and what was installed and run beside it.
        return [
            path
            for path in ROOT.rglob("*")
            if path.is_file() and not MADE_HERE.intersection(path.relative_to(ROOT).parts)
        ]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def is_binary(path: Path) -> bool:
    return b"\0" in path.read_bytes()[:8192]


def text_files() -> list[Path]:
    return [path for path in tracked_files() if not is_binary(path)]


@pytest.mark.parametrize("requirement", DIRECT, ids=str)
def test_the_lock_pins_a_version_that_pyproject_allows(requirement: Requirement) -> None:
    pinned = pins("requirements.lock").get(canonicalize_name(requirement.name))
    assert pinned is not None, f"{requirement.name} is not locked: run `make lock`"
    assert pinned in requirement.specifier


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_hash_and_the_same_version_everywhere(lock: str) -> None:
    entries = re.split(r"^(?=[\w.-]+==)", (ROOT / lock).read_text(), flags=re.MULTILINE)[1:]
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    main = pins("requirements.lock")
    assert {n: v for n, v in pins(lock).items() if main.get(n, v) != v} == {}


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_pulls_in_torch(lock: str) -> None:
    assert "torch" not in pins(lock)


def test_no_file_names_a_machine_or_a_package_host() -> None:
    offences = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if FOREIGN.search(line)
    ]
    assert offences == []


def test_no_binary_and_no_large_file_is_tracked() -> None:
    files = tracked_files()
    assert [p for p in files if is_binary(p) and p.suffix not in BINARY_SUFFIXES] == []
    assert [p for p in files if p.stat().st_size > MAX_FILE_BYTES] == []


def test_the_version_is_written_once() -> None:
    assert version("omnigraph") == omnigraph.__version__
    assert "version" in PROJECT["project"]["dynamic"]


def test_make_lists_every_target_that_the_documents_mention() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    targets = set(re.findall(r"^  make (\w+)", listed, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert targets == set(phony[1].split())

    documents = "\n".join(path.read_text() for path in text_files() if path.suffix == ".md")
    blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```", documents, re.DOTALL | re.MULTILINE))
    mentioned = set(re.findall(r"`make (\w+)", documents))
    mentioned |= set(re.findall(r"^(?:\$ )?make (\w+)", blocks, re.MULTILINE))
    assert mentioned <= targets


@pytest.mark.deep
def test_tests_of_one_group_share_a_worker(tmp_path: Path) -> None:
    """Spark tests count on it: pytest and xdist must agree, or every worker starts a JVM."""
    (tmp_path / "test_group.py").write_text(
        "import pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('n', range(8))\n"
        "def test_who(n, worker_id, request):\n"
        "    (request.config.rootpath / f'{worker_id}.{n}').touch()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "--dist=loadgroup", "-c", "/dev/null"]
    subprocess.run(
        [*command, f"--rootdir={tmp_path}", str(tmp_path)], check=True, timeout=PATIENCE_S
    )
    left = [path.stem for path in tmp_path.glob("gw*.*")]
    assert len(left) == 8
    assert len(set(left)) == 1


def test_what_the_quick_run_leaves_out_is_there() -> None:
    assert [path for path in quick.SLOW if not (quick.TESTS / path).exists()] == []
