"""The commands of the shell: those that begin with a dot.

Each does what a command of `omnigraph` does, for the graph and the place that are looked at.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped, listed
from omnigraph.engine import language
from omnigraph.engine.handles.branch import Branch
from omnigraph.engine.text import QUERY, read_bytes, read_source
from omnigraph.lang.source import decode_source
from omnigraph.surfaces.cli.log import picture
from omnigraph.surfaces.cli.options import open_graph, parameters
from omnigraph.surfaces.cli.output import Format, print_text, say
from omnigraph.surfaces.cli.shell.session import MODES, Asked, Session, asked_of
from omnigraph.surfaces.cli.shell.statements import BEFORE_A_STATEMENT, Statement, cut
from omnigraph.surfaces.cli.shell.typed import Typed, is_change

__all__ = ["COMMANDS", "Command", "Leave", "run_text"]

LOG_LINES = 10
"""Of a history: what one looks at first."""

MAX_NESTED_FILES = 8
"""Files that read files: a person needs two, and one that reads itself never ends."""

ENDS = """\
A query is typed whole, query name() { … }, and ends with its brace. Or only its
body is typed: match { … } return { … }, or insert, update and delete. A body
ends with ; or an empty line. All changes of one body are one commit.
Tab completes. Ctrl-C takes back the line, or the question that is being
answered. Ctrl-D leaves."""


class Leave(Exception):
    """Somebody wants to leave the shell."""


@frozen
class Call:
    """A command that was typed."""

    session: Session
    argument: str
    """What stands behind its word."""
    statement: Statement
    written: SourceText
    depth: int
    """How many files are being read."""


@frozen
class Command:
    name: str
    arguments: str
    about: str
    run: Callable[[Call], None]


def run_text(session: Session, text: str, name: str, *, depth: int = 0) -> None:
    """Run every statement of a text, up to the first that fails."""
    written = SourceText(text, name)
    for statement in cut(text).all:
        if statement.text.startswith("."):
            word, *rest = statement.text.rstrip("; \t").split(maxsplit=1)
            call = Call(session, "".join(rest), statement, written, depth)
            _command(word).run(call)
        else:
            session.run(Typed.read(statement, written, session.params))


def _command(word: str) -> Command:
    if (command := BY_NAME.get({".exit": ".quit"}.get(word, word))) is None:
        rule = "there is no such command"
        hint = did_you_mean(word, BY_NAME) or ".help lists the commands"
        raise ArgumentInvalid(clipped(word), None, rule, hint)
    return command


# Looking ------------------------------------------------------------------------------------------


def _help(call: Call) -> None:
    width = max(len(f"{each.name} {each.arguments}") for each in COMMANDS)
    lines = [f"{f'{each.name} {each.arguments}':<{width}}  {each.about}" for each in COMMANDS]
    print_text("\n".join([*lines, "", ENDS]))


def _schema(call: Call) -> None:
    schema, name = call.session.place.schema(), call.argument
    if not name:
        print_text(schema.text.rstrip("\n"))
        return
    source = SourceText(schema.text, "<schema>")
    print_text(language.text_of_type(source, schema.catalog, name).rstrip("\n"))


def _branches(call: Call) -> None:
    session = call.session
    here = session.place.name if isinstance(session.place, Branch) else None
    names = session.graph.branches()
    print_text("\n".join(f"{'*' if name == here else ' '} {name}" for name in names))


def _log(call: Call) -> None:
    session, count = call.session, call.argument
    if count and not (count.isdecimal() and int(count) > 0):
        raise ArgumentInvalid(".log", count, "it takes the number of commits to show")
    found = session.graph.log(session.branch, limit=int(count) if count else LOG_LINES)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = picture(found, now=datetime.now(UTC), width=width, has_lanes=True)
    print_text("\n".join(lines))


def _explain(call: Call) -> None:
    session, statement = call.session, call.statement
    before = BEFORE_A_STATEMENT.match(statement.text)
    assert before is not None, "it is .explain"
    analyze, text = before["analyze"] is not None, statement.text[before.end() :]
    if text.strip("; "):
        column = statement.column + before.end()
        part = replace(statement, text=text, column=column)
        typed = Typed.read(part, call.written, session.params)
        with typed.errors_at_its_place():
            print_text(session.explain(asked_of(typed), analyze=analyze))
    elif session.last is not None:
        print_text(session.explain(session.last, analyze=analyze))
    else:
        rule = "nothing was asked yet"
        raise ArgumentInvalid(".explain", None, rule, "write the query behind .explain")


# Going elsewhere ----------------------------------------------------------------------------------


def _checkout(call: Call) -> None:
    if call.argument:
        call.session.checkout(call.argument)
    say(_where(call.session))


def _branch(call: Call) -> None:
    if not call.argument:
        raise ArgumentInvalid(".branch", None, "it takes the name of a new branch")
    call.session.make_branch(call.argument)
    say(f"made branch {call.argument}; {_where(call.session)}")


def _open(call: Call) -> None:
    session = call.session
    if not call.argument:
        raise ArgumentInvalid(".open", None, "it takes the graph: a path, a bucket, or a URL")
    session.open(open_graph(call.argument, read_only=session.is_read_only))
    say(_where(session))


def _where(session: Session) -> str:
    if isinstance(session.place, Branch):
        return f"on branch {session.place.name} of {session.graph.uri}"
    commit, back = session.place.commit, f".checkout {session.branch}"
    made = f"{commit.created_at:%Y-%m-%dT%H:%M:%SZ}"
    return f"at commit {commit.graph_commit_id} of {made}, which can only be read; {back} goes back"


# How to ask, and how to answer --------------------------------------------------------------------


def _timing(call: Call) -> None:
    session, word = call.session, call.argument
    if word not in ("", "on", "off"):
        raise ArgumentInvalid(".timing", word, "it is on or off")
    session.is_timed = not session.is_timed if not word else word == "on"
    say(f"timing is {'on' if session.is_timed else 'off'}")


def _mode(call: Call) -> None:
    session, name = call.session, call.argument
    if name and name not in MODES:
        rule = f"rows are shown as {listed(MODES)}"
        raise ArgumentInvalid(".mode", name, rule, did_you_mean(name, MODES))
    session.mode = Format(name) if name else session.mode
    say(f"rows are shown as {session.mode}")


def _params(call: Call) -> None:
    session, text = call.session, call.argument
    if text:
        session.params = {} if text == "clear" else _json_object(".params", text)
    if session.params:
        print_text(json.dumps(session.params, ensure_ascii=False))
    else:
        say('there are no parameters; .params {"name": "Ada"} sets $name')


def _run(call: Call) -> None:
    session = call.session
    words, brace, rest = call.argument.partition("{")
    given = _words(".run", words)
    if not 1 <= len(given) <= 2:
        rule = "it takes a .gq file, the name of a query, and parameters as JSON"
        raise ArgumentInvalid(".run", None, rule, '.run people.gq friends_of {"name": "Ada"}')
    source = read_source(Path(given[0]).expanduser(), QUERY)
    name = given[1] if len(given) > 1 else None
    queries = language.queries_of(source, skips_broken=True)
    meant = [query for query in queries if name in (None, query.header.name.text)]
    # Where none is meant, or several are, the graph says so.
    is_changing = len(meant) == 1 and is_change(meant[0])
    if brace:
        params = _json_object(".run", brace + rest)
    else:
        declared = {p.variable.name for query in meant for p in query.header.parameters}
        params = {name: value for name, value in session.params.items() if name in declared}
    session.do(Asked(source, name, params, is_changing))


def _read(call: Call) -> None:
    words = _words(".read", call.argument)
    if len(words) != 1:
        raise ArgumentInvalid(".read", None, "it takes a file of statements and commands")
    if call.depth >= MAX_NESTED_FILES:
        rule = f"files read each other more than {MAX_NESTED_FILES} deep"
        raise ArgumentInvalid(".read", words[0], rule)
    path = Path(words[0]).expanduser()
    source = decode_source(read_bytes(path), str(path), code="Q000")
    run_text(call.session, source.text, source.name, depth=call.depth + 1)


def _quit(call: Call) -> None:
    raise Leave


def _words(command: str, text: str) -> list[str]:
    """The words of a command; one with blanks stands in quotes."""
    try:
        return shlex.split(text)
    except ValueError:
        raise ArgumentInvalid(command, text, "a quote has no end") from None


def _json_object(command: str, text: str) -> dict[str, object]:
    try:
        return dict(parameters(text, None))
    except ArgumentInvalid as error:
        advice = f'write an object: {command} {{"name": "Ada"}}'
        raise replace(error, argument=command, advice=advice) from None


COMMANDS = (
    Command(".help", "", "this list", _help),
    Command(".schema", "[TYPE]", "the schema, or one type of it", _schema),
    Command(".branches", "", "all branches; * is where you are", _branches),
    Command(".checkout", "[BRANCH|COMMIT|TIME]", "go there; the past can only be read", _checkout),
    Command(".branch", "NAME", "make a branch here, and go there", _branch),
    Command(".log", "[N]", f"the newest N commits of the branch ({LOG_LINES})", _log),
    Command(".explain", "[analyze] [QUERY]", "the plan of a query, or of the last one", _explain),
    Command(".run", "FILE [NAME] [JSON]", "a query of a .gq file, with parameters", _run),
    Command(".read", "FILE", "run what a file says, as if it were typed", _read),
    Command(".params", "[JSON|clear]", "values for the parameters of queries", _params),
    Command(".mode", f"[{'|'.join(MODES)}]", "how rows are shown", _mode),
    Command(".timing", "[on|off]", "how long each statement takes", _timing),
    Command(".open", "GRAPH", "another graph: a path, a bucket or a URL", _open),
    Command(".quit", "", "leave, as Ctrl-D does", _quit),
)
BY_NAME = {command.name: command for command in COMMANDS}
