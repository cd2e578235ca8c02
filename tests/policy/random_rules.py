"""Random rules in Cedar, and the actors and rows they are asked about.

The texts are built by type, so that most of them pass Cedar's strict check; some guards are left
out on purpose. What comes out is meant to be odd: constants beside constants, rows named that are
not there, texts with quotes and stars.
"""

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema

SCHEMA = """
node Person {
    name: String @key
    team: String?
    kind: enum(blue, green, red)?
    age: I32?
    big: I64
    small: U32?
    ok: Bool?
    yes: Bool
    tags: [String]?
    labels: [String]
    score: F64?
    born: Date?
}
node Doc { id: I64?  title: String  team: String?  tags: [String]? }
edge Knows: Person -> Person { since: I64?  team: String?  in: Bool? }
"""

TEXTS = ["", "a", "red", "blue", "a*b", "ab", 'q"uote', "new\nline", "back\\slash", "é😀", "\0"]
PATTERNS = ['"*"', '"a*"', '"*b"', '"*e*"', '"a*b"', '"r*d"', '""', r'"a\*b"', '"*\\n*"']
NUMBERS = [0, 1, -1, 3, 7, 2**31 - 1, 2**32 - 1, 2**63 - 1, -(2**63)]
IDS = ["p0", "p1", 'p"2', "p\n3", "nobody"]

# Fields of each type: name, kind, optional.
FIELDS: dict[str, list[tuple[str, str, bool]]] = {
    "Person": [
        ("name", "text", False),
        ("team", "text", True),
        ("kind", "enum", True),
        ("id", "text", False),
        ("age", "number", True),
        ("big", "number", False),
        ("small", "number", True),
        ("ok", "bool", True),
        ("yes", "bool", False),
        ("tags", "texts", True),
        ("labels", "texts", False),
    ],
    "Doc": [
        ("id", "number", True),
        ("title", "text", False),
        ("team", "text", True),
        ("tags", "texts", True),
    ],
    "Knows": [
        ("from", "text", False),
        ("to", "text", False),
        ("id", "text", False),
        ("since", "number", True),
        ("team", "text", True),
        ("in", "bool", True),
    ],
}
ATTRIBUTES = [("team", "text"), ("level", "number"), ("tags", "texts"), ("boss", "bool")]

ACTORS = """
version: 1
groups:
  staff: [ada, {group: chiefs}]
  chiefs: [grace]
  others: [linus, 'e"ve']
actors:
  ada: {team: red, level: 3, tags: [a, red], boss: false}
  grace: {team: blue, level: 9223372036854775807, tags: []}
  linus: {tags: ['q"uote', "new\\nline"], boss: true}
  'e"ve': {level: -1}
protected_branches: [main]
"""
ACTOR_NAMES = ["ada", "grace", "linus", 'e"ve', "stranger"]


def catalog() -> Catalog:
    return compile_schema(SourceText(SCHEMA, "people.pg"))


def quoted(text: str) -> str:
    """A text as Cedar writes it."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\0": "\\0"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'


class RuleMaker:
    def __init__(
        self, random: Random, *, guarded: float = 0.97, may_overflow: bool = False
    ) -> None:
        self.random = random
        self.guarded = guarded
        self.may_overflow = may_overflow

    def bundle(self) -> str:
        return "\n".join(self.policy() for _ in range(self.random.randint(1, 5)))

    def policy(self) -> str:
        pick = self.random.choice
        effect = pick(["permit", "permit", "forbid"])
        type_ = pick([*FIELDS, None, *FIELDS])
        scope = self._resource(type_)
        principal = pick(
            [
                "principal",
                "principal",
                'principal in Omnigraph::Group::"staff"',
                'principal == Omnigraph::Actor::"ada"',
                "principal is Omnigraph::Actor",
            ]
        )
        read, merge = (f'Omnigraph::Action::"{name}"' for name in ("read", "branch_merge"))
        action = pick(
            [
                *["action", f"action in [{read}, {merge}]"] * 4,
                f"action == {read}",
                f"action == {merge}",
            ]
        )
        clauses = [
            f"{pick(['when', 'when', 'unless'])} {{ {self.test(type_, pick(range(4)))} }}"
            for _ in range(pick([0, 1, 1, 1, 2]))
        ]
        return f"{effect} ({principal}, {action}, {scope}) {' '.join(clauses)};"

    def _resource(self, type_: str | None) -> str:
        graph = 'Omnigraph::Graph::"root"'
        if type_ is None:
            return self.random.choice(["resource", f"resource in {graph}"])
        uid = f"Row::{type_}::{quoted(self.random.choice(IDS))}"
        return self.random.choice(
            [f"resource is Row::{type_}"] * 6
            + [f"resource is Row::{type_} in {graph}", f"resource == {uid}", f"resource in {uid}"]
        )

    # Conditions ----------------------------------------------------------------------------------

    def test(self, type_: str | None, depth: int) -> str:
        if depth == 0:
            return self._leaf(type_)
        a, b = (self.test(type_, depth - 1) for _ in range(2))
        return self.random.choice(
            [
                f"({a} && {b})",
                f"({a} || {b})",
                f"!({a})",
                f"(if {a} then {b} else {self._leaf(type_)})",
                self._leaf(type_),
            ]
        )

    def _leaf(self, type_: str | None) -> str:
        if type_ is None or self.random.random() < 0.12:
            return self._of_request(type_)
        name, kind, is_optional = self.random.choice(FIELDS[type_])
        needed = [f"resource has {self._key(name)}"] if is_optional else []
        field = f'resource["{name}"]'
        test, more = self._about(type_, field, kind, self._others(type_, name, kind))
        return self._with_guards(test, [*needed, *more])

    def _with_guards(self, test: str, guards: list[str]) -> str:
        if self.random.random() > self.guarded:
            guards = guards[1:]
        return f"({' && '.join([*guards, test])})"

    @staticmethod
    def _key(name: str) -> str:
        return f'"{name}"'

    def _others(self, type_: str, name: str, kind: str) -> list[tuple[str, bool]]:
        alike = {"enum": "text"}.get(kind, kind)
        return [
            (n, o) for n, k, o in FIELDS[type_] if {"enum": "text"}.get(k, k) == alike and n != name
        ]

    def _about(
        self, type_: str, field: str, kind: str, others: list[tuple[str, bool]]
    ) -> tuple[str, list[str]]:
        """A test of a field, and the guards that it needs beside the field's own."""
        pick = self.random.choice
        match kind:
            case "text" | "enum":
                return self._about_text(field, kind, others)
            case "number":
                value, guards = self._number(others)
                op = pick(["==", "!=", "<", "<=", ">", ">="])
                sides = pick([(field, value), (value, field)])
                several = ", ".join(str(n) for n in self.random.sample(NUMBERS, 3))
                return pick(
                    [(f"{sides[0]} {op} {sides[1]}", guards)] * 4
                    + [(f"[{several}].contains({field})", [])]
                )
            case "bool":
                value, guards = pick(
                    [("true", []), ("false", []), ("principal.boss", ["principal has boss"])]
                )
                return pick([(field, []), (f"{field} == {value}", guards)])
            case _:
                return self._about_list(type_, field)

    def _about_text(
        self, field: str, kind: str, others: list[tuple[str, bool]]
    ) -> tuple[str, list[str]]:
        pick = self.random.choice
        texts = ["red", "blue", "green"] if kind == "enum" else TEXTS
        if kind == "enum":
            others = []
        several = ", ".join(map(quoted, self.random.sample(texts, 2)))
        value, guards = self._text(texts, others)
        return pick(
            [(f"{field} {pick(['==', '!='])} {value}", guards)] * 4
            + [(f"{value} == {field}", guards)]
            + [(f"[{several}].contains({field})", [])]
            + [(f"principal.tags.contains({field})", ["principal has tags"])]
            + [(f"{field} like {pick(PATTERNS)}", [])]
        )

    def _about_list(self, type_: str, field: str) -> tuple[str, list[str]]:
        pick = self.random.choice
        several = ", ".join(map(quoted, self.random.sample(TEXTS, self.random.randint(1, 3))))
        own = {"Person": "name", "Doc": "title"}[type_]
        return pick(
            [
                (f"{field}.contains({quoted(pick(TEXTS))})", []),
                (f"{field}.contains(principal.id)", []),
                (f"{field}.contains(resource.{own})", []),
                (f"{field}.containsAll([{several}])", []),
                (f"{field}.containsAny([{several}])", []),
                (f"{field}.containsAll(principal.tags)", ["principal has tags"]),
                (f"{field}.containsAny(principal.tags)", ["principal has tags"]),
                (f"principal.tags.containsAny({field})", ["principal has tags"]),
                (f"{field}.isEmpty()", []),
            ]
        )

    def _text(self, texts: list[str], others: list[tuple[str, bool]]) -> tuple[str, list[str]]:
        pick = self.random.choice
        choices: list[tuple[str, list[str]]] = [
            (quoted(pick(texts)), []),
            ("principal.team", ["principal has team"]),
            ("principal.id", []),
            ("context.branch", ["context has branch"]),
        ]
        for name, is_optional in others:
            guard = [f"resource has {self._key(name)}"] if is_optional else []
            choices.append((f'resource["{name}"]', guard))
        return pick(choices)

    def _number(self, others: list[tuple[str, bool]]) -> tuple[str, list[str]]:
        pick = self.random.choice
        choices: list[tuple[str, list[str]]] = [
            (str(pick(NUMBERS)), []),
            ("principal.level", ["principal has level"]),
        ]
        if self.may_overflow:
            choices += [("(principal.level + 1)", ["principal has level"])] * 3
        for name, is_optional in others:
            guard = [f"resource has {self._key(name)}"] if is_optional else []
            choices.append((f'resource["{name}"]', guard))
        return pick(choices)

    def _of_request(self, type_: str | None) -> str:
        pick = self.random.choice
        uids = [f"Row::{pick([*FIELDS])}::{quoted(pick(IDS))}" for _ in range(2)]
        same = f"Row::{type_ or 'Person'}::"
        return pick(
            [
                'principal in Omnigraph::Group::"staff"',
                'principal == Omnigraph::Actor::"linus"',
                "(principal has level && principal.level > 2)",
                "(principal has boss && principal.boss)",
                "context.branch_is_protected",
                '(context has branch && context.branch like "a/*")',
                'action == Omnigraph::Action::"read"',
                "true",
                "false",
                f"resource is Row::{pick([*FIELDS])}",
                f"resource == {uids[0]}",
                f"resource != {uids[1]}",
                f"resource in {uids[0]}",
                f"[{same}{quoted(IDS[0])}, {same}{quoted(IDS[2])}].contains(resource)",
                f"resource in [{same}{quoted(IDS[1])}, {same}{quoted(IDS[3])}]",
                'resource in Omnigraph::Graph::"root"',
                "(resource has team && resource.team == principal.id)",
                '(resource has tags && resource.tags.contains("a"))',
            ]
        )


def random_rows(random: Random, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of all types: each field by its name, None where it is missing."""
    for type_, fields in FIELDS.items():
        for number in range(count):
            row: dict[str, Any] = {"id": IDS[number] if number < 4 else f"p{number}"}
            for name, kind, is_optional in fields:
                if name == "id" and type_ != "Doc":
                    continue
                if is_optional and random.random() < 0.35:
                    row[name] = None
                else:
                    row[name] = _value(random, name, kind)
            if type_ == "Doc":
                row = {**row, "": f"p{number}" if number >= 4 else IDS[number]}
            yield type_, row


def _value(random: Random, name: str, kind: str) -> Any:
    match kind:
        case "text":
            return random.choice([*IDS, "ada"]) if name in ("from", "to") else random.choice(TEXTS)
        case "enum":
            return random.choice(["red", "blue", "green"])
        case "number":
            limit = {"age": 2**31 - 1, "small": 2**32 - 1}.get(name, 2**63 - 1)
            least = 0 if name == "small" else -limit - 1
            return random.choice([n for n in NUMBERS if least <= n <= limit])
        case "bool":
            return random.random() < 0.5
        case _:
            return [random.choice(TEXTS) for _ in range(random.randint(0, 3))]


def row_id(type_: str, row: Mapping[str, Any]) -> str:
    """A row's id is in `id`, but for Docs, which have a property of this name."""
    return str(row[""] if type_ == "Doc" else row["id"])


def row_entity(type_: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as Cedar has it: what is null is not there."""
    return {
        "uid": {"type": f"Row::{type_}", "id": row_id(type_, row)},
        "attrs": {name: value for name, value in row.items() if name and value is not None},
        "parents": [{"type": "Omnigraph::Graph", "id": "root"}],
    }


def as_json(value: Any) -> str:
    return json.dumps(value)
