"""What an agent is told to do next can be done with the tools that it is offered."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, OmnigraphError
from omnigraph.surfaces.mcp.failures import NEXT, error_answer
from omnigraph.surfaces.mcp.tools import TOOLS
from tests.base.test_errors import LEAVES, a
from tests.surfaces.mcp.agents import Agent, agent_of, caller_of
from tests.surfaces.server.world import ADD, make_graph, stored

WRITING = frozenset(name for name, tool in TOOLS.items() if not tool.is_reading)
INSERT = 'query add() { insert Person { name: "zoe" } }'

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("schema", {}),
    ("schema", {"branch": "nope"}),
    ("query", {"query": INSERT}),
    ("query", {"query": ADD, "params": {"name": "zoe"}}),
    ("query", {"query": "query q() { match { $p: Persn } return { $p } }"}),
    ("query", {"query": "quer"}),
    ("query", {}),
    ("query", {"query": "query q($a: I32) { match { $p: Person } return { $p } }"}),
    ("search", {"text": "nobody at all"}),
    ("search", {"text": "a", "mode": "vector"}),
    ("search", {"text": "a", "type": "Nope"}),
    ("branches", {}),
    ("commits", {"limit": 0}),
    ("diff", {"from": "main", "to": "nope"}),
    ("propose", {}),
    ("propose", {"branch": "main"}),
    ("propose", {"branch": "side"}),
    ("propose", {"branch": "apart"}),
    ("mutate", {}),
    ("mutate", {"query": INSERT}),
    ("mutate", {"query": INSERT, "if_commit": "x", "nonsense": 1}),
    ("load", {}),
    ("load", {"data": [{"type": "Person"}]}),
    ("branch_create", {}),
    ("branch_create", {"name": "x"}),
    ("branch_delete", {"name": "side"}),
    ("branch_merge", {}),
    ("branch_merge", {"source": "apart"}),
    ("branch_merge", {"source": "apart", "preview": True}),
    ("change", {"query": INSERT}),
    ("ingest", {"data": "{}"}),
]


def tools_named(text: str) -> set[str]:
    """The tools that write and that a text names. `load` is an ordinary word as well."""
    words = set(re.findall(r"\w+", text)) & (WRITING - {"load"})
    return words | ({"load"} if re.search(r"`load`|\b(call|with|use) load\b", text) else set())


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph with a branch to review, and one that is in conflict with main."""
    graph = make_graph(tmp_path_factory.mktemp("advice"))
    for branch, age in (("side", 1), ("apart", 2)):
        graph.branch_create(branch)
        name = "bob" if branch == "side" else "ada"
        graph.mutate(
            f'query u() {{ update Person set {{ age: {age} }} where name = "{name}" }}',
            branch=branch,
        )
    graph.mutate('query u() { update Person set { age: 3 } where name = "ada" }')
    return graph


def told_by(agent: Agent, tool: str, arguments: dict[str, Any]) -> str:
    """All that an agent hears of a call, without the rows and values of the graph."""
    answer = agent(tool, **arguments)
    return f"{answer.text}\n{json.dumps(answer.value)}"


def test_the_texts_below_are_looked_at_closely_enough() -> None:
    assert {"mutate", "load", "branch_merge"} <= WRITING
    assert tools_named("run it with mutate") == {"mutate"}
    assert tools_named("call `load`, and look at the load of main") == {"load"}
    assert tools_named(NEXT["merge_conflicts"]) == {"branch_merge"}
    assert tools_named("a load of rows; branches") == set()


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=lambda value: json.dumps(value))
def test_a_reader_hears_of_no_tool_that_writes(
    graph: Graph, tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    reader = agent_of(graph, queries=stored(tmp_path))
    told = told_by(reader, tool, arguments)
    # A call that names a tool is answered by that name.
    own = {tool} if tool in TOOLS else set()
    assert tools_named(told) <= own, told
    if tool in WRITING:
        assert "only reads are possible here" in told and "--write" in told


def test_a_reader_that_sends_a_change_is_told_that_only_reads_are_possible(graph: Graph) -> None:
    answer = agent_of(graph)("query", query=INSERT)
    assert answer.is_error and "only reads are possible here" in answer.text
    writer = agent_of(graph, writes=True)("query", query=INSERT)
    assert writer.is_error and "run it with mutate" in writer.text


def test_the_guide_shows_an_agent_the_queries_that_it_may_run(graph: Graph) -> None:
    for agent, shows in ((agent_of(graph), False), (agent_of(graph, writes=True), True)):
        assert ("insert Person" in agent("schema").text) == shows
        assert ("insert Person" in agent.read("omnigraph://language")) == shows


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.__name__)
def test_advice_about_every_error_names_tools_that_are_offered(
    graph: Graph, leaf: type[OmnigraphError]
) -> None:
    reader = caller_of(graph)
    assert not tools_named(str(error_answer(a(leaf), reader).value["hint"]))


@pytest.mark.parametrize("name", sorted(WRITING))
def test_a_hint_of_the_engine_that_names_a_tool_is_told_to_those_who_have_it(
    graph: Graph, name: str
) -> None:
    error = ArgumentInvalid("query", None, "it is not for this call", f"call `{name}`")
    assert error_answer(error, caller_of(graph, writes=True)).value["hint"] == f"call `{name}`"
    assert not tools_named(error_answer(error, caller_of(graph)).value["hint"])


def test_an_agent_that_may_not_merge_hears_of_no_merge(graph: Graph) -> None:
    agent = agent_of(graph, writes=True, merges=False)
    assert "branch_merge" not in agent.tools()
    told = told_by(agent, "propose", {"branch": "apart"})
    assert "must be settled, by a person" in told and not tools_named(told)
