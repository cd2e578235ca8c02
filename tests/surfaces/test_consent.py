"""What can't be undone elsewhere is asked for; what is here is not."""

import io
import sys
from itertools import product
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.surfaces.cli.consent import require_yes
from tests.surfaces.cli import CommandLine

SCHEMA = "node Person { name: String @key }"
HERE, BUCKET, SERVER = "g.omni", "s3://bucket/g", "http://127.0.0.1:1/graphs/g"

# A command that loses something, and what makes it harmless.
DESTRUCTIVE = [
    ("branch delete side --store", None),
    ("branch merge side --delete-branch --store", "branch merge side --store"),
    ("load --data p.jsonl --mode overwrite --store", "load --data p.jsonl --mode append --store"),
    (
        "load --data p.jsonl --mode overwrite --store",
        "load --dry-run --data p.jsonl --mode overwrite --store",
    ),
    ("schema apply --schema p.pg --allow-data-loss --store", "schema apply --schema p.pg --store"),
]
ONLY_OF_STORAGE = [
    ("cleanup --confirm --store", "cleanup --dry-run --store"),
    ("repair --confirm --store", "repair --store"),
    ("repair --confirm --force --store", "repair --store"),
    ("init --schema p.pg --force --store", "init --schema p.pg --store"),
]
USAGE = 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A bucket that nobody is at: the first request is refused at once.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("OMNIGRAPH_LOAD_ENGINE", "local")
    Path("p.pg").write_text(SCHEMA)
    Path("p.jsonl").write_text('{"type": "Person", "data": {"name": "Ada"}}\n')


@pytest.mark.parametrize(
    ("line", "place"),
    [
        *((line, place) for (line, _), place in product(DESTRUCTIVE, (BUCKET, SERVER))),
        *((line, BUCKET) for line, _ in ONLY_OF_STORAGE),
    ],
)
def test_a_script_that_loses_something_elsewhere_has_to_say_yes(
    omnigraph: CommandLine, line: str, place: str
) -> None:
    refused = omnigraph(*line.split(), place)
    assert (refused.exit_code, refused.out) == (USAGE, "")
    assert f"of {place}, which is not on this machine: add --yes" in refused.err


@pytest.mark.parametrize("line", [harmless for _, harmless in DESTRUCTIVE if harmless])
def test_a_command_that_loses_nothing_needs_no_yes(omnigraph: CommandLine, line: str) -> None:
    failed = omnigraph(*line.split(), SERVER)
    assert failed.exit_code == 1 and "does not answer" in failed.err


def test_with_a_yes_a_command_goes_on(omnigraph: CommandLine) -> None:
    failed = omnigraph("branch", "delete", "side", "--yes", "--store", SERVER)
    assert failed.exit_code == 1 and "does not answer" in failed.err


def test_what_is_here_needs_no_yes_and_takes_one(omnigraph: CommandLine) -> None:
    Graph.init(HERE, SCHEMA).branch_create("side")
    for line, _ in (*DESTRUCTIVE, *ONLY_OF_STORAGE[:-1]):
        if line.startswith("branch merge"):
            Graph.open(HERE).branch_create("side")
        done = omnigraph(*line.split(), HERE)
        assert done.exit_code == 0, (line, done.err)
    assert omnigraph("cleanup", "--confirm", "-y", HERE).exit_code == 0


@pytest.mark.parametrize(
    ("typed", "goes_on"),
    [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False), ("", False)],
)
def test_a_person_is_asked_and_no_is_the_default(
    omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch, typed: str, goes_on: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    answer = omnigraph("branch", "delete", "side", "--store", SERVER)
    assert answer.exit_code == 1 and answer.out == ""
    assert f"This deletes branch side of {SERVER}. Go on? [y/N]" in answer.err
    assert ("does not answer" in answer.err) == goes_on
    assert ("nothing was changed" in answer.err) == (not goes_on)


@pytest.mark.parametrize("place", ["g.omni", "/srv/g", "file:///srv/g", "./s3/g"])
def test_a_path_is_here(place: str) -> None:
    require_yes(place, "deletes", yes=False)
