"""Plan and apply: what is shown is done, once, and nothing else."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    AlreadyInitialized,
    ApprovalNeeded,
    ClusterMissing,
    PlanBlocked,
    PlanChanged,
    ResourceMissing,
)
from omnigraph.cluster.control import approve, import_graphs, status
from omnigraph.cluster.steps import ApplyPoint
from tests.cluster.world import (
    AGED,
    LISTERS,
    NAMES,
    PERSON,
    PET,
    READERS,
    Deployment,
    Does,
    settings,
)


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "folder")
    return made.write({"person.pg": PERSON, "pet.pg": PET}, people="schema: person.pg")


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
