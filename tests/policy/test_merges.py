"""Merges and reverts under a policy: they write rows, and tell what their actor sees."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.errors import MergeConflicts, PolicyDenied
from omnigraph.pipeline.limits import LoadLimits
from tests.policy.firm import NO_PAY, NO_PEOPLE, PERSON, RED, equals, make, opened
from tests.reference.table_policy import Role, Sees

ROLES = {
    "red": Role(RED),
    "careful": Role(
        changes=Sees({PERSON: equals("team", "red")}), merges=Sees({PERSON: equals("team", "red")})
    ),
    "clerk": Role(NO_PAY),
    "guest": Role(NO_PEOPLE),
}
SAME_WORDS = "not all of its rows may be written"
IN_FILES = Settings(load_engine="local", load_limits=LoadLimits(max_merged_bytes=0))


# Merges in memory, and by tasks.
either_way = pytest.mark.parametrize(
    "boss", [None, IN_FILES], ids=["memory", "files"], indirect=True
)


@pytest.fixture
def boss(tmp_path: Path, request: pytest.FixtureRequest) -> Graph:
    settings: Settings | None = getattr(request, "param", None)
    graph = opened(make(tmp_path), ROLES, "boss", settings)
    graph.branch_create("side")
    return graph


def set_(email: str, **values: Any) -> str:
    given = ", ".join(
        f'{k}: "{v}"' if isinstance(v, str) else f"{k}: {v}" for k, v in values.items()
    )
    return f'query u() {{ update Person set {{ {given} }} where email = "{email}" }}'


def people(graph: Graph, branch: str = "main") -> dict[str, tuple[str, str, int]]:
    asked = "query q() { match { $p: Person } return { $p } }"
    rows = graph.as_actor("boss").query(asked, branch=branch).to_pylist()
    return {r["p"]["email"]: (r["p"]["name"], r["p"]["team"], r["p"]["salary"]) for r in rows}


def denied(graph: Graph, **more: Any) -> None:
    before = people(graph)
    with pytest.raises(PolicyDenied) as told:
        graph.branch_merge("side", **more)
    assert told.value.reason == SAME_WORDS
    assert told.value.details["actor"] == graph.engine.actor
    assert people(graph) == before


@either_way
def test_rules_of_merges_judge_every_row_that_a_merge_changes(boss: Graph) -> None:
    boss.mutate(set_("ada", name="A"), branch="side")
    boss.as_actor("careful").branch_merge("side")
    assert people(boss)["ada"][0] == "A"
    boss.mutate(set_("cy", name="C"), branch="side")
    boss.mutate(set_("ada", name="B"), branch="side")
    denied(boss.as_actor("careful"))
    boss.branch_merge("side")
    assert people(boss)["cy"][0] == "C"


def test_a_merge_of_moved_and_deleted_rows_is_judged_on_both_images(boss: Graph) -> None:
    boss.mutate(set_("ada", team="blue", salary=1), branch="side")
    denied(boss.as_actor("careful"))
    boss.mutate(set_("ada", team="red", salary=10), branch="side")
    boss.mutate('query d() { delete Person where email = "di" }', branch="side")
    denied(boss.as_actor("careful"))


@either_way
def test_three_ways_are_judged_too(boss: Graph) -> None:
    boss.mutate(set_("bo", name="B"))
    boss.mutate(set_("di", name="D"), branch="side")
    denied(boss.as_actor("careful"))
    assert boss.branch_merge("side").outcome == "merged"


def test_counts_and_previews_tell_of_visible_rows(boss: Graph) -> None:
    boss.mutate(set_("ada", name="A"), branch="side")
    boss.mutate(set_("cy", name="C", salary=31), branch="side")
    boss.mutate('query i() { insert Knows { from: "ada", to: "cy" } }', branch="side")
    boss.mutate('query i() { insert Knows { from: "ada", to: "ada" } }', branch="side")
    boss.mutate(set_("di", salary=41), branch="side")

    def told(actor: str) -> dict[str, int]:
        preview = boss.as_actor(actor).branch_merge("side", preview=True)
        assert preview.changes is not None and len(preview.changes) == sum(
            counts.total for counts in preview.counts.values()
        )
        for change in preview.changes:
            for image in (change["before"], change["after"]):
                assert actor != "clerk" or image is None or "salary" not in image["properties"]
        return {name: counts.total for name, counts in preview.counts.items()}

    assert told("boss") == {"Person": 3, "Knows": 2}
    assert told("red") == {"Person": 1, "Knows": 1}
    assert told("clerk") == {"Person": 2, "Knows": 2}
    assert told("guest") == {}
    done = boss.as_actor("red").branch_merge("side")
    assert {name: c.total for name, c in done.counts.items()} == {"Person": 1, "Knows": 1}
    assert people(boss)["di"][2] == 41


def test_a_preview_shows_rows_that_come_into_sight_with_their_edges(boss: Graph) -> None:
    text = (
        'query u() { update Person set { team: "red", salary: 7 } where email = "cy" '
        'insert Knows { from: "ada", to: "cy" } }'
    )
    boss.mutate(text, branch="side")
    preview = boss.as_actor("red").branch_merge("side", preview=True)
    assert preview.changes is not None
    assert [(c["type"]["name"], c["op"]) for c in preview.changes] == [
        ("Person", "insert"),
        ("Knows", "insert"),
    ]


def test_a_merge_brings_rows_that_its_actor_does_not_see(boss: Graph) -> None:
    """It is about a branch. A mutation and a load are about rows, and these are not there."""
    hidden = set_("cy", name="C")
    boss.mutate(hidden, branch="side")
    red = boss.as_actor("red")
    assert red.mutate(hidden).affected_nodes == 0
    row = {"type": "Person", "data": {"email": "cy", "name": "C", "team": "blue"}}
    with pytest.raises(PolicyDenied):
        red.load([row], mode="merge")
    done = red.branch_merge("side")
    assert (done.outcome, done.counts) == ("fast_forward", {})
    assert people(boss)["cy"][0] == "C"


def test_a_row_that_may_not_be_merged_stays_out_seen_or_not(tmp_path: Path) -> None:
    roles = {**ROLES, "both": Role(RED, merges=Sees({PERSON: equals("team", "red")}))}
    boss = opened(make(tmp_path), roles, "boss")
    boss.branch_create("side")
    boss.mutate(set_("cy", name="C"), branch="side")
    for actor in ("both", "careful"):
        denied(boss.as_actor(actor))
    boss.mutate(set_("cy", name="Cy"), branch="side")
    boss.mutate(set_("ada", name="A"), branch="side")
    done = boss.as_actor("both").branch_merge("side")
    assert {name: c.total for name, c in done.counts.items()} == {"Person": 1}


# Conflicts ----------------------------------------------------------------------------------------


@either_way
def test_conflicts_of_visible_rows_are_told(boss: Graph) -> None:
    boss.mutate(set_("ada", name="A"))
    boss.mutate(set_("ada", name="B"), branch="side")
    for actor in ("red", "clerk", "careful"):
        with pytest.raises(MergeConflicts) as told:
            boss.as_actor(actor).branch_merge("side")
        (conflict,) = told.value.conflicts
        assert (conflict.entity_id, conflict.ours, conflict.theirs) == ("ada", "A", "B")
    red = boss.as_actor("red")
    assert red.branch_merge("side", preview=True).conflict_count == 1
    assert red.branch_merge("side", resolve="theirs").outcome == "merged"
    assert people(boss)["ada"][0] == "B"


@pytest.mark.parametrize("preview", [True, False])
def test_a_conflict_of_hidden_rows_is_not_told(boss: Graph, preview: bool) -> None:
    boss.mutate(set_("cy", name="A"))
    boss.mutate(set_("cy", name="B"), branch="side")
    boss.mutate(set_("ada", name="B"), branch="side")
    for actor in ("red", "guest"):
        denied(boss.as_actor(actor), preview=preview)


@either_way
def test_a_conflict_of_a_row_that_was_hidden_is_not_told(boss: Graph) -> None:
    """Both sides brought cy to the red team; what she was before is hidden."""
    boss.mutate(set_("cy", team="red", name="A"))
    boss.mutate(set_("cy", team="red", name="B"), branch="side")
    denied(boss.as_actor("red"))


@either_way
def test_a_conflict_of_a_hidden_property_is_not_told(boss: Graph) -> None:
    boss.mutate(set_("cy", salary=1))
    boss.mutate(set_("cy", salary=2), branch="side")
    denied(boss.as_actor("clerk"))


@either_way
def test_a_conflict_about_a_whole_row_leaves_out_hidden_properties(boss: Graph) -> None:
    boss.mutate('query d() { delete Person where email = "ada" }', branch="side")
    boss.mutate(set_("ada", name="A"))
    with pytest.raises(MergeConflicts) as told:
        boss.as_actor("clerk").branch_merge("side")
    (conflict,) = (c for c in told.value.conflicts if c.kind == "delete_vs_update")
    assert conflict.ours["name"] == "A" and "salary" not in conflict.ours


@either_way
def test_rules_that_several_rows_break_are_told_to_those_who_see_their_types(boss: Graph) -> None:
    boss.mutate(set_("ada", badge="x"))
    boss.mutate(set_("bo", badge="x"), branch="side")
    with pytest.raises(MergeConflicts):
        boss.branch_merge("side")
    denied(boss.as_actor("red"))


# Reverts ------------------------------------------------------------------------------------------


def test_a_revert_is_judged_as_a_merge(boss: Graph) -> None:
    commit = boss.mutate(set_("cy", name="C")).commit
    own = boss.mutate(set_("ada", name="A")).commit
    assert commit is not None and own is not None
    with pytest.raises(PolicyDenied):
        boss.as_actor("careful").revert(commit)
    assert boss.as_actor("careful").revert(own).outcome == "reverted"
    preview = boss.as_actor("red").revert(commit, preview=True)
    assert preview.counts == {} and len(preview.changes or ()) == 0
    boss.mutate(set_("cy", name="D"))
    with pytest.raises(PolicyDenied):
        boss.as_actor("red").revert(commit)
    assert people(boss)["cy"][0] == "D"


@either_way
def test_choices_neither_settle_nor_find_what_is_hidden(boss: Graph) -> None:
    for branch in ("main", "side"):
        boss.mutate(set_("ada", name=f"A{branch}"), branch=branch)
    seen = {"type": "Person", "id": "ada", "property": "name", "take": "theirs"}
    red = boss.as_actor("red")
    assert red.branch_merge("side", resolve=[seen], preview=True).conflicts == ()
    for branch in ("main", "side"):
        boss.mutate(set_("cy", name=f"C{branch}"), branch=branch)
    hidden, nothing = {**seen, "id": "cy"}, {**seen, "id": "di"}
    for resolve in ("ours", "theirs", [seen], [seen, hidden], [seen, nothing]):
        for preview in (True, False):
            denied(red, resolve=resolve, preview=preview)
    boss.branch_merge("side", resolve=[seen, hidden])
    assert [people(boss)[email][0] for email in ("ada", "cy")] == ["Aside", "Cside"]


# Several bases ------------------------------------------------------------------------------------


def crossed(boss: Graph, *, on_main: str, on_side: str) -> None:
    """Both branches change something, and then each takes what the other had: two merge bases."""
    boss.mutate(on_main)
    boss.mutate(on_side, branch="side")
    boss.branch_create("main-then")
    boss.branch_create("side-then", "side")
    boss.branch_merge("side-then", "main", resolve="ours")
    boss.branch_merge("main-then", "side", resolve="ours")


@pytest.mark.parametrize("settings", [None, IN_FILES], ids=["memory", "files"])
def test_a_conflict_is_told_where_the_row_is_seen_on_every_base(
    tmp_path: Path, settings: Settings | None
) -> None:
    boss = opened(make(tmp_path), ROLES, "boss", settings)
    boss.branch_create("side")
    crossed(boss, on_main=set_("ada", name="A"), on_side=set_("cy", name="C"))
    boss.mutate(set_("ada", name="Amain"))
    boss.mutate(set_("ada", name="Aside"), branch="side")
    red = boss.as_actor("red")
    with pytest.raises(MergeConflicts) as told:
        red.branch_merge("side")
    (conflict,) = told.value.conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == ("A", "Amain", "Aside")
    assert red.branch_merge("side", preview=True).conflict_count == 1
    assert red.branch_merge("side", resolve="theirs").outcome == "merged"
    assert people(boss)["ada"][0] == "Aside" and people(boss)["cy"][0] == "C"


@pytest.mark.parametrize("where", ["one base", "the base of the bases"])
def test_a_conflict_of_a_row_that_any_base_hides_is_not_told(boss: Graph, where: str) -> None:
    """On both heads, and on the base that the conflict would show, the row is of the red team."""
    joins = set_("cy", team="red", name="C", salary=31)
    other = set_("bo", name="B") if where == "one base" else joins.replace("C", "D")
    crossed(boss, on_main=joins, on_side=other)
    boss.mutate(set_("cy", name="Cmain"))
    boss.mutate(set_("cy", name="Cside"), branch="side")
    for preview in (True, False):
        denied(boss.as_actor("red"), preview=preview)
    with pytest.raises(MergeConflicts):
        boss.branch_merge("side")
