"""Bodies and query strings become structs; what is not exactly as declared is refused.

msgspec checks types and Unicode, and lets the last of two equal members win. A second pass with the
standard library refuses those: two programs that read one text differently is how checks are
passed by.
"""

import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from omnigraph.base.errors import LimitExceeded, MediaTypeUnsupported, RequestMalformed
from omnigraph.base.words import clipped

__all__ = ["decode_json", "decode_params", "unpacked"]

T = TypeVar("T")

GZIP = 16 + zlib.MAX_WBITS
BODY, QUERY = "body", "query"


def decode_json(body: bytes, type_: type[T]) -> T:
    """The struct that the text means; raises RequestMalformed."""
    try:
        decoded = _decoded(body, type_)
        STRICT.decode(body.decode())
    except msgspec.MsgspecError as error:
        raise RequestMalformed(BODY, clipped(str(error))) from None
    except UnicodeDecodeError:
        raise RequestMalformed(BODY, "it is not UTF-8") from None
    except RecursionError:
        raise RequestMalformed(BODY, "it is nested too deeply") from None
    except ValueError as error:
        raise RequestMalformed(BODY, clipped(str(error))) from None
    return decoded


def _decoded(body: bytes, type_: type[T]) -> T:
    earlier: Mapping[str, str] | None = getattr(type_, "EARLIER_NAMES", None)
    if earlier is None:
        return msgspec.json.decode(body, type=type_)
    members = msgspec.json.decode(body)
    if isinstance(members, dict):
        for before, name in earlier.items():
            if before in members and name in members:
                raise ValueError(f"`{before}` is an earlier name of `{name}`: give one of them")
        members = {earlier.get(name, name): value for name, value in members.items()}
    return msgspec.convert(members, type_)


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        ((twice, _),) = Counter(name for name, _ in members).most_common(1)
        raise ValueError(f"the member `{twice}` is there twice")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)


def decode_params(pairs: Sequence[tuple[str, str]], type_: type[T]) -> T:
    """The query string as a struct: lists are names that are repeated, others come once."""
    if not pairs and (plain := _defaults(type_)) is not None:
        return plain
    fields = {field.encode_name: field for field in msgspec.structs.fields(type_)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, text in pairs:
        if name not in fields:
            known = f"it takes {', '.join(fields)}" if fields else "it takes none"
            rule = f"there is no parameter `{clipped(name)}`; {known}"
            raise RequestMalformed(QUERY, rule)
        if isinstance(fields[name].default, list) or _is_list(fields[name]):
            values.setdefault(name, []).append(text)
        elif name in values:
            raise RequestMalformed(QUERY, f"the parameter `{name}` is there twice")
        else:
            values[name] = text
    try:
        decoded = msgspec.convert(values, type_, strict=False)
    except msgspec.ValidationError as error:
        raise RequestMalformed(QUERY, clipped(str(error))) from None
    for name in values:
        # The word null is taken for a null, which only leaving it out means.
        if getattr(decoded, fields[name].name) is None:
            raise RequestMalformed(QUERY, f"the parameter `{name}` is no number: {values[name]!r}")
    return decoded


def _defaults(type_: type[T]) -> T | None:
    """What an empty query string means; None: something is missing in it."""
    try:
        return msgspec.convert({}, type_)
    except msgspec.ValidationError:
        return None


def _is_list(field: Any) -> bool:
    return getattr(field.type, "__origin__", None) is list


def unpacked(body: bytes, encoding: str | None, *, limit_bytes: int) -> bytes:
    """The body without its packing, never more than the limit, however small it came."""
    match (encoding or "identity").strip().lower():
        case "identity":
            return body
        case "gzip":
            return _gunzipped(body, limit_bytes)
        case other:
            raise MediaTypeUnsupported("the Content-Encoding", other, ("identity", "gzip"))


def _gunzipped(body: bytes, limit_bytes: int) -> bytes:
    packed = zlib.decompressobj(GZIP)
    try:
        plain = packed.decompress(body, limit_bytes + 1)
    except zlib.error as error:
        raise RequestMalformed(BODY, f"it is no gzip: {error}") from None
    if len(plain) > limit_bytes:
        raise LimitExceeded(what="the unpacked body in bytes", limit=limit_bytes)
    if not packed.eof or packed.unused_data:
        rule = "the gzip has no end" if not packed.eof else "something follows the gzip"
        raise RequestMalformed(BODY, rule)
    return plain
