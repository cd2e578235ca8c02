"""A server of a cluster: it serves what was applied, revision by revision, and nothing else."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    ClusterMissing,
    LedgerDamaged,
    OmnigraphError,
    StorageFailed,
)
from omnigraph.cluster.served import cluster_storage, embed_config
from omnigraph.engine.engine import Engine
from omnigraph.surfaces.server import offering
from omnigraph.surfaces.server.logs import MEMBERS
from tests.cluster.serving import ADA, BOB, BOTH, Server
from tests.cluster.world import (
    AGED,
    LISTERS,
    NAMES,
    PERSON,
    PET,
    READERS,
    Deployment,
    settings,
)
from tests.surfaces.cli import CommandLine
from tests.surfaces.server.process import TOKENS, server_process


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "folder")
    made.write(
        {
            "person.pg": PERSON,
            "pet.pg": PET,
            "q.gq": NAMES,
            "read.yaml": READERS,
            "list.yaml": LISTERS,
        },
        people="schema: person.pg, queries: q.gq",
        pets="schema: pet.pg",
        policies="read: {file: read.yaml, applies_to: [people]}, "
        "list: {file: list.yaml, applies_to: [cluster]}",
    ).apply()
    return made


def test_each_graph_has_its_own_policy_and_the_cluster_has_one(deployment: Deployment) -> None:
    server = Server(deployment)
    assert server.graphs() == ["people", "pets"]
    assert server.get("/graphs", BOB).status_code == 403
    ask = {"query": NAMES}
    assert server.post("/graphs/people/query", ask).status_code == 200
    assert server.post("/graphs/people/query", ask, BOB).status_code == 403
    # A graph without a policy is read by whoever has a token, and written by nobody.
    assert server.get("/graphs/pets/schema", BOB).status_code == 200
    insert = {"query": 'query add() { insert Pet { name: "Rex" } }'}
    assert server.post("/graphs/pets/mutate", insert).status_code == 403
    names = [each["name"] for each in server.get("/graphs/people/queries").json()["queries"]]
    assert names == ["names"]
    assert server.get("/graphs/people/queries", {}).status_code == 401
    assert server.post("/graphs/people/queries/names", {}).json()["row_count"] == 0


def test_what_is_merely_written_is_not_served(deployment: Deployment) -> None:
    server = Server(deployment)
    deployment.write({"q.gq": NAMES.replace("names", "others")})
    server.reload()
    assert server.post("/graphs/people/queries/others", {}).status_code == 404
    assert not server.offer.has_moved()


def test_a_new_revision_is_seen_whole_without_a_restart(deployment: Deployment) -> None:
    server = Server(deployment)
    before = server.app.serving
    deployment.write(
        {"person.pg": AGED, "q.gq": NAMES.replace("names", "others")},
        people="schema: person.pg, queries: q.gq",
        more="schema: pet.pg",
        policies="read: {file: read.yaml, applies_to: [people, more]}, "
        "list: {file: list.yaml, applies_to: [cluster]}",
    )
    deployment.approve_all()
    deployment.apply()
    assert server.offer.has_moved()
    server.reload()
    assert not server.offer.has_moved()
    assert server.graphs() == ["more", "people"]
    assert server.get("/graphs/pets/schema").status_code == 404
    assert "age" in server.get("/graphs/people/schema").text
    assert server.post("/graphs/people/queries/others", {}).status_code == 200
    assert server.post("/graphs/people/queries/names", {}).status_code == 404
    # A graph that stays keeps its handle and its caches; requests keep the revision they began in.
    old, new = before.registry.get("people"), server.app.serving.registry.get("people")
    assert old.graph is new.graph and "names" in old.queries.sources
    server.offer.close()


def test_a_graph_that_was_deleted_and_made_again_is_opened_again(deployment: Deployment) -> None:
    server = Server(deployment)
    there = Path(str(deployment.place.graph("pets")))
    there.rename(there.with_name("away"))
    Graph.init(there, PET, settings=settings())
    server.reload()
    assert server.get("/graphs/pets/branches").status_code == 200


def test_a_graph_that_cant_be_opened_is_set_aside(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    there = Path(str(deployment.place.graph("pets")))
    there.rename(there.with_name("away"))
    server = Server(deployment)
    assert server.graphs() == ["people"]
    assert server.get("/graphs/pets/schema").status_code == 404
    assert server.get("/readyz").json() == {"status": "ready", "graphs": 1, "set_aside": 1}
    assert "the graph pets is set aside: no graph at" in caplog.text
    with pytest.raises(OmnigraphError, match="no graph at"):
        Server(deployment, requires_all_graphs=True)
    there.with_name("away").rename(there)
    server.reload()
    assert server.graphs() == ["people", "pets"]
    assert server.get("/readyz").json() == {"status": "ready", "graphs": 2}


def test_a_policy_that_does_not_fit_the_graph_any_more_hides_it(deployment: Deployment) -> None:
    rule = "{id: hide, deny: {actors: everyone, actions: [read], types: [Person]}}"
    deployment.write({"read.yaml": f"{READERS}  - {rule}\n"}).apply()
    with deployment.graph("people") as graph:
        graph.schema_apply(PET)
    assert Server(deployment).graphs() == ["pets"]


def test_a_policy_that_fits_the_graph_again_is_found_without_a_new_revision(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offering, "AGAIN_S", 0.0)
    rule = "{id: hide, deny: {actors: everyone, actions: [read], types: [Person]}}"
    deployment.write({"read.yaml": f"{READERS}  - {rule}\n"}).apply()
    with deployment.graph("people") as graph:
        graph.schema_apply(PET)
    server = Server(deployment)
    assert server.graphs() == ["pets"] and set(server.offer.graphs) == {"pets"}
    opened = []
    monkeypatch.setattr(Engine, "open", lambda *args, **more: opened.append(args))
    for _ in range(2):
        assert server.offer.has_moved()
        server.reload()
    assert not opened, "what is set aside is opened once"
    monkeypatch.undo()
    with deployment.graph("people") as graph:
        graph.schema_apply(PERSON)
    server.reload()
    assert server.graphs() == ["people", "pets"] and not server.offer.has_moved()


def test_a_declared_schema_is_not_changed_over_http(deployment: Deployment) -> None:
    server = Server(deployment)
    for path in ("/graphs/people/schema/apply", "/graphs/people/calls/schema_apply"):
        member = "schema_source" if path.endswith("apply") and "calls" not in path else "source"
        text: Any = AGED if member == "schema_source" else {"text": AGED, "name": "<schema>"}
        refused = server.post(path, {member: text})
        assert refused.status_code == 409, refused.text
        assert refused.json()["details"]["code"] == "schema_declared"
        assert "folder" in refused.json()["hint"]
        assert server.post(path, {member: text}, BOB).status_code == 403
    assert deployment.schema("people") == PERSON


def test_a_reload_of_a_damaged_ledger_is_refused_and_all_stays(deployment: Deployment) -> None:
    server = Server(deployment)
    file = Path(deployment.storage) / "__cluster" / "state.json"
    whole = file.read_bytes()
    file.write_bytes(whole[:50])
    assert server.offer.has_moved()
    with pytest.raises(LedgerDamaged):
        server.reload()
    # It is not tried again until there is another one.
    assert not server.offer.has_moved()
    assert server.graphs() == ["people", "pets"]
    file.write_bytes(whole)
    assert server.offer.has_moved()


def test_what_was_away_for_a_while_is_served_again_without_a_new_revision(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offering, "AGAIN_S", 0.0)
    pets = Path(str(deployment.place.graph("pets")))
    pets.rename(pets.with_name("away"))
    server = Server(deployment)
    assert server.graphs() == ["people"] and server.offer.has_moved()
    pets.with_name("away").rename(pets)
    server.reload()
    assert server.graphs() == ["people", "pets"] and not server.offer.has_moved()
    texts = Path(deployment.storage) / "__cluster" / "resources"
    texts.rename(texts.with_name("away"))
    with pytest.raises(StorageFailed):
        server.reload()
    assert server.offer.has_moved()


def test_policies_are_not_left_out_for_anyone(deployment: Deployment) -> None:
    with pytest.raises(ArgumentInvalid, match="policy is given"):
        Server(deployment, is_open=True)
    deployment.write({}, people="schema: person.pg", pets="schema: pet.pg").apply()
    assert Server(deployment, is_open=True).get("/graphs", {}).status_code == 200


@pytest.fixture
def unguarded(tmp_path: Path) -> Deployment:
    """Two graphs without a policy, for anyone."""
    made = Deployment(tmp_path / "folder")
    files = {"person.pg": PERSON, "pet.pg": PET, "read.yaml": READERS, "list.yaml": LISTERS}
    made.write(files, people="schema: person.pg", pets="schema: pet.pg").apply()
    return made


BOTH_GRAPHS = {"people": "schema: person.pg", "pets": "schema: pet.pg"}
OF_PEOPLE = "read: {file: read.yaml, applies_to: [people]}"
OF_CLUSTER = "list: {file: list.yaml, applies_to: [cluster]}"


@pytest.mark.parametrize("requires_all", [False, True])
def test_a_policy_that_comes_to_a_server_without_tokens_holds(
    unguarded: Deployment, caplog: pytest.LogCaptureFixture, requires_all: bool
) -> None:
    """Also where a server takes a revision whole or not at all: the old one has no policy."""
    server = Server(unguarded, is_open=True, requires_all_graphs=requires_all)
    assert server.get("/graphs/people/schema").status_code == 200
    unguarded.write({}, **BOTH_GRAPHS, policies=OF_PEOPLE).apply()
    server.reload()
    assert server.get("/graphs/people/schema").status_code == 404
    assert server.post("/graphs/people/query", {"query": NAMES}).status_code == 404
    assert server.get("/graphs/pets/schema").status_code == 200
    assert server.get("/readyz").json() == {"status": "ready", "graphs": 1, "set_aside": 1}
    (told,) = [each for each in caplog.records if "set aside" in each.getMessage()]
    assert "the graph people is set aside: people has a policy" in told.getMessage()
    members = getattr(told, MEMBERS)
    assert (members["graph"], members["code"]) == ("people", "policy_needs_tokens")
    assert "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE" in members["hint"]
    assert not server.offer.has_moved()
    unguarded.write({}, **BOTH_GRAPHS).apply()
    server.reload()
    assert server.get("/graphs/people/schema").status_code == 200
    assert server.get("/readyz").json() == {"status": "ready", "graphs": 2}


def test_a_policy_of_the_cluster_closes_the_list_of_graphs_to_a_server_without_tokens(
    unguarded: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(unguarded, is_open=True)
    assert server.graphs() == server.get("/me").json()["graphs"] == ["people", "pets"]
    unguarded.write({}, **BOTH_GRAPHS, policies=OF_CLUSTER).apply()
    server.reload()
    refused = server.get("/graphs")
    assert refused.status_code == 403
    assert refused.json()["details"]["code"] == "policy_needs_tokens"
    assert "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE" in refused.json()["hint"]
    assert "the list of graphs is closed" in caplog.text
    assert server.get("/me").json()["graphs"] is None
    assert server.get("/graphs/pets/schema").status_code == 200
    unguarded.write({}, **BOTH_GRAPHS).apply()
    server.reload()
    assert server.graphs() == ["people", "pets"]


def test_the_key_of_a_provider_comes_from_the_environment_of_the_server(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = deployment.path / "cluster.yaml"
    provider = "providers: {embedding: {m: {provider: gemini, api_key: '${SECRET_KEY}'}}}\n"
    text = file.read_text().replace("pet.pg}", "pet.pg, embedding_provider: m}")
    file.write_text(text + provider)
    deployment.apply()
    monkeypatch.delenv("SECRET_KEY", raising=False)
    server = Server(deployment)
    assert server.graphs() == ["people"]
    monkeypatch.setenv("SECRET_KEY", " s3cret ")
    server.reload()
    assert server.graphs() == ["people", "pets"]
    assert server.offer.graphs["pets"].engine.settings.embed.api_key == "s3cret"
    for name in deployment.place.objects.walk(""):
        assert b"s3cret" not in (deployment.place.objects.get(name) or b"")


def test_a_provider_is_configured_as_it_was_declared() -> None:
    given = {"provider": "mock", "model": "m", "timeout_s": 2.5, "max_characters": 9}
    config = embed_config(given, lambda name: None)
    assert (config.model, config.timeout_s, config.max_characters) == ("m", 2.5, 9)
    with pytest.raises(ArgumentInvalid, match="KEY"):
        embed_config({"provider": "gemini", "api_key": "${KEY}"}, lambda name: " ")


def test_a_cluster_in_a_bucket_is_served_by_its_storage_root(tmp_path: Path, bucket: str) -> None:
    made = Deployment(tmp_path / "folder", bucket).write({"p.pg": PERSON}, p="schema: p.pg")
    with pytest.raises(ClusterMissing):
        Server(made, is_open=True)
    made.apply()
    server = Server(made, is_open=True)
    assert server.graphs() == ["p"]
    made.write({"q.gq": NAMES}, p="schema: p.pg, queries: q.gq").apply()
    assert server.offer.has_moved()
    assert cluster_storage(bucket) == bucket == cluster_storage(str(made.path))


def test_a_server_picks_up_a_revision_by_itself_and_on_a_signal(deployment: Deployment) -> None:
    tokens = {TOKENS: BOTH}
    with server_process(
        deployment.path, "--watch-s", "0.05", of="--cluster", environment=tokens
    ) as server:
        server.wait_for("revision 1 of the cluster: 2 graphs")
        deployment.write({"q.gq": NAMES.replace("names", "others")}).apply()
        server.wait_for("revision 2 of the cluster: 2 graphs")
        server.wait_for("reloaded")
        there = Path(str(deployment.place.graph("pets")))
        there.rename(there.with_name("away"))
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("revision 2 of the cluster: 1 graph")
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "--store for one graph"),
        ("--store a --cluster b", "--store for one graph"),
        ("--cluster b --policy p.yaml", "a cluster declares it"),
        ("--cluster b --queries q.gq", "a cluster declares it"),
        ("--cluster b --graph g", "a cluster declares it"),
        ("--store a --require-all-graphs", "go with --cluster"),
        ("--store a --watch-s 1", "go with --cluster"),
    ],
)
def test_options_that_do_not_go_together_are_told(
    omnigraph: CommandLine, options: str, said: str
) -> None:
    answer = omnigraph("serve", *options.split())
    assert answer.exit_code == 2 and said in answer.err


def test_a_place_where_nothing_was_applied_is_told(omnigraph: CommandLine, tmp_path: Path) -> None:
    answer = omnigraph("serve", "--cluster", str(tmp_path), "--unauthenticated", "--json")
    assert answer.exit_code in (2, 3), answer
    answer = omnigraph("serve", "--cluster", str(tmp_path), "--unauthenticated")
    assert answer.exit_code == 3 and "cluster apply" in answer.err


def test_the_ledger_is_json_that_a_person_can_read(deployment: Deployment) -> None:
    text = (Path(deployment.storage) / "__cluster" / "state.json").read_text()
    assert json.loads(text)["cluster"] == "brain" and "\n" in text


def test_agents_and_the_explorer_stand_under_the_policy_of_their_graph(
    deployment: Deployment,
) -> None:
    server = Server(deployment)

    def tools(who: dict[str, str]) -> str:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        kinds = {"Accept": "application/json, text/event-stream"}
        return str(server.post("/graphs/people/mcp", asked, {**who, **kinds}).text)

    assert '"names"' in tools(ADA)
    assert '"names"' not in tools(BOB) and "policy_denied" in tools(BOB)
    rights = {graph: server.get(f"/graphs/{graph}/me").json() for graph in ("people", "pets")}
    assert rights["people"]["state"] == "policy"
    assert rights["pets"]["state"] == "default_deny"
    assert [each["actions"] for each in rights["pets"]["branches"]] == [["read"]]
