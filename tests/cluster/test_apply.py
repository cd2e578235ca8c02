"""Plan and apply: what is shown is done, once, and nothing else."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    AlreadyInitialized,
    ApprovalNeeded,
    ArgumentInvalid,
    ClusterMissing,
    GraphMissing,
    LedgerDamaged,
    PlanBlocked,
    PlanChanged,
    ResourceMissing,
)
from omnigraph.cluster.control import approve, import_graphs, refresh, status
from omnigraph.cluster.ledger import Ledger
from omnigraph.cluster.served import read_revision
from omnigraph.cluster.steps import ApplyPoint
from tests.cluster.world import (
    AGED,
    LISTERS,
    NAMES,
    PERSON,
    PET,
    READERS,
    Deployment,
    DiesAt,
    Does,
    dies,
    settings,
)


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "folder")
    return made.write({"person.pg": PERSON, "pet.pg": PET}, people="schema: person.pg")


def drifts(deployment: Deployment) -> list[tuple[str, str]]:
    return [(each.address, each.kind) for each in refresh(deployment.place)]


def test_the_same_folder_gives_equal_plans_and_ledgers_on_a_disk_and_in_a_bucket(
    tmp_path: Path, bucket: str
) -> None:
    made = [Deployment(tmp_path / "a"), Deployment(tmp_path / "b", bucket)]
    ledgers, plans = [], []
    for each in made:
        each.write(
            {"person.pg": PERSON, "q.gq": NAMES, "read.yaml": READERS},
            people="schema: person.pg, queries: q.gq",
            policies="read: {file: read.yaml, applies_to: [people]}",
        )
        plans.append([each.plan().digest])
        each.apply(actor="ada")
        each.write({"person.pg": AGED})
        plans[-1].append(each.plan().digest)
        each.apply(actor="ada")
        each.assert_settled()
        ledger = json.loads(each.place.applied().to_bytes())
        del ledger["applied_at"], ledger["checksum"]
        ledgers.append(ledger)
    assert plans[0] == plans[1]
    assert ledgers[0] == ledgers[1]


def test_an_apply_goes_from_creates_over_migrations_and_the_catalog_to_deletes(
    deployment: Deployment,
) -> None:
    deployment.write({}, people="schema: person.pg", old="schema: pet.pg").apply()
    deployment.write(
        {"person.pg": AGED, "q.gq": NAMES},
        people="schema: person.pg, queries: q.gq",
        new="schema: pet.pg",
    )
    assert deployment.changes() == [
        ("create", "graph.new"),
        ("create", "schema.new"),
        ("update", "schema.people"),
        ("create", "query.people.names"),
        ("delete", "graph.old"),
        ("delete", "schema.old"),
    ]
    assert [step["message"] for step in deployment.plan().changes[2].steps] == [
        "add property Person.age: I32?"
    ]


def test_an_apply_of_what_is_applied_changes_nothing(deployment: Deployment) -> None:
    assert deployment.apply().changed
    again = deployment.apply()
    assert not again.changed and again.ledger.revision == 1
    deployment.assert_settled()


def test_a_migration_keeps_the_rows_and_names_its_plan(deployment: Deployment) -> None:
    deployment.apply()
    with deployment.graph("people") as graph:
        graph.load([{"type": "Person", "data": {"name": "Ada"}}], mode="append", engine="local")
    deployment.write({"person.pg": AGED})
    done = deployment.apply(actor="ada")
    with deployment.graph("people") as graph:
        assert graph.query(NAMES).to_pylist() == [{"p.name": "Ada"}]
        newest = graph.commits()[0]
    assert newest.actor_id == "ada" and done.plan.digest[:12] in (newest.message or "")


def test_only_the_plan_that_was_shown_is_applied(deployment: Deployment) -> None:
    shown = deployment.plan().digest
    deployment.write({"person.pg": AGED})
    with pytest.raises(PlanChanged) as changed:
        deployment.apply(expected=shown[:12])
    assert changed.value.actual == deployment.plan().digest
    with pytest.raises(PlanChanged):
        deployment.apply(expected="")
    with pytest.raises(ClusterMissing):
        deployment.place.applied()
    assert deployment.apply(expected=changed.value.actual[:12]).changed


def test_a_plan_that_was_applied_is_applied_again_without_a_change(
    deployment: Deployment,
) -> None:
    shown = deployment.plan().digest
    deployment.apply(expected=shown)
    again = deployment.apply(expected=shown)
    assert not again.changed and again.ledger.revision == 1
    deployment.write({"person.pg": AGED})
    with pytest.raises(PlanChanged):
        deployment.apply(expected=shown)


def test_a_delete_needs_an_approval_of_just_that(deployment: Deployment) -> None:
    deployment.write({}, people="schema: person.pg", old="schema: pet.pg").apply()
    deployment.write({}, people="schema: person.pg")
    with pytest.raises(ApprovalNeeded) as needed:
        deployment.apply()
    assert needed.value.addresses == ("graph.old",)
    assert deployment.place.applied().revision == 1 and deployment.schema("old")
    with pytest.raises(ResourceMissing):
        approve(deployment.place, deployment.folder, ["graph.people"])
    with pytest.raises(PlanChanged):
        approve(deployment.place, deployment.folder, ["graph.old"], expected="0" * 12)
    approve(deployment.place, deployment.folder, ["graph.old"], actor="ada")
    [told] = status(deployment.place).approvals
    assert (told["address"], told["approved_by"]) == ("graph.old", "ada")
    deployment.apply()
    deployment.assert_settled()


def test_an_approval_of_one_loss_is_none_of_another(deployment: Deployment) -> None:
    both = "node Person { name: String @key  age: I32?  size: I32? }\n"
    deployment.write({"person.pg": both}).apply()
    deployment.write({"person.pg": both.replace("age: I32?", "")})
    deployment.approve_all()
    deployment.write({"person.pg": both.replace("size: I32?", "")})
    with pytest.raises(ApprovalNeeded):
        deployment.apply()
    deployment.approve_all()
    deployment.apply()
    assert "size" not in deployment.schema("people")


def test_an_approval_is_of_no_use_once_another_revision_was_applied(
    deployment: Deployment,
) -> None:
    deployment.write({}, people="schema: person.pg", old="schema: pet.pg").apply()
    deployment.write({}, people="schema: person.pg")
    deployment.approve_all()
    approvals = Path(deployment.storage) / "__cluster" / "approvals"
    kept = {each.name: each.read_bytes() for each in approvals.iterdir()}
    # Somebody thinks again: the graph stays, and other things are applied.
    deployment.write({"person.pg": AGED}, people="schema: person.pg", old="schema: pet.pg").apply()
    deployment.assert_settled()
    for name, data in kept.items():
        (approvals / name).write_bytes(data)
    deployment.write({}, people="schema: person.pg")
    with pytest.raises(ApprovalNeeded):
        deployment.apply()
    assert deployment.schema("old") and status(deployment.place).approvals == ()


def test_nothing_is_done_where_a_part_of_the_plan_is_in_the_way(deployment: Deployment) -> None:
    deployment.apply()
    with deployment.graph("people") as graph:
        graph.load([{"type": "Person", "data": {"name": "Ada"}}], mode="append", engine="local")
    required = "node Person { name: String @key  age: I32 }\n"
    deployment.write({"person.pg": required}, people="schema: person.pg", new="schema: pet.pg")
    with pytest.raises(PlanBlocked, match=r"schema\.people"):
        deployment.apply()
    assert deployment.place.applied().graphs == ("people",)
    with pytest.raises(AssertionError):
        deployment.schema("new")


def test_what_others_write_meanwhile_neither_stops_a_migration_nor_changes_its_steps(
    deployment: Deployment,
) -> None:
    deployment.apply()
    deployment.write({"person.pg": AGED})

    def rows() -> None:
        with deployment.graph("people") as graph:
            graph.load([{"type": "Person", "data": {"name": "Ada"}}], mode="append", engine="local")

    deployment.apply(faults=Does(ApplyPoint.AFTER_CREATE_ALL, rows))
    deployment.assert_settled()
    deployment.write({"person.pg": AGED.replace("}", "nick: String? }")})

    def schema() -> None:
        with deployment.graph("people") as graph:
            graph.schema_apply(AGED.replace("}", "secret: String? }"))

    # The steps would now drop a property that nobody has approved to lose.
    with pytest.raises(PlanChanged) as changed:
        deployment.apply(faults=Does(ApplyPoint.AFTER_CREATE_ALL, schema))
    assert changed.value.is_begun and "nothing was changed" not in (changed.value.hint or "")
    assert "secret" in deployment.schema("people")
    assert [change.loses_data for change in deployment.plan().changes] == [True]


def test_a_graph_that_somebody_makes_meanwhile_is_not_taken_for_ours(
    deployment: Deployment,
) -> None:
    def other() -> None:
        Graph.init(str(deployment.place.graph("people")), PET, settings=settings())

    with pytest.raises(AlreadyInitialized):
        deployment.apply(faults=Does(ApplyPoint.AFTER_ARM, other))
    assert deployment.schema("people") == PET


def test_a_plan_tells_which_graphs_are_left_without_a_policy(deployment: Deployment) -> None:
    graphs = {"people": "schema: person.pg", "pets": "schema: pet.pg", "old": "schema: pet.pg"}
    files = {"read.yaml": READERS, "list.yaml": LISTERS}
    deployment.write(
        files, **graphs, policies="r: {file: read.yaml, applies_to: [people, pets, old]}"
    ).apply()
    del graphs["old"]

    def said(policies: str | None) -> list[tuple[str, str | None]]:
        more = {} if policies is None else {"policies": policies}
        deployment.write({}, **graphs, **more)
        return [
            (change.address, change.reason)
            for change in deployment.plan().changes
            if change.address.startswith("policy.")
        ]

    left = "without a policy, every actor with a token reads "
    assert said(None) == [("policy.r", f"{left}people and pets")]
    assert said("r: {file: list.yaml, applies_to: [cluster]}") == [
        ("policy.r", f"{left}people and pets")
    ]
    assert said("r: {file: read.yaml, applies_to: [pets]}") == [("policy.r", f"{left}people")]
    moved = "s: {file: read.yaml, applies_to: [pets]}, t: {file: read.yaml, applies_to: [people]}"
    assert said(moved) == [("policy.r", None), ("policy.s", None), ("policy.t", None)]


def test_a_folder_of_another_cluster_is_refused(deployment: Deployment) -> None:
    deployment.apply()
    file = deployment.path / "cluster.yaml"
    file.write_text(file.read_text().replace("brain", "heart"))
    with pytest.raises(PlanBlocked, match="brain"):
        deployment.apply()
    with pytest.raises(PlanBlocked, match="brain"):
        import_graphs(deployment.place, deployment.folder, ["people"])


def test_files_that_are_no_graph_are_left_alone(deployment: Deployment) -> None:
    there = Path(str(deployment.place.graph("people")))
    there.mkdir(parents=True)
    (there / "thesis.txt").write_text("years")
    with pytest.raises(PlanBlocked, match="no graph"):
        deployment.apply()
    assert (there / "thesis.txt").read_text() == "years"


def test_what_a_making_left_that_did_not_finish_is_no_hindrance(deployment: Deployment) -> None:
    there = Path(str(deployment.place.graph("people")))
    there.mkdir(parents=True)
    (there / "_graph.json").write_text('{"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}')
    deployment.apply()
    deployment.assert_settled()


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
