"""`omnigraph explore`: for one person, on this machine, until Ctrl-C. And the page about it."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from omnigraph import Graph
from tests.house.reading import FENCE, commands
from tests.processes import PATIENCE_S
from tests.surfaces.cli import CommandLine
from tests.surfaces.server.world import make_graph

PAGE = (Path(__file__).parents[2] / "docs/user/explorer.md").read_text()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("explore")
    with make_graph(place) as graph:
        graph.branch_create("review/1")
        graph.mutate('query q() { insert Person { name: "eve" } }', branch="review/1")
    (place / "stored.gq").write_text("query n() { match { $p: Person } return { $p.name } }")
    return place / "people.omni"


@contextmanager
def explored(folder: Path, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The process, and the address that it prints."""
    command = [sys.executable, "-m", "omnigraph", "explore", *arguments]
    environment = {k: v for k, v in os.environ.items() if "DISPLAY" not in k}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            said, _, url = process.stdout.readline().strip().partition(" ")
            assert said == "Explorer:", process.stderr.read()
            yield process, url
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE_S)


def fetched(url: str, path: str, token: str | None, **headers: str) -> Any:
    parts = urlsplit(url)
    wanted = urllib.request.Request(f"{parts.scheme}://{parts.netloc}{path}", headers=headers)
    if token is not None:
        wanted.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(wanted, timeout=PATIENCE_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_graph_is_explored_by_one_person_until_ctrl_c(store: Path) -> None:
    options = ("--branch", "review/1", "--read-only", "--as", "ada", "--no-browser")
    with explored(store.parent, str(store), *options) as (process, url):
        parts = urlsplit(url)
        given = {name: value[0] for name, value in parse_qs(parts.fragment).items()}
        assert (parts.hostname, parts.path) == ("127.0.0.1", "/explore")
        assert (given["graph"], given["branch"]) == ("people", "review/1")
        token = given["token"]
        assert len(token) >= 32
        told = fetched(url, "/graphs/people/me", token)
        assert (told["state"], told["actor_id"], told["is_read_only"]) == ("personal", "ada", True)
        assert fetched(url, "/graphs/people/me", None) == 401
        assert fetched(url, "/graphs/people/me", token[:-1]) == 401
        assert fetched(url, "/graphs/people/me", token, Host="people.example") == 400
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and out == ""
        assert token not in err and "Traceback" not in err and err == "Ctrl-C ends it.\n"


def test_the_commands_of_the_page_are_true(store: Path, omnigraph: CommandLine) -> None:
    blocks = [block for language, block in FENCE.findall(PAGE) if language == "sh"]
    steps = [command for block in blocks for command in commands(block)]
    assert len(steps) == 4 and all(step[:2] == ["omnigraph", "explore"] for step in steps)
    *local, far = steps
    for _, _, *arguments in local[2:]:
        with explored(store.parent, *arguments) as (_, url):
            token = parse_qs(urlsplit(url).fragment)["token"][0]
            (query,) = fetched(url, "/graphs/people/queries", token)["queries"]
            assert query["name"] == "n"
            assert fetched(url, "/graphs/people/me", token)["actor_id"] == "ada"
    answer = omnigraph(*far[1:])
    assert answer.exit_code == 0
    assert answer.out == "Explorer: http://127.0.0.1:8080/explore#graph=people\n"
    assert "token" in answer.err


def test_the_program_of_the_page_runs_as_it_stands(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with make_graph(tmp_path) as graph:
        graph.branch_create("review/1")
        graph.mutate('query q() { insert Person { name: "eve" } }', branch="review/1")
    (block,) = [block for language, block in FENCE.findall(PAGE) if language == "python"]
    exec(compile(block, "explorer.md", "exec"), {})
    said = capsys.readouterr().out
    assert "no node type is called Persn" in said and "fast_forward" in said
    with Graph.open("people.omni") as merged:
        assert [hit.id for hit in merged.find("eve").hits] == ["eve"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.omni",), "no graph at nowhere.omni"),
        (("people.omni", "--branch", "reviw/1"), "no branch named reviw/1"),
        (("people.omni", "--queries", "none.gq"), "none.gq"),
        (("--server", "http://h/graphs/g", "--read-only"), "--read-only"),
        (("--server", "http://h/graphs/g", "--port", "1"), "--port"),
        ((), "name the graph"),
    ],
    ids=["no graph", "no branch", "no queries", "read-only there", "port there", "nothing"],
)
def test_a_mistake_is_told_before_anything_is_served(
    arguments: tuple[str, ...],
    said: str,
    store: Path,
    omnigraph: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(store.parent)
    answer = omnigraph("explore", *arguments, "--no-browser")
    assert answer.exit_code in (1, 2, 3) and answer.out == "" and said in answer.err


def test_a_browser_is_opened_where_there_is_a_screen(
    omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    class Noted(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            opened.append(url)
            return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "_tryorder", ["noted"])
    monkeypatch.setattr(webbrowser, "_browsers", {"noted": [None, Noted()]})
    far = ("--server", "http://127.0.0.1:8080/graphs/people", "--branch", "a/b")
    omnigraph("explore", *far)
    assert opened == ["http://127.0.0.1:8080/explore#graph=people&branch=a%2Fb"]
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    if sys.platform == "linux":
        omnigraph("explore", *far)
        assert len(opened) == 1
