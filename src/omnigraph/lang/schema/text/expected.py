"""Messages about a token that can't stand where it stands: in the user's words, with a way out.

The parser knows which kinds of token could have come; this module knows what a person calls them
there. It never shows a name of the grammar.
"""

from typing import Final

from lark import Token

from omnigraph.base.errors import Diagnostic
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.words import clipped
from omnigraph.lang.schema.codes import SYNTAX, TYPE_WORDS
from omnigraph.lang.schema.text.scan import extent_of

__all__ = ["END", "Situation", "explain", "meant_kind"]

END: Final = "$END"

WORDS = {
    "NAME": "a name",
    "WORD": "a word",
    "INT": "a number",
    "FLOAT": "a number",
    "STRING": "a text in double quotes",
    "AT": "an annotation",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "_LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "_COMMA": "','",
    "_COLON": "':'",
    "_EQUALS": "'='",
    "_ARROW": "'->'",
    "_DOTS": "'..'",
    "STAR": "'*'",
    "QUESTION": "'?'",
    "_IMPLEMENTS": "implements",
}

NAMED_AFTER = {
    "NODE": "a name for the node type",
    "EDGE": "a name for the edge type",
    "INTERFACE": "a name for the interface",
    "_IMPLEMENTS": "the name of an interface",
    "_COMMA": "the name of an interface",
    "_COLON": "the node type that the edge starts from",
    "_ARROW": "the node type that the edge points to",
    "AT": "the name of an annotation",
    "LSQB": "a scalar type",
}


@frozen
class Situation:
    """Where the parser stood when it could not go on."""

    previous: Token | None
    found: Token
    following: tuple[Token, Token]
    accepted: frozenset[str]
    """The kinds of token that could have come."""
    open_brace: Token | None
    """The brace of the body that this is in."""


def explain(situation: Situation) -> Diagnostic:
    special = _special(situation)
    if special:
        return special
    expected, hint = _expected(situation)
    after = f" after {_shown(situation.previous)}" if situation.previous else ""
    return _at(situation.found, f"expected {expected}{after}, {_found(situation.found)}", hint)


def meant_kind(situation: Situation) -> str | None:
    """The kind that this token was meant as, where that is plain: parsing goes on with it."""
    found, accepted = situation.found, situation.accepted
    if found.type in ("WORD", "STRING") and "NAME" in accepted:
        return "NAME"
    first, second = situation.following
    if found.type == "NAME" and first.type == "NAME" and "NODE" in accepted:
        return "EDGE" if second.type == "_COLON" else "NODE"
    return None


def _special(situation: Situation) -> Diagnostic | None:
    """The slips that have a better name than "expected … found …"."""
    found, accepted = situation.found, situation.accepted
    if found.type == END and situation.open_brace:
        return _at(situation.open_brace, "this body is never closed", "end it with '}'")
    if found in ("node", "edge", "interface") and situation.open_brace:
        hint = f"add '}}' before {found}"
        return _at(found, f"the body before this {found} is not closed", hint)
    if found.type == "WORD" and "NAME" in accepted:
        meant = f"{'_' * found[0].isdigit()}{found.replace('-', '_')}"
        hint = f"use letters, digits and _: {clipped(meant)}"
        return _at(found, f"{clipped(found)} can't be a name", hint)
    if found.type == "STRING" and "NAME" in accepted and "STRING" not in accepted:
        return _at(found, "names are written without quotes", None)
    if found.type == "LSQB" and _previous_kind(situation) == "LSQB":
        return _at(found, "a list can't hold lists", "a list holds scalars: [String]")
    if found.type == "_LPAR" and accepted == {"RSQB"}:
        return _at(found, f"a list can't hold {situation.previous}", "use a scalar type: [String]")
    if found.type == "_LPAR" and situation.previous in ("date", "datetime"):
        hint = 'write @default("2024-05-31")'
        return _at(situation.previous, "a date is written as a text here", hint)
    if found.type == "QUESTION" and accepted == {"RSQB"}:
        return _at(found, "the items of a list can't be nullable", "put '?' after the ']'")
    return None


def _expected(situation: Situation) -> tuple[str, str | None]:
    accepted = situation.accepted
    previous = _previous_kind(situation)
    if "ENUM" in accepted:
        return "a property type", f"types are {TYPE_WORDS}"
    if "NODE" in accepted and "LBRACE" not in accepted:
        return "node, edge or interface", _meant(situation.found)
    if "NODE" in accepted:
        return "an annotation, '{' or the next declaration", None
    if "RBRACE" in accepted:
        return "a property, a constraint or '}'", IN_BODIES.get(situation.found)
    if "LBRACE" in accepted:
        return "'{'", None
    if "WORD" in accepted:
        return "a word of the enum", "write enum(on, off)"
    if accepted == {"NAME"}:
        return NAMED_AFTER.get(previous, "a name"), None
    if accepted == {"_COLON"} and situation.open_brace:
        return "':' and a type", "a property is written name: Type"
    if accepted == {"_COLON"}:
        return "':'", "an edge is written edge Name: From -> To"
    if accepted == {"INT"} and previous == "_LPAR":
        return "a number of dimensions", "write Vector(384)"
    if "STRING" in accepted:
        return "a value or a name", None
    words = sorted({WORDS[kind] for kind in accepted})
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words), None


IN_BODIES = {
    "[": "a list is written [String]",
    "=": 'a default is written name: String @default("Ada")',
}

DECLARES_A_TABLE = frozenset({"create", "type", "class", "table", "struct", "entity"})


def _meant(found: Token) -> str | None:
    if found.casefold() in DECLARES_A_TABLE:
        return "types are declared as node Person { … } and edge Knows: Person -> Person { … }"
    return did_you_mean(found, ("node", "edge", "interface"))


def _previous_kind(situation: Situation) -> str:
    previous = situation.previous
    if previous is None:
        return ""
    return PREVIOUS_KEYWORDS.get(previous, previous.type)


PREVIOUS_KEYWORDS = {
    "node": "NODE",
    "edge": "EDGE",
    "interface": "INTERFACE",
    "implements": "_IMPLEMENTS",
}


def _found(token: Token) -> str:
    return "but the text ends here" if token.type == END else f"found {_shown(token)}"


def _shown(token: Token) -> str:
    return clipped(token) if token[0].isalnum() or token[0] in '_"' else f"'{token}'"


def _at(token: Token, message: str, hint: str | None) -> Diagnostic:
    return Diagnostic(SYNTAX, message, extent_of(token).span, hint)
