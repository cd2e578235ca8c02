"""`branch merge` and `revert` as a person types them."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from tests.surfaces.cli import CommandLine

SCHEMA = "node Person { name: String @key  age: I32? }\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A graph whose branches main and review have both changed Ada's age."""
    monkeypatch.chdir(tmp_path)
    graph = Graph.init("g.omni", SCHEMA, durability="relaxed")
    graph.mutate('query q() { insert Person { name: "Ada", age: 1 } }')
    graph.branch_create("review")
    for branch, age in (("main", 2), ("review", 3)):
        text = f'query q() {{ update Person set {{ age: {age} }} where name = "Ada" }}'
        graph.mutate(text, branch=branch)
    return "g.omni"


def age(place: str) -> object:
    rows = Graph.open(place).query("query q() { match { $p: Person } return { $p.age as a } }")
    return rows.to_pylist()[0]["a"]


def test_conflicts_are_a_table_with_what_to_type_next(place: str, omnigraph: CommandLine) -> None:
    refused = omnigraph("branch", "merge", "review", "--store", place)
    assert refused.exit_code == 4
    assert "divergent_update" in refused.out and "Ada" in refused.out
    assert "--resolve theirs" in refused.err and "--preview --json > choices.json" in refused.err
    told = omnigraph("branch", "merge", "review", "--store", place, "--json")
    document = json.loads(told.out)
    assert (told.exit_code, document["code"]) == (4, "merge_conflicts")
    assert set(document) == {"error", "code", "details", "hint"}
    assert document["details"]["conflicts"][0]["theirs"] == 3
    assert age(place) == 2


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_preview_makes_a_file_of_choices_to_fill_in(
    place: str, omnigraph: CommandLine, suffix: str
) -> None:
    merge = ("branch", "merge", "review", "--store", place)
    preview = omnigraph(*merge, "--preview", "--json")
    assert preview.exit_code == 0 and age(place) == 2
    file = Path(f"choices.{suffix}")
    file.write_text(preview.out)
    unfilled = omnigraph(*merge, "--resolve", str(file))
    assert unfilled.exit_code == 1 and "must be ours or theirs" in unfilled.err
    file.write_text(preview.out.replace('"take": null', '"take": "theirs"'))
    done = omnigraph(*merge, "--resolve", str(file), "--delete-branch")
    assert done.exit_code == 0, done.err
    assert age(place) == 3 and Graph.open(place).branches() == ["main"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {type: Person, id: Ada, take: ours, take: theirs}", "twice"),
        ("- {type: Person", "not valid"),
        ("- {type: Person, id: Eve, take: ours}", "Person Eve"),
    ],
)
def test_a_file_that_is_wrong_is_told_where(
    place: str, omnigraph: CommandLine, text: str, said: str
) -> None:
    Path("choices.yaml").write_text(text)
    told = omnigraph("branch", "merge", "review", "--store", place, "--resolve", "choices.yaml")
    assert told.exit_code == 1 and said in told.err, told.err
    assert age(place) == 2


def test_a_commit_is_reverted_once(place: str, omnigraph: CommandLine) -> None:
    commit = Graph.open(place).commits(limit=1)[0].graph_commit_id
    for outcome in ("reverted", "nothing_to_revert"):
        done = omnigraph("revert", commit, "--store", place, "--json")
        assert (done.exit_code, json.loads(done.out)["outcome"]) == (0, outcome)
    assert age(place) == 1
