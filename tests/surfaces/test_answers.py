"""How the command line's answers read."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as package
from omnigraph import Graph
from tests.surfaces.cli import CommandLine

SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person
"""
ADD = 'query add() { insert Person { name: "ada" } }'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, omnigraph: CommandLine) -> str:
    monkeypatch.chdir(tmp_path)
    Path("g.pg").write_text(SCHEMA)
    assert omnigraph("init", "--schema", "g.pg", "--quiet", "g.omni").exit_code == 0
    return "g.omni"


def test_the_version_is_told_to_whoever_asks_either_way(omnigraph: CommandLine) -> None:
    asked, told = omnigraph("--version"), omnigraph("version")
    assert (asked.exit_code, asked.err) == (0, "")
    assert asked.out == told.out == f"omnigraph {package.__version__}\n"


def test_a_graph_is_made_in_silence_if_asked_to(
    tmp_path: Path, store: str, omnigraph: CommandLine
) -> None:
    quiet = omnigraph("init", "--schema", "g.pg", "--quiet", str(tmp_path / "quiet.omni"))
    assert (quiet.exit_code, quiet.out, quiet.err) == (0, "", "")
    told = omnigraph("init", "--schema", "g.pg", str(tmp_path / "told.omni"))
    assert told.err == f"made {tmp_path / 'told.omni'}\n"


def test_one_of_a_thing_is_not_told_as_many(store: str, omnigraph: CommandLine) -> None:
    changed = omnigraph("mutate", "-e", ADD, "--store", store).err
    assert changed.startswith("1 node and 0 edges changed on ")
    Path("in.jsonl").write_text('{"type": "Person", "data": {"name": "bob"}}\n')
    load = ("load", "--data", "in.jsonl", "--mode", "append", "--engine", "local", "--store", store)
    assert "would load 1 entity;" in omnigraph(*load, "--dry-run").err
    assert "loaded 1 entity as one commit" in omnigraph(*load).err
    Path("g.gq").write_text(ADD)
    assert omnigraph("lint", "g.gq", "--store", store).err.endswith(
        "\n0 errors, 1 warning in 1 file\n"
    )


def test_a_fraction_of_32_bits_is_shown_in_as_few_digits_as_it_takes(
    tmp_path: Path, omnigraph: CommandLine
) -> None:
    schema = "node Height { of: String @key  metres: F32  marks: [F32]  at: Vector(2) }"
    row = {"of": "ada", "metres": 1.65, "marks": [0.1, 1e-10], "at": [0.1, 16777216.0]}
    uri, again = str(tmp_path / "g"), str(tmp_path / "again")
    Graph.init(uri, schema).load([{"type": "Height", "data": row}], mode="append")
    fields = "$h.metres as metres, $h.marks as marks, $h.at as at"
    ask = ("query", "-e", f"query q() {{ match {{ $h: Height }} return {{ {fields} }} }}")
    shown = {name: row[name] for name in ("metres", "marks", "at")}

    def asked(*options: str) -> str:
        return omnigraph(*ask, "--store", uri, *options).out

    assert json.loads(asked("--json"))["rows"] == [shown]
    assert json.loads(asked("--format", "jsonl")) == shown
    for style in ("table", "csv", "kv"):
        found = re.findall(r"[0-9.e+-]*[0-9][0-9.e+-]*", asked("--format", style))
        assert found == ["1.65", "0.1", "1e-10", "0.1", "16777216.0"]
    page = Graph.open(uri).query(ask[-1])._repr_html_()
    assert "<td>1.65</td><td>[0.1, 1e-10]</td>" in page
    # Whoever computes gets what is there, and what was exported comes back as it was.
    omnigraph("export", str(tmp_path / "all.jsonl"), "--store", uri)
    assert '"metres":1.65' in (tmp_path / "all.jsonl").read_text()
    Graph.init(again, schema).load(tmp_path / "all.jsonl", mode="append", engine="local")
    tables = [Graph.open(place).query(ask[-1]).to_arrow() for place in (uri, again)]
    assert tables[0] == tables[1]
    assert tables[0].schema.field("metres").type == pa.float32()


def test_a_fraction_of_32_bits_is_short_in_a_complaint_too(
    tmp_path: Path, omnigraph: CommandLine
) -> None:
    Graph.init(str(tmp_path / "g"), "node Height { metres: F32  @range(metres, 0..1) }")
    add = "query add() { insert Height { metres: 1.65 } }"
    refused = omnigraph("mutate", "-e", add, "--store", str(tmp_path / "g"))
    assert "Height.metres is 1.65, outside 0..1" in refused.err


def test_a_node_that_is_missing_is_named_by_the_parts_of_its_key(
    tmp_path: Path, omnigraph: CommandLine
) -> None:
    schema = "node Flight { carrier: String  number: I64  @key(carrier, number) }"
    Graph.init(str(tmp_path / "g"), f"{schema}\nedge Feeds: Flight -> Flight @card(0..1)")
    flight = '{"type": "Flight", "data": {"carrier": "LH", "number": 400}}\n'
    edge = '{"edge": "Feeds", "from": "[\\"LH\\",\\"400\\"]", "to": "[\\"BA\\",\\"12\\"]"}\n'
    (tmp_path / "in.jsonl").write_text(flight * 2 + edge * 2)
    load = ("load", "--data", str(tmp_path / "in.jsonl"), "--mode", "append", "--engine", "local")
    told = omnigraph(*load, "--store", str(tmp_path / "g")).err
    assert "Flight (carrier: 'LH', number: 400) comes 2 times" in told
    assert "\"to\" is (carrier: 'BA', number: 12), and there is no such Flight" in told
    assert "Flight (carrier: 'LH', number: 400) would have 2 Feeds edges" in told
