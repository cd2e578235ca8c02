"""A forced init replaces what an init left that did not finish, and never a graph."""

from collections.abc import Mapping

import pytest

from omnigraph.base.errors import AlreadyInitialized, StorageFailed
from omnigraph.store.durability import Durability
from omnigraph.store.layout import GRAPH, MANIFEST
from omnigraph.store.objects import UNFINISHED, Objects
from tests.buckets import location_of
from tests.store_contract.builders import (
    changes,
    contents,
    make_store,
    open_store,
    people,
    put,
)


def held(objects: Objects) -> Mapping[str, bytes | None]:
    return {name: objects.get(name) for name in objects.walk("")}


def objects_at(place: str) -> Objects:
    return location_of(place).objects(Durability.RELAXED)


def died(place: str, *, with_rows: bool = False) -> None:
    """A graph without its manifest, which is written last."""
    store = make_store(place)
    if with_rows:
        put(store, changes(people=people(ada=1)))
    for name in list(store.objects.walk(MANIFEST)):
        store.objects.delete(name)
    store.objects.forget_folder(MANIFEST)


@pytest.mark.parametrize(
    "files",
    [
        None,
        {GRAPH: b"{}"},
        {"_schemas/abc.json": b"{}"},
        {"_schema.pg": b"node Person { name: String @key }", "__schema_state.json": b"{}"},
        {GRAPH: b"{}", f"nodes/1/{UNFINISHED}9": b"half"},
    ],
    ids=["all_but_the_manifest", "the_mark", "a_schema", "an_older_schema", "half_a_file"],
)
def test_what_an_init_left_is_told_apart_and_replaced_if_asked(
    place: str, files: Mapping[str, bytes] | None
) -> None:
    if files is None:
        died(place)
    for name, data in (files or {}).items():
        objects_at(place).put(name, data)
    with pytest.raises(AlreadyInitialized) as refused:
        make_store(place)
    assert refused.value.is_unfinished and "init --force" in (refused.value.hint or "")
    assert contents(make_store(place, force=True)) == ({}, set())
    names = list(objects_at(place).survey(""))
    assert not any("schema" in each.name and "_schemas/" not in each.name for each in names)
    assert not any(UNFINISHED in each.name for each in names)


@pytest.mark.parametrize(
    "what",
    [
        "a_graph",
        "a_graph_with_rows",
        "rows_without_a_manifest",
        "a_file",
        "leftovers_and_a_file",
        "files_in_folders_called_as_ours",
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_a_graph_its_rows_and_the_files_of_others_are_refused_and_stay(
    place: str, what: str, force: bool
) -> None:
    match what:
        case "a_graph":
            make_store(place)
        case "a_graph_with_rows":
            put(make_store(place), changes(people=people(ada=1)))
        case "rows_without_a_manifest":
            died(place, with_rows=True)
        case "leftovers_and_a_file":
            died(place)
            objects_at(place).put("notes.txt", b"mine")
        case "files_in_folders_called_as_ours":
            objects_at(place).put("nodes/people.csv", b"mine")
            objects_at(place).put("edges/2024/knows.csv", b"mine")
        case _:
            objects_at(place).put("people.pg", b"mine")
    before = held(objects_at(place))
    with pytest.raises(AlreadyInitialized) as refused:
        make_store(place, force=force)
    assert not refused.value.is_unfinished
    assert held(objects_at(place)) == before
    if what == "a_graph_with_rows":
        assert contents(open_store(place)) == ({"ada": 1}, set())


@pytest.mark.parametrize("with_rows", [False, True])
def test_opening_advises_force_only_where_force_helps(place: str, with_rows: bool) -> None:
    died(place, with_rows=with_rows)
    with pytest.raises(StorageFailed) as refused:
        open_store(place)
    assert ("init --force" in str(refused.value)) is not with_rows


def test_force_is_not_needed_for_an_empty_place(place: str) -> None:
    assert contents(make_store(place, force=True)) == ({}, set())
