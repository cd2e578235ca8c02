"""The terminal of the shell: lines that can be edited, colours, completion, history.

Enter ends what is complete and begins a new line in what is not. Only this module knows
prompt_toolkit, and it is imported only when a person sits in front of it.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style

from omnigraph.engine import language
from omnigraph.surfaces.cli.output import say
from omnigraph.surfaces.cli.shell.completing import TAKES_A_FILE, Known, begun, completion
from omnigraph.surfaces.cli.shell.statements import cut

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from omnigraph.lang.query.editing.marks import Mark

__all__ = ["HISTORY_FILE", "Editor", "Highlighting", "history_in"]

HISTORY_FILE = "shell_history"
INDENT = "    "
PLACEHOLDER = "match { … } return { … };"

STYLE = Style.from_dict(
    {
        "comment": "ansibrightblack",
        "constant": "ansimagenta",
        "command": "bold",
        "keyword": "bold ansiblue",
        "name": "",
        "number": "ansimagenta",
        "sign": "",
        "text": "ansigreen",
        "variable": "ansicyan",
        "prompt": "bold",
        "continuation": "ansibrightblack",
        "placeholder": "ansibrightblack",
    }
)


class Editor:
    """Asks a person for a text of statements."""

    def __init__(
        self,
        known: Callable[[], Known],
        history: History,
        *,
        terminal: "Input | None" = None,
        screen: "Output | None" = None,
    ) -> None:
        """`known` is asked when Tab is pressed. Without a terminal it is that of the process."""
        self._session: PromptSession[str] = PromptSession(
            multiline=True,
            history=history,
            completer=_Completer(known),
            complete_while_typing=False,
            complete_in_thread=True,
            lexer=Highlighting(),
            style=STYLE,
            include_default_pygments_style=False,
            key_bindings=_keys(),
            enable_suspend=True,
            enable_open_in_editor=True,
            tempfile_suffix=".gq",
            input=terminal,
            # An answer may go to a file while a person types.
            output=screen or create_output(always_prefer_tty=True),
        )

    def read(self, label: str) -> str:
        """What was typed. Raises KeyboardInterrupt for Ctrl-C and EOFError for Ctrl-D."""
        return self._session.prompt(
            [("class:prompt", f"{label}> ")],
            prompt_continuation=_continuation,
            placeholder=[("class:placeholder", PLACEHOLDER)],
        )


def history_in(home: Path | None) -> History:
    """What was typed before, in a file that nobody else may read."""
    if home is None:
        return InMemoryHistory()
    path = home / HISTORY_FILE
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.fchmod(file, 0o600)
        finally:
            os.close(file)
    except OSError as error:
        say(f"warning: what you type is not kept: {path}: {error.strerror}")
        return InMemoryHistory()
    return _Kept(str(path))


class _Kept(FileHistory):
    def store_string(self, string: str) -> None:
        try:
            super().store_string(string)
        except OSError:
            # A full disk is no reason to leave: the line is remembered until then.
            return


class _Completer(Completer):
    def __init__(self, known: Callable[[], Known]) -> None:
        self._known = known
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        text = document.text_before_cursor
        typed = text[begun(text) :]
        if typed.startswith(TAKES_A_FILE):
            path = typed.partition(" ")[2].lstrip()
            yield from self._paths.get_completions(Document(path), complete_event)
            return
        found = completion(text, self._known())
        for candidate in found.candidates:
            yield Completion(
                candidate.text, found.start - len(text), display_meta=candidate.about or None
            )


class Highlighting(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = _coloured(document.text)

        def line(number: int) -> StyleAndTextTuples:
            return lines[number] if number < len(lines) else []

        return line


def _coloured(text: str) -> list[StyleAndTextTuples]:
    """The lines of a text, in pieces of one colour."""
    lines: list[StyleAndTextTuples] = [[]]
    for style, piece in _pieces(text):
        first, *more = piece.split("\n")
        lines[-1].append((style, first))
        lines.extend([(style, part)] for part in more)
    return lines


def _pieces(text: str) -> Iterable[tuple[str, str]]:
    """The whole text, with the style of each piece."""
    at = 0
    for statement in cut(text).all:
        end = statement.start + len(statement.text)
        if statement.text.startswith("."):
            word = len(statement.text.split(maxsplit=1)[0])
            styles = [(0, word, "class:command")]
            inside = statement.text[word:]
            if statement.text.startswith(".explain"):
                styles += [
                    (word + m.start, word + m.end, _style(m)) for m in language.marks(inside)
                ]
        else:
            styles = [(m.start, m.end, _style(m)) for m in language.marks(statement.text)]
        for start, stop, style in styles:
            yield "", text[at : statement.start + start]
            at = statement.start + stop
            yield style, text[statement.start + start : at]
        yield "", text[at:end]
        at = end
    yield "", text[at:]


def _style(mark: "Mark") -> str:
    return f"class:{mark.kind.value}"


def _continuation(width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
    return [("class:continuation", "· ".rjust(width))]


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion:
            buffer.complete_state = None
            return
        document = buffer.document
        is_at_end = not document.text_after_cursor.strip()
        if is_at_end and cut(f"{document.text}\n").rest is None:
            buffer.validate_and_handle()
        else:
            depth = cut(document.text_before_cursor).depth
            buffer.insert_text("\n" + INDENT * depth)

    @keys.add("}")
    def _(event: KeyPressEvent) -> None:
        """A brace that begins its line closes the block: it stands below what opened it."""
        buffer = event.current_buffer
        before = buffer.document.current_line_before_cursor
        if before.endswith(INDENT) and not before.strip():
            buffer.delete_before_cursor(len(INDENT))
        buffer.insert_text("}")

    return keys
