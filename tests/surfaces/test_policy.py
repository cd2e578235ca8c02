"""`omnigraph policy`: the worked example of its page, and what a wrong file looks like."""

import re
from pathlib import Path

import pytest

from omnigraph.policy.codes import CODES
from tests.surfaces.cli import CommandLine

PAGE = (Path(__file__).parents[2] / "docs/user/policy.md").read_text()
FILE = re.compile(r"`([\w.-]+)`:\n\n```(?:pg|yaml|cedar)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIRM = ("--policy", "policy.yaml", "--schema", "firm.pg")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, in the working directory."""
    found = FILE.findall(PAGE)
    assert {name for name, _ in found} == {"firm.pg", "policy.yaml", "cases.yaml", "more.cedar"}
    for name, contents in found:
        (tmp_path / name).write_text(contents)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_code_is_on_the_page() -> None:
    for code, meaning in CODES.items():
        assert f"| `{code}` | {meaning} |" in PAGE


def test_a_valid_policy_is_counted(files: Path, omnigraph: CommandLine) -> None:
    answer = omnigraph("policy", "validate", "policy.yaml", "more.cedar", "--schema", "firm.pg")
    assert (answer.exit_code, answer.out) == (0, "valid: 7 rules, 2 groups, 3 named actors\n")
    without = omnigraph("policy", "validate", "policy.yaml")
    assert without.exit_code == 0 and "were not checked" in without.err
    told = omnigraph("policy", "validate", "policy.yaml", "--schema", "firm.pg", "--json").json
    assert told["rules"][0] == "staff-read" and told["schema_checked"] is True
    assert len(told["digest"]) == 64


def test_findings_are_told_with_file_line_and_caret(files: Path, omnigraph: CommandLine) -> None:
    text = (files / "policy.yaml").read_text()
    (files / "policy.yaml").write_text(text.replace("resource.team ==", "resource.tem =="))
    arguments = ("policy", "validate", "policy.yaml", "--schema", "firm.pg")
    answer = omnigraph(*arguments)
    assert answer.exit_code == 1 and not answer.out
    assert "error[A013]: Person has no property tem\npolicy.yaml:19:15\n" in answer.err
    assert "hint: did you mean team?" in answer.err
    told = omnigraph(*arguments, "--json").json
    assert told["code"] == "policy_invalid"
    assert [
        (f["code"], f["file"], f["line"], f["column"]) for f in told["details"]["findings"]
    ] == [
        ("A013", "policy.yaml", 19, 15),
        ("A013", "policy.yaml", 19, 15),
    ]


def test_cases_pass_or_are_named_with_the_reason(files: Path, omnigraph: CommandLine) -> None:
    arguments = ("policy", "test", "cases.yaml", *FIRM)
    assert (omnigraph(*arguments).exit_code, omnigraph(*arguments).out) == (0, "")
    cases = (files / "cases.yaml").read_text()
    (files / "cases.yaml").write_text(
        cases.replace("expect: deny", "expect: allow").replace("row: {}", "row: {team: ~}")
    )
    answer = omnigraph(*arguments)
    assert answer.exit_code == 1 and answer.err == "7 cases, 5 failed\n"
    assert answer.out.splitlines() == [
        'and no other: expected allow, got deny: the row does not meet team = "red"',
        'without a team none: expected allow, got deny: the row does not meet team = "red"',
        "no salaries: expected allow, got deny: Person.salary is hidden",
        "main is protected: expected allow, got deny: no rule allows it",
        "strangers get nothing: expected allow, got deny: no rule allows it",
    ]
    told = omnigraph(*arguments, "--json")
    assert told.exit_code == 1 and (told.json["passed"], told.json["failed"]) == (2, 5)
    assert told.json["cases"][0] == {
        "id": "ada sees her team",
        "passed": True,
        "expect": "allow",
        "got": "allow",
        "rules": ["staff-read"],
        "reason": "rule staff-read allows it",
    }


@pytest.mark.parametrize(
    ("case", "code", "words"),
    [
        ("{actor: ada, action: read, expect: allow}", "A003", "needs id"),
        ("{id: a, actor: ada, action: reed, expect: allow}", "A006", "did you mean read?"),
        ("{id: a, actor: ada, action: read, expect: maybe}", "A004", "known here: allow, deny"),
        ("{id: a, actor: ada, action: read, expect: no}", "A001", "boolean"),
        ("{id: a, actor: ada, action: admin, type: Note, expect: deny}", "A006", "to rows"),
        ("{id: a, actor: ada, action: read, row: {}, expect: deny}", "A003", "needs its type"),
        ("{id: a, actor: ada, action: read, type: Nota, expect: deny}", "A012", "Note"),
        (
            "{id: a, actor: ada, action: read, type: Note, property: txt, expect: deny}",
            "A013",
            "did you mean text?",
        ),
        (
            "{id: a, actor: ada, action: read, type: Note, row: {tem: x}, expect: deny}",
            "A013",
            "did you mean team?",
        ),
        (
            "{id: a, actor: ada, action: read, type: Note, row: {team: 3}, expect: deny}",
            "A004",
            "team is String",
        ),
        (
            "{id: a, actor: bo, action: change, branch: x, type: Person, row: {}, expect: deny}",
            "A003",
            "the row needs it",
        ),
    ],
)
def test_a_wrong_case_is_refused_with_its_line(
    files: Path, omnigraph: CommandLine, case: str, code: str, words: str
) -> None:
    (files / "cases.yaml").write_text(f"version: 1\ncases:\n  - {case}\n")
    (files / "kind.cedar").write_text(
        'forbid (principal, action, resource is Row::Person) when { resource.kind == "guest" };'
    )
    answer = omnigraph("policy", "test", "cases.yaml", *FIRM, "--policy", "kind.cedar")
    assert answer.exit_code == 1
    assert f"error[{code}]" in answer.err and words in answer.err and "cases.yaml:3" in answer.err


def test_explain_names_rules_conditions_and_strangers(files: Path, omnigraph: CommandLine) -> None:
    ada = ("policy", "explain", *FIRM, "--actor", "ada", "--action", "read")
    one = omnigraph(*ada, "--type", "Person", "--json").json
    assert (one["allowed"], one["rules"], one["note"]) == (True, ["staff-read"], None)
    assert one["types"] == [
        {
            "type": "Person",
            "rows": "some",
            "condition": 'team = "red"',
            "hidden_properties": ["salary"],
            "rules": [
                {"id": "staff-read", "effect": "allow", "condition": "always"},
                {"id": "own-team", "effect": "deny", "condition": 'not (team = "red")'},
            ],
        }
    ]
    every = omnigraph(*ada, "--json").json
    assert {seen["type"]: seen["rows"] for seen in every["types"]} == {
        "Knows": "all",
        "Note": "some",
        "Person": "some",
    }
    stranger = omnigraph("policy", "explain", *FIRM, "--actor", "adda", "--action", "read")
    assert stranger.out == "denied: no rule allows it\n" and "did you mean ada?" in stranger.err
    merge = ("--actor", "grace", "--action", "branch_merge", "--target-branch", "main")
    assert omnigraph("policy", "explain", *FIRM, *merge, "--json").json["allowed"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--actor", "ada", "--action", "raed"), "did you mean read?"),
        (("--actor", "ada", "--action", "read", "--type", "Persn"), "did you mean Person?"),
        (("--actor", "ada", "--action", "admin", "--type", "Person"), "not done to rows"),
    ],
)
def test_a_wrong_word_on_the_command_line_has_a_suggestion(
    files: Path, omnigraph: CommandLine, arguments: tuple[str, ...], words: str
) -> None:
    answer = omnigraph("policy", "explain", *FIRM, *arguments)
    assert answer.exit_code == 1 and words in answer.err


def test_rules_about_types_need_a_schema_and_others_do_not(
    files: Path, omnigraph: CommandLine
) -> None:
    asked = ("--actor", "ada", "--action", "read")
    answer = omnigraph("policy", "explain", "--policy", "policy.yaml", *asked)
    assert answer.exit_code == 1 and "rule own-team is about types" in answer.err
    (files / "plain.yaml").write_text(
        "version: 1\nrules:\n  - {id: a, allow: {actors: everyone, actions: [read]}}\n"
    )
    plain = omnigraph("policy", "explain", "--policy", "plain.yaml", *asked)
    assert (plain.exit_code, plain.out) == (0, "allowed: rule a allows it\n")
