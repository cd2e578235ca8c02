"""Who may do what: grants with groups and branches, as existing bundles write them, and denials."""

import pytest

from omnigraph.engine.gate import Action
from omnigraph.policy.actions import ACTIONS
from omnigraph.policy.policy import Policy
from tests.policy.bundles import catalog, fitted, one_rule, policy

BUNDLE = """
version: 1
groups:
  team: [act-andrew, act-bruno]
  admins: [act-andrew]
protected_branches: [main]
rules:
  - id: team-read
    allow:
      actors: { group: team }
      actions: [read]
      branch_scope: any
  - id: team-write
    allow:
      actors: { group: team }
      actions: [change]
      branch_scope: unprotected
  - id: admins-promote
    allow:
      actors: { group: admins }
      actions: [branch_merge]
      target_branch_scope: protected
  - id: admins-list
    allow:
      actors: { group: admins }
      actions: [graph_list, admin, invoke_query]
"""


@pytest.mark.parametrize(
    ("actor", "action", "branch", "target", "rules"),
    [
        ("act-bruno", "read", "main", None, ("team-read",)),
        ("act-bruno", "read", None, None, ("team-read",)),
        ("act-bruno", "change", "feature", None, ("team-write",)),
        ("act-bruno", "change", "main", None, None),
        ("act-bruno", "change", None, None, None),
        ("act-bruno", "export", "main", None, None),
        ("act-andrew", "branch_merge", "feature", "main", ("admins-promote",)),
        ("act-andrew", "branch_merge", "main", "feature", None),
        ("act-bruno", "branch_merge", "feature", "main", None),
        ("act-andrew", "branch_delete", "main", None, None),
        ("act-andrew", "graph_list", None, None, ("admins-list",)),
        ("act-andrew", "admin", "main", None, ("admins-list",)),
        ("act-bruno", "graph_list", None, None, None),
        ("act-stranger", "read", "main", None, None),
        ("team", "read", "main", None, None),
        ("ACT-BRUNO", "read", "main", None, None),
        ("", "read", "main", None, None),
        (None, "read", "main", None, None),
    ],
)
def test_an_existing_bundle_decides_as_it_did(
    actor: str | None,
    action: str,
    branch: str | None,
    target: str | None,
    rules: tuple[str, ...] | None,
) -> None:
    decision = fitted(yaml=BUNDLE).decide(
        actor=actor, action=action, branch=branch, target_branch=target
    )
    assert decision.allowed is (rules is not None)
    assert decision.rules == (rules or ())
    assert decision.reason


def test_grants_without_row_rules_show_all_rows_or_none() -> None:
    asked = fitted(yaml=BUNDLE)
    assert not asked.sight(actor="act-bruno", action="read", branch="main").rows
    assert not asked.sight(actor="act-bruno", action="change", branch="feature").rows
    every = {entity.name for entity in catalog().entities}
    assert asked.sight(actor="act-bruno", action="change", branch="main").hidden_types == every
    assert asked.sight(actor="act-stranger", action="read", branch="main").hidden_types == every


@pytest.mark.parametrize("action", ["schema_apply", "branch_create", "branch_delete"])
def test_what_is_done_to_a_branch_itself_is_about_the_target(action: str) -> None:
    asked = fitted(yaml=one_rule(actions=f"[{action}]", target_branch_scope="unprotected"))
    assert asked.decide(actor="ada", action=action, branch="x").allowed
    assert asked.decide(actor="ada", action=action, branch="main", target_branch="x").allowed
    assert not asked.decide(actor="ada", action=action, branch="main").allowed
    assert not asked.decide(actor="ada", action=action, branch="x", target_branch="main").allowed
    assert not asked.decide(actor="ada", action=action, branch=None).allowed


SCOPES = [
    ("allow", "any", {"main": True, "x": True, None: True}),
    ("allow", "protected", {"main": True, "x": False, None: False}),
    ("allow", "unprotected", {"main": False, "x": True, None: False}),
    ("deny", "any", {"main": False, "x": False, None: False}),
    ("deny", "protected", {"main": False, "x": True, None: False}),
    ("deny", "unprotected", {"main": True, "x": False, None: False}),
]


@pytest.mark.parametrize(("effect", "scope", "expected"), SCOPES)
def test_without_a_branch_an_allow_with_a_scope_does_not_apply_and_a_deny_does(
    effect: str, scope: str, expected: dict[str | None, bool]
) -> None:
    text = one_rule(effect, branch_scope=scope)
    if effect == "deny":
        text += "  - {id: all, allow: {actors: everyone, actions: [read]}}\n"
    asked = fitted(yaml=text)
    for branch, is_allowed in expected.items():
        assert asked.decide(actor="ada", action="read", branch=branch).allowed is is_allowed


def test_a_deny_wins_over_every_allow_and_names_its_rule() -> None:
    text = one_rule("deny", actors="[ada]") + (
        "  - {id: team, allow: {actors: {group: team}, actions: [read, change]}}\n"
        "  - {id: everyone, allow: {actors: everyone, actions: [read]}}\n"
    )
    asked = fitted(yaml=text)
    denied = asked.decide(actor="ada", action="read", branch="main")
    assert (denied.allowed, denied.rules) == (False, ("r",)) and "rule r denies" in denied.reason
    allowed = asked.decide(actor="bo", action="read", branch="main")
    assert (allowed.allowed, set(allowed.rules)) == (True, {"team", "everyone"})
    assert "allow it" in allowed.reason
    assert asked.decide(actor="ada", action="change", branch="main").allowed
    assert asked.decide(actor="stranger", action="read", branch="main").rules == ("everyone",)


def test_groups_of_groups_and_lists_of_actors_and_groups() -> None:
    text = """
version: 1
groups:
  company: [{group: red}, {group: blue}, zoe]
  red: [ada, {group: interns}]
  blue: [bo]
  interns: [ian]
rules:
  - {id: all, allow: {actors: {group: company}, actions: [read]}}
  - {id: some, allow: {actors: [bo, {group: red}], actions: [change]}}
"""
    asked = fitted(yaml=text)

    def may(action: str) -> list[str]:
        actors = ["ada", "bo", "ian", "zoe", "eve"]
        return [a for a in actors if asked.decide(actor=a, action=action, branch="b").allowed]

    assert may("read") == ["ada", "bo", "ian", "zoe"]
    assert may("change") == ["ada", "bo", "ian"]


def test_a_rule_can_look_at_the_actor_the_branch_and_the_query() -> None:
    cedar = """
@id("level") permit (principal, action == Omnigraph::Action::"change", resource)
when { principal has level && principal.level >= 3 };
@id("own branch") permit (principal, action == Omnigraph::Action::"branch_create", resource)
when { context has target_branch && context.target_branch like "agent/*" };
@id("query") permit (principal, action == Omnigraph::Action::"invoke_query", resource)
when { context has query && ["find", "list"].contains(context.query) };
"""
    asked = fitted(yaml="version: 1\nactors: {ada: {level: 3}, bo: {level: 2}}\n", cedar=cedar)
    assert asked.decide(actor="ada", action="change", branch="main").rules == ("level",)
    assert not asked.decide(actor="bo", action="change", branch="main").allowed
    assert not asked.decide(actor="stranger", action="change", branch="main").allowed
    assert asked.decide(actor="bo", action="branch_create", branch="agent/1").allowed
    assert not asked.decide(actor="bo", action="branch_create", branch="main").allowed
    assert asked.decide(actor="bo", action="invoke_query", branch="main", query="find").allowed
    assert not asked.decide(actor="bo", action="invoke_query", branch="main", query="x").allowed


@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_a_rule_that_fails_denies(effect: str) -> None:
    too_much = "principal.level + 9223372036854775807 > 3"
    text = one_rule(effect, actors="[ada]", when=f"'{too_much}'")
    text += "  - {id: all, allow: {actors: everyone, actions: [read]}}\n" * (effect == "deny")
    decision = fitted(yaml=text).decide(actor="ada", action="read", branch="main")
    assert not decision.allowed and "failed" in decision.reason


def test_every_action_of_the_engine_is_an_action_of_policies() -> None:
    assert {action.value for action in Action} <= set(ACTIONS)


def test_equal_bundles_are_equal_and_a_policy_is_fitted_once_for_a_schema() -> None:
    one, other = policy(BUNDLE), policy(BUNDLE)
    assert one == other and len({one, other}) == 1
    assert one.digest != policy(BUNDLE + "\n").digest
    assert one.fitted(catalog(), "a") is one.fitted(catalog(), "a")
    assert one.fitted(catalog(), "a") is not one.fitted(catalog(), "b")


def test_a_bundle_without_rules_denies_everything() -> None:
    empty: Policy = policy("version: 1\n")
    decision = empty.fitted(catalog(), "a").decide(actor="ada", action="read", branch="main")
    assert not decision.allowed
