"""Every route answers with what the engine says, in the shapes that clients rely on."""

import json
from typing import Any

import pytest

import omnigraph
from tests.surfaces.server.world import ADD, PEOPLE, SCHEMA, G, World


def head(world: World, branch: str = "main") -> dict[str, Any]:
    commit: dict[str, Any] = world.get(f"{G}/commits", params={"branch": branch}).json()["commits"][
        0
    ]
    return commit


def test_a_query_answers_with_rows_and_the_commit_that_they_are_of(shared: World) -> None:
    answer = shared.query(PEOPLE).json()
    assert answer == {
        "query_name": "people",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 3,
        "columns": ["p.name", "p.age"],
        "rows": [
            {"p.name": "ada", "p.age": 36},
            {"p.name": "bob", "p.age": 41},
            {"p.name": "cleo", "p.age": None},
        ],
        "graph_commit_id": head(shared)["graph_commit_id"],
    }


def test_a_query_is_asked_of_a_branch_or_of_a_commit(world: World) -> None:
    before = head(world)["graph_commit_id"]
    assert world.post(f"{G}/mutate", json={"query": ADD, "params": {"name": "zoe"}}).is_success
    at = world.query(PEOPLE, snapshot=before).json()
    assert (at["row_count"], at["target"]) == (3, {"branch": None, "snapshot": before})
    assert world.query(PEOPLE, branch="main").json()["row_count"] == 4
    both = world.query(PEOPLE, branch="main", snapshot=before)
    assert (both.status_code, both.json()["code"]) == (400, "bad_request")


def test_a_query_that_changes_the_graph_is_refused_by_the_route_that_reads(shared: World) -> None:
    answer = shared.query(ADD, params={"name": "x"})
    assert answer.status_code == 400
    assert "changes the graph" in answer.json()["error"]


def test_a_mutation_is_one_commit_whose_receipt_is_the_commit(world: World) -> None:
    answer = world.post(f"{G}/mutate", json={"query": ADD, "params": {"name": "zoe"}}).json()
    commit = answer.pop("commit")
    assert answer == {
        "branch": "main",
        "query_name": "add",
        "affected_nodes": 1,
        "affected_edges": 0,
        "actor_id": None,
    }
    assert world.get(f"{G}/commits/{commit['graph_commit_id']}").json() == commit == head(world)
    assert commit["created_at"] == round(world.graph.commits()[0].created_at.timestamp() * 1e6)


def test_a_mutation_that_changes_nothing_has_no_commit(shared: World) -> None:
    nothing = 'query n() { delete Person where name = "nobody" }'
    assert shared.post(f"{G}/mutate", json={"query": nothing}).json()["commit"] is None


def test_a_write_on_a_commit_is_refused_if_the_branch_has_moved(world: World) -> None:
    path, name = f"{G}/mutate/if-graph-commit", "Omnigraph-If-Graph-Commit"
    before = head(world)["graph_commit_id"]
    body = {"query": ADD, "params": {"name": "zoe"}}
    first = world.post(path, json=body, headers={name: before})
    assert first.status_code == 200
    again = world.post(path, json={**body, "params": {"name": "yan"}}, headers={name: before})
    after = first.json()["commit"]["graph_commit_id"]
    assert again.status_code == 412
    assert again.json()["precondition_failure"] == {"expected": before, "actual": after}
    assert "code" not in again.json()
    assert world.post(path, json=body).status_code == 400
    plain = world.post(f"{G}/mutate", json=body, headers={name: before})
    assert (plain.status_code, "if-graph-commit" in plain.json()["hint"]) == (400, True)


def test_branches_are_made_merged_and_deleted_by_names_with_slashes(world: World) -> None:
    made = world.post(f"{G}/branches", json={"name": "agent/1/try"}).json()
    assert (made["name"], made["from"]) == ("agent/1/try", "main")
    assert world.get(f"{G}/branches").json() == {"branches": ["main", "agent/1/try"]}
    add = {"query": ADD, "params": {"name": "zoe"}, "branch": "agent/1/try"}
    assert world.post(f"{G}/mutate", json=add).json()["branch"] == "agent/1/try"
    merge = {"source": "agent/1/try"}
    assert world.post(f"{G}/branches/merge", json=merge).json()["outcome"] == "fast_forward"
    again = world.post(f"{G}/branches/merge", json=merge).json()
    assert (again["outcome"], again["commit"]) == ("already_up_to_date", None)
    assert "zoe" in world.names()
    deleted = world.delete(f"{G}/branches/agent%2F1%2Ftry").json()
    assert deleted["name"] == "agent/1/try"
    assert world.get(f"{G}/branches").json() == {"branches": ["main"]}


def test_a_branch_called_as_a_route_is_can_be_deleted(world: World) -> None:
    world.post(f"{G}/branches", json={"name": "merge"})
    assert world.delete(f"{G}/branches/merge").json()["name"] == "merge"


def test_conflicts_of_a_merge_are_listed(world: World) -> None:
    world.post(f"{G}/branches", json={"name": "b"})
    for branch, age in (("main", 1), ("b", 2)):
        update = f'query u() {{ update Person set {{ age: {age} }} where name = "ada" }}'
        answer = world.post(f"{G}/mutate", json={"query": update, "branch": branch})
        assert answer.status_code == 200, answer.json()
    refused = world.post(f"{G}/branches/merge", json={"source": "b"})
    body = refused.json()
    assert (refused.status_code, body["code"]) == (409, "conflict")
    (conflict,) = body["merge_conflicts"]
    assert conflict["kind"] == "divergent_update"
    assert (conflict["entity_kind"], conflict["entity_id"]) == ("node", "ada")
    assert body["details"]["code"] == "merge_conflicts"


@pytest.mark.parametrize("route", ["load", "ingest"])
def test_a_load_in_an_envelope_is_one_commit(world: World, route: str) -> None:
    line = json.dumps({"type": "Person", "data": {"name": "zoe"}})
    body = {"data": line, "branch": "fresh", "from": "main", "mode": "append"}
    answer = world.post(f"{G}/{route}", json=body).json()
    assert (answer["branch"], answer["branch_created"], answer["base_branch"]) == (
        "fresh",
        True,
        "main",
    )
    assert answer["nodes"] == [{"name": "Person", "entities_loaded": 1}]
    assert answer["total_entities"] == 1
    assert answer["commit"] == head(world, "fresh")
    again = world.post(f"{G}/{route}", json={**body, "mode": "merge"}).json()
    assert (again["branch_created"], again["base_branch"]) == (False, None)


def test_a_load_of_plain_lines_is_one_commit_and_merges_unless_told(world: World) -> None:
    line = b'{"type": "Person", "data": {"name": "ada", "age": 37}}\n'
    kind = {"content-type": "application/x-ndjson"}
    answer = world.post(f"{G}/load/ndjson", content=line, headers=kind).json()
    assert (answer["mode"], answer["total_entities"]) == ("merge", 1)
    append = world.post(f"{G}/load/ndjson", params={"mode": "append"}, content=line, headers=kind)
    assert append.status_code == 409
    conflict = append.json()["key_conflict"]
    assert conflict == {"entity_kind": "node", "type_name": "Person", "entity_id": "ada"}


def test_a_load_with_a_bad_row_loads_nothing_and_names_the_row(world: World) -> None:
    lines = b'{"type": "Person", "data": {"name": "x"}}\n{"type": "Person", "data": {"age": "y"}}\n'
    kind = {"content-type": "application/x-ndjson"}
    refused = world.post(f"{G}/load/ndjson", content=lines, headers=kind)
    assert refused.status_code == 400
    details = refused.json()["details"]
    assert details["code"] == "constraint_violation"
    assert details["examples"][0]["line"] == 2
    assert "x" not in world.names()


def test_the_schema_is_shown_and_replaced(world: World) -> None:
    assert world.get(f"{G}/schema").json() == {"schema_source": SCHEMA}
    wider = SCHEMA.replace("node Note { text: String }", "node Note { text: String  by: String? }")
    applied = world.post(f"{G}/schema/apply", json={"schema_source": wider}).json()
    assert (applied["applied"], applied["supported"], applied["step_count"]) == (True, True, 1)
    assert applied["graph_manifest_version"] == head(world)["graph_manifest_version"]
    again = world.post(f"{G}/schema/apply", json={"schema_source": wider}).json()
    assert (again["applied"], again["step_count"], again["commit"]) == (False, 0, None)
    narrower = world.post(f"{G}/schema/apply", json={"schema_source": "node A { b: Nothing }"})
    assert narrower.status_code == 400


def test_a_snapshot_counts_the_entities_of_each_table(shared: World) -> None:
    answer = shared.get(f"{G}/snapshot").json()
    assert (answer["graph_branch"], answer["internal_schema_version"]) == ("main", 1)
    counts = {table["type_name"]: table["entity_count"] for table in answer["datasets"]}
    assert counts == {"Company": 1, "Note": 0, "Person": 3, "Knows": 2, "WorksAt": 1}


def test_changes_come_in_pages_and_the_cursor_with_the_end_of_a_commit(world: World) -> None:
    start = world.get(f"{G}/changes").json()
    assert (start["blocks"], start["caught_up"]) == ([], True)
    both = 'query w() { insert Person { name: "zoe" }  insert Knows { from: "zoe", to: "ada" } }'
    commit = world.post(f"{G}/mutate", json={"query": both}).json()["commit"]
    first = world.get(f"{G}/changes", params={"cursor": start["cursor"], "limit": 1}).json()
    assert (first["cursor"], first["caught_up"]) == (None, False)
    ((node,),) = ([*block["changes"]] for block in first["blocks"])
    assert (node["kind"], node["op"], node["id"], node["before"]) == ("node", "insert", "zoe", None)
    token = first["next_page_token"]
    last = world.get(f"{G}/changes", params={"page_token": token, "limit": 1}).json()
    (block,) = last["blocks"]
    assert block["changes"][0]["after"]["endpoints"] == {"from": "zoe", "to": "ada"}
    assert block["cause"]["graph_commit_id"] == commit["graph_commit_id"]
    assert block["cause"]["authored_at"] == commit["created_at"]
    assert last["next_page_token"] is None
    rest = world.get(f"{G}/changes", params={"cursor": last["cursor"]}).json()
    assert (rest["blocks"], rest["caught_up"]) == ([], True)
    two = world.get(f"{G}/changes", params={"cursor": last["cursor"], "start": "now"})
    assert two.status_code == 400


def test_the_changes_of_a_commit_are_those_against_its_parent(shared: World) -> None:
    commit = head(shared)["graph_commit_id"]
    page = shared.get(f"{G}/commits/{commit}/changes", params={"kind": "edge", "limit": 2}).json()
    assert [change["type"]["name"] for change in page["changes"]] == ["Knows", "Knows"]
    token = page["next_page_token"]
    more = {"kind": "edge", "page_token": token}
    rest = shared.get(f"{G}/commits/{commit}/changes", params=more).json()
    assert [change["type"]["name"] for change in rest["changes"]] == ["WorksAt"]
    first = shared.graph.commits()[-1].graph_commit_id
    refused = shared.get(f"{G}/commits/{first}/changes")
    refusal = refused.json()["change_diff_refusal"]
    assert (refused.status_code, refusal["reason"]) == (409, "parentless_commit")


def test_an_export_is_what_a_load_reads(shared: World) -> None:
    answer = shared.post(f"{G}/export", json={"type_names": ["Person"]})
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert sorted(line["data"]["name"] for line in lines) == ["ada", "bob", "cleo"]
    unknown = shared.post(f"{G}/export", json={"type_names": ["Nobody"]})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


def test_a_baseline_ends_with_its_commit_and_the_cursor_that_goes_on(shared: World) -> None:
    answer = shared.post(f"{G}/changes/baseline", json={"kind": ["node"]})
    *rows, last = [json.loads(line) for line in answer.text.splitlines()]
    assert len(rows) == 4
    assert last["baseline"]["snapshot_commit_id"] == head(shared)["graph_commit_id"]
    after = {"cursor": last["baseline"]["resume_cursor"], "kind": "node"}
    assert shared.get(f"{G}/changes", params=after).json()["caught_up"] is True


def test_aliases_answer_as_before_and_name_their_successors(world: World) -> None:
    read = world.post(f"{G}/read", json={"query_source": PEOPLE, "query_name": "people"})
    assert read.json()["row_count"] == 3
    assert "graph_commit_id" not in read.json()
    change = world.post(f"{G}/change", json={"query": ADD, "params": {"name": "zoe"}})
    line = '{"type": "Person", "data": {"name": "yan"}}'
    ingest = world.post(f"{G}/ingest", json={"data": line})
    for answer, name in ((read, "query"), (change, "mutate"), (ingest, "load")):
        assert answer.status_code == 200
        assert answer.headers["deprecation"] == "true"
        assert answer.headers["link"] == f'<{G}/{name}>; rel="successor-version"'


def test_the_server_tells_that_it_is_well_and_what_it_serves(shared: World) -> None:
    health = shared.get("/healthz").json()
    assert (health["status"], health["version"]) == ("ok", omnigraph.__version__)
    assert shared.get("/readyz").json() == {"status": "ready", "graphs": 1}
    assert shared.get("/graphs").json() == {"graphs": [{"graph_id": "people", "uri": G}]}
    page = shared.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "/graphs/{graph_id}/query" in page.text
    assert "http" not in page.text.replace("https", "http").replace("http-equiv", "")


def test_metrics_count_requests_by_route_and_status(world: World) -> None:
    world.query(PEOPLE)
    world.query("nonsense")
    text = world.get("/metrics").text
    assert 'omnigraph_http_requests_total{route="cluster_query",status="200"} 1.0' in text
    assert 'omnigraph_http_requests_total{route="cluster_query",status="400"} 1.0' in text
    assert "omnigraph_writes_under_way 0.0" in text


def test_a_neighbourhood_has_the_entity_its_edges_and_what_is_around(shared: World) -> None:
    path = f"{G}/neighborhood"
    asked = {"type": "Person", "id": "ada", "depth": 2, "limit": 2}
    first = shared.get(path, params=asked).json()
    assert (first["entity"]["id"], first["entity"]["distance"]) == ("ada", 0)
    assert first["entity"]["properties"]["born"] == "1815-12-10T06:00:00.000Z"
    assert first["counts"] == [
        {"edge": "Knows", "direction": "out", "count": 1},
        {"edge": "WorksAt", "direction": "out", "count": 1},
    ]
    assert [(n["type_name"], n["id"]) for n in first["nodes"]] == [
        ("Company", "Analytical"),
        ("Person", "bob"),
    ]
    assert (first["node_count"], len(first["edges"])) == (3, 2)
    more = {**asked, "page_token": first["next_page_token"]}
    last = shared.get(path, params=more).json()
    assert [node["id"] for node in last["nodes"]] == ["cleo"]
    assert [(edge["from"], edge["to"]) for edge in last["edges"]] == [("bob", "cleo")]
    assert last["next_page_token"] is None
    assert shared.get(path, params={"type": "Person", "id": "nobody"}).status_code == 404
    assert shared.get(path, params={"type": "Person", "id": "ada", "depth": 99}).status_code == 400
