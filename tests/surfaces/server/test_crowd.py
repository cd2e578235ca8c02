"""Many clients at once, half of which hang up: the others are answered as if they were alone."""

import asyncio
import json
from pathlib import Path

import pytest

from omnigraph.surfaces.server.limits import ServerLimits
from tests.processes import PATIENCE_S, wait_until
from tests.surfaces.client.served import served
from tests.surfaces.server.raw import CLOSE, request
from tests.surfaces.server.world import ADD, PEOPLE, G, World, make_graph, serve_here

CLIENTS = 200
THERE_BEFORE = {"ada", "bob", "cleo"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return serve_here(make_graph(tmp_path), limits=ServerLimits(max_actor_writes=CLIENTS))


def asked(number: int) -> bytes:
    """What a client sends: one in ten writes."""
    if number % 10 < 2:
        body = {"query": ADD, "params": {"name": f"new {number}"}}
        return request("POST", f"{G}/mutate", json.dumps(body).encode(), CLOSE)
    return request("POST", f"{G}/query", json.dumps({"query": PEOPLE}).encode(), CLOSE)


async def visit(port: int, number: int) -> bytes | None:
    """The answer; None for the clients that hang up, in the middle of their request or after it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    whole = asked(number)
    try:
        if number % 2:
            writer.write(whole)
            return await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.write(whole[: len(whole) // 2] if number % 4 else whole)
        await writer.drain()
        return None
    finally:
        writer.close()


async def crowd(port: int) -> list[bytes | None]:
    return await asyncio.gather(*(visit(port, number) for number in range(CLIENTS)))


def test_clients_that_hang_up_take_nothing_from_the_others(world: World) -> None:
    with served(world.app) as url:
        answers = asyncio.run(crowd(int(url.rpartition(":")[2])))
        app = world.app
        wait_until(lambda: not app.metrics.requests_under_way, "a request never ended")
    for number, answer in enumerate(answers):
        if answer is not None:
            head, _, body = answer.partition(b"\r\n\r\n")
            assert b" 200 " in head.splitlines()[0], (number, answer)
            if number % 10 >= 2:
                rows = json.loads(body)["rows"]
                assert {row["p.name"] for row in rows} >= THERE_BEFORE
                assert len(rows) == len({row["p.name"] for row in rows})
    assert app.admission.writes_under_way() == 0
    named = world.names()
    acknowledged = {f"new {n}" for n in range(1, CLIENTS, 10)}
    hung_up = {f"new {n}" for n in range(0, CLIENTS, 20)}
    assert THERE_BEFORE | acknowledged <= set(named) <= THERE_BEFORE | acknowledged | hung_up
    assert len(named) == len(set(named))
