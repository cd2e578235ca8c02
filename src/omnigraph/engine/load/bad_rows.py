"""Where the rows go that break a rule, if the caller of a load wants them set aside.

Their directory gets its name only when the load is over: one that failed leaves none.
"""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.engine.requests import Load

if TYPE_CHECKING:
    from omnigraph.pipeline.staging.quarantine import Quarantine

__all__ = ["quarantine_for"]


def quarantine_for(request: Load, *, unique: str) -> "Quarantine | None":
    """The quarantine of a load; None: one bad row fails it. The caller names it or drops it."""
    if request.on_error == "fail":
        return None
    from omnigraph.pipeline.staging.quarantine import MAX_ERROR_ROWS, open_quarantine

    most = MAX_ERROR_ROWS if request.max_errors is None else request.max_errors
    if request.quarantine is not None:
        return open_quarantine(os.fspath(request.quarantine), max_errors=most)
    family = f"{_name_of(request.source)}.rejected-"
    return open_quarantine(f"{family}{unique}", max_errors=most, names_like=family)


def _name_of(source: object) -> str:
    """A name for files: of standard input, a glob, rows or the working directory too."""
    named = source if isinstance(source, list | tuple) else (source,)
    path = next((os.fspath(one) for one in named if isinstance(one, str | os.PathLike)), "rows")
    name = "stdin" if path == "-" else Path(path).absolute().name
    return re.sub(r"[^\w.-]+", "_", name) or "rows"
