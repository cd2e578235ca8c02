"""What a new user gets wrong: one sentence, the way out, and an exit code that means something."""

from pathlib import Path

import pytest

from tests.graph.people import QUERIES, SCHEMA
from tests.surfaces.cli import CommandLine

INPUT, USAGE, MISSING, CONFLICT = 1, 2, 3, 4
STORE = "--store g.omni"
ASK = f"query staff -q people.gq {STORE}"
NO_COMMIT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
LOAD = "load --data people.jsonl --mode append --engine local"

MISTAKES: list[tuple[str, int, str]] = [
    ("init --schema nope.pg x.omni", MISSING, "no file at nope.pg\n  hint: check the path"),
    ("init --schema people.gq x.omni", INPUT, "a file of a schema (.pg) is needed here"),
    ("init --schema people.pg g.omni", CONFLICT, "already holds a graph or other files\n  hint:"),
    ("init --schema people.pg gs://b/x", INPUT, "gs:// is not supported: give a path, or s3://"),
    (
        "init --shema people.pg x.omni",
        USAGE,
        "there is no option --shema\n  hint: did you mean --schema?",
    ),
    ("init x.omni", USAGE, "--schema is missing\n  hint: --schema: The .pg"),
    (f"{LOAD} nope.omni", MISSING, "no graph at nope.omni\n  hint: check the path, or make one:"),
    (f"{LOAD} --branch mian g.omni", MISSING, "no branch named mian\n  hint: did you mean main?"),
    ("load --data nope.jsonl --mode append g.omni", MISSING, "no file at nope.jsonl\n  hint:"),
    ("load --data people.txt --mode append g.omni", INPUT, "hint: give .jsonl, .csv or"),
    ("load --data people.jsonl --mode apend g.omni", USAGE, "--mode: 'apend' is not one of"),
    (f"{LOAD} --resume g.omni", USAGE, "--resume takes the name of a load, and took 'g.omni'"),
    (f"{LOAD} --load-id g.omni", USAGE, "write --load-id NAME and then the graph"),
    (f"{LOAD} --quarantine q g.omni", INPUT, "error: --quarantine 'q': it has a meaning only"),
    (f"{LOAD} --engine sparc g.omni", USAGE, "not one of 'auto', 'spark'"),
    ("load --data people.jsonl g.omni", USAGE, "--mode is missing"),
    (f"{LOAD} g.omni", INPUT, "no node type Persn (did you mean Person?)"),
    ("query friends -q people.gq --store g.omni", MISSING, "no query named friends\n  hint:"),
    (f"query -q people.gq {STORE}", MISSING, "none was named\n  hint: queries here:"),
    (f"query everyone -q nope.gq {STORE}", MISSING, "no file at nope.gq\n  hint:"),
    (f"query everyone -q people.pg {STORE}", INPUT, "a file of queries (.gq) is needed here"),
    (f"query hire -q people.gq {STORE}", INPUT, "changes the graph\n  hint: run it with mutate"),
    (f"mutate everyone -q people.gq {STORE}", INPUT, "only reads\n  hint: run it with query"),
    ("query everyone -q people.gq", USAGE, "name the graph: with --store"),
    (f"{ASK} --params {{a:1}}", INPUT, "it is not JSON"),
    (f"{ASK} --params []", INPUT, 'a JSON object, such as {"name": "Ada"}'),
    (f"{ASK} --params {{}} --branch nope", MISSING, "no branch named nope\n  hint:"),
    (f"{ASK} --snapshot yesterday", MISSING, "a time is written as 2026-03-01T12:00Z"),
    (f"{ASK} --format tabel", USAGE, "'table', 'json', 'jsonl', 'csv', 'kv'"),
    (f"query -q people.gq -e x {STORE}", USAGE, "with --query FILE or with -e SOURCE"),
    ("quer", USAGE, "there is no command quer\n  hint: did you mean query?"),
    (f"branch create main {STORE}", CONFLICT, "branch main already exists\n  hint:"),
    (f"branch merge nope {STORE}", MISSING, "no branch named nope\n  hint: branches here: main"),
    (f"branch delete main {STORE}", INPUT, "main can't be deleted\n  hint: delete the rows"),
    (f"query -e match{{}} {STORE}", INPUT, "hint: a query has a name and braces: query q()"),
    (
        f"mutate hire -q people.gq --params-file who.json --if-commit {NO_COMMIT} {STORE}",
        CONFLICT,
        "as asked\n  hint: nothing was written: read the branch again",
    ),
    ("commit list", USAGE, "name the graph: as the argument, with --store"),
    (f"commit list --limit 0 {STORE}", USAGE, "greater than or equal to 1"),
    (f"export x.jsonl --type Persn {STORE}", MISSING, "no type named Persn\n  hint: did you mean"),
    (f"blob get nod Person a photo {STORE}", USAGE, "not one of 'node', 'edge'"),
    ("cleanup g.omni", INPUT, "error: --confirm: a cleanup removes the rows of old commits"),
    ("cleanup --confirm --keep 0 g.omni", INPUT, "error: --keep '0': it must be"),
    ("cleanup --confirm --older-than x g.omni", INPUT, "error: --older-than 'x': it must be"),
    ("repair --force g.omni", INPUT, "error: --force: it publishes rows"),
    (f"changes poll --start x {STORE}", INPUT, "error: --start 'x': it must be now, beginning"),
    ("lint people.gq", USAGE, "give a schema file or a graph with --store"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "people.pg").write_text(SCHEMA)
    (folder / "people.gq").write_text(QUERIES)
    (folder / "people.txt").write_text("hello\n")
    (folder / "who.json").write_text('{"email": "ada@x", "name": "Ada", "company": "c"}')
    (folder / "people.jsonl").write_text('{"type": "Persn", "data": {}}\n')
    return folder


@pytest.mark.parametrize(("command", "exit_code", "told"), MISTAKES)
def test_a_mistake_is_told_with_the_way_out(
    folder: Path,
    omnigraph: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    exit_code: int,
    told: str,
) -> None:
    monkeypatch.chdir(folder)
    if not Path("g.omni").exists():
        assert omnigraph("init", "--schema", "people.pg", "g.omni").exit_code == 0
    answer = omnigraph(*command.split(" "))
    assert (answer.exit_code, answer.out) == (exit_code, "")
    assert told in answer.err
    assert "Traceback" not in answer.err and "internal error" not in answer.err
    assert not Path("x.omni").exists()


def test_of_very_many_mistakes_in_a_text_the_first_are_shown(
    tmp_path: Path, omnigraph: CommandLine
) -> None:
    (tmp_path / "wrong.pg").write_text("node Person { name: Strng }\n" * 30)
    told = omnigraph("init", "--schema", str(tmp_path / "wrong.pg"), str(tmp_path / "g")).err
    assert told.count("error[") == 20
    assert told.endswith("more\n")
