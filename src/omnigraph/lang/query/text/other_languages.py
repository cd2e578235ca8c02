"""Hints for what people write who know SQL, Cypher or a programming language."""

import re
from collections.abc import Collection

__all__ = ["ARITHMETIC", "LIST_ACCESS", "hint_for_sign", "hint_for_word"]

ARITHMETIC = (
    "there is no arithmetic: return the values and compute with the answer, "
    "or pass what you computed as a parameter"
)
LIST_ACCESS = "list access is not supported: return the list and pick the element from the answer"

EDGE = "an edge is written $a knows $b, or $a <knows> $b for either direction"
COMMENT = "comments are written // … or /* … */"
HOPS = "bounds are written in braces: $a knows{1,3} $b"
COUNT = "count a variable: count($p)"
WHOLE_NODE = "a variable by itself is the whole node: return { $p }"
NO_PATTERNS = "there are no regular expressions: contains, starts_with and search test texts"
TESTS_IN_MATCH = "tests are written in match: match { $p: Person $p.age > 30 }"
ORDER = "sort keys are written in braces: order { $p.age desc }"
GROUPS = "rows are grouped by the columns beside an aggregate: return { $p.name, count($f) as n }"
HAVING = "groups can't be filtered; count { $p knows $f } >= 2 in match tests a count"
COLUMNS = "columns are written in braces: return { $p.name }"
ALL_HOLD = "all clauses of a pattern hold: write one after another, with nothing between"
ALTERNATIVES = "write the alternatives as blocks: or { … } { … }"
NODE = 'a node is written $p: Person { name: "Ada" }, and an edge $p knows $f'
ONE_TYPE = "a node has one type; a list property can hold further labels"
OPTIONAL = "optional parts are written in match: match { $p: Person optional { $p knows $f } }"
IS_NULL = (
    "exists takes a block: exists { $p knows $f }; a value is tested with is null, is not null"
)
OFFSET = "rows are skipped with offset: order { $p.name } limit 10 offset 20"
ONE_PASS = "a query has one match and one return: run several queries, and combine their answers"
TEXT_TESTS = (
    "texts are tested with contains, starts_with or search; patterns of texts are not supported"
)
READ = "a query that reads is written match { $p: Person } return { $p.name }"
INSERT = 'rows are inserted by type: insert Person { name: "Ada" }'
UPDATE = 'rows are updated by type: update Person set { age: 37 } where name = "Ada"'
DELETE = 'rows are deleted by type, with their edges: delete Person where name = "Ada"'
ROWS = 'say which rows: where name = "Ada"; every row: where id is not null'
WRITES_APART = (
    "a query reads or writes, not both: read first, then pass values as parameters to "
    "insert, update or delete"
)
NAMED = "a query has a name and braces: query q() { match { $p: Person } return { $p.name } }"

MINUS_NUMBER = re.compile(r"-[0-9]")

# `- $p.age`, `- 1`, `- count(…)`: what comes after is a value, and no edge of Cypher.
MINUS_VALUE = re.compile(r"-[ \t]*(?:[0-9]|\$\w+(?![\w:])|\w+\()")

# `$a knows`, before a star: bounds of Cypher. `$a.age`, before one, is a factor.
BEGINS_A_TRAVERSAL = re.compile(r"\$\w+\s+[\w|]+\s*$")
LONGEST_NAMES = 500


def hint_for_sign(piece: str, position: int, before: str) -> str | None:
    """About a character that no token begins with; `before` is the token that precedes it."""
    match piece[position]:
        case "-":
            return ARITHMETIC if MINUS_VALUE.match(piece, position) else EDGE
        case "#":
            return COMMENT
        case "*" if before == "(":
            return COUNT
        case "*" if before in ("{", ",", ".", "distinct", "return"):
            return WHOLE_NODE
        case "*" if BEGINS_A_TRAVERSAL.search(piece, max(0, position - LONGEST_NAMES), position):
            return HOPS
        case "+" | "*" | "/" | "%" | "^":
            return ARITHMETIC
        case "~":
            return NO_PATTERNS
        case _:
            return None


def hint_for_word(text: str, before: str, accepted: Collection[str]) -> str | None:
    """About a token where another one should be; `accepted` are those that could be there."""
    word = text.casefold()
    if not before and word in BEGINS_A_CYPHER_QUERY:
        return NAMED
    if {"MATCH", "INSERT"} <= set(accepted):
        return _hint_for_body(word)
    if {"RETURN", "ORDER", "OFFSET"} & set(accepted) and word in AFTER_A_PART:
        return AFTER_A_PART[word]
    return _hint_for_statement(text, before, accepted) or _hint_for_pattern(text, before, accepted)


BEGINS_A_CYPHER_QUERY = frozenset(
    {"match", "optional", "create", "merge", "detach", "unwind", "with", "select"}
)

# Words where a part of a query (`match { … }`, `return { … }`) has ended.
AFTER_A_PART = {
    "where": TESTS_IN_MATCH,
    "group": GROUPS,
    "having": HAVING,
    "optional": OPTIONAL,
    "skip": OFFSET,
    "with": ONE_PASS,
    "unwind": ONE_PASS,
    "union": ONE_PASS,
    "match": ONE_PASS,
    "set": WRITES_APART,
    "remove": WRITES_APART,
    "create": WRITES_APART,
    "merge": WRITES_APART,
    "detach": WRITES_APART,
    "insert": WRITES_APART,
    "update": WRITES_APART,
    "delete": WRITES_APART,
}


def _hint_for_body(word: str) -> str | None:
    """About the first word of a query's body."""
    match word:
        case "create" | "merge":
            return INSERT
        case "set" | "upsert":
            return UPDATE
        case "detach" | "remove":
            return DELETE
        case "optional" | "select" | "with" | "unwind":
            return READ
        case _:
            return None


def _hint_for_statement(text: str, before: str, accepted: Collection[str]) -> str | None:
    """About the parts of a query that are not a pattern: columns, sort keys, writes."""
    match before, text:
        case "order", "by":
            return ORDER
        case "return", _ if "LBRACE" in accepted and text != "{":
            return COLUMNS
        case "insert", _ if text == "(" or text.startswith("$"):
            return INSERT
        case "delete", _ if text == "(" or text.startswith("$"):
            return DELETE
        case "update", _ if text == "(" or text.startswith("$"):
            return UPDATE
        case _, "{" if set(accepted) == {"SET"}:
            return UPDATE
        case _, "}" if "WHERE" in accepted:
            return ROWS
        case _, "[":
            return LIST_ACCESS
        case _, _ if MINUS_NUMBER.match(text) and "INT" not in accepted:
            return ARITHMETIC
        case _:
            return None


def _hint_for_pattern(text: str, before: str, accepted: Collection[str]) -> str | None:
    """About the clauses of a pattern, and names of variables in all parts."""
    # A bare word in a pattern can only be the name of a function.
    is_called = set(accepted) == {"LPAR"}
    match before.casefold(), text:
        case _, "," | ";" | "and" | "AND" if "OPTIONAL" in accepted:
            return ALL_HOLD
        case "=", "=":
            return "equality is written with one ="
        case "<", ">":
            return "'differs from' is written !="
        case "or", _ if accepted == {"LBRACE"} or is_called:
            return ALTERNATIVES
        case "exists", _ if accepted == {"LBRACE"} or is_called:
            return IS_NULL
        case "not" | "optional" as block, _ if accepted == {"LBRACE"} or is_called:
            return f"{block} takes a block: {block} {{ $p knows $f }}"
        case "where", _ if is_called:
            return TESTS_IN_MATCH
        case "and", _ if is_called:
            return ALL_HOLD
        case _, "(" | "<" if "OPTIONAL" in accepted:
            return NODE
        case _, ":" if "OPTIONAL" in accepted:
            return ONE_TYPE
        case _, "." | ":" if "LPAR" in accepted and before.isidentifier():
            return f"names of variables begin with $: ${before}"
        case _, "=" if accepted == {"COLON"}:
            return f"properties in braces are written with a colon: {{ {before}: … }}"
        case _, _ if "STARTS_WITH" in accepted and text.casefold() in TEXT_TEST_WORDS:
            return TEXT_TESTS
        case _:
            return None


TEXT_TEST_WORDS = frozenset(
    {"starts", "ends", "ends_with", "endswith", "startswith", "like", "ilike", "matches", "regexp"}
)
