"""Lines of JSON in, the same lines with vectors out."""

import io
import json
import re
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
from tests.embed.server import embed_server
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
