"""`Idempotency-Key`: a request that is sent twice is carried out once, on every route that adds."""

from typing import Any

import pytest

from tests.surfaces.server.world import ADD, G, World

LINE = '{"type": "Person", "data": {"name": "yan"}}'
NAME = {"params": {"name": "zoe"}}
BODIES: dict[str, dict[str, Any]] = {
    "mutate": {"query": ADD, **NAME},
    "change": {"query": ADD, **NAME},
    "queries/add_person": NAME,
    "load": {"data": LINE, "mode": "append"},
    "ingest": {"data": LINE, "mode": "append"},
}
KEY = {"Idempotency-Key": "order-17"}


def commits(world: World) -> list[str]:
    return [each["graph_commit_id"] for each in world.get(f"{G}/commits").json()["commits"]]


@pytest.mark.parametrize("route", BODIES)
def test_a_request_with_a_key_is_carried_out_once(world: World, route: str) -> None:
    first = world.post(f"{G}/{route}", json=BODIES[route], headers=KEY)
    assert first.status_code == 200, first.text
    assert "Idempotency-Replayed" not in first.headers
    before = commits(world)
    again = world.post(f"{G}/{route}", json=BODIES[route], headers=KEY)
    assert again.status_code == 200, again.text
    assert again.headers["Idempotency-Replayed"] == "true"
    assert commits(world) == before
    if route not in ("load", "ingest"):
        assert again.json() == first.json(), "a repeated load says that nothing was loaded now"


def test_lines_with_a_key_are_loaded_once(world: World) -> None:
    path, body = f"{G}/load/ndjson?mode=append", LINE.encode()
    headers = {**KEY, "Content-Type": "application/x-ndjson"}
    assert world.post(path, content=body, headers=headers).status_code == 200
    before = commits(world)
    again = world.post(path, content=body, headers=headers)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (200, "true")
    assert commits(world) == before


def test_a_key_of_another_request_is_refused(world: World) -> None:
    first = world.post(f"{G}/mutate", json=BODIES["mutate"], headers=KEY).json()
    other = {"query": ADD, "params": {"name": "yan"}}
    answer = world.post(f"{G}/mutate", json=other, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert first["commit"]["graph_commit_id"] in answer.json()["error"]


@pytest.mark.parametrize("key", ["x" * 300, " "])
def test_a_key_that_is_no_name_is_refused(shared: World, key: str) -> None:
    headers = {"Idempotency-Key": key}
    answer = shared.post(f"{G}/mutate", json=BODIES["mutate"], headers=headers)
    assert answer.status_code == 400 and "request_id" in answer.json()["error"]


def test_a_query_that_only_reads_takes_a_key_and_reads(shared: World) -> None:
    body = {"params": {"name": "ada"}}
    for _ in range(2):
        answer = shared.post(f"{G}/queries/find_person", json=body, headers=KEY)
        assert answer.json()["rows"] == [{"p.name": "ada", "p.age": 36}]
