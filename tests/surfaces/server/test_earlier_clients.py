"""Routes and names of members that earlier clients use, as the contract and the page list them."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.server.test_contract import CONTRACT
from tests.surfaces.server.world import ADD, PEOPLE, G, World

PAGE = Path(__file__).parents[3] / "docs/user/server.md"
LINE = '{"type": "Person", "data": {"name": "yan"}}'

# A body with every member of each earlier route, by the names of the contract.
BODIES: dict[str, dict[str, Any]] = {
    "read": {"query_source": PEOPLE, "query_name": "people", "params": {}, "branch": "main"},
    "change": {"query": ADD, "name": "add", "params": {"name": "zoe"}, "branch": "main"},
    "ingest": {"data": LINE, "branch": "later", "from": "main", "mode": "merge"},
}
# Names that clients from before the contract give to members of its bodies.
ALIASES = {"change": {"query": "query_source", "name": "query_name"}}


def in_contract(route: str) -> set[str]:
    """The members of the body of a route."""
    operation = CONTRACT["paths"][f"/graphs/{{graph_id}}/{route}"]["post"]
    assert operation["deprecated"]
    (content,) = operation["requestBody"]["content"].values()
    name = content["schema"]["$ref"].rpartition("/")[2]
    return set(CONTRACT["components"]["schemas"][name]["properties"])


def test_the_earlier_routes_are_those_of_the_contract() -> None:
    paths = CONTRACT["paths"].items()
    deprecated = {
        path.rpartition("/")[2]
        for path, methods in paths
        for operation in methods.values()
        if operation.get("deprecated")
    }
    assert deprecated == BODIES.keys()


@pytest.mark.parametrize("route", BODIES)
def test_a_body_with_every_member_of_the_contract_is_taken(world: World, route: str) -> None:
    # A moment and a branch are not given together.
    assert BODIES[route].keys() == in_contract(route) - {"snapshot"}
    answer = world.post(f"{G}/{route}", json=BODIES[route])
    assert answer.status_code == 200, answer.text
    nulls = dict.fromkeys(in_contract(route) - {"query_source", "query", "data", "params"})
    assert world.post(f"{G}/{route}", json={**BODIES[route], **nulls}).status_code == 200


@pytest.mark.parametrize("route", ["change", "mutate"])
@pytest.mark.parametrize(
    "names", [*product(("query", "query_source"), ("name", "query_name", None))], ids=str
)
def test_each_name_of_a_member_means_the_same(
    world: World, route: str, names: tuple[str, str | None]
) -> None:
    text, name = names
    body: dict[str, Any] = {text: ADD, "params": {"name": "zoe"}}
    if name is not None:
        body[name] = "add"
    answer = world.post(f"{G}/{route}", json=body).json()
    assert (answer["query_name"], answer["affected_nodes"]) == ("add", 1)
    wrong = world.post(f"{G}/{route}", json={**body, name or "query_name": "other"})
    assert wrong.status_code == 404 and "other" in wrong.text


@pytest.mark.parametrize(("name", "earlier"), ALIASES["change"].items())
def test_both_names_of_a_member_are_refused(shared: World, name: str, earlier: str) -> None:
    body = {"query": ADD, "params": {"name": "zoe"}, name: ADD, earlier: ADD}
    answer = shared.post(f"{G}/change", json=body)
    assert answer.status_code == 400
    assert f"`{earlier}` is an earlier name of `{name}`" in answer.json()["error"]


@pytest.mark.parametrize("body", ["[]", "null", "1", '{"query": 1}', '{"query_source": 1}', "{}"])
def test_other_bodies_are_refused_in_words(shared: World, body: str) -> None:
    headers = {"content-type": "application/json"}
    answer = shared.post(f"{G}/change", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


def test_an_earlier_name_does_not_open_other_routes(shared: World) -> None:
    for route, body in (("query", {"query_source": PEOPLE}), ("read", {"query": PEOPLE})):
        assert shared.post(f"{G}/{route}", json=body).status_code == 400


def test_the_page_lists_every_route_and_every_member() -> None:
    told = dict(re.findall(r"^\| `POST (\w+)` \| (.*?) \|", PAGE.read_text(), re.MULTILINE))
    for route, body in BODIES.items():
        members = set(re.findall(r"`(\w+)`", told[route]))
        assert members == in_contract(route) | set(ALIASES.get(route, {}).values()), route
        assert body.keys() <= members
