"""Cases of a policy: what should be allowed or denied, in a file that is read before each release.

version: 1
cases:
  - id: ada sees her team
    actor: ada
    action: read
    branch: main
    type: Person
    row: {team: red}
    expect: allow
"""

from collections.abc import Mapping
from dataclasses import field

from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped
from omnigraph.base.yaml_text import YamlList, YamlNode, YamlRefused, YamlScalar, read_yaml
from omnigraph.policy.actions import ACTIONS, ROW_ACTIONS
from omnigraph.policy.bundle import Attribute, Named
from omnigraph.policy.findings import Findings, Place
from omnigraph.policy.yaml_values import Values

__all__ = ["Case", "Fact", "read_cases"]

VERSION = 1
KEYS = (
    "id",
    "actor",
    "action",
    "branch",
    "target_branch",
    "query",
    "type",
    "row",
    "property",
    "expect",
)
EXPECTED = {"allow": True, "deny": False}

Fact = Attribute | float | None


@frozen(eq=False)
class Case:
    id: str
    place: Place
    actor: str
    action: str
    is_allowed: bool
    """What is expected."""
    branch: str | None = None
    target_branch: str | None = None
    query: str | None = None
    type: Named | None = None
    property: Named | None = None
    row: Mapping[Named, Fact] | None = None
    """The values of one row; None: the case is about no row."""


def read_cases(source: SourceText) -> tuple[Case, ...]:
    """Raises PolicyInvalid with all findings."""
    findings = Findings()
    try:
        root = read_yaml(source.text)
    except YamlRefused as refused:
        findings.add("A001", Place(source, refused.span), refused.message, refused.hint)
        findings.raise_any()
        raise
    cases = _Reader(source, findings).cases(root)
    findings.raise_any()
    return cases


@frozen
class _Reader(Values):
    ids: set[str] = field(default_factory=set)

    def cases(self, root: YamlNode) -> tuple[Case, ...]:
        known = ("version", "cases")
        sections = self.fields(root, "a file of cases", known=known, required=known)
        version = sections.get("version")
        if version is not None and (
            not isinstance(version, YamlScalar) or version.value != VERSION or version.value is True
        ):
            self.wrong("A004", version, f"the version of a file of cases is {VERSION}")
        items = self.items(sections["cases"], "cases") if "cases" in sections else ()
        return tuple(case for item in items if (case := self._case(item)))

    def _case(self, node: YamlNode) -> Case | None:
        required = ("id", "actor", "action", "expect")
        parts = self.fields(node, "a case", known=KEYS, required=required)
        texts = {
            key: self.text(value, f"{key} of a case")
            for key, value in parts.items()
            if key not in ("row", "action", "expect")
        }
        action = expected = None
        if "action" in parts:
            action = self.word(parts["action"], "action", ACTIONS, "A006")
        if "expect" in parts:
            expected = self.word(parts["expect"], "expectation", EXPECTED, "A004")
        id_, actor = texts.get("id"), texts.get("actor")
        if id_ is None or actor is None or action is None or expected is None:
            return None
        if id_ in self.ids:
            self.wrong("A005", parts["id"], f"there is another case {clipped(id_)}")
        self.ids.add(id_)
        self._check_rows(parts, action)
        return Case(
            id=id_,
            place=self.place(parts["id"].span),
            actor=actor,
            action=action,
            is_allowed=EXPECTED[expected],
            branch=texts.get("branch"),
            target_branch=texts.get("target_branch"),
            query=texts.get("query"),
            type=self.name(parts["type"], "type") if "type" in parts else None,
            property=self.name(parts["property"], "property") if "property" in parts else None,
            row=self._row(parts["row"]) if "row" in parts else None,
        )

    def _check_rows(self, parts: Mapping[str, YamlNode], action: str) -> None:
        for key in ("row", "property"):
            if key in parts and "type" not in parts:
                self.wrong("A003", parts[key], f"a case with a {key} needs its type")
        if "type" in parts and action not in ROW_ACTIONS:
            self.wrong("A006", parts["type"], f"{action} is not done to rows")

    def _row(self, node: YamlNode) -> Mapping[Named, Fact]:
        return {name: self._fact(value) for name, value in self.mapping(node, "row").items()}

    def _fact(self, node: YamlNode) -> Fact:
        match node:
            case YamlScalar(value=value):
                return value
            case YamlList(items=items):
                texts = [i.value for i in items if isinstance(i, YamlScalar)]
                plain = tuple(text for text in texts if isinstance(text, str))
                if len(plain) == len(items):
                    return plain
            case _:
                pass
        self.wrong("A004", node, "a value of a row is text, a number, true or false, or texts")
        return None
