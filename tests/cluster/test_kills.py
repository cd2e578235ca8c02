"""An apply that dies at any step: the next one finishes it, and does nothing else."""

import json
import shutil
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ClusterLocked, PlanChanged, StorageFailed
from omnigraph.base.failpoints import CrashAt, Failpoint
from omnigraph.cluster.ledger import Ledger
from omnigraph.cluster.observe import Absent, observe
from omnigraph.cluster.resources import Entry
from omnigraph.cluster.steps import ApplyPoint
from omnigraph.engine.engine import Engine
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

BEFORE = {"person.pg": PERSON, "pet.pg": PET, "q/names.gq": NAMES, "read.yaml": READERS}
AFTER = {
    "person.pg": AGED.replace("Person {", "Person { nick: String?"),
    "q/names.gq": NAMES + NAMES.replace("names", "all"),
}
# In a bucket every request takes a while: one point of each phase shows the others.
IN_A_BUCKET = (ApplyPoint.AFTER_CREATE_1, ApplyPoint.AFTER_MIGRATE_1, ApplyPoint.AFTER_LEDGER)


def begin(deployment: Deployment) -> None:
    """Two graphs that are applied."""
    deployment.write(
        BEFORE,
        people="schema: person.pg, queries: q",
        old="schema: pet.pg",
        policies="read: {file: read.yaml, applies_to: [people]}",
    ).apply(actor="ada")


def edit(deployment: Deployment) -> str:
    """A change that goes through every phase, approved; the digest of its plan."""
    deployment.write(
        AFTER, people="schema: person.pg, queries: q", new="schema: pet.pg", newer="schema: pet.pg"
    )
    deployment.approve_all()
    return deployment.plan().digest


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The storage as it is before, to be copied."""
    path = tmp_path_factory.mktemp("begun")
    begin(Deployment(path / "folder"))
    return path / "storage"


def applied_before(begun: Path, tmp_path: Path) -> Deployment:
    """The folder and a storage of this test's own, where it was applied."""
    shutil.copytree(begun, tmp_path / "storage")
    return Deployment(tmp_path / "folder").write(BEFORE)


def check(deployment: Deployment, point: ApplyPoint) -> None:
    before = deployment.place.applied()
    shown = edit(deployment)
    changes = {change.address for change in deployment.plan().changes}
    with dies():
        deployment.apply(expected=shown, faults=DiesAt(point))
    # Servers see the old revision or the new one.
    seen = deployment.place.applied()
    assert seen == before or seen.resources == entries(deployment)
    with pytest.raises(ClusterLocked):
        deployment.apply()
    deployment.unlock()
    # What is left is of the plan that was shown, so it may still be named.
    done = deployment.apply(expected=shown)
    assert {change.address for change in done.plan.changes} <= changes
    deployment.assert_settled()
    assert deployment.place.applied().revision == 2
    assert deployment.schema("people") == AFTER["person.pg"]
    assert isinstance(observe(deployment.place, "old"), Absent)
    assert {deployment.schema(each) for each in ("new", "newer")} == {PET}


def entries(deployment: Deployment) -> dict[str, Entry]:
    return {address: each.entry for address, each in deployment.folder.resources.items()}


@pytest.mark.parametrize("point", ApplyPoint)
def test_a_killed_apply_is_finished_by_the_next(
    point: ApplyPoint, begun: Path, tmp_path: Path
) -> None:
    deployment = applied_before(begun, tmp_path)
    check(deployment, point)


@pytest.mark.parametrize(
    "point",
    [p if p in IN_A_BUCKET else pytest.param(p, marks=pytest.mark.deep) for p in ApplyPoint],
)
def test_a_killed_apply_is_finished_by_the_next_in_a_bucket(
    point: ApplyPoint, bucket: str, tmp_path: Path
) -> None:
    deployment = Deployment(tmp_path / "folder", bucket)
    begin(deployment)
    check(deployment, point)


@pytest.mark.parametrize("point", [ApplyPoint.AFTER_CREATE_1, ApplyPoint.AFTER_LEDGER])
def test_a_folder_that_was_edited_after_a_kill_is_applied_as_it_is_now(
    point: ApplyPoint, begun: Path, tmp_path: Path
) -> None:
    deployment = applied_before(begun, tmp_path)
    shown = edit(deployment)
    with dies():
        deployment.apply(faults=DiesAt(point))
    deployment.unlock()
    # The deleted graph comes back, empty, and a graph that was just made has another schema.
    deployment.write(
        {"pet.pg": PET.replace("}", "age: I32? }")},
        people="schema: person.pg, queries: q",
        old="schema: pet.pg",
        new="schema: pet.pg",
    )
    with pytest.raises(PlanChanged):
        deployment.apply(expected=shown)
    deployment.approve_all()
    # Though files of the deleted graph still lie there, the plan shows what is going to be done.
    deployment.apply(expected=deployment.plan().digest)
    deployment.assert_settled()
    assert "age" in deployment.schema("old") and "age" in deployment.schema("new")


def test_what_is_left_of_a_plan_takes_no_steps_that_it_did_not_show(
    begun: Path, tmp_path: Path
) -> None:
    deployment = applied_before(begun, tmp_path)
    shown = edit(deployment)
    with dies():
        deployment.apply(faults=DiesAt(ApplyPoint.AFTER_ARM))
    deployment.unlock()
    with deployment.graph("people") as graph:
        graph.schema_apply(AGED)
    with pytest.raises(PlanChanged):
        deployment.apply(expected=shown)
    assert deployment.schema("people") == AGED


def test_a_migration_that_died_inside_the_graph_is_finished_too(
    begun: Path, tmp_path: Path
) -> None:
    deployment = applied_before(begun, tmp_path)
    edit(deployment)
    with dies():
        deployment.apply(faults=DiesAt(ApplyPoint.AFTER_CREATE_ALL))
    where, faults = str(deployment.place.graph("people")), CrashAt(Failpoint.AFTER_LAND_ALL)
    with dies():
        Graph(Engine.open(where, settings=settings(), faults=faults)).schema_apply(
            AFTER["person.pg"]
        )
    deployment.unlock()
    deployment.apply()
    deployment.assert_settled()
    assert deployment.schema("people") == AFTER["person.pg"]


def test_a_graph_that_was_put_where_a_deleted_one_was_stays(begun: Path, tmp_path: Path) -> None:
    deployment = applied_before(begun, tmp_path)
    edit(deployment)
    with dies():
        deployment.apply(faults=DiesAt(ApplyPoint.AFTER_LEDGER))
    deployment.unlock()
    there = Path(str(deployment.place.graph("old")))
    shutil.rmtree(there)
    Graph.init(there, PERSON, settings=settings())
    deployment.apply()
    assert deployment.schema("old") == PERSON


def test_an_approval_is_used_once_even_if_the_apply_dies_after_it(
    begun: Path, tmp_path: Path
) -> None:
    deployment = applied_before(begun, tmp_path)
    edit(deployment)
    with dies():
        deployment.apply(faults=DiesAt(ApplyPoint.AFTER_DELETE_ALL))
    deployment.unlock()
    deployment.apply()
    deployment.assert_settled()


def test_a_ledger_is_equal_to_itself_after_a_round_trip(begun: Path) -> None:
    data = (begun / "__cluster" / "state.json").read_bytes()
    assert Ledger.of_bytes(data).to_bytes() == data


@pytest.mark.parametrize("id_", ["../../folder", 5])
def test_a_note_that_was_edited_deletes_nothing_beside_the_graphs(
    begun: Path, tmp_path: Path, id_: object
) -> None:
    deployment = applied_before(begun, tmp_path)
    edit(deployment)
    with dies():
        deployment.apply(faults=DiesAt(ApplyPoint.AFTER_ARM))
    deployment.unlock()
    file = Path(deployment.storage) / "__cluster" / "recovery" / "apply.json"
    note = json.loads(file.read_text())
    file.write_text(json.dumps({**note, "deletes": [[id_, None]]}))
    for use in (deployment.plan, deployment.apply):
        with pytest.raises(StorageFailed, match="not what an apply writes"):
            use()
    assert deployment.schema("old") == PET
