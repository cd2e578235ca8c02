"""`branch merge` and `revert` as a person types them."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.errors import PreconditionFailed, ReadOnly
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
    query = 'query q() { match { $p: Person { name: "Ada" } } return { $p.age as a } }'
    rows = Graph.open(place).query(query)
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


def test_a_merge_that_brings_nothing_says_so(place: str, omnigraph: CommandLine) -> None:
    uri = Path(place).resolve()
    merge = ("branch", "merge", "review", "--resolve", "theirs", "--store", place)
    assert omnigraph(*merge).err == f"merged review into main: merged ({uri})\n"
    again = omnigraph("branch", "merge", "review", "--store", place)
    assert (again.exit_code, again.err) == (
        0,
        f"main has all of review already: already_up_to_date ({uri})\n",
    )


def test_of_rows_that_break_a_new_rule_only_ours_is_offered(
    place: str, omnigraph: CommandLine
) -> None:
    graph = Graph.open(place)
    graph.branch_delete("review")
    before = graph.commits()[0]
    graph.schema_apply(SCHEMA.replace("I32?", "I32? @range(0..9)"))
    graph.branch_create("review", before)
    graph.mutate('query q() { insert Person { name: "Bob", age: 60 } }', branch="review")
    refused = omnigraph("branch", "merge", "review", "--store", place, "--resolve", "theirs")
    assert refused.exit_code == 4 and "value_constraint_violation" in refused.out
    assert "--resolve ours" in refused.err and "--resolve theirs" not in refused.err
    done = omnigraph("branch", "merge", "review", "--store", place, "--resolve", "ours")
    assert done.exit_code == 0


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
    assert unfilled.exit_code == 1 and "1 of 1 choice takes no side yet" in unfilled.err
    file.write_text(preview.out.replace('"take": null', '"take": "theirs"'))
    done = omnigraph(*merge, "--resolve", str(file), "--delete-branch")
    assert done.exit_code == 0, done.err
    assert age(place) == 3 and Graph.open(place).branches() == ["main"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {type: Person, id: Ada, take: ours, take: theirs}", "twice"),
        ("- {type: Person", "line 1: this is not valid YAML: "),
        ("", "no list of choices"),
        ("theirs", "no list of choices"),
        ("- {type: Person, id: Ada, taek: ours}", "taek"),
        ("- {type: Person, id: Ada}\n- {type: Person, id: Bob, take: ours}", "1 of 2 choices"),
        ("{choices: [], source_commit_id: 7}", "source_commit_id"),
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"type": "Person", "take": "ours", "take": "theirs"}]', "take comes twice"),
        ('[{"type": "Person"', "not valid JSON: "),
        ('"theirs"', "no list of choices"),
    ],
)
def test_so_is_one_of_json(place: str, omnigraph: CommandLine, text: str, said: str) -> None:
    Path("choices.json").write_text(text)
    told = omnigraph("branch", "merge", "review", "--store", place, "--resolve", "choices.json")
    assert told.exit_code == 1 and said in told.err, told.err


def test_json_that_a_script_has_written_is_read_as_json(place: str, omnigraph: CommandLine) -> None:
    """YAML knows no tabs, and takes the halves of an escaped letter for two letters."""
    graph, name = Graph.open(place), "\N{SLIGHTLY SMILING FACE}"
    graph.branch_merge("review", resolve="ours", delete=True)
    graph.branch_create("smile")
    for branch, age_ in (("main", 2), ("smile", 3)):
        text = f'query q() {{ insert Person {{ name: "{name}", age: {age_} }} }}'
        graph.mutate(text, branch=branch)
    choice = {"type": "Person", "id": name, "take": "theirs"}
    Path("choices.json").write_text(json.dumps([choice], indent="\t"))
    done = omnigraph("branch", "merge", "smile", "--store", place, "--resolve", "choices.json")
    assert done.exit_code == 0, done.err


def test_a_commit_is_reverted_once(place: str, omnigraph: CommandLine) -> None:
    commit = Graph.open(place).commits(limit=1)[0].graph_commit_id
    for outcome in ("reverted", "nothing_to_revert"):
        done = omnigraph("revert", commit, "--store", place, "--json")
        assert (done.exit_code, json.loads(done.out)["outcome"]) == (0, outcome)
    assert age(place) == 1


def test_a_file_of_choices_holds_for_the_commits_it_was_made_for(
    place: str, omnigraph: CommandLine
) -> None:
    merge = ("branch", "merge", "review", "--store", place)
    file = Path("choices.json")
    made = omnigraph(*merge, "--preview", "--json").json
    made["choices"][0]["take"] = "theirs"
    file.write_text(json.dumps(made))
    graph = Graph.open(place)
    for branch in ("main", "review"):
        graph.mutate(f'query q() {{ insert Person {{ name: "{branch}" }} }}', branch=branch)
        for more in ((), ("--preview",)):
            stale = omnigraph(*merge, "--resolve", str(file), *more)
            assert stale.exit_code == 4, stale.err
            assert f"of branch {branch}, which is at" in stale.err and "preview" in stale.err
    assert age(place) == 2
    del made["source_commit_id"], made["target_commit_id"]
    file.write_text(json.dumps(made))
    assert omnigraph(*merge, "--resolve", str(file)).exit_code == 0
    assert age(place) == 3


def test_choices_made_for_one_revert_are_not_those_of_another(
    place: str, omnigraph: CommandLine
) -> None:
    newest, older = (c.graph_commit_id for c in Graph.open(place).commits(limit=2))
    preview = omnigraph("revert", older, "--store", place, "--preview", "--json")
    Path("choices.json").write_text(preview.out.replace('"take": null', '"take": "ours"'))
    told = omnigraph("revert", newest, "--store", place, "--resolve", "choices.json")
    assert told.exit_code == 1 and older in told.err and age(place) == 2


SETS = """
node Person { name: String @key  age: I32?  email: String? @unique }
edge Knows: Person -> Person { @unique(src, dst) }
"""


@pytest.fixture
def disputed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Conflicts of every look: null, empty text, no row; unique values, an edge without a node."""
    monkeypatch.chdir(tmp_path)
    graph = Graph.init("d.omni", SETS, durability="relaxed")
    people = 'insert Person { name: "A", email: "" } insert Person { name: "B" }'
    graph.mutate(f'query q() {{ {people} insert Person {{ name: "C" }} }}')
    graph.branch_create("review")
    knows = 'insert Knows { from: "A", to: "C" }'
    sides = {
        "main": [
            'update Person set { email: null } where name = "A"',
            f'insert Knows {{ from: "A", to: "B" }} insert Person {{ name: "N" }} {knows}',
        ],
        "review": [
            'update Person set { email: "a" } where name = "A"',
            f'insert Person {{ name: "N", age: 1 }} insert Person {{ name: "P" }} {knows}',
            'delete Person where name = "B"',
        ],
    }
    for branch, texts in sides.items():
        for text in texts:
            graph.mutate(f"query q() {{ {text} }}", branch=branch)
    return "d.omni"


def test_null_empty_text_and_no_row_look_different(disputed: str, omnigraph: CommandLine) -> None:
    told = omnigraph("branch", "merge", "review", "--store", disputed, "--preview")
    rows = [line.split()[-4:] for line in told.out.splitlines()]
    assert ["email", '""', "null", "a"] in rows
    assert ["age", "–", "null", "1"] in rows
    assert ["to", "–", "B", "–"] in rows
    assert "to, from" in told.out and "dst" not in told.out
    document = omnigraph("branch", "merge", "review", "--store", disputed, "--preview", "--json")
    assert [c["absent"] for c in document.json["conflicts"]] == [
        [],
        ["base"],
        ["base", "theirs"],
        ["base", "ours"],
    ]
    unique = document.json["conflicts"][3]["message"]
    assert "have the same to and from" in unique and "''s" not in unique


def test_a_preview_counts_no_row_in_conflict_and_says_what_is_left(
    disputed: str, omnigraph: CommandLine
) -> None:
    preview = ("branch", "merge", "review", "--store", disputed, "--preview")
    told = omnigraph(*preview)
    assert told.err.endswith(
        "4 conflicts are left to settle. Then a merge of review into main would be: merged\n"
    )
    document = omnigraph(*preview, "--json").json
    assert (document["outcome"], document["conflict_count"]) == ("merged", 4)
    assert document["counts"] == {"Person": {"inserted": 1, "updated": 0, "deleted": 0}}
    assert [change["id"] for change in document["changes"]] == ["P"]
    quiet = omnigraph(*preview, "--quiet")
    assert (quiet.out, quiet.err) == (told.out, "")
    settled = omnigraph(*preview, "--resolve", "theirs")
    assert settled.err == "a merge of review into main would be: merged\n"
    one = omnigraph("branch", "merge", "review", "--store", disputed, "--quiet")
    assert one.exit_code == 4 and "divergent_update" in one.out and "choices.json" not in one.err


def test_one_conflict_is_told_of_in_the_singular(place: str, omnigraph: CommandLine) -> None:
    told = omnigraph("branch", "merge", "review", "--store", place, "--preview")
    assert "1 conflict is left to settle." in told.err


def test_a_preview_reads_and_so_does_a_handle_that_only_reads(place: str) -> None:
    reader = Graph.open(place, read_only=True)
    preview = reader.branch_merge("review", preview=True)
    assert preview.conflict_count == 1 and "left to settle" in str(preview)
    newest = reader.commits(limit=1)[0]
    assert reader.revert(newest, preview=True).outcome == "reverted"
    choices = (
        {"type": c.type_name, "id": c.entity_id, "take": "theirs"} for c in preview.conflicts
    )
    assert not reader.branch_merge("review", preview=True, resolve=choices).conflicts
    with pytest.raises(ReadOnly):
        reader.branch_merge("review")
    with pytest.raises(PreconditionFailed):
        reader.branch_merge("review", preview=True, if_commit=preview.source_commit_id)
