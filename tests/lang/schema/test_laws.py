import json
import re
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import LanguageError, OmnigraphError
from omnigraph.base.span import SourceText
from omnigraph.lang.schema import text
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.check.identity import TAKEN_COLUMNS
from omnigraph.lang.schema.migrate.plan import plan_migration
from omnigraph.lang.schema.migrate.steps import Facts
from omnigraph.lang.schema.persist import catalog_from_json, catalog_to_json, schema_hash
from omnigraph.lang.schema.picture.diagram import schema_mermaid
from omnigraph.lang.schema.picture.drawing import schema_svg
from omnigraph.lang.schema.text.format import format_schema
from omnigraph.lang.schema.text.parser import parse
from tests.lang.schema.schemas import Declaration, broken, gapped, schemas, text_of

GRAMMAR = Path(text.__file__).with_name("grammar.lark").read_text("utf-8")
TOKEN_NAMES = {"$END", *re.findall(r"_?[A-Z]{2,}", GRAMMAR.split("%declare", 1)[1])}


def compiled(declarations: tuple[Declaration, ...], accepted: Catalog | None = None) -> Catalog:
    return compile_schema(SourceText(text_of(declarations)), accepted)


@given(gapped())
def test_formatting_changes_no_meaning_and_keeps_every_comment(text: str) -> None:
    before = parse(SourceText(text))
    after = parse(SourceText(format_schema(SourceText(text))))
    assert after == before
    assert [c.text for c in after.comments] == [c.text for c in before.comments]


@given(gapped())
def test_formatted_text_is_already_formatted(text: str) -> None:
    once = format_schema(SourceText(text))
    assert format_schema(SourceText(once)) == once


@given(schemas(), st.randoms(use_true_random=False))
def test_the_order_of_the_text_changes_nothing(
    declarations: tuple[Declaration, ...], random: Random
) -> None:
    moved = compile_schema(SourceText(text_of(declarations, random)))
    assert moved == compiled(declarations)
    assert schema_hash(moved) == schema_hash(compiled(declarations))


@given(schemas())
def test_a_catalog_survives_json(declarations: tuple[Declaration, ...]) -> None:
    catalog = compiled(declarations)
    stored = json.dumps(catalog_to_json(catalog))
    assert catalog_from_json(json.loads(stored)) == catalog


@given(schemas(), schemas())
def test_two_schemas_share_a_hash_only_if_they_are_equal(
    one: tuple[Declaration, ...], other: tuple[Declaration, ...]
) -> None:
    first, second = compiled(one), compiled(other)
    assert (schema_hash(first) == schema_hash(second)) == (first == second)


@given(schemas())
def test_a_schema_is_its_own_successor(declarations: tuple[Declaration, ...]) -> None:
    catalog = compiled(declarations)
    again = compiled(declarations, catalog)
    assert again == catalog
    assert plan_migration(catalog, again, Facts()).is_empty


@given(schemas(), schemas(), schemas())
def test_an_id_and_a_column_mean_one_property_for_ever(
    first: tuple[Declaration, ...],
    second: tuple[Declaration, ...],
    third: tuple[Declaration, ...],
) -> None:
    history = [compiled(first)]
    for declarations in (second, third):
        history.append(compiled(declarations, history[-1]))
    meaning: dict[object, object] = {}
    for catalog in history:
        for entity in catalog.entities:
            assert meaning.setdefault(entity.id, entity.name) == entity.name
            for prop in entity.properties:
                named = (entity.id, prop.name)
                assert meaning.setdefault(prop.id, named) == named
                assert meaning.setdefault((entity.id, prop.column.casefold()), prop.id) == prop.id
                assert prop.column not in TAKEN_COLUMNS
                assert catalog.next_id > prop.id


@given(schemas(), schemas(), st.booleans())
def test_every_pair_of_schemas_has_a_plan(
    one: tuple[Declaration, ...], other: tuple[Declaration, ...], allow_data_loss: bool
) -> None:
    accepted = compiled(one)
    desired = compiled(other, accepted)
    plan = plan_migration(accepted, desired, Facts(), allow_data_loss=allow_data_loss)
    changed = catalog_to_json(accepted) != catalog_to_json(desired)
    assert plan.is_empty == (not changed)
    drops = [step for step in plan.steps if step.type_id and step.kind.startswith("drop")]
    assert {step.mode for step in drops} <= {"hard" if allow_data_loss else "soft"}


@given(broken())
def test_a_broken_text_is_told_about_in_the_words_of_the_user(text: str) -> None:
    source = SourceText(text, "broken.pg")
    try:
        compile_schema(source)
    except LanguageError as error:
        lines = error.source.text.split("\n")
        for found in error.diagnostics:
            words = set(re.findall(r"[$\w]+", f"{found.message} {found.hint}"))
            assert all(word in text for word in words & TOKEN_NAMES)
            assert 1 <= found.span.line <= len(lines)
            assert 1 <= found.span.column <= len(lines[found.span.line - 1]) + 1
        assert error.render()


@given(broken())
def test_the_formatter_reads_or_refuses(text: str) -> None:
    source = SourceText(text)
    try:
        formatted = format_schema(source)
    except OmnigraphError:
        return
    assert parse(SourceText(formatted)) == parse(source)
    assert format_schema(SourceText(formatted)) == formatted


@given(schemas())
def test_every_schema_can_be_drawn(declarations: tuple[Declaration, ...]) -> None:
    catalog = compiled(declarations)
    assert schema_svg(catalog) == schema_svg(compiled(declarations))
    for entity in catalog.entities:
        assert entity.name in schema_svg(catalog)
        assert entity.name in schema_mermaid(catalog)
