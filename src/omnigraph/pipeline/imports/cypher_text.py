"""The statements of `schema.cypher` and `copy.cypher`, as exports of Kuzu and Ladybug have them.

Only what an export writes is read: tables, and the files of their rows. Other statements
(sequences, macros, indexes) are passed over.
"""

import re
from collections.abc import Iterator
from dataclasses import field

from omnigraph.base.errors import SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.words import clipped
from omnigraph.pipeline.imports.blocks import place

__all__ = ["CopyFrom", "NodeTable", "RelTable", "TableColumn", "read_copies", "read_tables"]

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | `(?P<name>(?:[^`]|``)+)`
      | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)
      | (?P<mark>[^\s])""",
    re.VERBOSE | re.DOTALL,
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
MULTIPLICITIES = ("MANY_MANY", "MANY_ONE", "ONE_MANY", "ONE_ONE")


@frozen
class TableColumn:
    name: str
    type: str
    """In capitals, without blanks but those of a STRUCT: `INT64`, `FLOAT[3]`, `DECIMAL(10,2)`."""
    default: "_Token | None" = None
    """A literal; whatever is computed has none."""

    @property
    def default_value(self) -> str | int | float | bool | None:
        return None if self.default is None else self.default.value


@frozen
class NodeTable:
    name: str
    columns: tuple[TableColumn, ...]
    key: str
    position: str


@frozen
class RelTable:
    name: str
    pairs: tuple[tuple[str, str], ...]
    columns: tuple[TableColumn, ...]
    is_to_one: bool
    position: str


@frozen
class CopyFrom:
    table: str
    columns: tuple[str, ...] | None
    file: str
    options: dict[str, str] = field(hash=False)
    position: str


def read_tables(text: str, file: str) -> list[NodeTable | RelTable]:
    """The tables that the statements of `schema.cypher` make."""
    tables: list[NodeTable | RelTable] = []
    for statement in _statements(text, file):
        if not statement.skips("CREATE"):
            continue
        if statement.skips("NODE"):
            tables.append(_node_table(statement))
        elif statement.skips("REL"):
            tables.append(_rel_table(statement))
    names = [table.name for table in tables]
    for table in tables:
        if names.count(table.name) > 1:
            reason = f"the table {clipped(table.name)} is created twice"
            raise SourceInvalid(file=table.position, reason=reason)
    return tables


def read_copies(text: str, file: str) -> list[CopyFrom]:
    """The files that the statements of `copy.cypher` name."""
    return [_copy(one) for one in _statements(text, file) if one.skips("COPY")]


# Statements ---------------------------------------------------------------------------------------


def _node_table(at: "_Statement") -> NodeTable:
    position = at.position
    at.need("TABLE")
    at.skip_if_not_exists()
    name, key = at.name(), None
    columns: list[TableColumn] = []
    for _ in at.items():
        if at.skips("PRIMARY"):
            at.need("KEY")
            at.need("(")
            key = at.name()
            at.need(")")
            continue
        columns.append(_column(at))
        if at.skips("PRIMARY"):
            at.need("KEY")
            key = columns[-1].name
    _check_columns(columns, position, name)
    if key is None or key not in [column.name for column in columns]:
        reason = f"the table {clipped(name)} has no primary key"
        raise SourceInvalid(file=position, reason=reason)
    return NodeTable(name, tuple(columns), key, position)


def _rel_table(at: "_Statement") -> RelTable:
    position = at.position
    at.need("TABLE")
    at.skips("GROUP")
    at.skip_if_not_exists()
    name = at.name()
    pairs: list[tuple[str, str]] = []
    columns: list[TableColumn] = []
    is_to_one = False
    for _ in at.items():
        if at.skips("FROM"):
            source = at.name()
            at.need("TO")
            pairs.append((source, at.name()))
        elif (word := at.word()) in MULTIPLICITIES:
            at.take()
            is_to_one = word.endswith("_ONE")
        else:
            columns.append(_column(at))
    _check_columns(columns, position, name)
    if not pairs:
        reason = f"the table {clipped(name)} names no tables that it joins (FROM … TO …)"
        raise SourceInvalid(file=position, reason=reason)
    return RelTable(name, tuple(pairs), tuple(columns), is_to_one, position)


def _column(at: "_Statement") -> TableColumn:
    name, type_ = at.name(), at.type()
    default = None
    if at.skips("DEFAULT"):
        expression = at.until(("PRIMARY",))
        default = expression[0] if len(expression) == 1 and expression[0].is_literal else None
    return TableColumn(name, type_, default)


def _check_columns(columns: list[TableColumn], position: str, table: str) -> None:
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            reason = f"the table {clipped(table)} has two columns {clipped(name)}"
            raise SourceInvalid(file=position, reason=reason)


def _copy(at: "_Statement") -> CopyFrom:
    position, table = at.position, at.name()
    columns = None
    if at.sees("("):
        columns = tuple(at.name() for _ in at.items())
    at.need("FROM")
    file = at.text()
    options: dict[str, str] = {}
    if at.sees("("):
        for _ in at.items():
            option = at.name().lower()
            at.need("=")
            # Kuzu writes `quote=quote='|'` for `quote='|'`.
            if at.word() == option.upper():
                at.take()
                at.need("=")
            options[option] = str(at.take().value)
    return CopyFrom(table, columns, file, options, position)


# Tokens -------------------------------------------------------------------------------------------


@frozen
class _Token:
    kind: str
    content: str
    position: str

    @property
    def is_literal(self) -> bool:
        words = ("TRUE", "FALSE")
        return self.kind in ("text", "number") or self.content.upper() in words

    @property
    def value(self) -> str | int | float | bool:
        match self.kind:
            case "text":
                return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), self.content[1:-1])
            case "number":
                is_whole = self.content.lstrip("-").isdigit()
                return int(self.content) if is_whole else float(self.content)
            case "word" if self.content.upper() in ("TRUE", "FALSE"):
                return self.content.upper() == "TRUE"
            case _:
                return self.content


def _statements(text: str, file: str) -> Iterator["_Statement"]:
    tokens: list[_Token] = []
    for token in _tokens(text, file):
        if token.content == ";" and token.kind == "mark":
            yield _Statement(tokens, token.position)
            tokens = []
        else:
            tokens.append(token)
    if tokens:
        reason = "the last statement has no end: the file is truncated"
        raise SourceInvalid(file=tokens[0].position, reason=reason)


def _tokens(text: str, file: str) -> Iterator[_Token]:
    line, line_start = 1, 0
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or "mark"
        position = place(file, line, match.start() - line_start + 1)
        if kind == "mark" and match[0] in "`'\"":
            raise SourceInvalid(file=position, reason="a quote is never closed")
        if kind != "space":
            yield _Token(kind, match[kind].replace("``", "`"), position)
        if newlines := match[0].count("\n"):
            line += newlines
            line_start = match.start() + match[0].rfind("\n") + 1


class _Statement:
    """The tokens of a statement, taken one after the other."""

    def __init__(self, tokens: list[_Token], end: str) -> None:
        self._tokens, self._at, self._end = tokens, 0, end

    @property
    def position(self) -> str:
        return self._tokens[self._at].position if self._at < len(self._tokens) else self._end

    def word(self) -> str | None:
        """The next token in capitals, if it is a word or a mark."""
        if self._at == len(self._tokens):
            return None
        token = self._tokens[self._at]
        return token.content.upper() if token.kind in ("word", "mark") else None

    def sees(self, word: str) -> bool:
        return self.word() == word

    def skips(self, word: str) -> bool:
        """True if the next word is this one, which is then taken."""
        if not self.sees(word):
            return False
        self._at += 1
        return True

    def need(self, word: str) -> None:
        if not self.skips(word):
            raise self._wrong(f"{word} is missing here")

    def take(self) -> _Token:
        if self._at == len(self._tokens):
            raise self._wrong("the statement ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def name(self) -> str:
        if self.word() is not None and not self._tokens[self._at].content.isidentifier():
            raise self._wrong("a name is missing here")
        return self.take().content

    def text(self) -> str:
        token = self.take()
        if token.kind != "text":
            raise SourceInvalid(file=token.position, reason="a path in quotes is missing here")
        return str(token.value)

    def skip_if_not_exists(self) -> None:
        if self.skips("IF"):
            self.need("NOT")
            self.need("EXISTS")

    def items(self) -> Iterator[None]:
        """Once for each item of a list in brackets, in front of it."""
        self.need("(")
        while not self.skips(")"):
            yield
            if not self.skips(",") and not self.sees(")"):
                raise self._wrong("a comma or a closing bracket is missing here")

    def type(self) -> str:
        """A type, with what stands in brackets behind it."""
        found = self.name().upper()
        if self.skips("("):
            found += f"({self._in_brackets(')')})"
        while self.skips("["):
            found += f"[{self._in_brackets(']')}]"
        return found

    def until(self, words: tuple[str, ...]) -> list[_Token]:
        """All tokens up to a comma, the end of the list or one of these words."""
        tokens: list[_Token] = []
        depth = 0
        while depth or (self.word() not in (",", ")", *words)):
            depth += {"(": 1, ")": -1}.get(self.word() or "", 0)
            tokens.append(self.take())
        return tokens

    def _in_brackets(self, end: str) -> str:
        start = {")": "(", "]": "["}[end]
        depth, inside = 1, ""
        while True:
            token = self.take()
            mark = token.content if token.kind == "mark" else ""
            depth += (mark == start) - (mark == end)
            if not depth:
                return inside
            is_apart = token.kind != "mark" and inside[-1:].isalnum()
            inside += " " * is_apart + token.content

    def _wrong(self, reason: str) -> SourceInvalid:
        return SourceInvalid(file=self.position, reason=reason)
