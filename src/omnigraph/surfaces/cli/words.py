"""Errors in the words of the command line: `load_id` of a hint is `--load-id` there.

Errors and hints are written once, in the words of Python. Names with an underscore are arguments
wherever they stand. Others are changed only where an error says which argument it is about.
"""

import re

from omnigraph.base.errors import ArgumentInvalid, OmnigraphError, Unauthorized

__all__ = ["as_typed", "error_as_typed", "interruption_as_said"]

ARGUMENTS = re.compile(
    r"\b(?:dry_run|if_commit|if_source_commit|load_id|max_errors|older_than|on_error"
    r"|allow_data_loss|max_iterations|timeout_s|write_branch|write_to)\b"
)

LOG_IN = "omnigraph login URL keeps a token for you, and OMNIGRAPH_TOKEN is one for now"

# Arguments of Python that are options of the same name, in every command that has them.
OPTIONS = frozenset(
    {
        "confirm",
        "damping",
        "edge",
        "engine",
        "force",
        "format",
        "grace",
        "keep",
        "mapping",
        "message",
        "mode",
        "quarantine",
        "resolve",
        "resume",
        "samples",
        "seed",
        "snapshot",
        "source",
        "start",
        "tolerance",
        "weight",
    }
)

# Arguments of Python that options of other names make.
MADE_BY = {"pairs": "--source and --target", "sources": "--source"}


def as_typed(text: str) -> str:
    """The text with options in place of Python's arguments."""
    return ARGUMENTS.sub(lambda found: f"--{found[0].replace('_', '-')}", text)


def error_as_typed(error: OmnigraphError) -> str:
    """The error as a person reads it who typed options."""
    if isinstance(error, Unauthorized):
        return f"error: {error}\n  hint: {LOG_IN}"
    text = error.render()
    if isinstance(error, ArgumentInvalid) and error.argument in MADE_BY:
        text = text.replace(f"error: {error.argument}", f"error: {MADE_BY[error.argument]}", 1)
    elif isinstance(error, ArgumentInvalid) and error.argument in OPTIONS:
        text = text.replace(f"error: {error.argument}", f"error: --{error.argument}", 1)
        # A flag is typed without a value.
        text = text.replace(f"--{error.argument} 'True':", f"--{error.argument}:", 1)
    return as_typed(text)


def interruption_as_said(stopped: KeyboardInterrupt) -> str:
    """How far something came that was interrupted, if it said so."""
    how_far = str(stopped) or "what had not been committed was not written"
    return f"interrupted: {how_far}"
