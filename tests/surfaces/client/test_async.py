"""`AsyncGraph`: the same methods as coroutines, here and on a server."""

import asyncio
import inspect
import threading
from pathlib import Path

import pytest

from omnigraph import AsyncGraph, Graph
from omnigraph.async_graph import AsyncAnalytics, AsyncAt, AsyncBlob, AsyncBranch
from omnigraph.errors import BranchMissing, LocalOnly
from omnigraph.results import Analytics, At, Blob, Branch
from tests.processes import wait_until
from tests.surfaces.client.doors import QUERIES, SET_AGE
from tests.surfaces.client.pairs import Pair
from tests.surfaces.client.served import Line, silent

pytestmark = pytest.mark.xdist_group("parity")

NOT_OURS = {"engine", "stored"}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (AsyncGraph, Graph),
        (AsyncBranch, Branch),
        (AsyncAt, At),
        (AsyncBlob, Blob),
        (AsyncAnalytics, Analytics),
    ],
)
def test_every_method_has_a_coroutine_with_the_same_arguments(ours: type, theirs: type) -> None:
    of_fields = {"type_name", "entity_id", "property"}
    public = {n for n in dir(theirs) if not n.startswith("_")} - NOT_OURS - of_fields
    assert public == {n for n in dir(ours) if not n.startswith("_")}
    for name in public:
        method = getattr(theirs, name)
        if inspect.isfunction(method):
            there = inspect.signature(getattr(ours, name)).parameters
            assert list(there) == list(inspect.signature(method).parameters), name


@pytest.mark.parametrize("side", ["local", "remote"])
def test_coroutines_answer_as_the_methods_do(pair: Pair, side: str) -> None:
    graph: Graph = getattr(pair, side)

    async def ask() -> None:
        ours = AsyncGraph(graph)
        rows, branches = await asyncio.gather(ours.query(QUERIES, "everyone"), ours.branches())
        assert rows.to_pylist() == graph.query(QUERIES, "everyone").to_pylist()
        assert branches == graph.branches()
        branch, at = await ours.branch("side/1"), await ours.at(1)
        assert (branch.name, at.branch) == ("side/1", "main")
        assert not (await at.query(QUERIES, "everyone")).to_pylist()
        assert (await branch.snapshot()).commit == graph.commits("side/1")[0]
        blob = await ours.blob("node", "Person", "ada", "avatar")
        assert await blob.read(0, 5) == b"hello" and blob.size == 11
        assert b"".join([piece async for piece in blob.chunks()]) == b"hello world"
        ranks = await branch.analytics.pagerank("Knows")
        assert ranks.to_pylist() == graph.branch("side/1").analytics.pagerank("Knows").to_pylist()
        with pytest.raises(BranchMissing):
            await ours.branch("nowhere")
        assert repr(ours) == f"<AsyncGraph {graph.uri}>" and ours.uri == graph.uri

    asyncio.run(ask())


def test_a_graph_is_made_opened_and_written_by_coroutines(tmp_path: Path) -> None:
    async def work() -> None:
        schema = "node Person { name: String @key  age: I32? }"
        async with await AsyncGraph.init(tmp_path / "g.omni", schema, durability="relaxed") as made:
            await made.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
        graph = await AsyncGraph.open(tmp_path / "g.omni", durability="relaxed")
        done = await graph.as_actor("bob").mutate(SET_AGE, "set_age", {"name": "ada", "age": 3})
        assert done.affected_nodes == 1 and done.actor_id == "bob"

    asyncio.run(work())


def test_a_connection_needs_the_storage_for_the_same_things(pair: Pair) -> None:
    async def tidy() -> None:
        await (await AsyncGraph.connect(pair.remote.uri)).optimize()

    with pytest.raises(LocalOnly):
        asyncio.run(tidy())


def test_a_cancelled_task_hangs_up_on_the_server() -> None:
    async def ask(line: Line) -> None:
        graph = await AsyncGraph.connect(line.url)
        task = asyncio.create_task(graph.query(QUERIES, "everyone"))
        await asyncio.to_thread(wait_until, lambda: bool(line.asked), "nobody asked")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    # It ends only when the line was hung up.
    with silent() as line:
        asyncio.run(ask(line))


def test_a_cancelled_task_ends_its_query_here(pair: Pair) -> None:
    cancel = threading.Event()

    async def ask() -> None:
        task = asyncio.create_task(AsyncGraph(pair.local).query(QUERIES, "everyone", cancel=cancel))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask())
    assert cancel.is_set()
