"""`--json` of every command is a document of the schema that is published for it."""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from omnigraph.base.failpoints import Crash
from omnigraph.cluster.lock import locked
from omnigraph.cluster.place import ClusterPlace
from omnigraph.surfaces.shapes.documents import DOCUMENTS
from tests.surfaces.cli import Answer, CommandLine
from tests.surfaces.client.served import answering
from tests.surfaces.json_schemas import file_of, published, strict

FILES = {
    "people.pg": """
node Person {
    name: String @key
    age: I32? @index
    born: Date?
    about: String?
    photo: Blob?
    vector: Vector(8)? @embed("about", model="mock")
}
edge Knows: Person -> Person { since: Date? }
""",
    "people.gq": """
query names() { match { $p: Person } return { $p.name, $p.born } }
query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }
query wrong() { match { $p: Persn } return { $p.name } }
""",
    "people.jsonl": """
{"type": "Person", "data": {"name": "Ada", "about": "engines", "photo": "base64:aGVsbG8="}}
{"type": "Person", "data": {"name": "Bob", "born": "1900-01-02"}}
{"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"since": "1840-01-01"}}
""",
    "two.graphml": """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph>
</graphml>""",
    "bad.jsonl": """
{"type": "Person", "data": {"name": "Cy", "age": "old"}}
{"type": "Person", "data": {"name": "Di"}}
""",
    "policy.yaml": """
version: 1
groups: {staff: [ada]}
rules:
  - {id: staff-read, allow: {actors: {group: staff}, actions: [read]}}
  - id: no-age
    deny: {actors: everyone, actions: [read], types: [Person], unless: resource.age == 3}
""",
    "cases.yaml": """
version: 1
cases:
  - {id: reads, actor: ada, action: read, branch: main, expect: allow}
  - {id: writes, actor: ada, action: change, branch: main, expect: allow}
""",
    "cluster.yaml": """
version: 1
metadata: {name: brain}
storage: ./deployed
graphs:
  people: {schema: deployed.pg, queries: deployed.gq}
  taken: {schema: deployed.pg}
policies:
  staff: {file: policy.yaml, applies_to: [people]}
""",
    "deployed.pg": "node Person { name: String @key  age: I32? }",
    "deployed.gq": """
query find($name: String) { match { $p: Person { name: $name } } return { $p.age } }
""",
    "home/config.yaml": """
servers: {far: {url: https://far.example.org}}
profiles: {work: {server: far, graph: g, format: kv}}
aliases: {wrong: query nobody -q people.gq --store g.omni --json}
""",
}

AGE = "mutate age -q people.gq --store g.omni"
# Each takes what those before it left. What stands for a commit is filled in.
COMMANDS = [
    "init --schema people.pg g.omni --as ada -m first",
    "load --data people.jsonl --mode append g.omni --load-id a",
    "load --data bad.jsonl --mode merge g.omni --on-error quarantine --quarantine q --dry-run",
    "query names -q people.gq --store g.omni",
    "query names -q people.gq --store g.omni --snapshot {head}",
    "import two.graphml --plan plan",
    "import two.graphml two.omni --engine local",
    "analytics pagerank --store g.omni",
    "analytics degrees --store g.omni --write-to age=out_degree",
    "branch create side g.omni",
    "branch create old g.omni",
    AGE + ' --branch side --params {"name":"Ada","age":1}',
    AGE + ' --params {"name":"nobody","age":1}',
    AGE + ' --params {"name":"Ada","age":2}',
    "branch list g.omni",
    "branch diff side --store g.omni",
    "branch merge side g.omni --preview",
    "branch merge side g.omni --resolve ours --delete-branch",
    "branch delete old g.omni",
    "commit list g.omni",
    "commit show {head} --store g.omni",
    "commit changes {mutation} --store g.omni",
    "changes poll --start beginning --store g.omni",
    "changes baseline --out base.jsonl --store g.omni",
    "log g.omni",
    "revert {mutation} g.omni --preview",
    "revert {mutation} g.omni",
    "snapshot g.omni",
    "show Person Ada --store g.omni",
    "blob stat node Person Ada photo --store g.omni",
    "blob get node Person Ada photo --offset 1 --out photo --store g.omni",
    "explain names -q people.gq --schema people.pg",
    "explain names -q people.gq --store g.omni --analyze",
    "export out.jsonl --store g.omni",
    "export out --format parquet --store g.omni",
    "embed g.omni",
    "embed --data people.jsonl --schema people.pg --out with.jsonl",
    "schema plan --schema new.pg g.omni",
    "schema apply --schema new.pg g.omni",
    "schema show g.omni",
    "schema diagram --store g.omni",
    "lint --schema people.pg people.gq",
    "fmt --check people.gq",
    "optimize g.omni",
    "indexes g.omni",
    "stats g.omni",
    "cleanup --keep 1 --confirm g.omni",
    "repair g.omni",
    "policy validate policy.yaml --schema people.pg",
    "policy test cases.yaml --policy policy.yaml --schema people.pg",
    "policy explain --policy policy.yaml --schema people.pg --actor ada --action read",
    "cluster validate",
    "cluster plan",
    "init --schema deployed.pg deployed/graphs/taken.omni",
    "cluster import taken --as ada",
    "cluster apply --as ada",
    "schema apply --schema people.pg deployed/graphs/taken.omni",
    "cluster refresh",
    "cluster plan",
    "cluster approve schema.taken --as ada",
    "cluster status",
    "cluster apply",
    "graphs list",
    "queries list",
    "queries validate",
    "cluster force-unlock {lock}",
    "logout far",
    "profile list",
    "profile show work",
    "alias",
    "version",
]
# Their documents are whole, and they say by their exit code what was found.
FINDS_SOMETHING = ("lint", "fmt", "policy test", "cluster plan", "cluster refresh")

FAILURES = [
    ("query names -q people.gq --store nowhere", 3),
    ("query nams -q people.gq --store g.omni", 3),
    ("query -e nonsense --store g.omni", 1),
    ("query names -q people.gq --store g.omni --params {", 1),
    ("load --data bad.jsonl --mode append g.omni", 1),
    ("mutate age -q people.gq --store g.omni --if-commit 01ARZ3NDEKTSV4RRFFQ69G5FAV", 4),
    ("init --schema people.pg g.omni", 4),
    ("branch delete x s3://bucket/g", 2),
    ("export --store g.omni", 2),
    ("load g.omni", 2),
    ("load --modus append", 2),
    ("lod", 2),
]

SCHEMAS = {name: jsonschema.Draft202012Validator(strict(each)) for name, each in published()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    monkeypatch.setenv("OMNIGRAPH_LOAD_ENGINE", "local")
    (tmp_path / "home").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text.lstrip())
    (tmp_path / "new.pg").write_text(FILES["people.pg"].replace("age:", "size: I32?\n    age:"))
    return tmp_path


def test_every_command_prints_a_document_of_its_schema(
    folder: Path, omnigraph: CommandLine
) -> None:
    seen = set()
    for command in COMMANDS:
        words = filled_in(command, omnigraph).split(" ")
        name = next(n for n in (" ".join(words[:2]), words[0]) if n in DOCUMENTS)
        answer = omnigraph(*words, "--json")
        assert answer.exit_code == 0 or name in FINDS_SOMETHING, (command, answer)
        SCHEMAS[file_of(name)].validate(answer.json)
        for event in events(answer):
            SCHEMAS[file_of("event")].validate(event)
        seen.add(name)
    assert seen | {"login"} == set(DOCUMENTS)


def test_a_login_prints_a_document_of_its_schema(
    folder: Path, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a-token\n"))
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]") as line:
        answer = omnigraph("login", line.url, "--json")
    SCHEMAS[file_of("login")].validate(answer.json)


def test_every_error_is_a_document_of_the_same_schema(folder: Path, omnigraph: CommandLine) -> None:
    assert omnigraph("init", "--schema", "people.pg", "g.omni").exit_code == 0
    for command, exit_code in FAILURES:
        answer = omnigraph(*command.split(" "), "--json")
        assert answer.exit_code == exit_code, (command, answer)
        SCHEMAS[file_of("error")].validate(answer.json)
        assert "Traceback" not in answer.err
    # An alias may ask for JSON, too.
    SCHEMAS[file_of("error")].validate(omnigraph("wrong").json)


def test_a_document_with_one_member_more_or_less_is_not_of_its_schema() -> None:
    whole = {"version": "1"}
    for wrong in ({}, {"version": 1}, {**whole, "more": 1}):
        assert not SCHEMAS[file_of("version")].is_valid(wrong)
    assert SCHEMAS[file_of("version")].is_valid(whole)


def filled_in(command: str, omnigraph: CommandLine) -> str:
    """The command, with commits of the graph for those that it only hints at."""
    for blank, kinds in {"{head}": None, "{mutation}": "mutation"}.items():
        if blank in command:
            commits = omnigraph("commit", "list", "g.omni", "--json").json["commits"]
            ids = [c["graph_commit_id"] for c in commits if kinds in (None, c["kind"])]
            command = command.replace(blank, ids[0])
    if "{lock}" in command:
        command = command.replace("{lock}", lock_left_behind())
    return command


def lock_left_behind() -> str:
    """The id of a lock whose holder does not give it back."""
    place = ClusterPlace.at("deployed")
    with suppress(Crash), locked(place, operation="apply", owner="ada") as held:
        raise Crash
    return held.lock.id


def events(answer: Answer) -> Iterator[Any]:
    """Lines of standard error that are JSON."""
    yield from (json.loads(line) for line in answer.err.splitlines() if line.startswith("{"))
