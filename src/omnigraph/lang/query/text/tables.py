"""The parser's tables, kept beside the grammar: working them out takes longer than a small query.

`grammar.json` holds what Lark makes of `grammar.lark`, as plain data. It names the Lark and the
grammar it was made from, and where either is another one it is left alone and the tables are worked
out: a parser never runs on tables of a different grammar. After a change to the grammar,
`pytest tests/lang/query/test_tables.py --bless` writes it anew.
"""

import hashlib
import json
from importlib.resources import files
from typing import Any

import lark
from lark import Lark, Token, Transformer

__all__ = ["CONDITIONS", "FILE", "TABLES", "grammar_text", "make_parser", "tables_of"]

TABLES = "grammar.json"

# What a text may be: queries, or the tests of a `where` by themselves.
FILE, CONDITIONS = "file", "conditions"

# How Lark writes that an action moves on to a state; the other action applies a rule.
SHIFT = 0

Builds = Transformer[Token, Any]


def make_parser(builder: Builds | None) -> Lark:
    """A parser whose trees are what `builder` makes of them; without one, plain trees."""
    text = grammar_text()
    saved = json.loads(files(__package__).joinpath(TABLES).read_text("utf-8"))
    if saved["made_from"] != _origin(text):
        return _built(text, builder)
    parser: Lark = Lark.__new__(Lark)._load(_with_numbers(saved["tables"]), transformer=builder)
    return parser


def tables_of(text: str) -> str:
    """The content of `grammar.json` for this grammar."""
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = _built(text, None).memo_serialize([TerminalDef, Rule])
    _renumber(data["parser"]["parser"])
    kept = {"made_from": _origin(text), "tables": {"data": data, "memo": memo}}
    return json.dumps(kept, separators=(",", ":"), sort_keys=True) + "\n"


def grammar_text() -> str:
    return files(__package__).joinpath("grammar.lark").read_text("utf-8")


def _built(text: str, builder: Builds | None) -> Lark:
    return Lark(text, start=[FILE, CONDITIONS], parser="lalr", transformer=builder)


def _origin(text: str) -> list[str]:
    return [f"lark {lark.__version__}", hashlib.sha256(text.encode()).hexdigest()]


def _renumber(table: dict[str, Any]) -> None:
    """Number tokens by name and states as they are met: Lark numbers them anew in every process."""
    names: dict[int, str] = table["tokens"]
    actions = {
        state: {names[token]: action for token, action in by_token.items()}
        for state, by_token in table["states"].items()
    }
    met = dict.fromkeys(table["start_states"].values())
    waiting = list(met)
    while waiting:
        for _, (kind, argument) in sorted(actions[waiting.pop(0)].items(), key=lambda a: a[0]):
            if kind == SHIFT and argument not in met:
                met[argument] = None
                waiting.append(argument)
    number = {state: position for position, state in enumerate(met)}
    token_of = {name: position for position, name in enumerate(sorted(names.values()))}
    table["tokens"] = {position: name for name, position in token_of.items()}
    table["states"] = {
        number[state]: {
            token_of[name]: (kind, number[argument] if kind == SHIFT else argument)
            for name, (kind, argument) in actions[state].items()
        }
        for state in met
    }
    for ends in ("start_states", "end_states"):
        table[ends] = {name: number[state] for name, state in table[ends].items()}


def _with_numbers(tables: dict[str, Any]) -> dict[str, Any]:
    """Members of JSON objects are texts; Lark counts its states, tokens and rules."""
    table = tables["data"]["parser"]["parser"]
    table["tokens"] = _numbered(table["tokens"])
    table["states"] = {s: _numbered(actions) for s, actions in _numbered(table["states"]).items()}
    return {"data": tables["data"], "memo": _numbered(tables["memo"])}


def _numbered(texts: dict[str, Any]) -> dict[int, Any]:
    return {int(number): value for number, value in texts.items()}
