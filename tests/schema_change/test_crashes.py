"""A death in a change of the schema leaves the old schema with the old rows, or both new."""

import json
from pathlib import Path

import pytest

from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN
from omnigraph.store.layout import RECOVERY
from omnigraph.store.transactions import Reshape, StagedTransaction
from omnigraph.write.recover import recover_all
from omnigraph.write.sidecar import sidecars
from tests.places import let_leases_end
from tests.schema_change.test_changes import assert_reads, write_on
from tests.schema_change.world import BEFORE, CHANGES, graph_of, image, make_graph
from tests.store_contract.builders import open_store

# Two tables get columns in the first, one of them a new name too. What moves no table has nothing
# to finish: until it is published, it has not happened.
ALL = "all at once"
MOVING = {
    ALL,
    "add nullable properties",
    "add filled properties",
    "fill an edge's property",
    "rename properties",
    "widen numbers",
    "drop properties",
}
VISIBLE = {Failpoint.AFTER_PUBLISH, Failpoint.AFTER_DISARM}
LANDED = {*VISIBLE, Failpoint.AFTER_LAND_1, Failpoint.AFTER_LAND_ALL}

MATRIX = [
    *(("disk", ALL, point) for point in Failpoint),
    *(
        pytest.param("disk", named, point, marks=pytest.mark.deep)
        for named in CHANGES
        for point in Failpoint
        if named != ALL and (named in MOVING or point is not Failpoint.AFTER_LAND_1)
    ),
    ("disk", "add filled properties", Failpoint.AFTER_ARM),
    ("disk", "rename a type", Failpoint.AFTER_PUBLISH),
    ("disk", "drop types", Failpoint.AFTER_ARM),
    ("s3", ALL, Failpoint.AFTER_LAND_1),
    pytest.param("s3", ALL, Failpoint.AFTER_PUBLISH, marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("place", "named", "point"), MATRIX, indirect=["place"])
def test_a_crash_leaves_old_schema_and_rows_or_new_ones(
    place: str, named: str, point: Failpoint
) -> None:
    change = CHANGES[named]
    before = image(make_graph(place))
    with pytest.raises(Crash):
        graph_of(place, CrashAt(point)).schema_apply(change.after)
    store = open_store(place)
    let_leases_end(store)
    graph = graph_of(place)
    is_new = str(graph.schema()) == change.after
    is_finished = named in MOVING and not str(place).startswith("s3")
    assert is_new == (point in (LANDED if is_finished else VISIBLE))
    assert is_new or str(graph.schema()) == BEFORE
    expected = change.rows(before) if is_new else before
    assert_reads(graph, expected)
    assert store.objects.list(RECOVERY) == []
    if not is_new:
        assert graph.schema_apply(change.after).applied
    rows = write_on(graph, change, change.rows(before))
    assert_reads(graph_of(place), rows)


def test_a_change_whose_files_are_lost_is_undone(tmp_path: Path) -> None:
    place = tmp_path / "graph"
    before = image(make_graph(place))
    change = CHANGES["all at once"]
    with pytest.raises(Crash):
        graph_of(place, CrashAt(Failpoint.AFTER_LAND_1)).schema_apply(change.after)
    store = open_store(place)
    with store.fence(MAIN) as held:
        [sidecar] = sidecars(store, held)
    # By the names of before: undone, the tables have those.
    assert [table.key for table in sidecar.tables] == ["edge:Knows", "node:Person"]
    for table in sidecar.tables:
        text = json.dumps(table.transactions[0].to_json())
        assert StagedTransaction.from_json(json.loads(text)) == table.transactions[0]
    operation = sidecar.tables[1].transactions[0].operation
    assert isinstance(operation, Reshape) and operation.files
    for _, file in operation.files:
        store.objects.delete(f"{sidecar.tables[1].base.path}/data/{json.loads(file)['path']}")
    recover_all(store)
    graph = graph_of(place)
    assert str(graph.schema()) == BEFORE and graph.commits(limit=1)[0].kind == "recovery"
    assert_reads(graph, before)
    graph.schema_apply(change.after)
    assert_reads(graph_of(place), write_on(graph, change, change.rows(before)))


@pytest.mark.parametrize("place", ["s3"], indirect=True)
@pytest.mark.parametrize(
    "named", ["all at once", pytest.param("rename a type", marks=pytest.mark.deep)]
)
def test_a_graph_in_a_bucket_takes_a_change_as_one_on_a_disk(place: str, named: str) -> None:
    change = CHANGES[named]
    graph = make_graph(place)
    expected = change.rows(image(graph))
    graph.schema_apply(change.after)
    rows = write_on(graph, change, expected)
    graph.optimize()
    for handle in (graph, graph_of(place)):
        assert_reads(handle, rows)
