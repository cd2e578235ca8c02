"""What is wrong with a policy is told before it is used: code, file and line; or it denies."""

import json
from pathlib import Path

import pytest

from omnigraph.base.errors import FileMissing, PolicyInvalid
from omnigraph.base.span import SourceText
from omnigraph.policy.codes import CODES
from omnigraph.policy.policy import Policy
from tests.policy.bundles import catalog, findings, fitted, one_rule, policy

HEAD = "version: 1\ngroups: {team: [ada]}\n"

# The file, the code, the line, and words of the message or hint.
YAML = [
    ("", "A004", 1, "a policy is a mapping"),
    ("[1]", "A004", 1, "a policy is a mapping"),
    ("version: 1\nrules: [", "A001", 2, "not valid YAML"),
    ("version: 1\nversion: 1\n", "A001", 2, "comes twice"),
    ("version: 1\ngroups: &g {team: [ada]}\n", "A001", 2, "anchors"),
    ("version: 1\ngroups: {team: [no]}\n", "A001", 2, "boolean"),
    ("version: 1\ngroups:\n  on: [ada]\n", "A001", 3, "boolean"),
    ("version: 1\n---\nversion: 1\n", "A001", 2, "second"),
    ('version: 1\ngroups: {team: ["\\ud800"]}\n', "A001", 2, "half a character"),
    ("groups: {}\n", "A003", 1, "version"),
    ("version: 2\n", "A004", 1, "version of a policy is 1"),
    ("version: true\n", "A004", 1, "version of a policy is 1"),
    ("version: 1\nrulez: []\n", "A003", 2, "did you mean rules?"),
    ("version: 1\ngroups: {team: []}\n", "A004", 2, "empty"),
    ("version: 1\ngroups: {team: [3]}\n", "A004", 2, "text"),
    ("version: 1\ngroups: {team: ['']}\n", "A004", 2, "not empty"),
    ("version: 1\ngroups: {team: [everyone]}\n", "A004", 2, "everyone is no actor"),
    ("version: 1\ngroups: {team: [{grup: x}]}\n", "A003", 2, "did you mean group?"),
    ("version: 1\ngroups:\n  a: [{group: b}]\n", "A007", 3, "no group b"),
    ("version: 1\ngroups:\n  a: [{group: a}]\n", "A008", 3, "member of itself"),
    (
        "version: 1\ngroups:\n  a: [{group: b}]\n  b: [{group: c}]\n  c: [{group: a}]\n",
        "A008",
        3,
        "member of itself",
    ),
    ("version: 1\nactors:\n  ada: {level: 1.5}\n", "A010", 3, "whole number"),
    ("version: 1\nactors:\n  ada: {level: 9223372036854775808}\n", "A010", 3, "64 bits"),
    ("version: 1\nactors:\n  ada: {level: ~}\n", "A010", 3, "no value that rules can compare"),
    ("version: 1\nactors:\n  ada: {tags: [a, 1]}\n", "A010", 3, "list of texts"),
    ("version: 1\nactors:\n  ada: {id: x}\n", "A010", 3, "name of the actor"),
    ("version: 1\nactors:\n  ada: {x: 1}\n  bo: {x: a}\n", "A010", 4, "another type"),
    ("version: 1\nprotected_branches: ['release/*']\n", "A004", 2, "whole name"),
    ("version: 1\nprotected_branches: main\n", "A004", 2, "list"),
    (f"{HEAD}rules:\n  - id: a\n", "A003", 4, "allow or deny"),
    (f"{HEAD}rules:\n  - id: a\n    allow: {{}}\n    deny: {{}}\n", "A003", 4, "allow or deny"),
    (f"{HEAD}rules:\n  - allow: {{}}\n", "A003", 4, "needs id"),
    (f"{HEAD}rules:\n  - id: a\n    allow: {{actions: [read]}}\n", "A003", 5, "needs actors"),
    (f"{HEAD}rules:\n  - {{id: 7, allow: {{}}}}\n", "A004", 4, "quotes"),
    (one_rule(actors="{group: tem}"), "A007", 8, "did you mean team?"),
    (one_rule(actors="ada"), "A004", 8, "a group, a list, or everyone"),
    (one_rule(actors="[everyone]"), "A004", 8, "without brackets"),
    (one_rule(actors="[]"), "A004", 8, "empty"),
    (one_rule(actions="[reed]"), "A006", 9, "did you mean read?"),
    (one_rule(actions="[run_publish]"), "A006", 9, "no action run_publish"),
    (one_rule(actions="[read, read]"), "A004", 9, "comes twice"),
    (one_rule(actions="read"), "A004", 9, "list"),
    (one_rule(actions="[]"), "A004", 9, "empty"),
    (one_rule(actions="[schema_apply]", types="[Person]"), "A006", 9, "not done to rows"),
    (one_rule(branch_scope="protectd"), "A009", 10, "did you mean protected?"),
    (one_rule(target_branch_scope="any"), "A009", 10, "does not go with read"),
    (one_rule(actions="[branch_merge]", branch_scope="any"), "A009", 10, "target_branch_scope"),
    (one_rule(actions="[graph_list]", branch_scope="any"), "A009", 10, "leave it out"),
    (one_rule(branch_scope="any", target_branch_scope="any"), "A009", 10, "not both"),
    (one_rule(colour="red"), "A003", 10, "a rule has no colour"),
    (one_rule(types="[Persn]"), "A012", 10, "did you mean Person?"),
    (one_rule(types="[]"), "A004", 10, "empty"),
    (one_rule(types="[knows]"), "A012", 10, "did you mean Knows?"),
    (one_rule(types="[Person]", when="resource.tem == 'red'"), "A011", 11, "can't be read"),
    (one_rule(types="[Person]", when="resource.team = principal.team"), "A011", 11, "'='"),
    (one_rule(types="[Person]", when="'resource.age < 1.5'"), "A011", 11, "can't be read"),
    (one_rule(types="[Person]", when="resource.age == 9223372036854775808"), "A011", 11, "large"),
    (one_rule(types="[Person]", when="3"), "A004", 11, "text"),
    (one_rule(types="[Person]", when="''"), "A004", 11, "not empty"),
    (
        one_rule(types="[Person]", when="true }; permit(principal, action, resource) when { true"),
        "A011",
        11,
        "not one policy",
    ),
    (one_rule(types="[Person]", when="false } unless { false"), "A011", 11, "one expression"),
    (one_rule(types="[Person]", when="(" * 5000 + "true" + ")" * 5000), "A011", 11, "nested"),
    (one_rule(types="[Person]", when='resource.tem == "red"'), "A013", 11, "did you mean team?"),
    (one_rule(types="[Person]", when="resource has tem"), "A013", 11, "did you mean team?"),
    (one_rule(types="[Person, Note]", when="resource.age > 3"), "A013", 11, "Note has no"),
    (one_rule(types="[Person]", when='resource.kind == "staf"'), "A013", 11, "did you mean staff?"),
    (one_rule(types="[Person]", when="'[\"gest\"].contains(resource.kind)'"), "A013", 11, "guest"),
    (one_rule(types="[Person]", when="principal.teem == resource.team"), "A014", 11, "team"),
    (one_rule(types="[Person]", when='context.branhc == "x"'), "A014", 11, "branch"),
    (one_rule(when='resource.team == "red"'), "A003", 10, "needs types"),
    (one_rule(types="[Person]", when="resource.team == 3"), "A015", 11, "not compatible"),
    (one_rule(types="[Person]", when='resource.team < "b"'), "A015", 11, "Long"),
    (one_rule(types="[Person]", when="resource.age"), "A015", 11, "Bool"),
    (one_rule(types="[Person]", when="resource.score == 3"), "A016", 11, "F64"),
    (one_rule(types="[Person]", when="resource has born"), "A016", 11, "Date"),
    (one_rule(types="[Person]", when="resource.age + 1 < 3"), "A016", 11, "compares a property"),
    (one_rule(types="[Person]", when="resource.tags == principal.tags"), "A016", 11, "list"),
    (one_rule(types="[Person]", when="principal.tags.containsAll(resource.tags)"), "A016", 11, ""),
    (one_rule(types="[Person]", when='\'["a", resource.team].contains("a")\''), "A016", 11, ""),
    (one_rule(types="[Person]", when="resource.ok == (resource.age < 3)"), "A016", 11, ""),
    (one_rule(types="[Person]", when='principal in Group::"temm"'), "A007", 11, "no group temm"),
    (one_rule(types="[Person]", when='resource in Graph::"other"'), "A018", 11, "root"),
    (one_rule(types="[Person]", when='resource == Persn::"ada"'), "A012", 11, "Person"),
    (one_rule("deny", types="[Person]", properties="[salry]"), "A013", 11, "salary"),
    (one_rule("deny", types="[Person]", properties="[email]"), "A017", 11, "key"),
    (one_rule("deny", types="[Person]", properties="[id]"), "A017", 11, "can't be hidden"),
    (one_rule("deny", types="[Knows]", properties="[from]"), "A017", 11, "can't be hidden"),
    (one_rule("deny", properties="[salary]"), "A003", 10, "needs types"),
    (one_rule("allow", types="[Person]", properties="[salary]"), "A017", 11, "deny"),
    (
        one_rule("deny", types="[Person]", properties="[salary]", unless='resource.team == "red"'),
        "A017",
        12,
        "in all rows or in none",
    ),
]

CEDAR = [
    ("permit(principal, action, resource)", "A011", 1, "unexpected end"),
    ("\n\npermit(principal, action resource);", "A011", 3, "unexpected"),
    ("permit(principal, action, resource) when { resource.x };", "A015", 1, "not found"),
    ('permit(principal == ?principal, action, resource);', "A011", 1, "template"),
    ('permit(principal in Omnigraph::Group::"x", action, resource);', "A007", 1, "no group x"),
    ('permit(principal in Group::"x", action, resource);', "A015", 1, "Group"),
    ('permit(principal, action == Omnigraph::Action::"reed", resource);', "A015", 1, "reed"),
    ("permit(principal, action, resource is Row::Persn);", "A015", 1, "Persn"),
    (
        "permit(principal, action, resource is Row::Person) when { resource.age > 3 };",
        "A015",
        1,
        "optional attribute",
    ),
    ('permit(principal, action, resource == Omnigraph::Graph::"g");', "A018", 1, "root"),
    (
        'forbid(principal, action, resource == Omnigraph::Property::"Person.pay");',
        "A013",
        1,
        "no property Person.pay",
    ),
    ("permit(principal, action, resource is Omnigraph::Property);", "A017", 1, "forbid"),
    (
        "permit(principal, action, resource is Row::Person)\n"
        "when { resource has age && resource.age + 1 > 3 };",
        "A016",
        1,
        "test of rows",
    ),
    ('@id("a") permit(principal, action, resource);\n' * 2, "A005", 2, "rules.cedar:1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "words"), YAML)
def test_a_wrong_file_of_yaml_is_refused_with_its_line(
    text: str, code: str, line: int, words: str
) -> None:
    found = findings(yaml=text)
    assert [(c, n) for c, n, _ in found if c == code][:1] == [(code, line)], found
    assert any(words in said for c, n, said in found if (c, n) == (code, line)), found


@pytest.mark.parametrize(("text", "code", "line", "words"), CEDAR)
def test_a_wrong_file_of_cedar_is_refused_with_its_line(
    text: str, code: str, line: int, words: str
) -> None:
    found = findings(cedar=text)
    assert [(c, n) for c, n, _ in found][:1] == [(code, line)], found
    assert words in found[0][2]


def test_every_code_is_told_by_some_file() -> None:
    told = {code for _, code, _, _ in [*YAML, *CEDAR]}
    # A002 is about which files there are.
    assert told | {"A002"} == set(CODES)


def test_all_findings_of_all_files_arrive_together() -> None:
    yaml = one_rule(actors="{group: nobody}", types="[Person]", when="resource.age <")
    with pytest.raises(PolicyInvalid) as invalid:
        policy(yaml, "permit(")
    told = [(f.source.name, f.diagnostic.code) for f in invalid.value.findings]
    assert sorted(told) == [
        ("policy.yaml", "A007"),
        ("policy.yaml", "A011"),
        ("rules.cedar", "A011"),
    ]
    assert invalid.value.details["findings"][0].keys() >= {"file", "line", "column", "code", "hint"}
    assert "policy.yaml:8:23" in invalid.value.render()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "no file was given"),
        (("a.yaml", "b.yaml"), "one file of YAML"),
        (("a.json",), "ends in"),
    ],
)
def test_a_bundle_is_one_file_of_yaml_at_most(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(PolicyInvalid) as invalid:
        Policy.of_text(*(SourceText("version: 1\n", name) for name in names))
    (found,) = invalid.value.findings
    assert found.diagnostic.code == "A002" and words in found.diagnostic.message


def test_a_file_that_is_not_there_is_missing_and_one_that_is_no_text_is_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(FileMissing):
        Policy.read(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_bytes(b"version: \xff\n")
    with pytest.raises(PolicyInvalid) as invalid:
        Policy.read(broken)
    assert invalid.value.findings[0].diagnostic.code == "A001"


HOSTILE = [
    'e"ve',
    "new\nline",
    "back\\slash",
    '"); permit(principal, action, resource); //',
    'x" || true || "',
    'Omnigraph::Actor::"ada"',
    "everyone\0",
    "\u202eada",
    "*",
    "?principal",
    "é😀",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_only_a_name(name: str) -> None:
    group, actor, rule = (json.dumps(f"{p}{name}", ensure_ascii=False) for p in ("g", "", "r"))
    text = (
        f"version: 1\ngroups: {{team: [ada], {group}: [{actor}]}}\nrules:\n"
        f"  - id: {rule}\n    allow: {{actors: {{group: {group}}}, actions: [read]}}\n"
    )
    asked = fitted(yaml=text)
    own = asked.decide(actor=name, action="read", branch=name)
    assert own.allowed and own.rules == (f"r{name}",)
    assert not asked.sight(actor=name, action="read", branch=name).rows
    for other in ("ada", "eve", f"g{name}", f"{name} "):
        assert not asked.decide(actor=other, action="read", branch="main").allowed
        assert asked.sight(actor=other, action="read", branch="main").hidden_types
    assert not asked.decide(actor=name, action="change", branch="main").allowed


def test_a_name_that_is_no_text_for_cedar_is_denied() -> None:
    asked = fitted(yaml=one_rule())
    assert asked.decide(actor="ada", action="read", branch="main").allowed
    for actor in ("\ud800", "", None):
        assert not asked.decide(actor=actor, action="read", branch="main").allowed
        sight = asked.sight(actor=actor, action="read", branch="main")
        assert sight.hidden_types == {entity.name for entity in catalog().entities}


def test_a_bundle_for_another_schema_is_refused_by_that_schema_alone() -> None:
    bundle = policy(one_rule("deny", types="[Person]", when="resource.age > 3"))
    bundle.fitted(catalog(), "one")
    with pytest.raises(PolicyInvalid) as invalid:
        bundle.fitted(catalog("node Person { email: String @key }"), "other")
    assert invalid.value.findings[0].diagnostic.code == "A013"
    bundle.fitted(catalog(), "one")
