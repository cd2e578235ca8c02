"""A schema that can't be followed, or that rows break, is refused before anything is touched."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    MigrationRefused,
    PreconditionFailed,
    ReadOnly,
    SchemaInvalid,
)
from omnigraph.base.ids import BranchName
from omnigraph.base.span import SourceText
from omnigraph.engine.requests import SchemaApply
from omnigraph.engine.schema_apply import schema_apply
from tests.schema_change.world import (
    BEFORE,
    CITY,
    KNOWS,
    LIVES,
    PERSON,
    Image,
    image,
    make_graph,
    schema,
)

REFUSED = {
    "a required property without a default": ("OG-MF-103", schema(PERSON + "extra: String")),
    "nulls where a value must be": (
        "OG-MF-104",
        schema(PERSON.replace("age: I32?", "age: I32")),
    ),
    "blobs that are null": ("OG-MF-104", schema(PERSON.replace("photo: Blob?", "photo: Blob"))),
    "another type": ("OG-MF-106", schema(PERSON.replace("age: I32?", "age: String?"))),
    "fewer words": ("OG-MF-106", schema(PERSON.replace("(low, high)", "(low)"))),
    "another key": (
        "OG-MF-106",
        schema(
            PERSON.replace("email: String @key", "email: String").replace(
                "team: String", "team: String @key"
            )
        ),
    ),
    "other ends": (
        "OG-MF-106",
        schema(PERSON, CITY, "edge Knows: Person -> City { since: I32? }", LIVES),
    ),
}

BROKEN = {
    "unique": (schema(PERSON + "@unique(team)"), "Person", "team"),
    "unique with a filled property": (
        schema(PERSON + "extra: I64 @default(7)\n @unique(extra)"),
        "Person",
        "extra",
    ),
    "range": (schema(PERSON + "@range(age, 0..7)"), "Person", "age"),
    "range of a widened number": (
        schema(PERSON.replace("I32?", "I64?") + "@range(age, 0..7)"),
        "Person",
        "age",
    ),
    "check": (schema(PERSON + '@check(nick, "^nick[0-7]$")'), "Person", "nick"),
    "cardinality": (
        schema(PERSON, CITY, KNOWS, "edge LivesIn: Person -> City @card(2..*)"),
        "LivesIn",
        None,
    ),
    "a new edge that every source needs": (
        schema(PERSON, CITY, KNOWS, LIVES, "edge Owns: Person -> City @card(1..1)"),
        "Owns",
        None,
    ),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Image, set[Path]]:
    """One graph for all: nothing here may change it."""
    place = tmp_path_factory.mktemp("refused") / "graph"
    graph = make_graph(place)
    return graph, image(graph), files_of(graph)


def files_of(graph: Graph) -> set[Path]:
    return {
        path for path in Path(graph.uri).rglob("*") if path.is_file() and "locks" not in str(path)
    }


def assert_untouched(kept: tuple[Graph, Image, set[Path]]) -> None:
    graph, before, files = kept
    assert image(graph) == before and str(graph.schema()) == BEFORE
    assert files_of(graph) == files


@pytest.mark.parametrize("named", REFUSED)
def test_a_refusal_has_its_code_and_touches_nothing(
    named: str, kept: tuple[Graph, Image, set[Path]]
) -> None:
    code, after = REFUSED[named]
    plan = kept[0].schema_plan(after)
    assert not plan.supported and not plan.applied
    assert code in {refusal.code for refusal in plan.refusals}
    with pytest.raises(MigrationRefused) as refused:
        kept[0].schema_apply(after)
    assert refused.value.code == "migration_unsupported"
    assert refused.value.details["code"] == code and refused.value.hint
    assert_untouched(kept)


def test_a_refusal_for_nulls_names_rows_that_hold_them(
    kept: tuple[Graph, Image, set[Path]],
) -> None:
    [refusal] = kept[0].schema_plan(REFUSED["nulls where a value must be"][1]).refusals
    assert "p3@x" in refusal.message


@pytest.mark.parametrize("named", BROKEN)
def test_rows_that_break_a_new_rule_are_named_and_nothing_is_touched(
    named: str, kept: tuple[Graph, Image, set[Path]]
) -> None:
    after, type_name, property_ = BROKEN[named]
    plan = kept[0].schema_plan(after)
    assert plan.supported and not plan.can_be_applied
    assert plan.violations is not None and "refused" in str(plan)
    with pytest.raises(ConstraintViolated) as broken:
        kept[0].schema_apply(after)
    assert broken.value.violations == plan.violations
    first = broken.value.violations.examples[0]
    assert (first.type_name, first.property_name) == (type_name, property_)
    assert first.entity_id is not None and first.entity_id.endswith("@x")
    assert_untouched(kept)


def test_as_many_rows_as_break_a_rule_are_counted(kept: tuple[Graph, Image, set[Path]]) -> None:
    with pytest.raises(ConstraintViolated) as broken:
        kept[0].schema_apply(BROKEN["cardinality"][0])
    assert broken.value.violations.total == 9
    with pytest.raises(ConstraintViolated) as broken:
        kept[0].schema_apply(BROKEN["range"][0])
    assert [v.entity_id for v in broken.value.violations.examples] == ["p8@x"]


def test_what_the_caller_knows_wrong_touches_nothing(kept: tuple[Graph, Image, set[Path]]) -> None:
    graph = kept[0]
    older = graph.commits()[-1].graph_commit_id
    with pytest.raises(PreconditionFailed):
        graph.schema_apply(schema(PERSON + "extra: String?"), if_commit=older)
    with pytest.raises(SchemaInvalid):
        graph.schema_apply(schema(PERSON + "extra: Strin"))
    with pytest.raises(ReadOnly), Graph.open(graph.uri, read_only=True) as reader:
        assert reader.schema_plan(BEFORE).supported
        reader.schema_apply(BEFORE)
    assert_untouched(kept)


def test_only_main_takes_another_schema(kept: tuple[Graph, Image, set[Path]]) -> None:
    source = SourceText(schema(PERSON + "extra: String?"), "wanted.pg")
    with pytest.raises(ArgumentInvalid) as refused:
        kept[0].backend.run(schema_apply, SchemaApply(branch=BranchName("side"), source=source))
    assert (refused.value.argument, refused.value.value) == ("branch", "side")
    assert_untouched(kept)


def test_a_plan_names_the_branches_in_its_way_and_a_commit_says_what_was_dropped(
    tmp_path: Path,
) -> None:
    graph = Graph.init(tmp_path / "g", "node P { k: String @key  a: I32?  b: I32? }")
    graph.branch_create("side")
    soft, hard = "node P { k: String @key  a: I32? }", "node P { k: String @key }"
    plan = graph.schema_plan(soft)
    assert plan.branches_in_the_way == ("side",) and not plan.can_be_applied
    assert graph.schema_plan(soft, snapshot=graph.commits()[0]).can_be_applied
    graph.branch_delete("side")
    assert graph.schema_plan(soft).can_be_applied
    for after, drops in ((soft, {"P.b": "soft"}), (hard, {"P.a": "hard"})):
        commit = graph.schema_apply(after, allow_data_loss=after == hard).commit
        assert commit is not None and commit.drops == drops == graph.commits()[0].drops
