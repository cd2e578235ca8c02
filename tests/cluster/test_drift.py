"""What others do beside a cluster: drift, graphs that are taken in, notes that are edited."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ApprovalNeeded,
    ArgumentInvalid,
    ClusterMissing,
    GraphMissing,
    LedgerDamaged,
    PlanBlocked,
)
from omnigraph.cluster.control import import_graphs, refresh, status
from omnigraph.cluster.ledger import Ledger
from omnigraph.cluster.served import read_revision
from omnigraph.cluster.steps import ApplyPoint
from tests.cluster.world import (
    AGED,
    NAMES,
    PERSON,
    PET,
    READERS,
    Deployment,
    DiesAt,
    dies,
    settings,
)


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "folder")
    return made.write({"person.pg": PERSON, "pet.pg": PET}, people="schema: person.pg")


def drifts(deployment: Deployment) -> list[tuple[str, str]]:
    return [(each.address, each.kind) for each in refresh(deployment.place)]


# Drift --------------------------------------------------------------------------------------------


def test_a_schema_that_was_changed_beside_the_cluster_is_found_and_brought_back(
    deployment: Deployment,
) -> None:
    deployment.write({"person.pg": AGED}).apply()
    assert drifts(deployment) == []
    with deployment.graph("people") as graph:
        graph.schema_apply(PERSON)
    assert drifts(deployment) == [("schema.people", "changed")]
    assert status(deployment.place).drift[0].address == "schema.people"
    [change] = deployment.plan().changes
    assert change.reason is not None and not change.loses_data
    deployment.apply()
    deployment.assert_settled()
    assert drifts(deployment) == [] == list(status(deployment.place).drift)


def test_what_a_refresh_saw_before_an_apply_is_not_told_after_it(deployment: Deployment) -> None:
    deployment.write({"person.pg": AGED}).apply()
    with deployment.graph("people") as graph:
        graph.schema_apply(PERSON)
    assert drifts(deployment) == [("schema.people", "changed")]
    late = deployment.place.observed()
    assert late is not None
    deployment.apply()
    deployment.place.put_observed(late)
    assert status(deployment.place).drift == () and status(deployment.place).observed_at is None


def test_a_schema_that_means_the_same_is_no_drift(deployment: Deployment) -> None:
    deployment.apply()
    deployment.write({"person.pg": f"// people\n{PERSON}"})
    [change] = deployment.plan().changes
    assert change.steps == ()
    deployment.apply()
    deployment.assert_settled()
    assert drifts(deployment) == []


def test_a_folder_with_the_line_ends_of_windows_is_the_same_folder(deployment: Deployment) -> None:
    deployment.write(
        {"names.gq": NAMES, "read.yaml": READERS},
        people="schema: person.pg, queries: names.gq",
        policies="read: {file: read.yaml, applies_to: [people]}",
    ).apply()
    before = deployment.plan().digest
    files = [file for file in deployment.path.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} >= {".pg", ".gq", ".yaml"}
    for file in files:
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert deployment.plan().is_empty and deployment.plan().digest == before


def test_a_graph_that_is_gone_is_made_again_only_if_somebody_approves(
    deployment: Deployment,
) -> None:
    deployment.apply()
    there = Path(str(deployment.place.graph("people")))
    there.rename(there.with_name("away"))
    assert drifts(deployment) == [("graph.people", "missing")]
    with pytest.raises(ApprovalNeeded):
        deployment.apply()
    there.with_name("away").rename(there)
    assert deployment.plan().is_empty
    there.rename(there.with_name("away"))
    deployment.approve_all()
    deployment.apply()
    deployment.assert_settled()


def test_a_graph_that_is_damaged_is_told_and_not_replaced(deployment: Deployment) -> None:
    deployment.apply()
    for file in (Path(str(deployment.place.graph("people"))) / "_schemas").iterdir():
        file.write_text("rubbish")
    assert drifts(deployment) == [("graph.people", "unreadable")]
    with pytest.raises(PlanBlocked, match="can't be read"):
        deployment.apply()


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_stored_text_that_is_altered_or_gone_is_found_and_stored_again(
    deployment: Deployment, is_gone: bool
) -> None:
    deployment.write({"q.gq": NAMES}, people="schema: person.pg, queries: q.gq").apply()
    for file in (Path(deployment.storage) / "__cluster" / "resources").iterdir():
        file.unlink() if is_gone else file.write_text("rubbish")
    assert drifts(deployment) == [("query.people.names", "altered"), ("schema.people", "altered")]
    assert all(change.reason for change in deployment.plan().changes)
    deployment.apply()
    deployment.assert_settled()


def test_what_was_never_applied_has_no_drift(deployment: Deployment) -> None:
    with pytest.raises(ClusterMissing):
        refresh(deployment.place)
    assert status(deployment.place).ledger.revision == 0


# Import -------------------------------------------------------------------------------------------


def test_a_graph_that_is_there_is_taken_in_as_it_is(deployment: Deployment) -> None:
    made = Graph.init(str(deployment.place.graph("people")), AGED, settings=settings())
    made.load([{"type": "Person", "data": {"name": "Ada"}}], mode="append", engine="local")
    with pytest.raises(PlanBlocked, match="cluster import people"):
        deployment.apply()
    ledger = import_graphs(deployment.place, deployment.folder, ["people"], actor="ada")
    assert (ledger.graphs, ledger.revision, ledger.applied_by) == (("people",), 1, "ada")
    # The folder asks for a schema without the age, which would be lost.
    assert {c.address: c.loses_data for c in deployment.plan().changes} == {
        "graph.people": False,
        "schema.people": True,
    }
    deployment.write({"person.pg": AGED})
    deployment.apply()
    deployment.assert_settled()
    with deployment.graph("people") as graph:
        assert len(graph.query(NAMES)) == 1
    assert import_graphs(deployment.place, deployment.folder, ["people"]).revision == 2


def test_only_graphs_of_the_folder_that_are_there_are_taken_in(deployment: Deployment) -> None:
    with pytest.raises(ArgumentInvalid, match="declares no such graph"):
        import_graphs(deployment.place, deployment.folder, ["peple"])
    with pytest.raises(GraphMissing):
        import_graphs(deployment.place, deployment.folder, ["people"])
    assert status(deployment.place).lock is None


def test_a_graph_that_an_apply_is_deleting_is_not_taken_in(deployment: Deployment) -> None:
    both = {"people": "schema: person.pg", "old": "schema: pet.pg"}
    deployment.write({}, **both).apply()
    deployment.write({}, people="schema: person.pg")
    deployment.approve_all()
    with dies():
        deployment.apply(faults=DiesAt(ApplyPoint.AFTER_LEDGER))
    deployment.unlock()
    deployment.write({}, **both)
    # It may open though its rows are gone.
    with pytest.raises(ArgumentInvalid, match="is deleting it"):
        import_graphs(deployment.place, deployment.folder, ["old"])
    deployment.apply()
    deployment.assert_settled()


def test_a_graph_that_was_taken_in_is_served_by_nobody_before_an_apply(
    deployment: Deployment,
) -> None:
    declared = (deployment.path / "cluster.yaml").read_text()
    deployment.write(
        {
            "read.yaml": READERS,
            "cluster.yaml": declared.replace("person.pg", "person.pg, embedding_provider: mock")
            + "policies: {read: {file: read.yaml, applies_to: [people]}}\n"
            "providers: {embedding: {mock: {provider: mock}}}\n",
        }
    )
    Graph.init(str(deployment.place.graph("people")), PERSON, settings=settings()).close()
    import_graphs(deployment.place, deployment.folder, ["people"])
    # Its policy and its provider are not applied yet.
    assert read_revision(deployment.place).graphs == ()
    deployment.apply()
    deployment.assert_settled()
    [offered] = read_revision(deployment.place).graphs
    assert offered.policy is not None and offered.provider == {"provider": "mock"}


# The ledger ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text.replace('"revision": 1', '"revision": 7'), "changed by hand"),
        (lambda text: text[: len(text) // 2], "no JSON"),
        (lambda text: "", "no JSON"),
        (lambda text: "[]", "no JSON object"),
        (lambda text: None, "it is gone"),
        (lambda text: text.replace('"format": 1', '"format": 9'), "newer OmniGraph"),
        (lambda text: text.replace('"checksum"', '"sum"'), "changed by hand"),
    ],
    ids=["edited", "torn", "empty", "list", "gone", "newer", "no checksum"],
)
def test_a_ledger_that_was_edited_is_told_with_what_to_do(
    deployment: Deployment, damage: object, said: str
) -> None:
    deployment.apply()
    file = Path(deployment.storage) / "__cluster" / "state.json"
    damaged_text = damage(file.read_text())  # type: ignore[operator]
    file.unlink() if damaged_text is None else file.write_text(damaged_text)
    for use in (deployment.apply, deployment.plan, lambda: status(deployment.place)):
        with pytest.raises(LedgerDamaged, match=said) as damaged:
            use()
    # What it says to do works.
    assert damaged.value.last_whole is not None
    assert damaged.value.last_whole in (damaged.value.hint or "")
    file.write_bytes(Path(damaged.value.last_whole).read_bytes())
    deployment.assert_settled()
    assert Ledger.of_bytes(file.read_bytes()).revision == 1


def test_notes_that_were_edited_approve_of_nothing_and_hide_nothing(
    deployment: Deployment,
) -> None:
    deployment.write({}, people="schema: person.pg", old="schema: pet.pg").apply()
    deployment.write({}, people="schema: person.pg")
    deployment.approve_all()
    notes = Path(deployment.storage) / "__cluster"
    [approval] = (notes / "approvals").iterdir()
    change = json.loads(approval.read_text())["change"]
    for text in ("", "[]", "{}", json.dumps({"change": change}), json.dumps({"change": 5})):
        approval.write_text(text)
        assert status(deployment.place).approvals == ()
        with pytest.raises(ApprovalNeeded):
            deployment.apply()
    for text in ("", "[]", '{"drift": 5}', '{"drift": [1]}', '{"drift": [{"a": 1}]}'):
        (notes / "observed.json").write_text(text)
        assert status(deployment.place).drift == ()
