"""Who may merge into main: the merge, its preview, a review, `GET /me` and `policy test` agree.

The verdict that is expected comes from a table of a few words, written down beside the rules.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.engine.policies import explain
from omnigraph.engine.policy_cases import try_cases
from omnigraph.engine.settings import Settings
from omnigraph.errors import PolicyDenied
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.policy.policy import Policy
from omnigraph.surfaces.server.access import UnderPolicy
from omnigraph.surfaces.server.tokens import Tokens
from tests.policy.firm import make
from tests.surfaces.server.world import G, serve_here

IN_FILES = Settings(load_engine="local", load_limits=LoadLimits(max_merged_bytes=0))
RED = 'resource.team == "red"'


@dataclass(frozen=True)
class Rights:
    """What the rules of an actor let them do on main, and of which rows."""

    rules: str
    merges: frozenset[str] = frozenset()
    """The teams whose people they may merge."""
    changes: frozenset[str] = frozenset()
    merges_all: bool = False
    """True if no rule about rows limits their merges."""


TEAMS = frozenset({"red", "blue"})
ACTORS = {
    "ada": Rights("  - {id: ada, allow: {actors: [ada], actions: [change]}}", changes=TEAMS),
    "grace": Rights(
        "  - {id: grace, allow: {actors: [grace], actions: [branch_merge]}}",
        merges=TEAMS,
        merges_all=True,
    ),
    "mia": Rights(
        "  - {id: mia, allow: {actors: [mia], actions: [branch_merge]}}\n"
        f"  - {{id: mia-red, deny: {{actors: [mia], actions: [branch_merge], types: [Person],"
        f" unless: '{RED}'}}}}",
        merges=frozenset({"red"}),
    ),
    "nil": Rights(
        "  - {id: nil, allow: {actors: [nil], actions: [branch_merge], types: [Person],"
        f" when: '{RED}'}}}}",
        merges=frozenset({"red"}),
    ),
    "oda": Rights(
        "  - {id: oda, allow: {actors: [oda], actions: [branch_merge, change]}}\n"
        f"  - {{id: oda-red, deny: {{actors: [oda], actions: [change], types: [Person],"
        f" unless: '{RED}'}}}}",
        merges=TEAMS,
        changes=frozenset({"red"}),
        merges_all=True,
    ),
    "pia": Rights(
        "  - {id: pia, allow: {actors: [pia], actions: [branch_merge]}}\n"
        "  - {id: pia-work, deny: {actors: [pia], actions: [branch_merge], types: [Person],"
        ' when: \'context.branch == "work" && resource.team == "blue"\'}}',
        merges=frozenset({"red"}),
    ),
    "eve": Rights(""),
}
READS = "  - {id: reads, allow: {actors: everyone, actions: [read, export]}}\n"
BOSS = (
    "  - {id: boss, allow: {actors: [boss], "
    "actions: [change, branch_create, branch_merge, branch_delete]}}\n"
)
POLICY = (
    "version: 1\nprotected_branches: [main]\nrules:\n"
    + READS
    + BOSS
    + "\n".join(rights.rules for rights in ACTORS.values() if rights.rules)
    + "\n"
)
ROWS: Mapping[str, tuple[str, str]] = {"red": ("ada", "red"), "blue": ("cy", "blue")}


def set_name(email: str, name: str) -> str:
    return f'query u() {{ update Person set {{ name: "{name}" }} where email = "{email}" }}'


@pytest.fixture
def policy() -> Policy:
    return Policy.of_text(SourceText(POLICY, "policy.yaml"))


@pytest.fixture
def boss(tmp_path: Path, policy: Policy, request: pytest.FixtureRequest) -> Graph:
    make(tmp_path).close()
    return Graph.open(
        tmp_path / "g.omni",
        durability="relaxed",
        policy=policy,
        actor="boss",
        settings=getattr(request, "param", None),
    )


def people(graph: Graph) -> Any:
    asked = "query q() { match { $p: Person } return { $p.email, $p.name } }"
    return sorted(map(str, graph.as_actor("boss").query(asked).to_pylist()))


def is_done(graph: Graph, call: Any) -> bool:
    """Carry it out. A denial leaves main as it was."""
    before = people(graph)
    try:
        call()
    except PolicyDenied:
        assert people(graph) == before
        return False
    return True


def in_case(graph: Graph, policy: Policy, actor: str, team: str, action: str) -> bool:
    """The verdict of `policy test` about a row of the team."""
    where = {"branch": "work", "target_branch": "main"}
    case = {
        "id": "c",
        "actor": actor,
        "action": action,
        **(where if action == "branch_merge" else {"branch": "main"}),
        "type": "Person",
        "row": {"team": team},
        "expect": "allow",
    }
    text = json.dumps({"version": 1, "cases": [case]})
    (found,) = try_cases(policy, graph.schema().catalog, SourceText(text, "cases.yaml"))
    return found.decision.allowed


def rights_of(graph: Graph, policy: Policy, actor: str) -> dict[str, Any]:
    """What `GET /me` says of the branch `work`."""
    tokens = Tokens.of({actor: "t"})
    schema = graph.schema()
    access = UnderPolicy(tokens, policy.fitted(schema.catalog, "hash"))
    served = serve_here(graph, access=access)
    told = served.get(f"{G}/me", headers={"Authorization": "Bearer t"}).json()
    (branch,) = [each for each in told["branches"] if each["name"] == "work"]
    return dict(branch)


KINDS = ("fast_forward", "merged")


@pytest.mark.pairs
@pytest.mark.parametrize("boss", [None, IN_FILES], ids=["memory", "files"], indirect=True)
@pytest.mark.parametrize(("kind", "team", "actor"), [*product(KINDS, ROWS, ACTORS)])
def test_all_doors_give_the_verdict_of_the_merge(
    boss: Graph, policy: Policy, kind: str, team: str, actor: str
) -> None:
    rights, (email, _) = ACTORS[actor], ROWS[team]
    boss.branch_create("work")
    boss.mutate(set_name(email, "New"), branch="work")
    if kind == "merged":
        boss.mutate(set_name("bo", "Other"))
    graph = boss.as_actor(actor)
    may = team in rights.merges

    preview = graph.branch_merge("work", preview=True)
    assert preview.outcome == kind and preview.counts["Person"].updated == 1
    assert (preview.refusal is None) == may
    assert preview.refusal is None or preview.refusal in str(preview)
    assert graph.review("work").refusal == preview.refusal
    assert in_case(boss, policy, actor, team, "branch_merge") == may
    mine = rights_of(boss, policy, actor)
    assert mine["merges_into"] == (["main"] if rights.merges_all else [])
    is_some = bool(rights.merges) and not rights.merges_all
    assert mine["merges_some_into"] == (["main"] if is_some else [])

    done: list[Any] = []
    assert is_done(boss, lambda: done.append(graph.branch_merge("work"))) == may
    assert not may or done[0].outcome == kind


@pytest.mark.parametrize(("team", "actor"), [*product(ROWS, ACTORS)])
def test_a_revert_is_judged_by_the_rules_of_change_and_so_is_its_preview(
    boss: Graph, policy: Policy, team: str, actor: str
) -> None:
    rights, (email, _) = ACTORS[actor], ROWS[team]
    commit = boss.mutate(set_name(email, "New")).commit
    assert commit is not None
    graph, may = boss.as_actor(actor), team in rights.changes
    preview = graph.revert(commit, preview=True)
    assert preview.counts["Person"].updated == 1 and (preview.refusal is None) == may
    assert in_case(boss, policy, actor, team, "change") == may
    assert is_done(boss, lambda: graph.revert(commit)) == may


@pytest.mark.parametrize("team", ROWS)
def test_a_row_is_judged_as_it_was_and_as_it_will_be(boss: Graph, team: str) -> None:
    """A row may neither leave the team of a rule nor come to it."""
    boss.branch_create("work")
    email, to = ("ada", "blue") if team == "red" else ("cy", "red")
    moved = f'update Person set {{ team: "{to}", salary: 7 }} where email = "{email}"'
    boss.mutate(f"query u() {{ {moved} }}", branch="work")
    for actor in ("mia", "nil", "pia"):
        graph = boss.as_actor(actor)
        assert graph.branch_merge("work", preview=True).refusal is not None
        assert not is_done(boss, lambda graph=graph: graph.branch_merge("work"))
    assert is_done(boss, lambda: boss.as_actor("grace").branch_merge("work"))


def test_conflicts_are_shown_to_those_who_see_them_and_may_not_merge(boss: Graph) -> None:
    boss.branch_create("work")
    for branch in ("main", "work"):
        boss.mutate(set_name("ada", branch), branch=branch)
    shown = boss.as_actor("eve").branch_merge("work", preview=True)
    assert shown.conflict_count == 1 and shown.refusal is not None
    settled = boss.as_actor("eve").branch_merge("work", preview=True, resolve="theirs")
    assert settled.conflict_count == 0 and settled.refusal is not None
    assert boss.as_actor("grace").branch_merge("work", resolve="theirs").outcome == "merged"


NARROW = """
version: 1
rules:
  - {id: all, allow: {actors: everyone, actions: [read, change, branch_merge, branch_create]}}
  - id: secret
    deny:
      actors: [ann]
      actions: [read]
      types: [Person]
      when: 'context.branch == "secret" && resource.team == "blue"'
"""


def test_no_door_lets_a_merge_bring_hidden_rows_into_sight(tmp_path: Path) -> None:
    make(tmp_path).close()
    policy = Policy.of_text(SourceText(NARROW, "policy.yaml"))
    boss = Graph.open(tmp_path / "g.omni", durability="relaxed", policy=policy, actor="boss")
    boss.branch_create("secret")
    boss.branch_create("work")
    boss.mutate(set_name("ada", "New"), branch="secret")
    ann, catalog = boss.as_actor("ann"), boss.schema().catalog
    case = "{id: c, actor: ann, action: branch_merge, branch: secret, target_branch: main, "
    text = f"version: 1\ncases:\n  - {case}expect: deny}}\n"
    (found,) = try_cases(policy, catalog, SourceText(text, "cases.yaml"))
    assert found.passed and "hidden" in found.decision.reason
    asked = {"actor": "ann", "action": "branch_merge", "branch": "secret"}
    assert not explain(policy, catalog, target_branch="main", **asked).is_allowed
    assert explain(policy, catalog, target_branch="secret", **asked).is_allowed
    tokens = Tokens.of({"ann": "t"})
    access = UnderPolicy(tokens, policy.fitted(catalog, "hash"))
    told = serve_here(boss, access=access).get(f"{G}/me", headers={"Authorization": "Bearer t"})
    into = {each["name"]: each["merges_into"] for each in told.json()["branches"]}
    assert into["secret"] == [] and "main" in into["work"]
    refusal = ann.branch_merge("secret", preview=True).refusal
    assert refusal is not None and "hidden where they come from" in refusal
    assert ann.review("secret").refusal == refusal
    with pytest.raises(PolicyDenied) as denied:
        ann.branch_merge("secret")
    assert denied.value.message == refusal


# The page -----------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs/user/policy.md"


def blocks_of_page() -> dict[str, str]:
    """The files of the page's example, by name."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL)
    return dict(found)


def test_the_example_of_the_page_lets_ada_work_and_grace_merge(tmp_path: Path) -> None:
    files = blocks_of_page()
    policy = Policy.of_text(SourceText(files["policy.yaml"], "policy.yaml"))
    graph = Graph.init(tmp_path / "firm.omni", files["firm.pg"], actor="founder")
    person = {"email": "ada", "team": "red", "kind": "staff"}
    graph.load([{"type": "Person", "data": person}], mode="append")
    grace = Graph.open(graph.uri, policy=policy, actor="grace")
    grace.branch_create("work")
    ada = grace.as_actor("ada")
    change = 'query q() { update Person set { kind: "guest" } where email = "ada" }'
    with pytest.raises(PolicyDenied):
        ada.mutate(change)
    with pytest.raises(PolicyDenied):
        grace.mutate(change)
    ada.mutate(change, branch="work")
    for actor in ("ada", "bo"):
        told = grace.as_actor(actor).branch_merge("work", preview=True)
        assert told.refusal is not None and "branch_merge" in told.refusal
        with pytest.raises(PolicyDenied):
            grace.as_actor(actor).branch_merge("work")
    assert grace.branch_merge("work", preview=True).refusal is None
    assert grace.branch_merge("work").outcome == "fast_forward"
    ask = "query q() { match { $p: Person } return { $p.kind as kind } }"
    assert grace.query(ask).to_pylist() == [{"kind": "guest"}]
