"""The terminal pictures of the documentation show what the program prints today.

`make pictures` draws them anew. They are one story on the sample graph of `omnigraph demo`.
"""

import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest

from omnigraph import Graph
from tests.house.pictures import COLUMNS, drawn
from tests.house.terminal import Masks, Terminal

PICTURES = Path(__file__).parents[2] / "docs/images/terminal"
SAMPLE = files("omnigraph.surfaces.cli") / "sample"

# A name that is wrong.
WRONG = """\
query largest($section: String) {
    match {
        $s: Section { name: $section }
        $p inSection $s
    }
    return { $p.name, $p.size_kb }
}
"""
# Names that are right, and a pattern that its author did not mean.
DOUBTFUL = """\
query neighbours($package: String, $depth: I32) {
    match {
        $p: Package { name: $package }
        $p dependsOn $needed
        $s: Section
    }
    return { $p.name, $s.name }
}
"""


@dataclass(frozen=True)
class Story:
    """Commands on a graph, and how they look in a terminal."""

    terminal: Terminal
    masks: Masks

    def does(self, command: str) -> str:
        seen = self.terminal(*shlex.split(command)[1:])
        return self.masks(seen.text)

    def shows(self, command: str) -> str:
        return f"$ {_wrapped(command)}\n{self.does(command)}"


def _wrapped(command: str) -> str:
    """The command as a person would type it: a long one goes on in the next line."""
    first, *options = command.split(" --")
    lines = [first]
    for option in options:
        if len(lines[-1]) + len(option) + len("$  -- \\") > COLUMNS:
            lines[-1] += " \\"
            lines.append(f"    --{option}")
        else:
            lines[-1] += f" --{option}"
    return "\n".join(lines)


def told(story: Story) -> Iterator[tuple[str, str]]:
    """Names of pictures, and what they show."""
    asked = "omnigraph query {} --query queries.gq --params '{}' --store packages.omni"
    changed = (
        "omnigraph mutate {} --query queries.gq --params '{}' --branch {} --store packages.omni"
    )
    report = (
        '{"code": "DSA-1", "title": "A crafted file is run", "severity": "high",'
        ' "package": "python3-yaml"}'
    )
    yield (
        "query",
        story.shows(
            asked.format("largest_in_section", '{"section": "python", "at_least_kib": 60000}')
        ),
    )
    story.does("omnigraph branch create security --store packages.omni")
    story.does(changed.format("report_advisory", report, "security"))
    story.does(
        changed.format("annotate", '{"package": "python3-yaml", "note": "see DSA-1"}', "security")
    )
    yield "branch-diff", story.shows("omnigraph branch diff security --store packages.omni")
    story.does("omnigraph branch merge security --into main --store packages.omni")
    story.does("omnigraph branch create triage --store packages.omni")
    story.does(changed.format("reclassify", '{"code": "DSA-1", "severity": "critical"}', "triage"))
    story.does(changed.format("reclassify", '{"code": "DSA-1", "severity": "low"}', "main"))
    yield "merge-conflict", story.shows("omnigraph branch merge triage --store packages.omni")
    story.does("omnigraph branch merge triage --resolve theirs --store packages.omni")
    yield "log-graph", story.shows("omnigraph log --graph --store packages.omni")
    yield (
        "explain",
        story.shows(
            "omnigraph explain exposed_per_section --analyze --query queries.gq"
            ' --params \'{"code": "DSA-1"}\' --store packages.omni'
        ),
    )
    yield (
        "error",
        story.shows("omnigraph query largest --query wrong.gq --store packages.omni"),
    )
    yield "lint", story.shows("omnigraph lint --schema schema.pg doubtful.gq")


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("schema.pg", "queries.gq"):
        (tmp_path / name).write_text((SAMPLE / name).read_text())
    (tmp_path / "wrong.gq").write_text(WRONG)
    (tmp_path / "doubtful.gq").write_text(DOUBTFUL)
    data = SAMPLE / "packages.jsonl.gz"
    graph = Graph.init("packages.omni", tmp_path / "schema.pg")
    graph.load(str(data), mode="append", engine="local")
    return Story(Terminal(monkeypatch, is_terminal=True), Masks(tmp_path))


def test_every_picture_shows_what_is_printed_today(story: Story, is_blessing: bool) -> None:
    pictures = {f"{name}.svg": drawn(name, lines) for name, lines in told(story)}
    if is_blessing:
        shutil.rmtree(PICTURES, ignore_errors=True)
        PICTURES.mkdir(parents=True)
        for name, svg in pictures.items():
            (PICTURES / name).write_text(svg)
    assert {path.name: path.read_text() for path in PICTURES.iterdir()} == pictures, (
        "run `make pictures`"
    )


def test_no_picture_asks_for_anything_from_elsewhere() -> None:
    for picture in PICTURES.parent.rglob("*.svg"):
        text = picture.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "//" not in text, picture.name
