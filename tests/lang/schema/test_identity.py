import pytest

from omnigraph.base.errors import SchemaVersionUnsupported, StorageFailed
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog, Property
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.migrate.plan import null_questions, plan_migration
from omnigraph.lang.schema.migrate.steps import Facts
from omnigraph.lang.schema.persist import FORMAT, catalog_from_json, catalog_to_json, schema_hash


def history(*texts: str) -> Catalog:
    catalog: Catalog | None = None
    for text in texts:
        catalog = compile_schema(SourceText(text), catalog)
    assert catalog
    return catalog


def the_property(catalog: Catalog, name: str) -> Property:
    return catalog.nodes[0].by_name[name]


def test_a_property_added_again_is_another_one_in_a_column_of_its_own() -> None:
    first = history("node A { a: I32? b: I32 }")
    last = history("node A { a: I32? b: I32 }", "node A { b: I32 }", "node A { a: I32? b: I32 }")
    assert the_property(last, "a").id > the_property(first, "a").id
    assert the_property(last, "a").column == f"a__{the_property(last, 'a').id}"
    assert last.nodes[0].retired == ("a",)


def test_the_old_name_of_a_renamed_property_can_be_used_again() -> None:
    last = history(
        "node A { a: I32 }",
        'node A { b: I32 @rename_from("a") }',
        'node A { a: String? b: I32 @rename_from("a") }',
    )
    assert the_property(last, "b").column == "a"
    assert the_property(last, "a").column != "a"


def test_a_type_added_again_is_another_one() -> None:
    last = history("node A {} node B {}", "node B {}", "node A {} node B {}")
    assert [node.id for node in last.nodes] == [3, 2]


def test_a_key_keeps_the_order_of_its_first_day_through_renames() -> None:
    last = history(
        "node A { x: I32 y: I32 @key(y, x) }",
        'node A { x: I32 a: I32 @rename_from("y") @key(x, a) }',
        "node A { x: I32 a: I32 @key(x, a) }",
    )
    assert last.nodes[0].key == ("a", "x")


def test_only_properties_that_become_required_are_asked_for_nulls() -> None:
    accepted = history("node A { a: I32? b: I32? c: I32 }")
    desired = compile_schema(SourceText("node A { a: I32 b: I32? c: I32? }"), accepted)
    assert [(e.name, p.name) for e, p in null_questions(accepted, desired)] == [("A", "a")]


def test_without_facts_every_type_is_taken_to_have_rows() -> None:
    accepted = history("node A {}")
    desired = compile_schema(SourceText("node A { a: I32 }"), accepted)
    assert not plan_migration(accepted, desired, Facts()).is_supported
    assert plan_migration(accepted, desired, Facts(populated=frozenset())).is_supported


def test_a_stored_hash_never_changes() -> None:
    text = """
        interface Named { name: String @index }
        node Person @description("p") implements Named {
            born: Date @default("2000-01-01") at: DateTime? @default("2000-01-01T00:00:00Z")
            size: F32 @range(0.5..2) mail: String @key @check("@") tags: [String] @default(["a"])
            text: String? @index(ngram) vec: Vector(4)? @embed("text", model="m") mood: enum(b, a)
        }
        edge Knows: Person -> Person @card(0..5) { since: Date? @unique(src, dst) }
    """
    digest = "2a25f3e923dce297543175557838e0142edba4d0189397a95a8564127b477992"
    assert schema_hash(history(text)) == digest


def test_a_schema_of_a_newer_format_is_refused() -> None:
    stored = {**catalog_to_json(history("node A {}")), "format": FORMAT + 1}
    with pytest.raises(SchemaVersionUnsupported):
        catalog_from_json(stored)


@pytest.mark.parametrize(
    "damage",
    [
        {"nodes": None},
        {"nodes": [{}]},
        {"nodes": [1]},
        {"next_id": "x"},
        {"edges": {"a": 1}},
        {"interfaces": [{"name": "I", "properties": [{"type": {"scalar": "Nope"}}]}]},
    ],
)
def test_a_damaged_stored_schema_is_a_storage_error(damage: dict[str, object]) -> None:
    stored = {**catalog_to_json(history("node A {}")), **damage}
    with pytest.raises(StorageFailed):
        catalog_from_json(stored)  # type: ignore[arg-type]
