"""Pages for developers name what is there, and a recipe that is followed in part fails a test."""

import ast
import re
from pathlib import Path

import pytest

from omnigraph.store.commits import CommitKind
from tests.crash.dying import SCENARIOS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/omnigraph"
PAGES = [
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs/decisions").glob("*.md"),
    ROOT / "tests/README.md",
]

# What a page may call a path: from the root of the repository, or from the package's.
FIRST_FOLDERS = {
    path.name for base in (ROOT, SOURCE) for path in base.iterdir() if path.is_dir()
} - {"__pycache__"}
NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)`")

# Rewrite rules make the first two, which laws hold to the plain plan; ranking comes with search.
WITHOUT_RANDOM_PLANS = {"Nothing", "ValueJoin", "TopK"}


def paths_named(text: str) -> set[str]:
    """Words in backticks that are paths of this repository."""
    words = set(NAMED.findall(text))
    folders = {word for word in words if "/" in word and word.split("/")[0] in FIRST_FOLDERS}
    return folders | {word for word in words if re.fullmatch(r"[\w-]+\.(py|lark|md)", word)}


def is_there(path: str, page: Path) -> bool:
    bases = (ROOT, SOURCE, ROOT / "tests", page.parent)
    if any((base / ending).exists() for base in bases for ending in (path, f"{path}.py")):
        return True
    return "/" not in path and any(
        True for folder in (SOURCE, ROOT / "tests", ROOT / "docs") for _ in folder.rglob(path)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_on_a_page_for_developers_exists(page: Path) -> None:
    missing = {path for path in paths_named(page.read_text()) if not is_there(path, page)}
    assert missing == set()


def test_every_kind_of_commit_that_a_writer_makes_has_a_scenario_to_die_in() -> None:
    by_no_writer = {CommitKind.INIT, CommitKind.RECOVERY}
    assert {scenario.kind for scenario in SCENARIOS.values()} == set(CommitKind) - by_no_writer


def test_random_plans_hold_every_operator() -> None:
    operators = _members_of("PatternOp") | _members_of("Op") - {"PatternOp"}
    text = (ROOT / "tests/reference/random_plans.py").read_text()
    made = set(re.findall(r"\bir\.(\w+)\(", text))
    assert operators - made == WITHOUT_RANDOM_PLANS


def test_every_variable_of_the_environment_is_on_a_page_for_users() -> None:
    read = set(re.findall(r"\bOMNIGRAPH_\w+", (SOURCE / "engine/settings.py").read_text()))
    pages = "".join(page.read_text() for page in (ROOT / "docs/user").glob("*.md"))
    assert read and {name for name in read if name not in pages} == set()


def _members_of(union: str) -> set[str]:
    """The names that a union of the plan is made of."""
    tree = ast.parse((SOURCE / "lang/plan/ir.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == union:
            return {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
    raise AssertionError(f"{union} is not in ir.py")
