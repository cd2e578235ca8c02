"""The log: one JSON object a line, on standard error. Nothing secret goes into it.

A line of a request names its route, never its path or query string: these hold ids of entities.
Bodies, parameters, texts of queries and headers are not logged at all.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import msgspec

__all__ = ["MEMBERS", "JsonLines", "log_to_stderr"]

MEMBERS = "members"
"""Members of a line beside its message: `log.info("…", extra={MEMBERS: {…}})`."""

NOISE = ("uvicorn.access",)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, MEMBERS, {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        try:
            return msgspec.json.encode(line).decode("utf-8")
        except UnicodeEncodeError:
            return json.dumps(line)  # which writes half a character as its escape


def log_to_stderr(level: int = logging.INFO) -> None:
    """Send all logs of this process there. Only a process that is a server calls it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in NOISE:
        logging.getLogger(name).disabled = True
