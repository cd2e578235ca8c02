"""What an agent can read: tools, resources, a page at a time, and errors that it can act on."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from omnigraph import Graph
from omnigraph.engine.stored_queries import read_queries
from omnigraph.errors import ArgumentInvalid
from omnigraph.surfaces.mcp.arguments import Validators, checked
from omnigraph.surfaces.mcp.caller import Limits
from omnigraph.surfaces.mcp.language import CHANGING, READING
from omnigraph.surfaces.mcp.tools import TOOLS
from tests.surfaces.mcp.agents import PEOPLE, Agent, agent_of
from tests.surfaces.server.world import make_graph

EXAMPLE = r"query \w+\(.*?\) \{.*? \}(?=[,.](?: |$))"
"""In a description: up to the end of a clause."""
READS = ["schema", "query", "search", "branches", "commits", "diff", "propose"]
STORED = ["find_person", "of_types", "with_big"]


def test_an_agent_that_reads_is_offered_what_reads(reader: Agent) -> None:
    tools = reader.tools()
    assert list(tools) == READS + STORED
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert all(tool.description for tool in tools.values())
    for tool in tools.values():
        Draft202012Validator.check_schema(tool.input_schema)


def test_an_agent_that_writes_is_offered_all(writer: Agent) -> None:
    tools = writer.tools()
    assert list(tools) == [*TOOLS, "add_person", *STORED]
    writes = {name for name, tool in tools.items() if not tool.annotations.read_only_hint}
    assert writes == {*TOOLS, "add_person"} - {*READS}
    assert not tools["branch_create"].annotations.destructive_hint
    assert tools["mutate"].annotations.destructive_hint


def test_a_stored_query_is_a_tool_with_typed_arguments(reader: Agent) -> None:
    tools = reader.tools()
    find, many = tools["find_person"], tools["of_types"].input_schema
    assert find.description.splitlines()[:2] == ["Find one.", "Ask by name."]
    assert find.input_schema["required"] == ["name"] and "required" not in many
    assert find.input_schema["properties"]["name"]["type"] == "string"
    kinds = {name: many["properties"][name] for name in ("names", "on", "ok", "x")}
    assert kinds["names"]["items"] == {"type": "string"} and kinds["on"]["format"] == "date"
    assert (kinds["ok"]["type"], kinds["x"]["type"]) == ("boolean", "number")
    assert tools["with_big"].input_schema["properties"]["big"]["type"] == ["integer", "string"]
    assert reader("find_person", name="ada")["rows"] == [{"p.name": "ada", "p.age": 36}]
    assert reader("with_big", big="9007199254740993").names == ["bob"]
    assert (
        reader("of_types", names=["a"], on="2020-01-01", x=None)["rows"][0]["day"] == "2020-01-01"
    )


def test_parameters_that_are_called_like_arguments_of_ours_go_first(tmp_path: Path) -> None:
    source = """
query search($limit: I32) { match { $p: Person } return { $p.name } limit $limit }
query stored_search($branch: String, $branch_: String) {
  match { $p: Person { name: $branch } } return { $p.name, $branch_ as other }
}
"""
    (tmp_path / "stored.gq").write_text(source)
    agent = agent_of(make_graph(tmp_path), queries=read_queries([tmp_path / "stored.gq"]))
    first = agent("stored_stored_search", limit=2, limit_=1)
    assert first["row_count"] == 2 and len(first["rows"]) == 1 and first["next_cursor"]
    named = agent("stored_search", branch="ada", branch_="x", branch__="main")
    assert named["rows"] == [{"p.name": "ada", "other": "x"}] and named["branch"] == "main"


def test_the_schema_is_a_tool_and_a_resource(reader: Agent) -> None:
    answer = reader("schema")
    text = reader.read("omnigraph://schema")
    assert answer.text == f"{text}\n{READING}" == f"{text}\n{answer['language']}"
    assert "name: String @key" in answer.text and "# node Person: 3" in answer.text
    counts = {each["name"]: each["count"] for each in answer["types"]}
    assert counts == {"Company": 1, "Note": 0, "Person": 3, "Knows": 2, "WorksAt": 1}
    assert answer["branch"] == "main"


def test_stored_queries_are_resources_one_by_one(reader: Agent) -> None:
    uris = reader.resources()
    assert uris[:3] == [f"omnigraph://{name}" for name in ("schema", "language", "queries")]
    assert "omnigraph://queries/find_person" in uris
    text = reader.read("omnigraph://queries/find_person")
    assert text.startswith("query find_person($name: String)") and "with_big" not in text
    assert '"name":"with_big"' in reader.read("omnigraph://queries")
    with pytest.raises(Exception, match="did you mean omnigraph://queries"):
        reader.read("omnigraph://querie")


def test_every_example_that_a_model_is_told_runs(tmp_path: Path) -> None:
    schema = """
    node Person { name: String @key  age: I32? }
    node Company { name: String @key }
    edge Knows: Person -> Person
    edge WorksAt: Person -> Company
    """
    described = (TOOLS["query"].description, TOOLS["mutate"].description)
    told = [
        line.strip() for line in (READING + CHANGING).splitlines() if line.startswith("  query ")
    ]
    examples = [*told, *(each for text in described for each in re.findall(EXAMPLE, text))]
    assert len(examples) == 15 + 5
    with Graph.init(tmp_path / "g.omni", schema) as graph:
        rows = [{"type": "Person", "data": {"name": name}} for name in ("Ada", "Bob", "Cleo")]
        graph.load(rows, mode="append")
        agent = agent_of(graph, writes=True, on="main")
        for example in examples:
            is_read = " return " in example
            values = {"name": "Ada", "q": "ada"} if is_read else {"name": f"n{len(example)}"}
            params = {name: values[name] for name in values if f"${name}:" in example}
            answer = agent("query" if is_read else "mutate", query=example, params=params)
            assert not answer.is_error, answer.text


def test_an_agent_is_told_to_read_the_schema_first(reader: Agent, writer: Agent) -> None:
    async def ask(client: Any) -> Any:
        return client.instructions

    said = reader.run(ask)
    assert "Read the schema first" in said and "change nothing" in said
    assert "a branch of your own" in writer.run(ask)


def test_pages_are_of_one_moment_whatever_is_written_between_them(tmp_path: Path) -> None:
    graph = make_graph(tmp_path)
    agent = agent_of(graph)
    first = agent("query", query=PEOPLE, limit=2)
    assert first.names == ["ada", "bob"] and first["row_count"] == 3
    graph.mutate('query a() { insert Person { name: "aaa" } }')
    second = agent("query", query=PEOPLE, limit=2, cursor=first["next_cursor"])
    assert second.names == ["cleo"] and second["first_row"] == 2
    assert second["next_cursor"] is None
    assert second["graph_commit_id"] == first["graph_commit_id"]
    assert agent("query", query=PEOPLE, limit=1).names == ["aaa"]


@pytest.mark.parametrize("tool", ["diff", "commits", "search"])
def test_every_list_has_pages(tmp_path: Path, tool: str) -> None:
    graph = make_graph(tmp_path)
    base = graph.commits()[0].graph_commit_id
    for name in ("one fish", "two fish", "red fish"):
        graph.mutate("query a($n: String) { insert Note { text: $n } }", params={"n": name})
    agent = agent_of(graph)
    arguments, rows = {
        "diff": ({"from": base, "to": "main"}, "changes"),
        "commits": ({}, "commits"),
        "search": ({"text": "fish"}, "hits"),
    }[tool]
    whole = agent(tool, **arguments)[rows]
    page, found = agent(tool, **arguments, limit=1), []
    graph.mutate('query a() { insert Note { text: "blue fish" } }')
    while page["next_cursor"] is not None:
        found += page[rows]
        page = agent(tool, **arguments, limit=1, cursor=page["next_cursor"])
    assert found + page[rows] == whole and len(whole) >= 3


def test_a_page_is_bounded_in_bytes_and_one_row_in_any_case(tmp_path: Path) -> None:
    graph = make_graph(tmp_path)
    for size in (10, 900, 5000):
        note = {"n": "x" * size}
        graph.mutate("query a($n: String) { insert Note { text: $n } }", params=note)
    agent = agent_of(graph, limits=Limits(page_bytes=1000))
    notes = "query n() { match { $n: Note } return { $n.text as text } order { $n.text } }"
    first = agent("query", query=notes)
    assert [len(row["text"]) for row in first["rows"]] == [10, 900]
    last = agent("query", query=notes, cursor=first["next_cursor"])
    assert "(5,000 characters)" in last["rows"][0]["text"] and last["shortened"]
    assert last["next_cursor"] is None


def test_a_page_is_counted_in_bytes_whatever_the_letters(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g.omni", "node Note { text: String }", durability="relaxed")
    rows = [{"type": "Note", "data": {"text": "語" * 300}} for _ in range(3)]
    graph.load(rows, mode="append", engine="local")
    agent = agent_of(graph, limits=Limits(page_bytes=1000))
    page = agent("query", query="query n() { match { $n: Note } return { $n.text as text } }")
    assert len(page["rows"]) == 1 and page["next_cursor"]


def test_a_row_of_many_long_values_is_cut_until_it_fits(tmp_path: Path) -> None:
    names = [f"t{i}" for i in range(40)]
    schema = f"node Wide {{ {' '.join(f'{name}: String' for name in names)} }}"
    graph = Graph.init(tmp_path / "g.omni", schema, durability="relaxed")
    row = {"type": "Wide", "data": dict.fromkeys(names, "x" * 400)}
    graph.load([row], mode="append", engine="local")
    agent = agent_of(graph, limits=Limits(page_bytes=10_000))
    page = agent("query", query="query w() { match { $w: Wide } return { $w } }")
    assert page["shortened"] and len(json.dumps(page["rows"])) <= 10_000


@settings(max_examples=12, suppress_health_check=list(HealthCheck), database=None, deadline=None)
@given(
    tool=st.sampled_from(["query", "diff", "commits", "search"]),
    offset=st.sampled_from([-1, 0, 1, 2**31, 2**53, 2**63, 10**30]),
    moments=st.lists(st.sampled_from(["", "main", "x y", "0" * 26, "2020-01-01"]), max_size=3),
    branches=st.lists(st.sampled_from([None, "", "main", "x y", "0" * 26]), max_size=3),
    total=st.sampled_from([None, -1, 0, 3]),
)
def test_a_cursor_that_somebody_made_up_is_answered(
    reader: Agent,
    tool: str,
    offset: int,
    moments: list[str],
    branches: list[str | None],
    total: int | None,
) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "query": {"query": PEOPLE},
        "search": {"text": "ada bob cleo"},
        "diff": {"from": reader("commits")["commits"][-1]["graph_commit_id"], "to": "main"},
        "commits": {},
    }
    true = json.loads(unpacked(reader(tool, **arguments[tool], limit=1)["next_cursor"]))
    for made_up in (
        [true[0], offset, *true[2:]],
        [true[0], offset, moments, branches, total],
        [*true[:2], true[2], branches[: len(true[2])] or [None], true[4]],
    ):
        cursor = base64.urlsafe_b64encode(json.dumps(made_up).encode()).decode().rstrip("=")
        answer = reader(tool, **arguments[tool], cursor=cursor)
        assert not answer.is_error or answer.code in ("invalid_argument", "not_found"), answer.text


def unpacked(cursor: str) -> bytes:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def test_a_cursor_of_another_call_is_refused(reader: Agent) -> None:
    cursor = reader("query", query=PEOPLE, limit=1)["next_cursor"]
    for wrong in ("nonsense", cursor[:-8], "WyJhIiwxLFtdXQ"):
        assert reader("query", query=PEOPLE, cursor=wrong).code == "invalid_argument"
    other = reader("query", query=PEOPLE, params={"a": 1}, cursor=cursor)
    assert "other arguments" in other.text and "repeat" in other.text


def test_search_finds_words_in_every_text_and_by_type(reader: Agent) -> None:
    hits = reader("search", text="ada")["hits"]
    assert [(hit["type"], hit["id"], hit["matched"]) for hit in hits] == [
        ("Person", "ada", ["name"])
    ]
    assert reader("search", text="analytical", type="Person")["hits"] == []
    near = reader("search", text="cleeo")
    assert (near["mode"], [hit["id"] for hit in near["hits"]]) == ("fuzzy", ["cleo"])
    nothing = reader("search", text="whale")
    assert nothing["hits"] == [] and "Person.name" in nothing["next"]
    assert "did you mean Person" in reader("search", text="x", type="Persn").text
    assert "did you mean name" in reader("search", text="x", type="Person", property="nam").text
    assert reader("search", text="x", mode="vector").code == "invalid_argument"


def test_search_tells_nodes_apart_that_have_a_property_called_id(tmp_path: Path) -> None:
    schema = "node Part { code: String @key  id: String  t: String? }"
    with Graph.init(tmp_path / "g.omni", schema, durability="relaxed") as graph:
        rows = [{"type": "Part", "data": {"code": c, "id": "same", "t": "wheel"}} for c in "pq"]
        graph.load(rows, mode="append", engine="local")
        for text in ("wheel", "same", "whel"):
            hits = agent_of(graph)("search", text=text)["hits"]
            assert sorted(hit["id"] for hit in hits) == ["p", "q"]
            assert {hit["properties"]["id"] for hit in hits} == {"same"}


def test_search_by_meaning_asks_the_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    schema = 'node Paper { t: String @key v: Vector(8)? @embed("t", model="mock") }'
    with Graph.init(tmp_path / "g.omni", schema) as graph:
        rows = [{"type": "Paper", "data": {"t": t}} for t in ("whales", "bonds")]
        graph.load(rows, mode="append", embed=True)
        agent = agent_of(graph)
        for mode in ("vector", "hybrid"):
            hits = agent("search", text="whales", mode=mode)["hits"]
            assert hits[0]["id"] == "whales" and hits[0]["properties"] == {"t": "whales"}


def test_the_past_and_other_branches_can_be_read(graph: Graph) -> None:
    before = graph.commits()[0].graph_commit_id
    graph.branch_create("side")
    graph.mutate('query a() { insert Person { name: "zoe" } }', branch="side")
    agent = agent_of(graph)
    assert "zoe" in agent("query", query=PEOPLE, branch="side").names
    assert "zoe" not in agent("query", query=PEOPLE).names
    assert "zoe" not in agent("query", query=PEOPLE, snapshot=before).names
    assert agent("query", query=PEOPLE, snapshot=before, branch="side").code == "invalid_argument"
    assert "zoe" in agent_of(graph, base="side")("query", query=PEOPLE).names


@pytest.mark.parametrize(
    ("older", "arguments"),
    [
        ("schema_get", {}),
        ("branches_list", {}),
        ("commits_list", {"branch": "main"}),
        ("health", {}),
        ("snapshot", {"branch": "main"}),
        ("changes_poll", {"start": "beginning", "kind": ["node"]}),
        ("read", {"querySource": PEOPLE, "queryName": "people"}),
        ("query", {"query": PEOPLE, "name": "people", "branch": None}),
    ],
)
def test_names_that_tools_and_arguments_had_elsewhere_work(
    reader: Agent, older: str, arguments: dict[str, Any]
) -> None:
    assert older not in TOOLS.keys() - {"query"}
    assert not reader(older, **arguments).is_error


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "said"),
    [
        ("query", {"query": "query q( {"}, "parse_error", "<query>:1:10"),
        ("query", {"query": PEOPLE.replace("Person", "Persn")}, "type_error", "mean Person?"),
        ("query", {"query": PEOPLE, "params": {"a": 1}}, "param_error", "next: "),
        ("query", {"query": PEOPLE, "branch": "mian"}, "not_found", "did you mean main?"),
        ("query", {"query": PEOPLE, "snapshot": "0" * 26}, "not_found", "`commits`"),
        ("query", {"query": PEOPLE, "snapshot": "1999-01-01"}, "not_found", "`commits`"),
        ("diff", {"from": "0" * 26}, "not_found", "`commits`"),
        ("query", {"query": PEOPLE, "brnch": "main"}, "invalid_argument", "mean branch?"),
        ("query", {}, "invalid_argument", "query: it is missing"),
        ("query", {"query": 7}, "invalid_argument", "must be text, and is a whole number"),
        ("query", {"query": PEOPLE, "limit": 0}, "invalid_argument", "1 or more"),
        ("query", {"query": PEOPLE, "limit": True}, "invalid_argument", "is true or false"),
        ("query", {"query": "insert", "query_source": "x"}, "invalid_argument", "given twice"),
        ("query", {"query": 'query a() { delete Note where text = "x" }'}, "invalid_argument", ""),
        ("find_person", {"nme": "ada"}, "invalid_argument", "did you mean name?"),
        ("with_big", {"big": "1.5"}, "invalid_argument", "is not a whole number"),
        ("of_types", {"names": [1]}, "invalid_argument", "names[0]: it must be text"),
        ("of_types", {"on": "yesterday"}, "param_error", "on"),
        ("search", {"text": "x", "mode": "magic"}, "invalid_argument", "'hybrid'"),
        ("branches", {"all": True}, "invalid_argument", "takes no arguments"),
        ("diff", {"from": "main", "to": "nope"}, "not_found", "nope"),
        ("commits", {"branch": "x y"}, "not_found", "no branch named x y"),
        ("propose", {}, "invalid_argument", "`branches`"),
        ("propose", {"branch": "main"}, "invalid_argument", "nothing to propose"),
    ],
)
def test_an_error_says_what_is_wrong_and_what_to_do_next(
    reader: Agent, tool: str, arguments: dict[str, Any], code: str, said: str
) -> None:
    answer = reader(tool, **arguments)
    assert answer.code == code and answer.text.startswith(code), answer.text
    assert said in answer.text and "\nnext: " in answer.text and answer.value["hint"]


def test_changes_of_a_commit_come_in_pages_as_earlier_clients_ask_for_them(reader: Agent) -> None:
    head = reader("commits")["commits"][0]
    asked = {"commitId": head["graph_commit_id"]}
    assert reader("commits_get", **asked).value == head
    page = reader("commits_changes", **asked, limit=1, type=["Person"])
    assert [change["id"] for change in page["changes"]] == ["ada"]
    rest = reader("commits_changes", **asked, pageToken=page["next_page_token"], type=["Person"])
    assert [change["id"] for change in rest["changes"]] == ["bob", "cleo"]


def test_an_unknown_tool_is_refused_with_near_names(reader: Agent) -> None:
    refused = reader.refused("serch", text="x")
    assert refused.code == -32602 and "did you mean search?" in str(refused)


class Counted(list[Any]):
    """A list that counts how often it is looked into."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            self.looks += 1
            yield each


@pytest.mark.parametrize("argument", ["types", "kinds"])
def test_of_a_million_mistakes_the_first_are_looked_for(argument: str) -> None:
    many = Counted([1] * 5000)
    given = {argument: many, "nope": 1}
    with pytest.raises(ArgumentInvalid, match="nope: diff has no such argument") as refused:
        checked(TOOLS["diff"], given, Validators(), limit_bytes=1 << 20)
    assert f"{argument}[0]" in str(refused.value) and many.looks < 1000


def test_arguments_that_are_too_large_are_refused_before_they_are_looked_at(graph: Graph) -> None:
    agent = agent_of(graph, limits=Limits(max_argument_bytes=10_000))
    answer = agent("query", query="x" * 20_000)
    assert answer.code == "resource_limit" and len(answer.text) < 300
    again = agent_of(graph)("commits", branch="x" * 1_000_000)
    assert again.is_error and len(again.text) < 10_000 and len(again.value["error"]) < 1000
    assert len(str(agent.refused("x" * 9000))) < 300
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    assert agent("query", query=PEOPLE, params={"a": deep}).code == "param_error"


def test_a_whole_number_may_be_written_with_a_point(reader: Agent) -> None:
    assert len(reader("query", query=PEOPLE, limit=2.0)["rows"]) == 2
    assert len(reader("commits", limit=1.0)["commits"]) == 1
    assert reader("query", query=PEOPLE, limit=2.5).code == "invalid_argument"
