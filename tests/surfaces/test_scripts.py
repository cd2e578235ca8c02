"""What scripts of earlier versions type is still understood."""

import json
from pathlib import Path

import pytest

import omnigraph as package
from omnigraph import Graph
from tests.surfaces.cli import CommandLine

SCHEMA = "node Person { name: String @key  age: I32?  photo: Blob? }"
NAMES = "query names() { match { $p: Person } return { $p.name } order { $p.name } }"
ADD = 'query add() { insert Person { name: "Bob" } }'
ROW = {"type": "Person", "data": {"name": "Ada", "age": 36, "photo": "base64:aGVsbG8gd29ybGQ="}}
PHOTO = ["node", "Person", "Ada", "photo"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("people.pg").write_text(SCHEMA)
    Path("people.gq").write_text(NAMES)
    Path("more.jsonl").write_text(json.dumps(ROW))
    Graph.init("g.omni", SCHEMA).load([ROW], mode="append")
    return "g.omni"


@pytest.mark.parametrize(
    ("words", "today"),
    [
        (["read", "-e", NAMES, "--store"], "query"),
        (["change", "--query-string", ADD, "--store"], "mutate"),
        (["ingest", "--data", "more.jsonl", "--engine", "local"], "load --mode merge"),
    ],
)
def test_an_earlier_name_does_the_same_and_says_the_name_of_today(
    omnigraph: CommandLine, store: str, words: list[str], today: str
) -> None:
    answer = omnigraph(*words, store, "--json")
    assert answer.exit_code == 0, answer.err
    said = f"omnigraph {words[0]} is an earlier name: omnigraph {today} does the same"
    assert answer.err.splitlines().count(said) == 1
    assert isinstance(answer.json, dict)
    assert f"  {words[0]} " not in omnigraph("--help").out


def test_an_earlier_name_is_quiet_if_asked(omnigraph: CommandLine, store: str) -> None:
    assert omnigraph("change", "-e", ADD, "--store", store, "--quiet").err == ""


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_the_version_is_told(omnigraph: CommandLine, flag: str) -> None:
    assert omnigraph(flag).out == f"omnigraph {package.__version__}\n"


def test_lint_takes_query_files_by_option(omnigraph: CommandLine, store: str) -> None:
    one, other = (
        omnigraph("lint", "--schema", "people.pg", *files, "--json")
        for files in (["people.gq"], ["--query", "people.gq"])
    )
    assert one.exit_code == other.exit_code == 0 and one.json == other.json
    refused = omnigraph("lint", "--schema", "people.pg")
    assert refused.exit_code == 2 and "name query files" in refused.err


def test_an_export_without_a_path_goes_to_standard_output(
    store: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.surfaces.cli.app import command_tree

    command_tree()(["export", "--type", "Person", "--store", store], standalone_mode=False)
    lines = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line)["data"]["name"] for line in lines] == ["Ada"]


def test_an_export_does_not_mix_rows_with_its_report(omnigraph: CommandLine, store: str) -> None:
    refused = omnigraph("export", "--store", store, "--json")
    assert refused.exit_code == 2 and "name a file" in refused.json["error"]


@pytest.mark.parametrize(
    ("words", "bytes_"),
    [
        (["--offset", "6"], b"world"),
        (["--length", "5"], b"hello"),
        (["--offset", "4", "--length", "3"], b"o w"),
        (["--offset", "6", "--length", "99"], b"world"),
        (["--length", "0"], b""),
    ],
)
def test_a_part_of_a_blob_goes_to_a_file(
    omnigraph: CommandLine, store: str, words: list[str], bytes_: bytes
) -> None:
    got = omnigraph("blob", "get", *PHOTO, *words, "--out", "photo.part", "--store", store)
    assert got.exit_code == 0, got.err
    assert Path("photo.part").read_bytes() == bytes_


@pytest.mark.parametrize(
    "words", [["--offset", "12"], ["--range", "0-1", "--length", "1"], ["--offset", "-1"]]
)
def test_bytes_that_are_not_there_are_refused_and_nothing_is_written(
    omnigraph: CommandLine, store: str, words: list[str]
) -> None:
    refused = omnigraph("blob", "get", *PHOTO, *words, "--out", "photo.part", "--store", store)
    assert refused.exit_code in (1, 2) and refused.err
    assert not Path("photo.part").exists()


def test_a_new_branch_is_named_by_what_was_made(omnigraph: CommandLine, store: str) -> None:
    made = omnigraph("branch", "create", "a/1", "--as", "ada", "--store", store, "--json").json
    assert made == {"uri": Graph.open(store).uri, "name": "a/1", "from": "main", "actor_id": "ada"}


def test_a_lost_condition_exits_with_4_and_says_both_commits(
    omnigraph: CommandLine, store: str
) -> None:
    old = Graph.open(store).commits()[-1].graph_commit_id
    lost = omnigraph("mutate", "-e", ADD, "--if-commit", old, "--store", store, "--json")
    assert lost.exit_code == 4
    failure = lost.json["precondition_failure"]
    assert failure["expected"] == old and failure["actual"] != old
