"""Lines of JSON in, the same lines with vectors out."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.embed.mock import Mock
from omnigraph.embed.provider import EmbedConfig
from omnigraph.embed.providers import open_provider
from omnigraph.engine.embed_files import EmbeddedLines, embed_lines
from omnigraph.engine.language import catalog_of
from omnigraph.errors import EmbedModelWrong, EmbedTextRefused, SourceInvalid
from tests.embed.server import EmbedServer, Reply, embed_server, texts
from tests.surfaces.cli import CommandLine

SCHEMA = """
node Paper {
    title: String @key
    abstract: String?
    vector: Vector(8)? @embed("abstract")
    of_title: Vector(4)? @embed("title")
}
edge Cites: Paper -> Paper { why: String?  vector: Vector(8)? @embed("why") }
"""
GIVEN = [1.0, *[0.0] * 7]


def embedded(*lines: str, is_all: bool = False) -> tuple[list[str], EmbeddedLines]:
    sink = io.BytesIO()
    source = [f"{line}\n".encode() for line in lines]
    catalog = catalog_of(SourceText(SCHEMA))
    result = embed_lines(Mock(), catalog, source, sink, file="in.jsonl", is_all=is_all)
    return sink.getvalue().decode().splitlines(), result


def mock(text: str, width: int) -> Any:
    return pytest.approx(Mock().embed([text], purpose="row", width=width)[0].tolist())


def test_lines_come_out_with_the_vectors_that_they_lack() -> None:
    lines, result = embedded(
        '{"type": "Paper", "id": "a", "data": {"title": "a", "abstract": "red fox"}}',
        json.dumps({"type": "Paper", "data": {"title": "b", "abstract": "x", "vector": GIVEN}}),
        '{"edge": "cites", "from": "a", "to": "b", "data": {"why": "red fox"}}',
    )
    first, second, edge = (json.loads(line) for line in lines)
    assert first["id"] == "a" and first["data"]["vector"] == mock("red fox", 8)
    assert first["data"]["of_title"] == mock("a", 4)
    assert second["data"]["vector"] == GIVEN
    assert edge["from"] == "a" and edge["data"]["vector"] == mock("red fox", 8)
    assert result == EmbeddedLines(lines=3, vectors=4)


def test_a_line_that_needs_nothing_stays_byte_for_byte() -> None:
    edge = '{"edge":"Cites",  "from":"a","to":"b"}'
    assert embedded("", edge)[0] == ["", edge]


def test_all_vectors_are_made_again_on_request() -> None:
    line = json.dumps({"type": "Paper", "data": {"title": "b", "abstract": "x", "vector": GIVEN}})
    assert json.loads(embedded(line, is_all=True)[0][0])["data"]["vector"] == mock("x", 8)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "broken JSON"),
        ("[]", "names no type"),
        ('{"type": "Papr", "data": {}}', "no type Papr (did you mean Paper?)"),
        ('{"type": "Paper", "data": 3}', "data must be"),
    ],
)
def test_a_line_that_no_load_would_take_is_named(line: str, reason: str) -> None:
    with pytest.raises(SourceInvalid, match=rf"in\.jsonl:2: .*{re.escape(reason)}"):
        embedded("", line)


def test_lines_whose_text_is_refused_are_named() -> None:
    catalog, sink = catalog_of(SourceText(SCHEMA)), io.BytesIO()
    lines = [
        {"type": "Paper", "id": "a", "data": {"title": "long " * 40}},
        {"type": "Paper", "data": {"title": "short", "abstract": "long " * 40}},
        {"edge": "cites", "from": "a", "to": "b", "data": {"why": "short"}},
    ]
    with embed_server() as server:
        server.max_characters = 100
        config = EmbedConfig("openai-compatible", "text-embedding-3-any", base_url=server.url)
        with pytest.raises(EmbedTextRefused) as caught:
            source = [json.dumps(line).encode() for line in lines]
            embed_lines(open_provider(config), catalog, source, sink, file="in.jsonl")
    assert [(row["file"], row["property"]) for row in caught.value.details["rows"]] == [
        ("in.jsonl:1", "title")
    ]
    assert "in.jsonl:1: Paper a: the text of title, 200 characters" in caught.value.render()
    assert sink.getvalue() == b""


def test_the_model_of_the_schema_is_checked() -> None:
    catalog = catalog_of(SourceText(SCHEMA.replace('"title")', '"title", model="m")')))
    with pytest.raises(EmbedModelWrong):
        embed_lines(Mock(), catalog, [], io.BytesIO(), file="x")


def test_the_command_embeds_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    Path("s.pg").write_text(SCHEMA)
    Path("in.jsonl").write_text('{"type": "Paper", "data": {"title": "a"}}')
    files = ("embed", "--data", "in.jsonl", "--schema", "s.pg")
    ran = omnigraph(*files, "--out", "out.jsonl")
    assert ran.exit_code == 0 and "1 vector by mock in 1 line" in ran.err
    assert json.loads(Path("out.jsonl").read_text())["data"]["of_title"] == mock("a", 4)
    assert omnigraph(*files).out == Path("out.jsonl").read_text()
    assert omnigraph(*files, "--out", "out.jsonl", "--json").json["code"] == "target_exists"
    assert omnigraph("embed", "--data", "nowhere", "--schema", "s.pg").exit_code == 3
    assert omnigraph("embed", "--data", "in.jsonl").exit_code == 2
    assert omnigraph(*files, "--only", "stale").exit_code == 2


def test_the_command_embeds_a_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    omnigraph = CommandLine(monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    graph = Graph.init("g.omni", SCHEMA, durability="relaxed")
    graph.load([{"type": "Paper", "data": {"title": "a"}}], mode="append")
    said = omnigraph("embed", "g.omni", "--type", "Paper", "--as", "ada", "-m", "why")
    assert "Paper.of_title: 1" in said.err and "1 vector by mock" in said.err
    head = graph.commits()[0]
    assert (head.kind, head.actor_id, head.message) == ("embed", "ada", "why")
    assert "nothing to do" in omnigraph("embed", "--store", "g.omni").err
    answer = omnigraph("embed", "g.omni", "--only", "all", "--json").json
    assert answer.keys() == {"branch", "model", "embedded", "emptied", "commit"}
    assert answer["embedded"]["Paper"] == {"of_title": 0, "vector": 0}


MANY = [f"text {number}" for number in range(900)]


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with embed_server() as server:
        yield server


@dataclass
class Notes:
    """A file of many texts in the working directory, and the command that embeds it."""

    command: CommandLine
    server: EmbedServer
    monkeypatch: pytest.MonkeyPatch
    texts: list[str] = field(default_factory=lambda: [*MANY])

    def embed(self, *more: str) -> Any:
        Path("s.pg").write_text('node Note { text: String @key v: Vector(8)? @embed("text") }')
        lines = [json.dumps({"type": "Note", "data": {"text": text}}) for text in self.texts]
        Path("in.jsonl").write_text("\n".join(lines))
        files = ("--data", "in.jsonl", "--schema", "s.pg", "--out", "out.jsonl")
        return self.command("embed", *files, "--json", *more)

    def asked_after(self, requests: int) -> list[str]:
        return [t for _, _, document in self.server.requests[requests:] for t in texts(document)]

    def vectors(self) -> dict[str, list[float]]:
        lines = Path("out.jsonl").read_text().splitlines()
        return {(data := json.loads(line)["data"])["text"]: data["v"] for line in lines}


@pytest.fixture
def notes(
    server: EmbedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Notes:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "openai-compatible")
    monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", server.url)
    return Notes(CommandLine(monkeypatch, capsys), server, monkeypatch)


@pytest.mark.parametrize("answered", [0, 1, 3])
@pytest.mark.parametrize("only", ["missing", "all"])
def test_every_answer_before_a_failure_is_kept_beside_the_file(
    notes: Notes, answered: int, only: str
) -> None:
    failure = Reply(401, {"error": {"message": "no"}})
    notes.server.replies.extend([*[Reply() for _ in range(answered)], failure])
    assert notes.embed("--only", only).json["code"] == "embed_refused"
    assert not Path("out.jsonl").exists()
    paid = {t for _, _, document in notes.server.requests[:answered] for t in texts(document)}
    before = len(notes.server.requests)
    notes.texts = [*reversed(MANY), "one more"]
    assert notes.embed("--only", only).json["vectors"] == 901
    assert sorted([*paid, *notes.asked_after(before)]) == sorted(notes.texts)
    assert notes.vectors() == {text: mock(text, 8) for text in notes.texts}
    assert sorted(path.name for path in Path().iterdir()) == ["in.jsonl", "out.jsonl", "s.pg"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [("OMNIGRAPH_EMBED_MODEL", "other"), ("OMNIGRAPH_EMBED_MAX_CHARACTERS", "6")],
)
def test_a_kept_vector_is_not_used_with_another_model_or_beginning_of_a_text(
    notes: Notes, setting: str, value: str
) -> None:
    notes.server.replies.extend([Reply(), Reply(401, {"error": {"message": "no"}})])
    assert notes.embed().exit_code != 0
    before = len(notes.server.requests)
    notes.monkeypatch.setenv(setting, value)
    assert notes.embed().json["vectors"] == 900
    assert len(notes.asked_after(before)) == 900
    beginning = slice(6 if setting.endswith("CHARACTERS") else None)
    assert notes.vectors() == {text: mock(text[beginning], 8) for text in MANY}
    assert not Path(".out.jsonl.vectors").exists()


def test_a_text_that_is_refused_leaves_the_vectors_of_the_others_to_the_next_try(
    notes: Notes,
) -> None:
    notes.server.max_characters = 100
    notes.texts = [*MANY, "long " * 40]
    assert notes.embed().json["code"] == "embed_text_refused"
    before = len(notes.server.requests)
    notes.texts = [*MANY, "short"]
    assert notes.embed().json["vectors"] == 901
    assert notes.asked_after(before) == ["short"]
