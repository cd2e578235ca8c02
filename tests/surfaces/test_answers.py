"""How the command line's answers read."""

from pathlib import Path

import pytest

import omnigraph as package
from tests.surfaces.cli import CommandLine

SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person
"""
ADD = 'query add() { insert Person { name: "ada" } }'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, omnigraph: CommandLine) -> str:
    monkeypatch.chdir(tmp_path)
    Path("g.pg").write_text(SCHEMA)
    assert omnigraph("init", "--schema", "g.pg", "--quiet", "g.omni").exit_code == 0
    return "g.omni"


def test_the_version_is_told_to_whoever_asks_either_way(omnigraph: CommandLine) -> None:
    asked, told = omnigraph("--version"), omnigraph("version")
    assert (asked.exit_code, asked.err) == (0, "")
    assert asked.out == told.out == f"omnigraph {package.__version__}\n"


def test_a_graph_is_made_in_silence_if_asked_to(
    tmp_path: Path, store: str, omnigraph: CommandLine
) -> None:
    quiet = omnigraph("init", "--schema", "g.pg", "--quiet", str(tmp_path / "quiet.omni"))
    assert (quiet.exit_code, quiet.out, quiet.err) == (0, "", "")
    told = omnigraph("init", "--schema", "g.pg", str(tmp_path / "told.omni"))
    assert told.err == f"made {tmp_path / 'told.omni'}\n"


def test_one_of_a_thing_is_not_told_as_many(store: str, omnigraph: CommandLine) -> None:
    changed = omnigraph("mutate", "-e", ADD, "--store", store).err
    assert changed.startswith("1 node and 0 edges changed on ")
    Path("in.jsonl").write_text('{"type": "Person", "data": {"name": "bob"}}\n')
    load = ("load", "--data", "in.jsonl", "--mode", "append", "--engine", "local", "--store", store)
    assert "would load 1 entity;" in omnigraph(*load, "--dry-run").err
    assert "loaded 1 entity as one commit" in omnigraph(*load).err
    Path("g.gq").write_text(ADD)
    assert omnigraph("lint", "g.gq", "--store", store).err.endswith(
        "\n0 errors, 1 warning in 1 file\n"
    )
