"""Blobs: the bytes of a property, in ranges and on conditions, as HTTP has them (RFC 9110).

A tag is strong: equal tags, equal bytes. It is known without reading a byte.
"""

import re
from collections.abc import Mapping

from omnigraph.base.errors import BlobChanged, RangeOutside
from omnigraph.engine.blob import Blob
from omnigraph.surfaces.server.calls import BYTES, Call, Pulled, Reply, Whole
from omnigraph.surfaces.server.handlers.moments import branch_and_moment
from omnigraph.surfaces.server.rows import SNAPSHOT_ID

__all__ = ["get_blob", "head_blob"]

ONE_RANGE = re.compile(r"bytes=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")

Range = tuple[int, int]
"""The first byte, and the one behind the last."""


def get_blob(call: Call) -> Reply:
    blob = _find(call)
    if _is_unchanged(call, blob):
        return Whole(b"", media_type="", status=304, headers=dict(call.answer_headers))
    found = _range(call, blob)
    if found is None:
        return _pieces(call, blob, (0, blob.size), status=200, more={})
    start, end = found
    where = {"Content-Range": f"bytes {start}-{end - 1}/{blob.size}"}
    return _pieces(call, blob, found, status=206, more=where)


def head_blob(call: Call) -> Reply:
    """As GET without its bytes; a range is not minded."""
    blob = _find(call)
    headers = dict(call.answer_headers)
    if _is_unchanged(call, blob):
        return Whole(b"", media_type="", status=304, headers=headers)
    return Whole(b"", media_type=BYTES, headers=headers, length=blob.size)


def _find(call: Call) -> Blob:
    asked = call.params
    branch, moment = branch_and_moment(asked.branch, asked.snapshot)
    blob = call.graph.blob(
        asked.entity.value, asked.type, asked.id, asked.property, branch=branch, snapshot=moment
    )
    call.answer_headers.update(
        {
            "ETag": f'"{blob.etag}"',
            "Accept-Ranges": "bytes",
            "Cache-Control": "private, no-cache",
            SNAPSHOT_ID: blob.graph_commit_id,
        }
    )
    wanted = _tags(call, "if-match")
    if wanted is not None and not _names(wanted, blob, is_weak_enough=False):
        raise BlobChanged(etag=blob.etag, size=blob.size)
    return blob


def _is_unchanged(call: Call, blob: Blob) -> bool:
    known = _tags(call, "if-none-match")
    return known is not None and _names(known, blob, is_weak_enough=True)


def _tags(call: Call, name: str) -> str | None:
    """The header; several of one name are one list."""
    return ", ".join(call.headers.getlist(name)) or None


def _names(tags: str, blob: Blob, *, is_weak_enough: bool) -> bool:
    """True if a header of tags names that of the blob, or is `*`."""
    if tags.strip() == "*":
        return True
    given = [tag.strip() for tag in tags.split(",")]
    if is_weak_enough:
        given = [tag.removeprefix("W/") for tag in given]
    return f'"{blob.etag}"' in given


def _range(call: Call, blob: Blob) -> Range | None:
    """The range asked for; None: all of it, as for a header that can't be understood."""
    match = ONE_RANGE.fullmatch(call.headers.get("range", ""))
    condition = call.headers.get("if-range")
    if match is None or (condition is not None and condition.strip() != f'"{blob.etag}"'):
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    if not first:
        start, end = max(blob.size - int(last), 0), blob.size
        is_there = int(last) > 0 and blob.size > 0
    else:
        start = int(first)
        if last and int(last) < start:
            return None
        end = min(int(last) + 1, blob.size) if last else blob.size
        is_there = start < blob.size
    if not is_there:
        raise RangeOutside(start=start, end=max(end, start), size=blob.size)
    return start, end


def _pieces(
    call: Call, blob: Blob, found: Range, *, status: int, more: Mapping[str, str]
) -> Pulled:
    start, end = found
    return Pulled(
        blob.chunks(start, end),
        BYTES,
        status=status,
        headers={**call.answer_headers, **more},
        length=end - start,
        may_be_packed=False,
    )
