"""No actor takes the places of others: how many writes, and how many bytes, one may have."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from omnigraph import Graph
from omnigraph.base.errors import PolicyDenied, RequestsTooMany
from omnigraph.base.ids import MAIN
from omnigraph.engine.gate import Action
from omnigraph.engine.settings import TokenSources
from omnigraph.surfaces.server.access import DefaultDeny, Where
from omnigraph.surfaces.server.admission import Admission
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.tokens import read_tokens
from tests.processes import wait_until
from tests.surfaces.server.asgi import Client, scope
from tests.surfaces.server.world import ADD, PEOPLE, G, World, serve_here

FEW = 3


class MostThings(DefaultDeny):
    """Everybody may change rows, and nobody makes branches."""

    def allow(self, actor: str | None, action: str, where: Where) -> None:
        if action == Action.BRANCH_CREATE:
            raise PolicyDenied(action=action, actor=actor)


@pytest.fixture
def crowd(graph: Graph) -> World:
    tokens = read_tokens(TokenSources(json=json.dumps({"ada": "a", "bob": "b"})))
    limits = ServerLimits(max_actor_writes=FEW, max_actor_bytes=4000)
    return serve_here(graph, access=MostThings(tokens), limits=limits)


def add(world: World, who: str, name: str) -> Any:
    body = {"query": ADD, "params": {"name": name}}
    headers = {"Authorization": f"Bearer {who}", "Content-Type": "application/json"}
    return world.post(f"{G}/mutate", json=body, headers=headers)


def test_an_actor_with_all_places_taken_is_told_to_wait_and_others_are_not(crowd: World) -> None:
    under_way = crowd.app.admission.writes_under_way
    ada = {"Authorization": "Bearer a"}
    with ThreadPoolExecutor(FEW + 1) as threads:
        with crowd.graph.engine.store.fence(MAIN):  # every writer of main waits now
            writes = [threads.submit(add, crowd, "a", f"ada{n}") for n in range(FEW)]
            wait_until(lambda: under_way() == FEW, "no write began")
            refused = add(crowd, "a", "more")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
            assert int(refused.headers["retry-after"]) >= 1
            read = crowd.post(f"{G}/query", json={"query": PEOPLE}, headers=ada)
            assert read.status_code == 200, "reads are not counted"
            denied = crowd.post(f"{G}/branches", json={"name": "b"}, headers=ada)
            assert denied.status_code == 403, "a policy is asked before places are counted"
            writes.append(threads.submit(add, crowd, "b", "bob1"))
            wait_until(lambda: under_way() == FEW + 1, "bob had to wait for ada")
        assert [write.result().status_code for write in writes] == [200] * (FEW + 1)
    assert under_way() == 0
    assert add(crowd, "a", "more").status_code == 200


def test_a_server_whose_threads_all_read_says_that_it_is_well(graph: Graph) -> None:
    app = serve_here(graph, limits=ServerLimits(read_threads=1)).app

    async def ask() -> list[int | None]:
        await app.reading.acquire_on_behalf_of("somebody")
        asked = [scope("GET", path, {}) for path in ("/healthz", "/readyz", "/metrics")]
        asked.append(scope("GET", f"{G}/schema", {"omnigraph_timeout_ms": "50"}))
        clients = [Client() for _ in asked]
        for one, client in zip(asked, clients, strict=True):
            await app(one, client.receive, client.send)
        app.reading.release_on_behalf_of("somebody")
        assert app.reading.borrowed_tokens == 0
        return [client.status for client in clients]

    assert anyio.run(ask) == [200, 200, 200, 413], "the wait of a read is a part of its time"


def test_an_actor_whose_reads_wait_keeps_no_other_actor_waiting(graph: Graph) -> None:
    tokens = read_tokens(TokenSources(json=json.dumps({"ada": "a", "bob": "b"})))
    limits = ServerLimits(read_threads=3, max_actor_reads=2)
    app = serve_here(graph, access=MostThings(tokens), limits=limits).app

    async def ask(who: str, **more: str) -> int | None:
        client = Client()
        headers = {"authorization": f"Bearer {who}", **more}
        await app(scope("GET", f"{G}/schema", headers), client.receive, client.send)
        return client.status

    async def both() -> tuple[list[int | None], int]:
        async with AsyncExitStack() as slow:
            for _ in range(2):  # two slow reads of ada: all places of her own
                await slow.enter_async_context(app.admission.read("ada"))
                ours = object()
                await app.reading.acquire_on_behalf_of(ours)
                slow.callback(app.reading.release_on_behalf_of, ours)
            found = [await ask("b"), await ask("a", omnigraph_timeout_ms="50"), await ask("b")]
        return [*found, await ask("a")], app.reading.borrowed_tokens

    assert anyio.run(both) == ([200, 413, 200, 200], 0)


def test_a_read_whose_client_has_gone_is_not_run(graph: Graph, tmp_path: Path) -> None:
    reader = Graph.open(tmp_path / "people.omni", read_only=True)
    app = serve_here(reader, limits=ServerLimits(read_threads=1)).app

    async def ask(client: Client) -> None:
        headers = {"content_type": "application/json"}
        await app(scope("POST", f"{G}/query", headers), client.receive, client.send)

    body = json.dumps({"query": PEOPLE}).encode()

    async def both() -> list[int]:
        held = []
        await app.reading.acquire_on_behalf_of("somebody")
        gone = Client([body], goes_after=0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, gone)
            while not app.reading.statistics().tasks_waiting:
                await anyio.sleep(0)
            app.reading.release_on_behalf_of("somebody")
        held.append(len(reader.engine.cache))
        await ask(Client([body]))
        return [*held, len(reader.engine.cache)]

    after_gone, after_there = anyio.run(both)
    assert after_gone == 0, "the query was run, and nobody waits for its answer"
    assert after_there > 0


def test_a_write_that_the_server_stops_waiting_for_changes_nothing(crowd: World) -> None:
    """After a signal to stop, requests have some seconds; then their tasks are cancelled."""
    app, under_way = crowd.app, crowd.app.admission.writes_under_way
    body = json.dumps({"query": ADD, "params": {"name": "late"}}).encode()
    headers = {"content_type": "application/json", "authorization": "Bearer a"}
    client = Client([body])
    before = threading.active_count()

    async def stopped() -> None:
        request = asyncio.create_task(
            app(scope("POST", f"{G}/mutate", headers), client.receive, client.send)
        )
        while not under_way():
            await asyncio.sleep(0)
        request.cancel()
        await asyncio.wait([request])

    with crowd.graph.engine.store.fence(MAIN):  # so the write can't be done yet
        asyncio.run(stopped())
    wait_until(lambda: threading.active_count() <= before, "the write goes on")
    assert under_way() == 0
    names = crowd.graph.query(PEOPLE).to_arrow()["p.name"].to_pylist()
    assert "late" not in names
    assert len(names) == 3


def test_bytes_of_one_actor_are_bounded_and_given_back(crowd: World) -> None:
    large = {"query": " " * 5000}
    ada, bob = ({"Authorization": f"Bearer {who}"} for who in "ab")
    assert crowd.post(f"{G}/query", json=large, headers=ada).status_code == 429
    assert crowd.post(f"{G}/query", json={"query": PEOPLE}, headers=ada).status_code == 200
    assert crowd.post(f"{G}/query", json=large, headers=bob).status_code == 429


def test_places_are_counted_for_each_actor_and_given_back_after_a_failure() -> None:
    admission = Admission(ServerLimits(max_actor_writes=1, max_actor_bytes=10))
    with admission.write("ada"), admission.write("bob"), pytest.raises(RequestsTooMany):
        admission.write("ada")
    with pytest.raises(KeyError), admission.write("ada"):
        raise KeyError
    with admission.write("ada"), admission.body("ada") as held:
        held.add(10)
        with admission.body("ada") as more, pytest.raises(RequestsTooMany):
            more.add(1)
    with admission.body("ada") as held:
        held.add(10)
    assert admission.writes_under_way() == 0
