"""What becomes of rows that break a rule, as the caller of a load wants it.

By default one of them fails the load. With a quarantine they are set aside in a directory, which
gets its name only when the load is over: one that failed leaves none.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.base.errors import ArgumentInvalid

if TYPE_CHECKING:
    from omnigraph.pipeline.staging.quarantine import Quarantine

__all__ = ["BadRows", "open_for"]


@dataclass(frozen=True, slots=True)
class BadRows:
    on_error: str = "fail"
    quarantine: str | os.PathLike[str] | None = None
    """The directory; None: one in the working directory, named after the source."""
    max_errors: int | None = None

    def __post_init__(self) -> None:
        if self.on_error == "fail":
            for argument in ("quarantine", "max_errors"):
                if (value := getattr(self, argument)) is not None:
                    rule = "it has a meaning only where on_error is quarantine"
                    raise ArgumentInvalid(argument=argument, value=str(value), rule=rule)
        if self.max_errors is not None and self.max_errors < 0:
            rule = "it must be 0 or more"
            raise ArgumentInvalid(argument="max_errors", value=str(self.max_errors), rule=rule)


def open_for(bad_rows: BadRows, *, source: str, unique: str) -> "Quarantine | None":
    """Where rejected rows go, if anywhere. Whoever asks names it or drops it."""
    if bad_rows.on_error == "fail":
        return None
    from omnigraph.pipeline.staging.quarantine import MAX_ERROR_ROWS, open_quarantine

    directory = bad_rows.quarantine or f"{_plain_name(source)}.rejected-{unique}"
    most = MAX_ERROR_ROWS if bad_rows.max_errors is None else bad_rows.max_errors
    return open_quarantine(os.fspath(directory), max_errors=most)


def _plain_name(source: str) -> str:
    """A name for files: of standard input, a glob or the working directory too."""
    name = "stdin" if source == "-" else Path(source).absolute().name
    return re.sub(r"[^\w.-]+", "_", name) or "rows"
