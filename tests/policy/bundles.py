"""Policies in a few words: a schema, rules, and what they say."""

from typing import Any

from omnigraph.base.errors import PolicyInvalid
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.policy.policy import FittedPolicy, Policy

SCHEMA = """
interface Named { name: String }
node Person implements Named {
    email: String @key
    team: String?
    age: I32?
    salary: I64?
    score: F64?
    born: Date?
    ok: Bool?
    tags: [String]?
    kind: enum(guest, staff)?
}
node Note implements Named { text: String  team: String? }
edge Knows: Person -> Person { since: I32? }
"""


def catalog(text: str = SCHEMA) -> Catalog:
    return compile_schema(SourceText(text, "firm.pg"))


def policy(yaml: str | None = None, cedar: str | None = None) -> Policy:
    sources = []
    if yaml is not None:
        sources.append(SourceText(yaml, "policy.yaml"))
    if cedar is not None:
        sources.append(SourceText(cedar, "rules.cedar"))
    return Policy.of_text(*sources)


def fitted(yaml: str | None = None, cedar: str | None = None) -> FittedPolicy:
    return policy(yaml, cedar).fitted(catalog(), "hash")


def findings(yaml: str | None = None, cedar: str | None = None) -> list[tuple[str, int, str]]:
    """The code, line and text of each finding."""
    try:
        fitted(yaml, cedar)
    except PolicyInvalid as invalid:
        return [
            (
                f.diagnostic.code,
                f.diagnostic.span.line,
                f"{f.diagnostic.message} {f.diagnostic.hint}",
            )
            for f in invalid.findings
        ]
    return []


def one_rule(effect: str = "allow", **parts: Any) -> str:
    """A bundle with one rule, `r`, on one line each; `actors` and `actions` can be left out."""
    parts = {"actors": "everyone", "actions": "[read]"} | parts
    written = "\n".join(f"      {name}: {value}" for name, value in parts.items())
    return (
        "version: 1\n"
        "groups: {team: [ada, bo], chiefs: [grace]}\n"
        "actors: {ada: {team: red, level: 3, boss: true, tags: [a]}}\n"
        "protected_branches: [main]\n"
        f"rules:\n  - id: r\n    {effect}:\n{written}\n"
    )
