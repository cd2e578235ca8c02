"""A large merge of a source with an earlier schema comes to what it comes to in memory."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from omnigraph.base.errors import MergeConflicts
from omnigraph.merge.choices import choices_of
from omnigraph.merge.conflicts import SideNames
from omnigraph.merge.joining import PlainBases
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.merge.large import LargeMerge
from omnigraph.pipeline.staging.area import Ending, StagingArea
from tests.pipeline.conftest import DEEP_ON_SPARK
from tests.pipeline.merge.world import (
    CHANGES,
    SCHEMA,
    change,
    chosen,
    data_files,
    in_files,
    new_graph,
    rows,
    staging,
    told,
)

# A name, a rule and a default that are new; a property and a type that are gone.
LATER = """
node Person {
    name: String @key
    years: I32? @rename_from("age")
    phone: String?
    photo: Blob?
    country: String @default("?")
    @unique(phone)
    @range(years, 0..2)
}
node City { code: String @key }
edge LivesIn: Person -> City @card(0..1)
edge Likes: Person -> Person { @key(src, dst) }
"""

OURS = [
    text.replace("age:", "years:").replace(", since: 1", "")
    for text in CHANGES
    if "Owns" not in text and "since: 2" not in text and "age: 3" not in text
]
NUMBERS = iter(range(1_000_000))


def later_graph(place: Path) -> tuple[Graph, str]:
    """A graph with the later schema, and the last commit that has the earlier one."""
    graph = new_graph(place)
    before = str(graph.snapshot().stored.commit.id)
    graph.schema_apply(LATER)
    return graph, before


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, str]:
    return later_graph(tmp_path_factory.mktemp("later"))


@settings(max_examples=10)
@given(
    ours=st.lists(st.sampled_from(OURS), max_size=4),
    theirs=st.lists(st.sampled_from(CHANGES), min_size=1, max_size=6),
    task_bytes=st.sampled_from([1, 400, 1 << 30]),
    take=st.sampled_from([None, "ours", "theirs"]),
    chance=st.randoms(use_true_random=False),
)
def test_both_ways_come_to_the_same(
    kept: tuple[Graph, str],
    ours: list[str],
    theirs: list[str],
    task_bytes: int,
    take: Any,
    chance: Random,
) -> None:
    graph, before = kept
    number = next(NUMBERS)
    source, target, copy = (f"{name}{number}" for name in ("source", "target", "copy"))
    graph.branch_create(target)
    graph.branch_create(source, from_=before)
    change(graph, target, *ours)
    change(graph, source, *theirs)
    graph.branch_create(copy, target)
    large = in_files(graph, task_bytes=task_bytes)
    expected = told(graph, source, target, resolve=take)
    assert told(large, source, copy, resolve=take) == expected
    if isinstance(expected, list):
        choices = chosen(expected, chance)
        expected = told(graph, source, target, resolve=choices)
        assert told(large, source, copy, resolve=choices) == expected
    assert rows(large, copy) == rows(graph, target)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=DEEP_ON_SPARK)])
def test_rows_that_break_a_rule_of_ours_are_counted_and_chosen(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    graph, before = later_graph(tmp_path)
    graph.branch_create("night", from_=before)
    change(graph, "main", 'insert City { code: "ours" }')
    change(graph, "night", *(f'insert Person {{ name: "new {n}", age: {n} }}' for n in range(6)))
    change(graph, "night", 'update Owns set { price: 2 } where from = "b"')
    large, files = in_files(graph, engine=engine, max_conflicts=2), data_files(graph)
    for take in (None, "theirs"):  # theirs can't be had
        with pytest.raises(MergeConflicts) as caught:
            large.branch_merge("night", resolve=take)
        found = [(each.kind, each.entity_id) for each in caught.value.conflicts]
        kind = "value_constraint_violation"
        assert (found, caught.value.more) == ([(kind, "new 3"), (kind, "new 4")], 1)
    preview = large.branch_merge("night", preview=True)
    assert (preview.counts["Person"].inserted, preview.left_out) == (3, {"Owns": 1})
    assert (data_files(graph), staging(graph)) == (files, [])
    merged = large.branch_merge("night", resolve="ours")
    assert merged.left_out == {"Owns": 1} and merged.counts["Person"].inserted == 3
    people = {row["name"]: row["country"] for row in rows(graph, "main")["Person"]}
    assert people == dict.fromkeys([*"abcd", "new 0", "new 1", "new 2"], "?")


def test_a_rule_that_came_between_two_tries_is_minded(tmp_path: Path) -> None:
    """The table has the version that it had: no row of ours was written for the rule."""
    graph = new_graph(tmp_path)
    store = graph.engine.store
    change(graph, "main", 'insert Person { name: "old", age: 9 }')
    theirs = store.snapshot()
    change(graph, "main", 'update Person set { age: 1 } where name = "old"')
    base = store.snapshot()  # as where the last commit is reverted
    area = StagingArea(store)
    area.open({}, name=None)
    assert area.for_tasks is not None
    large = LargeMerge(InProcess(), area.for_tasks, LoadLimits())
    found = []
    for schema in (SCHEMA, SCHEMA.replace("@unique(phone)", "@unique(phone)  @range(age, 0..5)")):
        graph.schema_apply(schema)
        ours, names = store.snapshot(), SideNames(ours="main", theirs="before")
        merged = large.merge(
            PlainBases((base,)), ours, theirs, names=names, choices=choices_of(None)
        )
        found.append([conflict.entity_id for conflict in merged.conflicts])
    area.close(Ending.NOTHING)
    assert found == [[], ["old"]]
