"""What an agent can write, and where: on a branch of its own, which a person can look at whole."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.errors import ArgumentInvalid
from omnigraph.surfaces.mcp.caller import Caller, Place, Writing
from omnigraph.surfaces.mcp.older import OLDER_NAMES, OLDER_TOOLS
from omnigraph.surfaces.mcp.stdio import in_a_thread
from omnigraph.surfaces.mcp.tools import TOOLS
from tests.processes import PATIENCE_S
from tests.surfaces.client.served import served
from tests.surfaces.mcp.agents import ADD, PEOPLE, Agent, agent_of
from tests.surfaces.server.world import make_graph, serve_here, stored

OWN = "agent/mcp/s1"
"""The name of the client, and of the session."""


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch, limit=1)[0].graph_commit_id


def test_an_agent_searches_writes_proposes_and_merges(graph: Graph, writer: Agent) -> None:
    before = head(graph)
    added = writer("mutate", query=ADD, params={"name": "zoe"}, message="she joined")
    assert (added["branch"], added["branch_created"]) == (OWN, True)
    assert "propose" in added["next"]
    row = {"edge": "Knows", "from": "zoe", "to": "ada", "data": {"since": 1850}}
    assert writer("load", data=[row])["total_entities"] == 1
    assert writer("add_person", name="yan", age=7)["branch"] == OWN
    assert head(graph) == before, "main stays as it is"
    assert writer("query", query=PEOPLE).names == ["ada", "bob", "cleo", "yan", "zoe"]
    assert writer("branches")["reads_see"] == OWN

    proposed = writer("propose")
    assert proposed["summary"] == "3 changes (Person +2; Knows +1)"
    assert {"type": "Person", "id": "zoe", "op": "insert", "after": {"name": "zoe"}} in proposed[
        "changes"
    ]
    assert proposed["merge"]["outcome"] == "fast_forward"
    how = proposed["how_to_merge"]
    assert how["command_line"] == f"omnigraph branch merge {OWN} --into main --store people.omni"
    assert how["command_line"] in proposed.text and "+ Person zoe" in proposed.text

    merged = writer(how["tool"]["name"], **how["tool"]["arguments"], delete=True)
    assert merged["outcome"] == "fast_forward" and merged["branch_deleted"]
    assert writer("branches").value == {
        "branches": ["main"],
        "base": "main",
        "reads_see": "main",
        "writes_go_to": OWN,
    }
    assert writer("find_person", name="zoe")["branch"] == "main"


def test_conflicts_are_told_by_propose_and_settled_by_a_merge(graph: Graph, writer: Agent) -> None:
    grow = 'query g($age: I32) { update Person set { age: $age } where name = "ada" }'
    writer("mutate", query=grow, params={"age": 37})
    graph.mutate(grow, params={"age": 38})
    proposed = writer("propose")
    assert proposed["merge"]["conflict_count"] == 1
    assert "age is 38 on main and 37" in proposed.text
    refused = writer("branch_merge")
    assert refused.code == "merge_conflicts" and "resolve" in refused.text
    assert writer("branch_merge", preview=True)["conflicts"][0]["property"] == "age"
    choice = {"type": "Person", "id": "ada", "property": "age", "take": "theirs"}
    assert writer("branches_merge", source=OWN, target="main", resolve=[choice])["commit"]
    ada = 'query a() { match { $p: Person { name: "ada" } } return { $p.age as age } }'
    assert graph.query(ada).to_pylist() == [{"age": 37}]


def test_conflicts_of_long_texts_are_told_in_short(graph: Graph, writer: Agent) -> None:
    set_big = "query s($t: String) { update Note set { text: $t } where text != $t }"
    rows = [{"type": "Note", "data": {"text": f"n{i}"}} for i in range(4)]
    graph.load(rows, mode="append", engine="local")
    assert not writer("mutate", query=set_big, params={"t": "a" * 100_000}).is_error
    graph.mutate(set_big, {"t": "b" * 100_000})
    for told in (writer("propose")["merge"], writer("branch_merge", preview=True)):
        assert told["conflict_count"] == 4 == len(told["conflicts"])
        assert len(json.dumps(told["conflicts"])) < 48_000


@pytest.mark.parametrize(
    "source",
    [
        "query a( {",
        'query a() { insert Persn { name: "x" } }',
        'query a() { delete Person where name = "nobody" }',
        PEOPLE,
    ],
)
def test_a_first_write_that_comes_to_nothing_leaves_no_branch(
    graph: Graph, writer: Agent, source: str
) -> None:
    writer("mutate", query=source)
    assert graph.branches() == ["main"]
    for tool in ("propose", "branch_merge"):
        assert "write first" in writer(tool).value["hint"]
    bad = writer("load", data=[{"type": "Person", "data": {"name": "a"}}, {"type": "Nope"}])
    assert bad.is_error and graph.branches() == ["main"]
    assert not writer("load", data='{"type": "Note", "data": {"text": "x"}}', dry_run=True).is_error
    assert graph.branches() == ["main"]


def test_a_first_write_that_fails_takes_no_write_of_another_session_along(
    graph: Graph, writer: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Graph.branch_create

    def overtaken(self: Graph, name: str, *rest: Any, **more: Any) -> None:
        """Make the branch; before its maker does anything else, another session writes it."""
        create(self, name, *rest, **more)
        self.mutate(ADD, {"name": "other"}, branch=name)

    monkeypatch.setattr(Graph, "branch_create", overtaken)
    assert writer("mutate", query="query a( {").code == "parse_error"
    assert "other" in writer("query", query=PEOPLE, branch=OWN).names


def test_a_load_that_makes_the_branch_begins_where_it_is_told_to(
    graph: Graph, writer: Agent
) -> None:
    graph.branch_create("release")
    graph.mutate(ADD, {"name": "released"}, branch="release")
    row = {"type": "Person", "data": {"name": "new"}}
    assert writer("load", data=[row], **{"from": "release"})["branch_created"]
    assert {"released", "new"} <= set(writer("query", query=PEOPLE).names)
    missing = writer("load", data=[row], branch="agent/mcp/2", **{"from": "relaese"})
    assert missing.code == "not_found" and "agent/mcp/2" not in graph.branches()


def test_an_agent_writes_branches_of_its_own_and_no_others(graph: Graph, writer: Agent) -> None:
    graph.branch_create("release")
    for branch in ("main", "release", "agent/other/x"):
        refused = writer("mutate", query=ADD, params={"name": "x"}, branch=branch)
        assert refused.code == "invalid_argument" and OWN in refused.text
        assert writer("branch_delete", name=branch).is_error
    assert writer("mutate", query=ADD, params={"name": "x"}, branch="agent/mcp/two")["commit"]
    assert "x" not in writer("query", query=PEOPLE).names
    assert "x" in writer("query", query=PEOPLE, branch="agent/mcp/two").names
    assert writer("branch_create", name="fix/1", **{"from": "release"})["from"] == "release"
    assert writer("mutate", query=ADD, params={"name": "y"}, branch="fix/1")["commit"]
    assert writer("branches_merge", source="fix/1", into="release", delete=True)["branch_deleted"]
    assert writer("branch_delete", name="agent/mcp/two")["deleted"]
    assert writer("branch_merge", source="release", delete=True).is_error
    assert graph.branches() == ["main", "release"]


def test_an_agent_writes_where_it_is_told_to(graph: Graph) -> None:
    graph.branch_create("work")
    there = agent_of(graph, writes=True, on="work")
    assert there("mutate", query=ADD, params={"name": "x"})["branch"] == "work"
    assert there("mutate", query=ADD, params={"name": "x"}, branch="main").is_error
    assert there("branch_delete", name="work").code == "invalid_argument"
    assert there("branch_merge", delete=True).is_error and "work" in graph.branches()
    at_once = agent_of(graph, writes=True, on="main")
    assert "next" not in at_once("mutate", query=ADD, params={"name": "m"}).value
    anywhere = agent_of(graph, writes=True, any_branch=True)
    assert anywhere("mutate", query=ADD, params={"name": "z"}, branch="main")["branch"] == "main"
    missing = anywhere("mutate", query=ADD, params={"name": "z"}, branch="mian")
    assert missing.code == "not_found" and "did you mean main?" in missing.text


def test_a_write_on_a_condition_is_lost_when_the_branch_has_moved(
    graph: Graph, writer: Agent
) -> None:
    first = writer("mutate", query=ADD, params={"name": "x"})["commit"]["graph_commit_id"]
    again = {"query": ADD, "ifGraphCommit": first}
    assert writer("mutate", **again, params={"name": "y"})["commit"]
    lost = writer("mutate", **again, params={"name": "z"})
    assert lost.code == "precondition_failed" and "nothing was written" in lost.text


def test_pages_of_commits_do_not_end_because_their_branch_went(writer: Agent) -> None:
    for name in "xyz":
        writer("mutate", query=ADD, params={"name": name})
    first = writer("commits", limit=1)
    writer("branch_merge", delete=True)
    assert writer("commits", limit=1, cursor=first["next_cursor"]).code == "invalid_argument"


def test_two_first_writes_at_once_share_the_branch(graph: Graph, writer: Agent) -> None:
    names = [f"n{i}" for i in range(4)]
    threads = [
        threading.Thread(target=lambda n=n: writer("mutate", query=ADD, params={"name": n}))
        for n in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(names) <= set(writer("query", query=PEOPLE).names)


def test_a_write_finds_its_branch_again_that_a_failed_one_took_away(graph: Graph) -> None:
    """Of two first writes at once one fails when the other has seen its branch."""
    writing = Writing(name="mcp", session="s1")
    caller = Caller(graph=graph, place=Place(()), writing=writing)
    seen, gone = threading.Event(), threading.Event()
    told: list[Any] = []

    def add(branch: str) -> Any:
        seen.set()
        assert gone.wait(PATIENCE_S)
        return graph.mutate(ADD, {"name": "zoe"}, branch=branch)

    other = threading.Thread(target=lambda: told.append(caller.write(OWN, add)))

    def fail(branch: str) -> Any:
        other.start()
        assert seen.wait(PATIENCE_S)
        raise ArgumentInvalid("query", None, "it is wrong")

    with pytest.raises(ArgumentInvalid):
        caller.write(OWN, fail)
    assert graph.branches() == ["main"]
    gone.set()
    other.join()
    ((result, is_made),) = told
    assert result.commit is not None and is_made and graph.branches() == ["main", OWN]


@pytest.mark.parametrize("is_write", [False, True])
def test_a_call_that_is_cancelled_ends_its_read_and_never_a_write(
    graph: Graph, *, is_write: bool
) -> None:
    caller = Caller(graph=graph, place=Place(()))
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work(caller: Caller) -> None:
        begun.set()
        assert (may_end if is_write else caller.cancel).wait(PATIENCE_S)
        ended.set()

    async def cancel() -> None:
        calling = asyncio.create_task(in_a_thread(work, caller, is_write=is_write, what="a test"))
        await asyncio.to_thread(begun.wait)
        calling.cancel()
        may_end.set()
        await asyncio.gather(calling, return_exceptions=True)
        assert ended.wait(PATIENCE_S)

    asyncio.run(cancel())


def test_writes_are_refused_where_an_agent_only_reads(reader: Agent) -> None:
    for name, tool in TOOLS.items():
        if not tool.is_reading:
            needed = dict.fromkeys(tool.required, "x")
            refused = reader(name, **needed)
            assert refused.code == "read_only" and "--write" in refused.text
    assert reader("add_person", name="x").code == "read_only"


def test_a_graph_on_a_server_is_worked_on_in_the_same_way(graph: Graph, tmp_path: Path) -> None:
    with served(serve_here(graph).app) as url:
        there = Graph.connect(f"{url}/graphs/people")
        agent = agent_of(there, writes=True, queries=stored(tmp_path))
        assert agent("find_person", name="ada")["rows"][0]["p.age"] == 36
        agent("mutate", query=ADD, params={"name": "zoe"})
        agent("load", data=[{"type": "Note", "data": {"text": "far"}}])
        assert [hit["type"] for hit in agent("search", text="far")["hits"]] == ["Note"]
        first = agent("query", query=PEOPLE, limit=3)
        assert agent("query", query=PEOPLE, limit=3, cursor=first["next_cursor"]).names == ["zoe"]
        assert agent("propose")["change_count"] == 2
        assert agent("branch_merge", delete=True)["branch_deleted"]
        assert agent("diff", **{"from": "main", "to": "main"})["changes"] == []
    gone = agent("mutate", query=ADD, params={"name": "never"})
    assert gone.code == "server_unreachable" and "nothing was written" in gone.text
    assert agent("query", query=PEOPLE).code == "server_unreachable"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=8), values),
    max_leaves=6,
)
NOW = {**{name: name for name in TOOLS}, **OLDER_NAMES}
WRITES = {name for name, now in NOW.items() if not TOOLS[now].is_reading} | {"add_person"}
NAMES = st.sampled_from(sorted({name for tool in TOOLS.values() for name in tool.arguments}))
SENSIBLE = st.sampled_from([PEOPLE, ADD, "main", "ada", "Person", 1, ["Person"], {"name": "x"}])


@pytest.fixture(scope="module")
def pestered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Agent]:
    place = tmp_path_factory.mktemp("pestered")
    graph = make_graph(place)
    return graph, agent_of(graph, queries=stored(place))


@pytest.mark.parametrize("tool", [*NOW, *OLDER_TOOLS, "add_person", "find_person"])
def test_rubbish_is_answered_and_changes_nothing(
    pestered: tuple[Graph, Agent], tool: str, request: pytest.FixtureRequest
) -> None:
    graph, agent = pestered
    before = head(graph), graph.branches()

    @settings(
        max_examples=200 if request.config.getoption("--deep") else 6,
        suppress_health_check=list(HealthCheck),
        database=None,
        deadline=None,
    )
    @given(arguments=st.dictionaries(NAMES | st.text(max_size=8), SENSIBLE | JSON, max_size=5))
    def call(arguments: dict[str, Any]) -> None:
        answer = agent(tool, **arguments)
        if answer.is_error:
            assert answer.value["code"] != "internal", (arguments, answer.text)
            assert "Traceback" not in answer.text and answer.text.startswith(answer.code)
            assert "omnigraph " not in str(answer.value["hint"]), "an agent has tools"
        else:
            assert tool not in WRITES

    call()
    assert (head(graph), graph.branches()) == before
