"""The tour, and what it leaves."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from omnigraph.surfaces.cli.demo import Tour
from tests.surfaces.cli import CommandLine


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("spark")
def test_the_demo_leaves_a_graph_whose_queries_can_be_asked_again(
    tmp_path: Path, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tour = omnigraph("demo", "demo")
    assert tour.exit_code == 0, tour.err
    assert "export OMNIGRAPH_EMBED_PROVIDER=local" in tour.out and "37 vectors" in tour.out
    assert re.findall(
        r"^   >>> .*'(ada|bo)'\).*$(?s:.*?)(\d rows?) in", tour.out, re.MULTILINE
    ) == [
        ("ada", "1 row"),
        ("bo", "0 rows"),
    ]
    assert re.findall(r"^   (\d rows?) for (ada|bo)$", tour.out, re.MULTILINE) == [
        ("1 row", "ada"),
        ("0 rows", "bo"),
    ]
    assert "the server has stopped" in tour.out
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "local")
    monkeypatch.chdir(tmp_path / "demo")
    shown = re.findall(r"^   \$ omnigraph ((?:query|commit) .*)$", tour.out, re.MULTILINE)
    assert len(shown) > 5
    for command in shown:
        again = omnigraph(*shlex.split(command))
        assert again.exit_code == 0, again.err
    *_, last = tour.out.splitlines()
    assert last == "omnigraph explore demo/packages.omni --queries demo/queries.gq"
    monkeypatch.chdir(tmp_path)
    assert all(Path(word).exists() for word in last.split() if word.startswith("demo/"))
    monkeypatch.chdir(tmp_path / "demo")
    waiting = omnigraph("branch", "merge", "for-review", "--preview", "--store", "packages.omni")
    assert waiting.exit_code == 0 and "fast_forward" in waiting.out + waiting.err
    refused = omnigraph("demo", str(tmp_path / "demo"))
    assert (refused.exit_code, "new or empty" in refused.err) == (1, True)


def test_without_the_packages_of_a_server_the_demo_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else found(name)
    )
    Tour(tmp_path).two_tokens()
    *_, said = capsys.readouterr().out.splitlines()
    assert said.startswith("   left out, since the server") and "omnigraph[server]" in said
