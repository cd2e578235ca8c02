"""How much of the past is kept, as people say it: so many commits, so long (`12h`, `7d`)."""

import re
from datetime import timedelta

from omnigraph.base.errors import ArgumentInvalid

__all__ = ["DEFAULT_KEEP", "Duration", "duration_s"]

DEFAULT_KEEP = 10
"""So many of the newest commits of each branch."""

Duration = str | timedelta

DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*")
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
MAX_S = 100 * 365 * 86_400
"""Longer ago than any graph was made, and no clock is led astray."""


def duration_s(argument: str, value: object) -> float:
    """The seconds of an argument that is a length of time."""
    seconds = _seconds(value)
    if seconds is None or not 0 <= seconds <= MAX_S:
        rule = "it must be a length of time such as 90s, 30m, 12h, 7d or 2w"
        raise ArgumentInvalid(argument=argument, value=str(value), rule=rule)
    return seconds


def _seconds(value: object) -> float | None:
    match value:
        case timedelta():
            return value.total_seconds()
        case str() if (found := DURATION.fullmatch(value)) is not None:
            return float(found[1]) * SECONDS[found[2]]
        case _:
            return None
