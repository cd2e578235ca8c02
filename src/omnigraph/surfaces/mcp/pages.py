"""Pages: an answer that is too long comes in parts, all of the same moment.

A cursor holds the commits that were read, how far the agent is, and a digest of what was asked. So
nothing is kept here between calls, and a cursor lets nobody read what they could not read anyway.
It also holds how much was found: where a policy shows more or less of the moment meanwhile, places
in it have moved, and the pages are not gone on with.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.engine.change_values import json_ready
from omnigraph.surfaces.mcp.tool import Arguments

__all__ = ["Cursor", "Page", "json_bytes", "json_text", "page_of", "read_cursor", "shortened"]

NOT_ASKED = frozenset({"cursor", "limit"})
"""Arguments that say nothing of what is asked: a next page may be shorter or longer."""
SHORT_CHARACTERS = (500, 100, 20)
"""What is left of a text, where a row alone would be more than a page: the first that is enough."""
MAX_OFFSET = 1 << 53


class Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    asked: str
    """A digest of the call."""
    offset: Annotated[int, msgspec.Meta(ge=0, le=MAX_OFFSET)]
    moments: tuple[str, ...]
    """The commits that are read."""
    branches: tuple[str | None, ...] = ()
    """The branches whose heads these were."""
    total: int | None = None
    """How much was found; None: it is not counted."""

    def text(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def read_cursor(tool: str, arguments: Arguments, *, moments: int) -> Cursor:
    """Where a call goes on: at its cursor, if it has one, else at the beginning."""
    asked = _digest(tool, arguments)
    if (text := arguments.get("cursor")) is None:
        return Cursor(asked, 0, ())
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        cursor = msgspec.json.decode(raw, type=Cursor)
    except (ValueError, msgspec.MsgspecError):
        rule = "it is no cursor, or a part of one"
        raise ArgumentInvalid("cursor", None, rule, "pass next_cursor of the page before") from None
    if cursor.asked != asked:
        rule = "it belongs to a call with other arguments"
        advice = "repeat the arguments of the first page, and add the cursor"
        raise ArgumentInvalid("cursor", None, rule, advice)
    if len(cursor.moments) != moments or len(cursor.branches) != moments:
        raise ArgumentInvalid("cursor", None, "it is no cursor of this tool")
    return cursor


def _digest(tool: str, arguments: Arguments) -> str:
    asked = {name: value for name, value in arguments.items() if name not in NOT_ASKED}
    return hashlib.sha256(msgspec.json.encode([tool, asked], order="sorted")).hexdigest()[:16]


@frozen
class Page:
    rows: list[Any]
    next_cursor: str | None
    is_shortened: bool
    """Long values were cut: one row alone would have been more than a page."""

    def members(self, said: str) -> dict[str, Any]:
        """What an answer says of its pages. `said` is what rows are called."""
        members: dict[str, Any] = {"next_cursor": self.next_cursor}
        if self.is_shortened:
            members["shortened"] = f"long values of {said} are cut: ask for fewer properties"
        return members


def page_of(
    rows: Iterable[Mapping[str, Any]],
    cursor: Cursor,
    moments: Sequence[str],
    branches: Sequence[str | None] | None = None,
    *,
    found: int,
    is_counted: bool = True,
    limit_rows: int,
    limit_bytes: int,
) -> Page:
    """The rows that fit on a page, of those from the cursor on. `found` says how many there are
    from the beginning, or at least, if it `is_counted` no further."""
    total = found if is_counted else None
    if cursor.moments and cursor.total != total:
        rule = "what you may see of that moment has changed since the page before"
        raise ArgumentInvalid("cursor", None, rule, "begin again without the cursor")
    taken: list[Any] = []
    size, is_shortened = 0, False
    for row in rows:
        if len(taken) == limit_rows:
            break
        ready = json_ready(row)
        length = json_bytes(ready)
        if taken and size + length > limit_bytes:
            break
        if length > limit_bytes:
            ready, is_shortened = shortened(ready, limit_bytes), True
            length = json_bytes(ready)
        taken.append(ready)
        size += length
    offset = cursor.offset + len(taken)
    is_last = offset >= found
    after = Cursor(
        cursor.asked, offset, tuple(moments), tuple(branches or (None for _ in moments)), total
    )
    return Page(taken, None if is_last else after.text(), is_shortened)


def json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def json_bytes(value: Any) -> int:
    """What a value takes on the wire."""
    return len(msgspec.json.encode(value))


def shortened(value: Any, limit_bytes: int) -> Any:
    """The value with its long texts and lists cut, as little as is enough."""
    cut = value
    for characters in SHORT_CHARACTERS:
        cut = _cut(value, characters)
        if json_bytes(cut) <= limit_bytes:
            break
    return cut


def _cut(value: Any, characters: int) -> Any:
    match value:
        case str() if len(value) > characters:
            return f"{value[:characters]}… ({len(value):,} characters)"
        case dict():
            return {name: _cut(member, characters) for name, member in value.items()}
        case list() if len(value) > characters // 10:
            kept = [_cut(member, characters) for member in value[: characters // 10]]
            return [*kept, f"… ({len(value):,} members)"]
        case list():
            return [_cut(member, characters) for member in value]
        case _:
            return value
