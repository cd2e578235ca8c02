"""`omnigraph`: the one place where an error becomes text and an exit code.

The commands are imported only when Ctrl-C is taken care of: that takes most of a second.
"""

import errno
import io
import os
import signal
import sys
import traceback
from contextlib import suppress
from types import FrameType

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.interruptions import is_told_by_duckdb

EXIT_INTERRUPTED = 130

UNWRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Why an answer can't be written, whatever the answer is. An error of a file names the file."""


def main() -> None:
    """Run a command; every error leaves as text or JSON, never as a traceback."""
    _show_any_character()
    usual = signal.signal(signal.SIGINT, _leave)
    from omnigraph.surfaces.cli.app import command_tree
    from omnigraph.surfaces.cli.output import print_json, say, say_unwritten
    from omnigraph.surfaces.cli.words import error_as_typed, interruption_as_said
    from omnigraph.surfaces.wire import EXIT_ERROR, error_json, exit_code

    tree = command_tree(sys.argv[1:])
    signal.signal(signal.SIGINT, usual)
    try:
        tree(prog_name="omnigraph")
    except OmnigraphError as error:
        if _wants_json():
            print_json(error_json(error))
        else:
            say(error_as_typed(error))
        if _wants_traceback():
            traceback.print_exc()
        sys.exit(exit_code(error))
    except SystemExit as leaving:
        # Typer makes a silent exit of Ctrl-C.
        if (stopped := _interruption(leaving)) is not None:
            say(interruption_as_said(stopped))
        raise
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; there is nobody left to tell.
        _send_nowhere()
        sys.exit(EXIT_ERROR)
    except KeyboardInterrupt as stopped:
        say(interruption_as_said(stopped))
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the outermost surface: a bug of ours ends here
        if is_told_by_duckdb(error):
            say(interruption_as_said(KeyboardInterrupt()))
            sys.exit(EXIT_INTERRUPTED)
        if isinstance(error, OSError) and error.errno in UNWRITTEN and error.filename is None:
            _send_nowhere()
            say_unwritten(error)
        else:
            _report_bug(error)
        sys.exit(EXIT_ERROR)


def _send_nowhere() -> None:
    """Give up what was not yet written of the answer: it would fail once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(number: int, frame: FrameType | None) -> None:
    """End a program that has done nothing yet. An exception might be caught by what is imported."""
    os._exit(EXIT_INTERRUPTED)


def _show_any_character() -> None:
    """Where the encoding of a terminal has no letter for a character, show the character's code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # What comes from a file or a pipe is UTF-8, as all our files are, whatever a terminal shows.
    if isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C that led to an error, if one did."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def _wants_json() -> bool:
    """Also before the command line is understood, and where an alias says so."""
    from omnigraph.surfaces.cli.addressing import their_config

    typed = sys.argv[1:]
    with suppress(OmnigraphError):
        name = next((word for word in typed if not word.startswith("-")), "")
        typed += their_config(tells=False).aliases.get(name, ())
    return "--json" in typed


def _wants_traceback() -> bool:
    return "--debug" in sys.argv or bool(os.environ.get("OMNIGRAPH_DEBUG"))


def _report_bug(error: Exception) -> None:
    from omnigraph.surfaces.cli.output import print_json, say

    sentence = f"internal error: {type(error).__name__}: {error}"
    hint = "this is a defect of omnigraph; --debug shows where"
    if _wants_json():
        print_json({"error": sentence, "code": "internal", "details": {}, "hint": hint})
    else:
        say(f"{sentence}\n  hint: {hint}")
    if _wants_traceback():
        traceback.print_exc()
