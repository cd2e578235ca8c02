"""Rows for a caller are read through a `View`: nobody else opens a snapshot's tables."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "omnigraph"

# They hold all rows to the rules of the graph, or move them: what a caller sees is no matter there.
RAW = (
    "store/",
    "write/",
    "check/",
    "engine/repair.py",
    "pipeline/embed/",
    "pipeline/load/",
    "pipeline/merge/",
    "read/changes/",
)
# Through these everybody else reads.
DOOR = (
    "read/view.py",
    "read/tables/",
    "read/where/affected.py",
    # Tasks ask the conditions of a view of the rows they read, and drop edges to nodes left out.
    "engine/export_parts.py",
    "pipeline/analytics/reading.py",
    "pipeline/export/parts.py",
    "pipeline/frames/frames.py",
    "pipeline/query/notes.py",
    "pipeline/query/tables.py",
)

OPENING = {"dataset", "other_version"}
"""The methods of `Snapshot` that give rows."""


def calls(path: Path) -> list[int]:
    """The lines of a module that call one of them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in OPENING
    ]


def test_only_the_door_and_those_who_write_open_the_tables_of_a_snapshot() -> None:
    found = {
        name: lines
        for path in sorted(SOURCE.rglob("*.py"))
        if not (name := path.relative_to(SOURCE).as_posix()).startswith((*RAW, *DOOR))
        and (lines := calls(path))
    }
    assert found == {}


def test_the_door_is_where_this_test_looks_for_it() -> None:
    for name in DOOR:
        path = SOURCE / name
        modules = [path] if path.is_file() else list(path.glob("*.py"))
        assert any(calls(module) for module in modules), name
