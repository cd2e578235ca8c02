"""Commands say the same of a graph on a server as of one on a disk."""

import json
import re
from pathlib import Path

import pytest

from tests.surfaces.cli import Answer, CommandLine
from tests.surfaces.client.doors import OTHER, QUERIES, SCHEMA, SET_AGE
from tests.surfaces.client.pairs import Pair, unlike
from tests.surfaces.client.served import answering

pytestmark = pytest.mark.xdist_group("parity")

READS = [
    "query everyone -q all.gq",
    "query everyone -q all.gq --format csv",
    'query friends -q all.gq --params {"name":"ada"} --json',
    "query everyone -q all.gq --branch side/1 --json",
    "explain friends -q all.gq",
    "branch list",
    "branch list --json",
    "branch diff side/1",
    "branch diff side/1 main --json",
    "branch merge clash --preview --json",
    "commit list",
    "commit list --branch side/1 --limit 1 --json",
    "commit show {head} --json",
    "commit changes {head} --json",
    "changes poll --start beginning --limit 2 --json",
    "schema show",
    "schema show --json",
    "schema plan --schema other.pg --json",
    "schema diagram",
    "snapshot --json",
    "log --graph",
    "log --json",
    "blob stat node Person ada avatar --json",
    "export {out} --json",
    "changes baseline --out {out} --json",
    "indexes --json",
    "stats --json",
    "analytics pagerank --edge Knows --top 1 --quiet",
    "analytics shortest_paths --source ada --json --quiet",
    "analytics shortest_paths --source ada --target bob --quiet --branch side/1",
]
FAILURES = [
    "query everyone -q all.gq --branch nowhere --json",
    "query freinds -q all.gq",
    "query -e broken",
    "commit show 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "branch create side/1 --json",
    "branch merge clash --json",
    'mutate fire -q ages.gq --if-commit 01ARZ3NDEKTSV4RRFFQ69G5FAV --params {"name":"x"} --json',
    "load --data bad.jsonl --mode append --engine local --quiet --json",
    "schema apply --schema broken.pg --json",
    "analytics degrees --edge Knwos --json",
]
WRITES = [
    'mutate set_age -q ages.gq --params {"name":"bob","age":5} --json',
    'mutate fire -q ages.gq --params {"name":"nobody"}',
    "load --data more.jsonl --mode merge --engine local -m why --quiet --json",
    "branch create new/1 --json",
    "branch merge side/1 --into main --json",
    "branch delete new/1 --yes",
    "analytics degrees --write-to age=degree --json --quiet -m degrees",
]
LOCAL = ["optimize", "cleanup --confirm", "repair", "embed", "init --schema other.pg"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OMNIGRAPH_TOKEN", raising=False)
    for name, text in {
        "all.gq": QUERIES,
        "ages.gq": SET_AGE,
        "other.pg": OTHER,
        "broken.pg": SCHEMA + "node",
        "bad.jsonl": '{"type": "Person", "data": {"name": "x", "age": 900}}\n',
        "more.jsonl": '{"type": "Person", "data": {"name": "zoe", "age": 9}}\n',
    }.items():
        (tmp_path / name).write_text(text)


class Both:
    """Runs a command here, and there."""

    def __init__(self, omnigraph: CommandLine, pair: Pair) -> None:
        self._omnigraph = omnigraph
        self._pair = pair

    def __call__(self, line: str) -> tuple[Answer, Answer]:
        server, _, graph = self._pair.remote.uri.partition("/graphs/")
        here = self._run(line, "here", "--store", self._pair.local.uri)
        # The graph of a log is a picture.
        is_whole = line.startswith("log")
        where = [self._pair.remote.uri] if is_whole else [server, "--graph", graph]
        return here, self._run(line, "there", "--server", *where)

    def _run(self, line: str, side: str, *where: str) -> Answer:
        graph = self._pair.local if side == "here" else self._pair.remote
        head = graph.commits()[0].graph_commit_id
        words = [word.replace("{head}", head).replace("{out}", side) for word in line.split(" ")]
        return self._omnigraph(*words, *where)


def plain(answer: Answer, uri: str) -> tuple[int, str, str]:
    """What was said, but for places and times."""
    out, err = (
        re.sub(r"\d+ \w+ ago", "AGO", text.replace(uri, "GRAPH").replace("/there", "/here"))
        for text in (answer.out, answer.err)
    )
    if out.startswith("{") and "seconds" in (said := json.loads(out)):
        out = json.dumps({**said, "seconds": None})
    return answer.exit_code, out, err


@pytest.mark.parametrize("line", [*READS, *FAILURES])
def test_a_command_says_the_same_of_a_graph_on_a_server(
    omnigraph: CommandLine, pair: Pair, line: str
) -> None:
    here, there = Both(omnigraph, pair)(line)
    assert plain(there, pair.remote.uri) == plain(here, pair.local.uri)
    assert (here.exit_code == 0) == (line in READS) or "plan" in line, here.err


def test_commands_that_write_say_the_same(omnigraph: CommandLine, twins: Pair) -> None:
    for line in WRITES:
        here, there = Both(omnigraph, twins)(line)
        one, other = plain(here, twins.local.uri), plain(there, twins.remote.uri)
        assert here.exit_code == 0, here.err
        assert unlike(other).replace('"founder"', "null") == unlike(one), line


@pytest.mark.parametrize("line", LOCAL)
def test_a_command_that_needs_the_storage_says_so(
    omnigraph: CommandLine, pair: Pair, line: str
) -> None:
    refused = omnigraph(*line.split(), "--server", pair.remote.uri)
    assert refused.exit_code == 1 and "--store" in refused.err


def test_bytes_come_from_a_server(omnigraph: CommandLine, pair: Pair, tmp_path: Path) -> None:
    got = omnigraph(
        *["blob", "get", "node", "Person", "ada", "avatar", "--output", "photo", "--server"],
        pair.remote.uri,
    )
    assert got.exit_code == 0 and (tmp_path / "photo").read_bytes() == b"hello world"


def test_the_token_of_the_environment_is_sent(
    omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_TOKEN", "a-secret")
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n["main"]'
    with answering(answer) as line:
        assert omnigraph("branch", "list", "--server", line.url).out.split()[-1] == "main"
    assert b"\r\nAuthorization: Bearer a-secret\r\n" in line.asked[0]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("branch list --server http://h --graph g --store x", "name the graph once"),
        ("branch list --graph g --store x", "give --server, not --store"),
        ("branch list --graph g", "give --server too"),
        ("branch list --server http://h", "say which graph"),
        ("query -e x", "with --server and --graph"),
        ("branch list x --server http://h --graph g", "name the graph once"),
        ("log --server http://h --graph g", "--server URL/graphs/ID"),
    ],
)
def test_a_server_is_named_once_and_whole(omnigraph: CommandLine, line: str, told: str) -> None:
    refused = omnigraph(*line.split())
    assert refused.exit_code == 2 and told in " ".join(refused.err.split())
