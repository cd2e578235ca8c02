"""The calls that the Explorer's page makes, as a browser makes them."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from omnigraph import Graph
from omnigraph.policy.policy import Policy
from omnigraph.surfaces.explorer.files import Bundle
from omnigraph.surfaces.server.access import Access, DefaultDeny, Personal, UnderPolicy
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.callers import Callers
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.registry import Registry, ServedGraph, Serving
from omnigraph.surfaces.server.tokens import Tokens
from tests.surfaces.server.world import G, World, make_graph, serve_here, stored

TOKENS = Tokens.of({"ada": "of-ada", "bo": "of-bo"})
ADA, BO = ({"Authorization": f"Bearer of-{name}"} for name in ("ada", "bo"))
POLICY = """
version: 1
rules:
  - id: all
    allow: { actors: everyone, actions: [read, export, invoke_query] }
  - id: more
    allow: { actors: [ada], actions: [change, branch_create, branch_merge, graph_list] }
  - id: no-ages
    deny: { actors: [bo], actions: [read, export], types: [Person], when: resource.age == 41 }
"""
AGE = "query a($n: String, $a: I32) { update Person set { age: $a } where name = $n }"


def called(world: World, name: str, headers: dict[str, str] | None = None, **body: Any) -> Any:
    answer = world.post(f"{G}/calls/{name}", json=body, headers=headers)
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json())


def source(text: str) -> dict[str, str]:
    return {"text": text, "name": "<editor>"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A branch and main have set one age each, and the branch another one too."""
    place = tmp_path_factory.mktemp("explored")
    graph = make_graph(place)
    graph.branch_create("side/1")
    graph.mutate(AGE, {"n": "ada", "a": 37}, branch="side/1", actor="eve")
    graph.mutate(AGE, {"n": "bob", "a": 42}, branch="side/1", message="a birthday")
    graph.mutate(AGE, {"n": "ada", "a": 38})
    return serve_here(graph, queries=stored(place))


def guarded(world: World, tmp_path: Path) -> World:
    """The same graph under a policy that hides bob, who is 41, from bo."""
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    policy, schema = Policy.read(file), world.graph.schema()
    access = UnderPolicy(TOKENS, policy.fitted(schema.catalog, schema.text))
    return serve_here(world.graph, access=access, guarded=world.graph.under_policy(policy))


# A text that is being typed -----------------------------------------------------------------------


def test_a_text_is_checked_as_it_is_typed(world: World) -> None:
    text = "query a($x: String?) {\n  match { $p: Persn }\n  return { $p.name }\n}\nquery b() {"
    told = called(world, "lint", source=source(text))
    places = {text[f["start"] : f["end"]]: (f["severity"], f["line"]) for f in told["findings"]}
    assert places["Persn"] == ("error", 2)
    (query,) = told["queries"]
    assert (query["name"], query["is_mutation"], query["has_errors"]) == ("a", False, True)
    (parameter,) = query["parameters"]
    assert (parameter["name"], parameter["type"], parameter["is_nullable"]) == ("x", "String", True)
    for nothing in ("", "\n\n", "(", "query", '"'):
        assert isinstance(called(world, "lint", source=source(nothing))["findings"], list)


def test_words_are_offered_behind_a_query_that_is_broken(world: World) -> None:
    text = "query a() { match { $p: Persn } retun\nquery b() { match { $p: Person $p kno } }"
    at = text.index("kno") + 3
    told = called(world, "complete", text=text, offset=at)
    words = {each["text"]: each["about"] for each in told["candidates"]}
    assert words == {"knows": "Person -> Person"} and told["start"] == at - 3
    assert called(world, "complete", text="x", offset=2)[0] == 400


# An answer ----------------------------------------------------------------------------------------

FRIENDS = """query f() {
  match { $p: Person $p knows $q } return { $p, $q, $q.age as age } order { $q.name }
}"""


def test_one_answer_is_a_table_and_a_graph(world: World) -> None:
    told = called(world, "answer", source=source(FRIENDS))
    assert [(c["name"], c["type"]) for c in told["columns"]] == [
        ("p", "node"),
        ("q", "node"),
        ("age", "int32"),
    ]
    assert [row["q"]["name"] for row in told["rows"]] == ["bob", "cleo"] and told["row_count"] == 2
    names = [node["id"] for node in told["graph"]["nodes"]]
    edges = {(names[e["source"]], names[e["target"]]) for e in told["graph"]["edges"]}
    assert edges == {("ada", "bob"), ("bob", "cleo")}


def test_an_answer_is_bounded_and_says_so(world: World) -> None:
    told = called(world, "answer", source=source(FRIENDS), limit_rows=1, limit_nodes=1)
    assert len(told["rows"]) == 1 and told["row_count"] == 2
    assert len(told["graph"]["nodes"]) == 1 and told["graph"]["node_count"] == 3
    wrongs: tuple[dict[str, Any], ...] = ({"limit_rows": 0}, {"limit_nodes": 5001})
    for wrong in wrongs:
        assert called(world, "answer", source=source(FRIENDS), **wrong)[0] == 400


def test_an_answer_without_whole_nodes_is_no_graph_and_a_change_is_no_answer(world: World) -> None:
    text = "query n() { match { $p: Person } return { $p.name } }"
    assert called(world, "answer", source=source(text))["graph"] is None
    status, told = called(world, "answer", source=source(AGE), params={"n": "ada", "a": 1})
    assert status == 400 and "mutate" in told["hint"]


def test_a_stored_query_is_answered_in_the_same_way(world: World) -> None:
    path = f"{G}/queries/find_person/answer"
    told = world.post(path, json={"params": {"name": "ada"}, "branch": "side/1"}).json()
    assert told["rows"] == [{"p.name": "ada", "p.age": 37}] and told["graph"] is None
    assert world.post(f"{G}/queries/add_person/answer", json={"params": {}}).status_code == 400
    assert world.post(f"{G}/queries/nobody/answer", json={}).status_code == 404


# Entities -----------------------------------------------------------------------------------------


def test_nodes_are_found_by_key_then_by_beginning_then_by_part(world: World) -> None:
    def found(text: str, **more: Any) -> list[tuple[str, str]]:
        hits = called(world, "find", text=text, **more)["hits"]
        return [(hit["id"], hit["how"]) for hit in hits]

    assert found("ada") == [("ada", "key")]
    assert found("A")[:2] == [("ada", "prefix"), ("Analytical", "prefix")]
    assert found("LYTIC") == [("Analytical", "substring")]
    assert found("a", types=["Company"]) == [("Analytical", "prefix")]
    assert found("") == found("  ") == found("nobody") == []
    assert called(world, "find", text="a", limit=1)["has_more"] is True
    assert called(world, "find", text="a", types=["Persn"])[0] == 404


def test_an_entity_has_all_its_properties_and_counts_of_its_edges(world: World) -> None:
    told = called(world, "entity", kind="node", type_name="Person", entity_id="ada")
    assert told["properties"]["age"] == 38 and told["label"] == "ada"
    assert [(b["property"], b["size"]) for b in told["blobs"]] == [("avatar", 11)]
    counts = {(c["edge"], c["direction"]): c["count"] for c in told["counts"]}
    assert counts == {("Knows", "out"): 1, ("WorksAt", "out"): 1}
    around = called(world, "neighborhood", type_name="Person", entity_id="ada", edges=["knows"])
    assert [node["id"] for node in around["nodes"]] == ["bob"]
    (edge,) = around["edges"]
    told = called(world, "entity", kind="edge", type_name="Knows", entity_id=edge["id"])
    assert (told["from_"]["id"], told["to"]["id"]) == ("ada", "bob")
    assert told["properties"] == {"since": 1833} and told["counts"] == []
    gone = called(world, "entity", kind="node", type_name="Person", entity_id="nobody")
    assert gone[0] == 404


def test_a_neighborhood_is_walked_one_way(world: World) -> None:
    def ids(**how: Any) -> list[str]:
        told = called(world, "neighborhood", type_name="Person", entity_id="bob", **how)
        assert len(told["counts"]) == 2, "of all edges, whichever are walked"
        assert all("bob" in (edge["from_"], edge["to"]) for edge in told["edges"])
        return [*sorted(node["id"] for node in told["nodes"]), str(len(told["edges"]))]

    assert ids() == ["ada", "cleo", "2"]
    assert ids(direction="out") == ["cleo", "1"]
    assert ids(direction="in", edges=["Knows"]) == ["ada", "1"]
    page = called(
        world, "neighborhood", type_name="Person", entity_id="bob", limit=1, direction=None
    )
    more = {"page_token": page["next_page_token"], "limit": 1}
    assert ids(**more)[0] != page["nodes"][0]["id"]
    other = called(
        world, "neighborhood", type_name="Person", entity_id="bob", direction="in", **more
    )
    assert other[0] == 400


def test_the_history_of_an_entity_has_the_commits_that_changed_it(world: World) -> None:
    def history(**more: Any) -> Any:
        asked = {"kind": "node", "type_name": "Person", "entity_id": "ada", **more}
        return called(world, "entity_history", **asked)

    told = history()
    assert [entry["op"] for entry in told["entries"]] == ["update", "insert"]
    (change,) = told["entries"][0]["changes"]
    assert (change["property"], change["before"], change["after"]) == ("age", 36, 38)
    inserted = {c["property"]: c["after"] for c in told["entries"][1]["changes"]}
    assert inserted["age"] == 36 and inserted["avatar"].startswith("11 bytes, SHA-256 b94d27b9934d")
    assert told["entries"][1]["commit"]["kind"] == "load" and told["ends"] is None

    first = history(limit=1, branch="side/1")
    assert [e["commit"]["actor_id"] for e in first["entries"]] == ["eve"]
    second = history(branch="side/1", page_token=first["next_page_token"])
    assert [entry["op"] for entry in second["entries"]] == ["insert"]
    assert second["next_page_token"] is None
    assert history(entity_id="nobody")[0] == 404
    assert history(entity_id="bob", page_token=first["next_page_token"])[0] == 400


def test_the_history_of_an_entity_that_is_gone_begins_with_its_end(tmp_path: Path) -> None:
    graph = make_graph(tmp_path)
    graph.mutate('query d() { delete Person where name = "cleo" }')
    graph.mutate('query d() { insert Company { name: "B" } }')
    graph.schema_apply(graph.schema().text.replace("age: I32?", "age: I32?  nick: String?"))
    graph.mutate('query d() { insert Person { name: "cleo", nick: "c" } }')
    told = graph.entity_history("node", "Person", "cleo")
    assert [entry.op for entry in told.entries] == ["insert", "delete", "insert"]
    assert [c.property for c in told.entries[0].changes] == ["name", "nick"]
    assert told.ends is None
    graph.cleanup(keep=1, grace="0s", confirm=True)
    told = graph.entity_history("node", "Person", "cleo")
    assert told.ends == "gone" and told.next_page_token is None


# Review -------------------------------------------------------------------------------------------


def test_a_branch_is_reviewed_and_merged_as_it_was_reviewed(tmp_path: Path, world: World) -> None:
    told = called(world, "review", source="side/1")
    assert told["outcome"] == "merged" and told["refusal"] is None
    (conflict,) = told["conflicts"]
    sides = (conflict["property"], conflict["base"], conflict["ours"], conflict["theirs"])
    assert sides == ("age", 36, 38, 37)
    assert told["counts"]["Person"]["updated"] == 1, "without the one in conflict"
    assert [c["message"] for c in told["commits"]] == ["a birthday", None]

    page = called(world, "compare", from_="main", to="side/1", since_base=True, limit=1)
    assert page["from_commit_id"] == told["base_commit_id"]
    assert page["counts"]["Person"]["updated"] == 2
    (entity,) = page["changes"]
    (change,) = entity["properties"]
    assert (entity["id"], change["before"], change["after"]) == ("ada", 36, 37)
    more: dict[str, Any] = {"from_": "main", "to": "side/1", "since_base": True}
    rest = called(world, "compare", **more, page_token=page["next_page_token"])
    assert [e["id"] for e in rest["changes"]] == ["bob"] and rest["counts"] is None
    other = {"from_": "main", "to": "side/1", "page_token": page["next_page_token"]}
    assert called(world, "compare", **other)[0] == 400

    # The same again, on a graph of its own: the merge moves it.
    mine = serve_here(moved := make_graph(tmp_path))
    moved.branch_create("side/1")
    moved.mutate(AGE, {"n": "ada", "a": 37}, branch="side/1")
    reviewed = called(mine, "review", source="side/1")
    heads = {
        "if_commit": reviewed["target_commit_id"],
        "if_source_commit": reviewed["source_commit_id"],
    }
    moved.mutate(AGE, {"n": "ada", "a": 50}, branch="side/1")
    status, refused = called(mine, "branch_merge", source="side/1", **heads)
    assert (
        status == 412 and refused["precondition_failure"]["expected"] == heads["if_source_commit"]
    )
    heads["if_source_commit"] = called(mine, "review", source="side/1")["source_commit_id"]
    merged = called(mine, "branch_merge", source="side/1", message="seen", **heads)
    assert merged["outcome"] == "fast_forward" and merged["commit"]["message"] == "seen"


def test_a_review_tells_what_choices_leave(world: World) -> None:
    choice = {"type": "Person", "id": "ada", "property": "age", "take": "theirs"}
    told = called(world, "review", source="side/1", resolve=[choice])
    assert told["conflicts"] == [] and told["counts"]["Person"]["updated"] == 2
    assert called(world, "review", source="nowhere")[0] == 404


def test_loads_are_told_with_what_they_changed(world: World) -> None:
    (load,) = called(world, "loads", branch="main")
    assert load["commit"]["kind"] == "load"
    tables = {t["type_name"]: (t["kind"], t["inserted"], t["row_count"]) for t in load["tables"]}
    assert tables["Person"] == ("node", 3, 3) and tables["Knows"] == ("edge", 2, 2)
    report = load["report"]
    assert (report["mode"], report["read"], report["loaded"]) == ("append", 7, 7)
    assert report["rejected"] == 0 == len(report["rules"])


def test_a_load_that_set_rows_aside_says_which_rules_they_broke(tmp_path: Path) -> None:
    mine = serve_here(graph := make_graph(tmp_path))
    rows = [{"type": "Person", "data": {"name": "dan"}}, {"type": "Person", "data": {"age": 3}}]
    place = tmp_path / "rejected"
    graph.load(rows, mode="append", on_error="quarantine", quarantine=place, load_id="monday")
    newest, _ = called(mine, "loads", branch="main")
    assert newest["load_ids"] == ["monday"] and newest["report"]["rejected"] == 1
    (rule,) = newest["report"]["rules"]
    assert (rule["kind"], rule["type_name"], rule["count"]) == ("required", "Person", 1)


# Who may ------------------------------------------------------------------------------------------


def test_what_a_policy_hides_is_nowhere(world: World, tmp_path: Path) -> None:
    hidden = guarded(world, tmp_path)

    def as_bo(name: str, **body: Any) -> Any:
        return called(hidden, name, BO, **body)

    assert [h["id"] for h in called(hidden, "find", ADA, text="bob")["hits"]] == ["bob"]
    assert as_bo("find", text="bob")["hits"] == [] == as_bo("find", text="bo")["hits"]
    for name in ("entity", "entity_history"):
        told = as_bo(name, kind="node", type_name="Person", entity_id="bob")
        assert told[0] == 404, name
    ada = as_bo("entity", kind="node", type_name="Person", entity_id="ada")
    assert [c["edge"] for c in ada["counts"]] == ["WorksAt"], "an edge goes with its end"
    assert as_bo("answer", source=source(FRIENDS))["rows"] == []
    # On the branch bob is 42 and in sight: he comes into it there.
    told = as_bo("compare", from_="main", to="side/1", since_base=True)
    nodes = [(c["id"], c["op"]) for c in told["changes"] if c["kind"] == "node"]
    assert nodes == [("ada", "update"), ("bob", "insert")]
    assert "41" not in json.dumps(told["changes"])
    bob = {"kind": "node", "type_name": "Person", "entity_id": "bob"}
    told = as_bo("entity_history", **bob, branch="side/1")
    assert [entry["op"] for entry in told["entries"]] == ["insert"]
    assert "41" not in json.dumps([entry["changes"] for entry in told["entries"]])
    (load,) = as_bo("loads", branch="main")
    numbers = {t["type_name"]: t["inserted"] for t in load["tables"]}
    assert numbers["Person"] is None and numbers["Knows"] is None and numbers["Company"] == 1
    assert load["report"] is None and called(hidden, "loads", ADA, branch="main")[0]["report"]


def test_whether_a_load_wrote_hidden_rows_is_not_told(tmp_path: Path) -> None:
    mine = serve_here(graph := make_graph(tmp_path))
    for name, rows in (
        ("one", [{"type": "Person", "data": {"name": "dan", "age": 41}}]),
        ("two", []),
    ):
        firm = {"type": "Company", "data": {"name": name}}
        graph.load([*rows, firm], mode="append", engine="local")
    two, one, _ = called(guarded(mine, tmp_path), "loads", BO, branch="main")
    assert one["tables"][0]["row_count"] == 2 and two["tables"][0]["row_count"] == 3
    assert one["tables"][1:] == two["tables"][1:] != []


def test_loads_from_before_a_policy_fits_are_listed_and_nothing_more(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "old.omni", "node Firm { name: String @key }")
    graph.load([{"type": "Firm", "data": {"name": "a"}}], mode="append", engine="local")
    graph.schema_apply(
        "node Firm { name: String @key }\nnode Person { name: String @key  age: I32? }"
    )
    graph.load([{"type": "Firm", "data": {"name": "b"}}], mode="append", engine="local")
    newest, oldest = called(guarded(serve_here(graph), tmp_path), "loads", BO, branch="main")
    assert newest["tables"] and (oldest["tables"], oldest["report"]) == ([], None)


def test_a_page_is_told_who_asks_and_what_they_may(world: World, tmp_path: Path) -> None:
    told = world.get("/me").json()
    assert told["state"] == "open" and told["graphs"] == ["people"] and told["actor_id"] is None
    of_graph = world.get(f"{G}/me").json()
    main = next(b for b in of_graph["branches"] if b["name"] == "main")
    assert {"read", "change", "branch_create"} <= {*main["actions"]}
    assert main["merges_into"] == ["side/1"] and not of_graph["is_read_only"]

    hidden = guarded(world, tmp_path)
    assert hidden.get("/me").status_code == 401
    assert hidden.get("/me", headers=ADA).json()["graphs"] == ["people"]
    told = hidden.get("/me", headers=BO).json()
    assert told["graphs"] is None and (told["state"], told["actor_id"]) == ("policy", "bo")
    for headers, actions in ((BO, ["read", "export"]), (ADA, ["read", "export", "change"])):
        branches = hidden.get(f"{G}/me", headers=headers).json()["branches"]
        assert all(b["actions"][: len(actions)] == actions for b in branches)
        assert all(bool(b["merges_into"]) == (headers is ADA) for b in branches)


@pytest.mark.parametrize(
    ("access", "state", "actions"),
    [
        (DefaultDeny(TOKENS), "default_deny", ["read"]),
        (Personal(TOKENS, "me"), "personal", ["read", "export"]),
    ],
    ids=["default_deny", "personal"],
)
def test_rights_are_those_of_the_state_of_the_server(
    world: World, access: Access, state: str, actions: list[str]
) -> None:
    with Graph.open(world.graph.uri, read_only=True) as graph:
        mine = serve_here(graph, access=access)
        told = mine.get(f"{G}/me", headers=ADA).json()
        assert told["state"] == state and told["is_read_only"]
        assert all(b["actions"] == actions and not b["merges_into"] for b in told["branches"])
        assert mine.get(f"{G}/me").status_code == 401


# The page -----------------------------------------------------------------------------------------


def page_server(world: World, bundle: Path, **more: Any) -> TestClient:
    served = ServedGraph("people", world.graph, world.graph)
    serving = Serving(Registry({"people": served}), DefaultDeny(TOKENS))
    app = App(serving, ServerLimits(), bundle=Bundle(bundle), **more)
    return TestClient(app, headers={"accept-encoding": "identity"})


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "assets/main-1a2b.js").write_text("1;" * 2000)
    (folder / "assets/font-3c.woff2").write_bytes(b"wOF2")
    return folder


def test_the_page_and_its_files_are_for_everybody(world: World, bundle: Path) -> None:
    client = page_server(world, bundle)
    for path in ("/explore", "/explore/", "/explore/people/review/side%2F1"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy and "unsafe-eval" not in policy
        assert "script-src 'self'" in policy and "frame-ancestors 'none'" in policy
    script = client.get("/explore/assets/main-1a2b.js", headers={"accept-encoding": "gzip"})
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.headers["content-encoding"] == "gzip"
    assert client.get("/explore/assets/font-3c.woff2").headers["content-type"] == "font/woff2"
    again = {"if-none-match": script.headers["etag"]}
    assert client.get("/explore/assets/main-1a2b.js", headers=again).status_code == 304
    assert client.get(f"{G}/me").status_code == 401, "what it shows is not"


def test_a_path_outside_of_the_bundle_is_never_read(world: World, bundle: Path) -> None:
    (bundle.parent / "secret").write_text("not for you")
    client = page_server(world, bundle)
    for path in ("/explore/assets/../../secret", "/explore/assets/%2e%2e/%2e%2e/secret"):
        assert "not for you" not in client.get(path).text
    assert client.get("/explore/assets/main-old.js").status_code == 404


def test_a_page_that_was_not_built_says_how(world: World, tmp_path: Path) -> None:
    answer = page_server(world, tmp_path / "nothing").get("/explore")
    assert answer.status_code == 404 and "make web" in answer.json()["hint"]


def test_a_server_of_one_person_answers_to_its_own_names_alone(world: World, bundle: Path) -> None:
    """Another site may have a name that leads to this machine."""
    client = page_server(world, bundle, callers=Callers(frozenset({"127.0.0.1:8123"})))
    assert client.get("/explore", headers={"host": "127.0.0.1:8123"}).status_code == 200
    for host in ("evil.example", "127.0.0.1:8124", "127.0.0.1"):
        assert client.get("/explore", headers={"host": host}).status_code == 400


# Values -------------------------------------------------------------------------------------------


def test_a_change_deep_in_a_vector_is_a_change(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "v.omni", "node T { name: String @key  v: Vector(6)? }")
    for last in (6.0, 7.0, 7.00001, 7.00001):
        row = {"name": "a", "v": [1, 2, 3, 4, 5, last]}
        graph.load([{"type": "T", "data": row}], mode="merge", engine="local")
    told = graph.entity_history("node", "T", "a")
    assert [entry.op for entry in told.entries] == ["update", "update", "insert"]
    changes = [
        change for entry in told.entries for change in entry.changes if change.property == "v"
    ]
    assert all(change.before != change.after for change in changes)
