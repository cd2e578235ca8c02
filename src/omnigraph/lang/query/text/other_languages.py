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
    ends_a_part = bool({"RETURN", "ORDER"} & set(accepted))
    # A bare word in a pattern can only be the name of a function.
    is_called = set(accepted) == {"LPAR"}
    match before, text:
        case _, "," | ";" | "and" if "OPTIONAL" in accepted:
            return "all clauses of a pattern hold: write one after another, with nothing between"
        case "=", "=":
            return "equality is written with one ="
        case "<", ">":
            return "'differs from' is written !="
        case "or", _ if accepted == {"LBRACE"}:
            return "write the alternatives as blocks: or { … } { … }"
        case "order", "by":
            return ORDER
        case "return", _ if "LBRACE" in accepted and text != "{":
            return COLUMNS
        case _, "where" if ends_a_part:
            return TESTS_IN_MATCH
        case "where", _ if is_called:
            return TESTS_IN_MATCH
        case _, "group" if ends_a_part:
            return GROUPS
        case _, "having" if ends_a_part:
            return HAVING
        case _, "[":
            return LIST_ACCESS
        case _, _ if MINUS_NUMBER.match(text) and "INT" not in accepted:
            return ARITHMETIC
        case _:
            return None
