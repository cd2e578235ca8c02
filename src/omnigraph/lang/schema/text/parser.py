"""Text to syntax tree, with every error found in one pass and told in the user's words.

After an error the parser drops what it had begun, skips to the next place where a property, an
annotation, a closing brace or a declaration can start, and goes on from there: one slip costs one
message, and the next slip is found too. A text that doesn't parse is never checked, so an error
here causes no second one elsewhere.
"""

from lark import Token, UnexpectedToken
from lark.parsers.lalr_analysis import Shift

from omnigraph.base.errors import Diagnostic, ParseFailed
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.codes import MAX_FINDINGS
from omnigraph.lang.schema.text.ast import Declaration, SchemaFile
from omnigraph.lang.schema.text.expected import END, Situation, explain, meant_kind
from omnigraph.lang.schema.text.scan import KEYWORDS, scan
from omnigraph.lang.schema.text.syntax import grammar
from omnigraph.lang.source import check_size

__all__ = ["parse"]

DECLARES = ("INTERFACE", "NODE", "EDGE")


def parse(source: SourceText) -> SchemaFile:
    """Raises ParseFailed with everything found; LimitExceeded for a text of many megabytes."""
    check_size(source)
    source = SourceText(source.text.removeprefix("\ufeff"), source.name)
    scanned = scan(source)
    run = _Run(scanned.tokens)
    declarations = run.to_the_end()
    if scanned.findings or run.findings:
        found = _told_once(scanned.findings, run.findings)
        raise ParseFailed(source=source, diagnostics=tuple(found[:MAX_FINDINGS]))
    return SchemaFile(declarations, tuple(scanned.comments), source)


def _told_once(unreadable: list[Diagnostic], misplaced: list[Diagnostic]) -> list[Diagnostic]:
    """All findings in order, less those that an unreadable piece before them may have caused."""
    first = {d.span.line: d.span.column for d in reversed(unreadable)}
    kept = (d for d in misplaced if first.get(d.span.line, d.span.column + 1) > d.span.column)
    return sorted((*unreadable, *kept), key=lambda d: (d.span, d.message))


class _Run:
    """One pass of the parser over the tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self.findings: list[Diagnostic] = []
        self._tokens = [*tokens, _end_after(tokens)]
        self._parser = grammar().parse_interactive()
        self._result: tuple[Declaration, ...] = ()

    def to_the_end(self) -> tuple[Declaration, ...]:
        at = 0
        while len(self.findings) < MAX_FINDINGS:
            if not self._takes(at):
                at = self._recover(at)
            elif self._tokens[at].type == END:
                return self._result
            else:
                at += 1
        return ()

    def _takes(self, at: int) -> bool:
        """Feed a token to the parser; False, and nothing done, where it can't stand there."""
        if self._is_next_property(at):
            return False
        try:
            result = self._parser.feed_token(_as(self._kind(at), self._tokens[at]))
        except UnexpectedToken:
            return False
        self._result = result or ()
        return True

    def _recover(self, at: int) -> int:
        """Report the token at `at` and say where to go on."""
        situation = self._situation(at)
        self.findings.append(explain(situation))
        meant = meant_kind(situation)
        if meant is None or not self._accepts(self._stack, meant):
            return self._resume(at)
        self._parser.feed_token(_as(meant, self._tokens[at]))
        return at + 1

    @property
    def _stack(self) -> list[int]:
        return self._parser.parser_state.state_stack

    def _ahead(self, at: int, distance: int) -> Token:
        return self._tokens[min(at + distance, len(self._tokens) - 1)]

    def _kind(self, at: int) -> str:
        """A keyword is one only where it can be; `node: String` declares a property."""
        token = self._tokens[at]
        keyword = KEYWORDS.get(token) if token.type == "NAME" else None
        if keyword is None:
            return token.type
        if keyword in DECLARES and self._next_is_capitalised(at):
            return keyword
        return keyword if self._accepts(self._stack, keyword) else "NAME"

    def _next_is_capitalised(self, at: int) -> bool:
        # `node Person` can't stand inside a body, so a brace is missing before it.
        following = self._ahead(at, 1)
        return following.type == "NAME" and following[0].isupper()

    def _is_next_property(self, at: int) -> bool:
        """Whether a property starts here while the one before still lacks something.

        In `a: b: String` it is the type of `a` that is missing: `b` must not be taken for it.
        """
        if self._tokens[at].type != "NAME" or self._tokens[at + 1].type != "_COLON":
            return False
        known = self._parser.parser_state.parse_conf.states[self._stack[-1]]
        return "RBRACE" not in known and self._open_brace() is not None

    def _situation(self, at: int) -> Situation:
        known = self._parser.parser_state.parse_conf.states[self._stack[-1]]
        accepted = (kind for kind in known if self._accepts(self._stack, kind))
        return Situation(
            previous=self._tokens[at - 1] if at else None,
            found=self._tokens[at],
            following=(self._ahead(at, 1), self._ahead(at, 2)),
            accepted=frozenset(kind for kind in accepted if kind.isupper() or kind == END),
            open_brace=self._open_brace(),
        )

    def _resume(self, at: int) -> int:
        """Where to go on after an error at `at`, with the parser made ready for that token."""
        while True:
            kinds = self._landmark(at)
            if kinds and self._rewind(kinds):
                return at
            if self._tokens[at].type == "LBRACE" and self._open_brace():
                # A block inside a body is skipped as a whole, and the next member may follow.
                at = self._closing_brace(at) + 1
                self._rewind(("RBRACE",))
                return at
            at += 1

    def _landmark(self, at: int) -> tuple[str, ...]:
        """The kinds that must be acceptable for parsing to resume at this token; () if never."""
        token = self._tokens[at]
        following = self._ahead(at, 1).type
        if token.type == "NAME" and following == "_COLON":
            # The closing brace tells a body from the head of an edge, `edge Name: …`.
            return ("RBRACE", "NAME") if self._open_brace() else ()
        if KEYWORDS.get(token) in DECLARES and following in ("NAME", "LBRACE"):
            return (KEYWORDS[token],)
        if token.type == "LBRACE" and (self._open_brace() or self._accepts(self._stack, END)):
            return ()
        return (token.type,) if token.type in ("AT", "LBRACE", "RBRACE", END) else ()

    def _rewind(self, kinds: tuple[str, ...]) -> bool:
        """Drop the newest half-read parts until each of `kinds` could come next."""
        for depth in range(len(self._stack), 0, -1):
            if all(self._accepts(self._stack[:depth], kind) for kind in kinds):
                del self._stack[depth:]
                del self._parser.parser_state.value_stack[depth - 1 :]
                return True
        return False

    def _accepts(self, stack: list[int], kind: str) -> bool:
        """Whether a parser in this state would take a token of this kind, nothing being built."""
        states = self._parser.parser_state.parse_conf.states
        end_state = self._parser.parser_state.parse_conf.end_state
        stack = list(stack)
        while kind in states[stack[-1]]:
            action, argument = states[stack[-1]][kind]
            if action is Shift:
                return kind != END
            if argument.expansion:
                del stack[-len(argument.expansion) :]
            stack.append(states[stack[-1]][argument.origin.name][1])
            if kind == END and stack[-1] == end_state:
                return True
        return False

    def _open_brace(self) -> Token | None:
        """The brace of the body that the parser is in; None between declarations."""
        if self._accepts(self._stack, END):
            return None
        values = self._parser.parser_state.value_stack
        return next((v for v in values if isinstance(v, Token) and v.type == "LBRACE"), None)

    def _closing_brace(self, at: int) -> int:
        """The brace that closes the one at `at`, or the last token before the end."""
        depth = 0
        for i in range(at, len(self._tokens) - 1):
            kind = self._tokens[i].type
            depth += (kind == "LBRACE") - (kind == "RBRACE")
            if depth == 0:
                return i
        return len(self._tokens) - 2


def _as(kind: str, token: Token) -> Token:
    return token if kind == token.type else Token.new_borrow_pos(kind, token, token)


def _end_after(tokens: list[Token]) -> Token:
    if not tokens:
        return Token(END, "", line=1, column=1, end_line=1, end_column=1)
    last = tokens[-1]
    line, column = last.end_line, last.end_column
    return Token(END, "", line=line, column=column, end_line=line, end_column=column)
