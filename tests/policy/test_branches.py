"""Rules of branches: what is hidden on one is not brought into sight by way of another."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.engine.explore_requests import CompareRead
from omnigraph.engine.review import compare
from omnigraph.errors import (
    BranchExists,
    BranchMissing,
    CommitMissing,
    ConflictError,
    EntityMissing,
    NameMissing,
    OmnigraphError,
    PolicyDenied,
)
from omnigraph.read.changes.filter import ChangeFilter
from omnigraph.results import CommitInfo
from omnigraph.surfaces.wire import error_json
from tests.policy.firm import NO_PAY, NO_PEOPLE, RED, make, opened
from tests.reference.table_policy import EVERYTHING, Role

OPEN = "open"
ROLES = {
    "red": Role(EVERYTHING, reads_on={"main": RED}),
    "clerk": Role(EVERYTHING, reads_on={"main": NO_PAY}),
    "guest": Role(EVERYTHING, reads_on={"main": NO_PEOPLE}),
    "stranger": Role(denied_on=frozenset({("read", "main"), ("export", "main")})),
    "careful": Role(RED, reads_on={"main": EVERYTHING}),
    "blind": Role(denied=frozenset({"read", "export"})),
}
"""Whoever looks away from main sees everything, but for the last two."""
CURIOUS = ("red", "clerk", "guest", "stranger")
ROW = {"type": "Person", "data": {"email": "zed", "name": "Zed", "team": "red"}}
MORE = "it would show rows that are hidden where they come from"


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """main has two commits that `open` has not: a raise, and a blue one who is gone again."""
    boss = opened(make(tmp_path_factory.mktemp("firm")), ROLES, "boss")
    boss.branch_create(OPEN)
    boss.mutate('query a() { update Person set { salary: 99 } where email = "cy" }', message="pay")
    return boss


def head(boss: Graph, branch: str = "main") -> str:
    return boss.commits(branch=branch)[0].graph_commit_id


WAYS: dict[str, Callable[[Graph, str], object]] = {
    "a new branch": lambda g, _: g.branch_create("mine"),
    "a branch of a commit": lambda g, commit: g.branch_create("mine", from_=commit),
    "a load into a new branch": lambda g, _: g.load(
        [ROW], mode="append", branch="mine", from_="main"
    ),
    "a merge": lambda g, _: g.branch_merge("main", into=OPEN),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("actor", CURIOUS)
def test_no_way_leads_from_where_rows_are_hidden_to_where_they_are_seen(
    boss: Graph, actor: str, way: str
) -> None:
    before = boss.branches(), head(boss, OPEN)
    with pytest.raises(PolicyDenied) as denied:
        WAYS[way](boss.as_actor(actor), head(boss))
    assert (denied.value.reason, denied.value.branch) == (MORE, "main")
    assert (boss.branches(), head(boss, OPEN)) == before


def test_where_no_more_is_seen_the_way_is_free(tmp_path: Path) -> None:
    boss = opened(make(tmp_path), ROLES, "boss")
    for actor in ("careful", "blind", "boss"):
        boss.as_actor(actor).branch_create(f"of-{actor}")
    boss.as_actor("red").branch_create("deeper", from_="of-boss")
    boss.mutate('query a() { update Person set { salary: 99 } where email = "cy" }')
    assert boss.as_actor("careful").branch_merge("main", into="of-careful").commit is not None


def test_a_revert_brings_back_no_rows_of_a_branch_that_is_hidden(tmp_path: Path) -> None:
    roles = {
        "red": Role(reads_on={"side": RED}),
        "stranger": Role(denied_on=frozenset({("read", "side")})),
    }
    boss = opened(make(tmp_path), roles, "boss")
    boss.branch_create("side")
    for pay in (77, 99):
        boss.mutate(
            f'query a() {{ update Person set {{ salary: {pay} }} where email = "cy" }}',
            branch="side",
        )
    made, _ = head(boss, "side"), boss.branch_merge("side")
    # 77 was never on main.
    with pytest.raises(PolicyDenied):
        boss.as_actor("red").revert(made)
    for preview in (False, True):
        with pytest.raises(CommitMissing):
            boss.as_actor("stranger").revert(made, preview=preview)
    told = boss.as_actor("red").revert(made, preview=True)
    assert told.changes is not None and (len(told.changes), told.counts) == (0, {})


@pytest.mark.parametrize("actor", ["red", "clerk", "guest"])
def test_a_preview_shows_what_a_diff_shows(boss: Graph, actor: str) -> None:
    """Both go by the rules of both branches."""
    graph = boss.as_actor(actor)
    told = graph.branch_merge("main", into=OPEN, preview=True)
    assert told.changes is not None
    assert [*told.changes] == [*graph.diff(OPEN, "main")] == []
    assert told.counts == {}
    assert len([*boss.diff(OPEN, "main")]) == 1


def test_conflicts_are_told_by_the_rules_of_both_branches(tmp_path: Path) -> None:
    boss = opened(make(tmp_path), {"clerk": Role(reads_on={"side": NO_PAY})}, "boss")
    boss.branch_create("side")
    for branch, pay in (("main", 1), ("side", 2)):
        boss.mutate(
            f'query a() {{ update Person set {{ salary: {pay} }} where email = "cy" }}',
            branch=branch,
        )
    with pytest.raises(PolicyDenied) as denied:
        boss.as_actor("clerk").branch_merge("side", preview=True)
    assert denied.value.reason == "not all of its rows may be written"


@pytest.mark.parametrize("actor", ["red", "guest"])
def test_a_feed_shows_what_was_done_elsewhere_by_the_rules_of_there(
    boss: Graph, actor: str
) -> None:
    page = boss.as_actor(actor).changes(branch=OPEN, start="beginning")
    found = [c["id"] for block in page.blocks for c in block.changes if "Person" in str(c["type"])]
    assert found == (["ada", "bo"] if actor == "red" else [])
    with pytest.raises(PolicyDenied):
        boss.as_actor("stranger").changes(branch=OPEN, start="beginning")


def test_commits_of_branches_that_may_not_be_read_are_not_told(tmp_path: Path) -> None:
    roles = {"stranger": Role(denied_on=frozenset({("read", "side")}))}
    boss = opened(make(tmp_path), roles, "boss")
    boss.branch_create("side")
    add = 'query a() { insert Person { email: "zed", name: "Zed", team: "red" } }'
    boss.mutate(add, branch="side", message="we hire zed")
    made = head(boss, "side")
    boss.branch_merge("side", message="news")
    boss.branch_create("later", from_="side")
    graph = boss.as_actor("stranger")
    assert {c.message for c in graph.log().commits} == {"news", None}
    assert made not in {c.graph_commit_id for c in graph.commits(branch="later")}
    assert made in {c.graph_commit_id for c in boss.log().commits}


def test_an_error_names_no_branch_that_may_not_be_read(boss: Graph) -> None:
    stranger = boss.as_actor("stranger")
    asked = "query n() { match { $p: Person } return { count($p) as n } }"
    calls: list[Callable[[], object]] = [
        lambda: stranger.query(asked, branch="nowhere"),
        lambda: stranger.branch("nowhere"),
        lambda: stranger.branch_delete("nowhere"),
        lambda: stranger.branch_create("mine", from_="nowhere"),
        lambda: stranger.diff("nowhere", OPEN),
        lambda: stranger.branch_merge("nowhere", into=OPEN),
        lambda: stranger.load([ROW], mode="append", branch="mine", from_="nowhere"),
    ]
    for call in calls:
        with pytest.raises(OmnigraphError) as told:
            call()
        if isinstance(told.value, BranchMissing):
            assert told.value.known == () and told.value.hint is None
        else:
            assert isinstance(told.value, PolicyDenied)


def test_an_error_names_no_branch_that_stands_in_the_way_unseen(tmp_path: Path) -> None:
    secret = frozenset({("read", "side/secret")})
    boss = opened(make(tmp_path), {"stranger": Role(denied_on=secret)}, "boss")
    boss.branch_create("side/one")
    boss.branch_create("side/secret", from_="side/one")
    stranger = boss.as_actor("stranger")
    with pytest.raises(ConflictError, match="secret"):
        boss.branch_delete("side/one")
    with pytest.raises(ConflictError) as told:
        stranger.branch_delete("side/one")
    assert "secret" not in str(told.value) and "secret" not in repr(told.value)
    merged = stranger.branch_merge("side/one", delete=True)
    assert merged.branch_delete_error is not None and "secret" not in merged.branch_delete_error


MAKING: dict[str, Callable[[Graph, str, str], object]] = {
    "a branch": lambda g, name, from_: g.branch_create(name, from_=from_),
    "a load": lambda g, name, from_: g.load([ROW], mode="append", branch=name, from_=from_),
}


@pytest.fixture(scope="module")
def secretive(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """The stranger may read no branch below secret/, of which some are there. The last role may
    not make branches below closed/."""
    hidden = [f"secret/{name}" for name in ("there", "missing", "there/more", "missing/more")]
    roles = {
        "stranger": Role(denied_on=frozenset(("read", name) for name in hidden)),
        "builder": Role(denied_on=frozenset({("branch_create", "closed/one")})),
    }
    boss = opened(make(tmp_path_factory.mktemp("secretive")), roles, "boss")
    boss.branch_create("secret/there")
    add = 'query a() { insert Person { email: "zed", name: "Zed", team: "red" } }'
    boss.mutate(add, branch="secret/there")
    return boss


@pytest.mark.parametrize("way", MAKING)
def test_a_branch_that_is_hidden_can_be_begun_at_no_more_than_one_that_is_missing(
    secretive: Graph, way: str
) -> None:
    """Also where the new one would be as hidden, so that nothing came into sight."""
    stranger, before = secretive.as_actor("stranger"), secretive.branches()
    for name in ("mine", "secret/missing"):
        said = set()
        for from_ in ("secret/there", "secret/missing"):
            with pytest.raises(BranchMissing) as told:
                MAKING[way](stranger, name, from_)
            said.add(told.value.render().replace(from_, "?"))
        assert said == {"error: no branch named ?"}
    assert secretive.branches() == before


def test_a_commit_of_a_hidden_branch_can_be_begun_at_no_more_than_a_missing_one(
    secretive: Graph,
) -> None:
    commit = head(secretive, "secret/there")
    missing = commit[:-1] + ("0" if commit[-1] != "0" else "1")
    said = set()
    for id_ in (commit, missing):
        with pytest.raises(OmnigraphError) as told:
            secretive.as_actor("stranger").branch_create("mine", from_=id_)
        said.add((type(told.value), told.value.render().replace(id_, "?")))
    assert len(said) == 1


ASK = "query n() { match { $p: Person } return { count($p) as n } }"
NAMING: dict[str, Callable[[Graph, str], object]] = {
    "a look": lambda g, id_: g.commit(id_),
    "a question": lambda g, id_: g.query(ASK, snapshot=id_),
    "a moment": lambda g, id_: g.at(id_),
    "its changes": lambda g, id_: g.commit_changes(id_),
    "a diff": lambda g, id_: g.diff(id_, "main"),
    "a diff to it": lambda g, id_: g.diff("main", id_),
    "an export": lambda g, id_: g.export(BytesIO(), snapshot=id_),
    "a revert": lambda g, id_: g.revert(id_),
    "a look at a revert": lambda g, id_: g.revert(id_, preview=True),
}


@pytest.mark.parametrize("way", NAMING)
def test_a_commit_of_a_hidden_branch_is_missing(secretive: Graph, way: str) -> None:
    """A merge tells the id of what it merged, and so it is known."""
    commit = head(secretive, "secret/there")
    missing = commit[:-1] + ("0" if commit[-1] != "0" else "1")
    said = set()
    for id_ in (commit, missing):
        with pytest.raises(CommitMissing) as told:
            NAMING[way](secretive.as_actor("stranger"), id_)
        said.add(told.value.render().replace(id_, "?"))
    assert len(said) == 1


GOING_BACK: dict[str, Callable[[Graph, CommitInfo], object]] = {
    "a diff since they parted": lambda g, _: g.diff("left", "right", since_base=True),
    "a feed": lambda g, _: g.changes(branch="left", start="beginning"),
    "a moment": lambda g, then: g.query(ASK, branch="left", snapshot=then.created_at),
}


@pytest.mark.parametrize("way", GOING_BACK)
def test_where_history_leads_to_a_hidden_branch_it_is_not_named(tmp_path: Path, way: str) -> None:
    roles = {"stranger": Role(denied_on=frozenset({("read", "secret")}))}
    boss = opened(make(tmp_path), roles, "boss")
    boss.branch_create("secret")
    for team in ("red", "blue"):
        boss.mutate(
            f'query a() {{ update Person set {{ team: "{team}" }} where email = "cy" }}',
            branch="secret",
        )
    for name in ("left", "right"):
        boss.branch_create(name, from_="secret")
        boss.mutate(
            f'query a() {{ update Person set {{ team: "{name}" }} where email = "cy" }}',
            branch=name,
        )
    then = boss.commits(branch="secret")[0]
    GOING_BACK[way](boss, then)
    with pytest.raises(PolicyDenied) as told:
        GOING_BACK[way](boss.as_actor("stranger"), then)
    assert "it was made on a branch that may not be read" in str(told.value)
    assert "secret" not in json.dumps(error_json(told.value))


@pytest.mark.parametrize("into", ["main", "secret/other", "nowhere"])
def test_a_hidden_branch_can_be_merged_no_more_than_one_that_is_missing(
    secretive: Graph, into: str
) -> None:
    said = set()
    for source in ("secret/there", "secret/missing"):
        with pytest.raises(OmnigraphError) as told:
            secretive.as_actor("stranger").branch_merge(source, into=into)
        said.add((type(told.value), told.value.render().replace(source, "?")))
    assert len(said) == 1


@pytest.mark.parametrize("way", MAKING)
@pytest.mark.parametrize("name", ["secret/there/more", "secret"])
def test_a_name_that_a_hidden_branch_takes_is_denied_as_a_rule_denies_one(
    secretive: Graph, name: str, way: str
) -> None:
    with pytest.raises(BranchExists, match="secret/there"):
        MAKING[way](secretive, name, "main")
    with pytest.raises(PolicyDenied) as taken:
        MAKING[way](secretive.as_actor("stranger"), name, "main")
    with pytest.raises(PolicyDenied) as denied:
        MAKING[way](secretive.as_actor("builder"), "closed/one", "main")
    told = taken.value.render().replace(name, "closed/one").replace("stranger", "builder")
    assert told == denied.value.render()


def test_the_name_of_a_hidden_branch_is_denied_as_well(secretive: Graph) -> None:
    with pytest.raises(PolicyDenied) as denied:
        secretive.as_actor("stranger").branch_create("secret/there")
    assert denied.value.reason is None
    with pytest.raises(BranchExists):
        secretive.branch_create("secret/there")


def test_a_head_is_read_by_the_rules_of_its_branch_however_it_is_named(tmp_path: Path) -> None:
    """It was made on main, and is the head of `open` until that is written."""
    boss = opened(make(tmp_path), ROLES, "boss")
    boss.branch_create(OPEN)
    was = head(boss)
    red, stranger = boss.as_actor("red"), boss.as_actor("stranger")
    everybody, reds = [{"n": 4}], [{"n": 2}]
    assert red.query(ASK, branch=OPEN, snapshot=was).to_pylist() == everybody
    assert stranger.query(ASK, branch=OPEN, snapshot=was).to_pylist() == everybody
    assert red.query(ASK, snapshot=was).to_pylist() == reds
    assert red.query(ASK, branch="main", snapshot=was).to_pylist() == reds
    boss.mutate('query d() { delete Person where email = "cy" }', branch=OPEN)
    assert red.query(ASK, branch=OPEN, snapshot=was).to_pylist() == reds
    for branch in (None, "main", OPEN):
        with pytest.raises(PolicyDenied):
            stranger.query(ASK, branch=branch, snapshot=was)


def ids_around(graph: Graph) -> list[str]:
    """By pages of one."""
    found, token = [], None
    while True:
        page = graph.neighborhood("Team", "blue", branch=OPEN, limit=1, page_token=token)
        found += [node.id for node in page.nodes]
        if (token := page.next_page_token) is None:
            return sorted(found)


def ids_changed(graph: Graph) -> list[str]:
    found, token = [], None
    while True:
        asked = CompareRead(
            from_="before",
            to=OPEN,
            filter=ChangeFilter.of(["Person"], None, None),
            limit=1,
            page_token=token,
            actor=graph.backend.actor,
        )
        page = graph.backend.run(compare, asked)
        found += [change.id for change in page.changes]
        if (token := page.next_page_token) is None:
            return sorted(found)


def test_all_pages_of_a_branch_go_by_its_rules(tmp_path: Path) -> None:
    boss = opened(make(tmp_path), ROLES, "boss")
    boss.branch_create("before", from_=boss.commits()[-1].graph_commit_id)
    boss.branch_create(OPEN)
    for actor in ("boss", "red", "clerk", "stranger"):
        graph = boss.as_actor(actor)
        assert ids_around(graph) == ["cy", "di"], actor
        assert ids_changed(graph) == ["ada", "bo", "cy", "di"], actor


def test_who_sees_an_entity_on_a_branch_alone_is_told_no_history_of_it(tmp_path: Path) -> None:
    boss = opened(make(tmp_path), ROLES, "boss")
    boss.branch_create(OPEN)
    red = boss.as_actor("red")
    told = red.entity_history("node", "Person", "cy", branch=OPEN)
    assert (told.entries, told.ends) == ((), "hidden")
    for branch in (OPEN, "main"):
        with pytest.raises(EntityMissing):
            red.entity_history("node", "Person", "nobody", branch=branch)
    with pytest.raises(EntityMissing):
        red.entity_history("node", "Person", "cy")


def test_what_changed_since_two_branches_parted_is_shown_by_the_rules_of_where_they_did(
    boss: Graph,
) -> None:
    """Both came from main, and are seen whole. What one of them deleted was on main."""
    for name in ("left", "right"):
        boss.branch_create(name)
    boss.mutate('query d() { delete Person where email = "cy" }', branch="right")
    boss.mutate('query d() { delete Person where email = "ada" }', branch="right")

    def gone(actor: str) -> list[str]:
        changes = boss.as_actor(actor).diff("left", "right", since_base=True, types=["Person"])
        return sorted(change["id"] for change in changes)

    assert gone("boss") == ["ada", "cy"]
    assert gone("red") == gone("careful") == ["ada"]
    with pytest.raises(PolicyDenied):
        gone("stranger")
    with pytest.raises(NameMissing):
        gone("guest")


def test_a_table_that_is_seen_in_part_does_not_tell_where_it_was_written(tmp_path: Path) -> None:
    boss = opened(make(tmp_path), {"red": Role(RED)}, "boss")
    boss.branch_create("side")

    def told(actor: str) -> object:
        tables = boss.as_actor(actor).tables("side").datasets
        return [t for t in tables if t.type_name in ("Person", "Knows", "In")]

    before = told("red"), told("boss")
    boss.mutate('query a() { update Person set { salary: 99 } where email = "cy" }', branch="side")
    assert told("red") == before[0] and told("boss") != before[1]


def test_a_diff_does_not_tell_whether_a_branch_that_may_not_be_read_is_there(
    tmp_path: Path,
) -> None:
    policy = tmp_path / "policy.yaml"
    rule = "{actors: [bo], actions: [read], branch_scope: protected}"
    policy.write_text(
        f"version: 1\nprotected_branches: [main]\nrules:\n  - {{id: r, allow: {rule}}}\n"
    )
    graph = Graph.init(tmp_path / "g.omni", "node Person { name: String @key }")
    graph.branch_create("side")
    bo = Graph.open(graph.uri, policy=policy, actor="bo")
    said = set()
    for name in ("side", "sidf"):
        with pytest.raises(PolicyDenied) as told:
            bo.diff("main", name)
        said.add(told.value.message.replace(name, "?"))
    assert len(said) == 1
