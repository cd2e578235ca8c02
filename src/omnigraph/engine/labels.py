"""What a node is called by people: by its name, its title, its label, or else by its key."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

__all__ = ["LABELS", "label_of"]

LABELS = ("name", "title", "label")
"""What a node is called by, if it has one of them; otherwise by its id."""
BETWEEN_PARTS = " · "
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def label_of(properties: Mapping[str, Any], id_: object, names: Iterable[str] = LABELS) -> str:
    """The first of these properties that has a value, or the id. The parts of an id that is made of
    several properties are shown one after the other, dates and times among them as such."""
    named = next((str(v) for n in names if (v := properties.get(n)) is not None), None)
    if named is not None:
        return named
    parts = _parts(str(id_))
    if parts is None:
        return str(id_)
    shown = {_text(v): _shown(v) for v in properties.values() if isinstance(v, date)}
    return BETWEEN_PARTS.join(shown.get(part, part) for part in parts)


def _parts(id_: str) -> list[str] | None:
    """The texts that a key of several properties is made of; None: the id is not such a key."""
    if not id_.startswith('["'):
        return None
    try:
        parts = json.loads(id_)
    except (ValueError, RecursionError):
        return None
    return parts if all(isinstance(part, str) for part in parts) else None


def _text(value: date) -> str:
    """A date or a time as ids write it: in days or in milliseconds since 1970."""
    if not isinstance(value, datetime):
        return str((value - EPOCH.date()).days)
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return str((aware - EPOCH) // timedelta(milliseconds=1))


def _shown(value: date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    return f"{value:%Y-%m-%d %H:%M}" + (f":{value:%S}" if value.second else "")
