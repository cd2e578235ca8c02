"""Arguments as the command line has them: `load_id` of a hint is `--load-id` there.

Errors and hints are written once, in the words of Python. Only names with an underscore are
changed: they are arguments wherever they stand.
"""

import re

__all__ = ["as_typed"]

ARGUMENTS = re.compile(r"\b(?:dry_run|if_commit|load_id|max_errors|on_error|allow_data_loss)\b")


def as_typed(text: str) -> str:
    """The text with options in place of Python's arguments."""
    return ARGUMENTS.sub(lambda found: f"--{found[0].replace('_', '-')}", text)
