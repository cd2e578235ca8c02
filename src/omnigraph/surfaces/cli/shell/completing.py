"""What Tab offers: commands and their arguments, and in a statement what the language offers.

A pure function of the text before the cursor and of what the session knows.
"""

from collections.abc import Iterable, Iterator

from omnigraph.base.frozen import frozen
from omnigraph.engine import language
from omnigraph.lang.query.editing.complete import Candidate, Completion
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.surfaces.cli.shell.commands import COMMANDS
from omnigraph.surfaces.cli.shell.session import MODES
from omnigraph.surfaces.cli.shell.statements import BEFORE_A_STATEMENT, cut

__all__ = ["TAKES_A_FILE", "Known", "begun", "completion"]

TAKES_A_FILE = (".read ", ".run ", ".open ")


@frozen
class Known:
    """What can be named."""

    catalog: Catalog = Catalog((), ())
    branches: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


def begun(text: str) -> int:
    """Where the statement or command begins that the end of a text is in."""
    parts = cut(text)
    if parts.rest is not None:
        return parts.rest.start
    if parts.statements and (last := parts.statements[-1]).text.startswith("."):
        is_its_line = "\n" not in text[last.start :]
        return last.start if is_its_line else len(text)
    return len(text)


def completion(text: str, known: Known) -> Completion:
    """What may stand at the end of a text that is being typed."""
    start = begun(text)
    typed = text[start:]
    if typed.startswith("."):
        before = BEFORE_A_STATEMENT.match(typed)
        if before is None or (before.end() == len(typed) and typed[-1:] != " "):
            return _of_command(typed, start, known)
        start, typed = start + before.end(), typed[before.end() :]
        more: tuple[Candidate, ...] = ()
        if before["analyze"] is None and "analyze".startswith(typed):
            more = (Candidate("analyze", "run it, and measure"),)
        offered = _of_language(typed, start, known)
        return Completion(offered.start, (*more, *offered.candidates))
    offered = _of_language(typed, start, known)
    if typed:
        return offered
    return Completion(start, (*offered.candidates, *_commands("")))


def _of_language(typed: str, start: int, known: Known) -> Completion:
    found = language.complete(typed, known.catalog, known.parameters)
    return Completion(start + found.start, found.candidates)


def _of_command(typed: str, start: int, known: Known) -> Completion:
    word, blank, argument = typed.partition(" ")
    if not blank:
        return Completion(start, tuple(_commands(word)))
    argument = argument.lstrip()
    names = [*_arguments(word, known)]
    found = tuple(Candidate(name) for name in names if name.startswith(argument))
    return Completion(start + len(typed) - len(argument), found)


def _commands(word: str) -> Iterator[Candidate]:
    for command in COMMANDS:
        if command.name.startswith(word):
            yield Candidate(command.name, command.about)


def _arguments(word: str, known: Known) -> Iterable[str]:
    match word:
        case ".checkout":
            return known.branches
        case ".mode":
            return MODES
        case ".timing":
            return ("on", "off")
        case ".params":
            return ("clear",)
        case ".schema":
            catalog = known.catalog
            return [each.name for each in (*catalog.entities, *catalog.interfaces)]
        case _:
            return ()
