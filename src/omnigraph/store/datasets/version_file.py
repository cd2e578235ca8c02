"""One version of a dataset as Lance writes it to a file, read without Lance.

Lance opens some torn version files as an empty dataset, and it writes absolute paths into the
version files of forks. Both need the bytes:

    [u32 length, indexes][u32 length, transaction][u32 length, manifest]
    [i64 offset of the manifest's length][u16 major][u16 minor]["LANC"]

The first two sections may be missing. The manifest is last, so that a longer path moves no offset.
There is no checksum: a file that passes here may still have wrong bytes inside a section.
"""

import struct
import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

from omnigraph.base.frozen import frozen

__all__ = [
    "MAGIC",
    "Base",
    "MalformedVersionFile",
    "VersionFile",
    "fields_of",
    "greatest_fragment",
    "index_folders",
    "is_torn",
    "oldest_version",
    "parse_version_file",
    "varint_bytes",
    "with_bases_at",
]

MAGIC = b"LANC"
FOOTER = struct.Struct("<qHH4s")
LENGTH = struct.Struct("<I")

# Of the manifest. The text of the format calls the transaction's offset 21; the bytes say 23.
VERSION, INDEXES_OFFSET, GREATEST_FRAGMENT, BASES, TRANSACTION_OFFSET = 3, 6, 11, 18, 23
# Of the section of indexes, of an index, and of its uuid.
INDEX, INDEX_UUID, UUID_BYTES = 1, 1, 1
# Of the versions that wrote a fragment's rows, and of a run of rows with one of them.
RUN, RUN_VERSION = 1, 2
# Of a base.
BASE_ID, BASE_NAME, BASE_PATH = 1, 2, 4

VARINT, EIGHT_BYTES, DELIMITED, FOUR_BYTES = 0, 1, 2, 5
MAX_VARINT_BYTES = 10


class MalformedVersionFile(ValueError):
    """These bytes are not a whole version file; the text says why."""


@frozen
class Base:
    """An address outside of a dataset where some of its files lie: for a fork, its origin."""

    id: int
    name: str | None
    """The fork's; None is the main line."""
    path: str
    """Absolute, or an address in a bucket."""


@frozen
class VersionFile:
    version: int
    bases: tuple[Base, ...]


def parse_version_file(raw: bytes) -> VersionFile:
    """What a version file says, or `MalformedVersionFile` where its parts do not fit together."""
    start, manifest = _manifest(raw)
    version, offsets, bases = None, [], []
    for field in fields_of(manifest):
        if field.number == VERSION:
            version = field.number_value
        elif field.number in (INDEXES_OFFSET, TRANSACTION_OFFSET):
            offsets.append(field.number_value)
        elif field.number == BASES:
            bases.append(_base(field.bytes_value))
    if version is None:
        raise MalformedVersionFile("it names no version")
    _require_sections(raw, sorted(offsets), end=start)
    return VersionFile(version, tuple(bases))


def is_torn(raw: bytes, *, version: int) -> bool:
    """True if these bytes are provably not the whole file of this version."""
    try:
        return parse_version_file(raw).version != version
    except MalformedVersionFile:
        return True


def index_folders(raw: bytes) -> frozenset[str]:
    """The folders of the index segments that a version has, its own and those of its origin."""
    _, manifest = _manifest(raw)
    folders = set()
    for field in fields_of(manifest):
        if field.number == INDEXES_OFFSET:
            section = _section(raw, field.number_value)
            for index in _members(raw[section.start : section.end], INDEX):
                for identity in _members(index, INDEX_UUID):
                    folders |= {str(uuid.UUID(bytes=b)) for b in _members(identity, UUID_BYTES)}
    return frozenset(folders)


def _members(message: bytes, number: int) -> list[bytes]:
    return [field.bytes_value for field in fields_of(message) if field.number == number]


def with_bases_at(raw: bytes, address_of: Callable[[str | None], str]) -> bytes:
    """The same version file with each base at the address that `address_of` gives for its name.

    Every other byte stays as it is; with nothing to change, all of them.
    """
    parse_version_file(raw)  # never make a torn file look whole
    start, manifest = _manifest(raw)
    parts = [
        _delimited(BASES, _base_at(field.bytes_value, address_of))
        if field.number == BASES
        else manifest[field.start : field.end]
        for field in fields_of(manifest)
    ]
    body = b"".join(parts)
    if body == manifest:
        return raw
    return raw[:start] + LENGTH.pack(len(body)) + body + raw[-FOOTER.size :]


def greatest_fragment(manifest: bytes) -> int:
    """The greatest number that a fragment of the dataset has ever had; -1: it never had one."""
    numbers = [f.number_value for f in fields_of(manifest) if f.number == GREATEST_FRAGMENT]
    return numbers[-1] if numbers else -1


def oldest_version(sequence: bytes) -> int:
    """The least of the versions that rows have been written by."""
    runs = [field.bytes_value for field in fields_of(sequence) if field.number == RUN]
    return min(f.number_value for run in runs for f in fields_of(run) if f.number == RUN_VERSION)


# Sections ----------------------------------------------------------------------------------------


def _manifest(raw: bytes) -> tuple[int, bytes]:
    """Where the manifest section begins, and the message in it."""
    if len(raw) < FOOTER.size:
        raise MalformedVersionFile(f"it has {len(raw)} bytes")
    start, _, _, magic = FOOTER.unpack(raw[-FOOTER.size :])
    if magic != MAGIC:
        raise MalformedVersionFile(f"it does not end in {MAGIC.decode()}")
    end = len(raw) - FOOTER.size
    if not 0 <= start < end or _section(raw, start).end != end:
        raise MalformedVersionFile("its manifest does not reach from its offset to the footer")
    return start, raw[start + LENGTH.size : end]


@frozen
class Section:
    start: int
    end: int


def _section(raw: bytes, offset: int) -> Section:
    start = offset + LENGTH.size
    if start > len(raw):
        raise MalformedVersionFile(f"a section would begin at byte {offset}, beyond the end")
    (length,) = LENGTH.unpack(raw[offset:start])
    return Section(start, start + length)


def _require_sections(raw: bytes, offsets: list[int], *, end: int) -> None:
    """The sections before the manifest lie one behind the other and each is a message."""
    at = 0
    for offset in offsets:
        if offset != at or offset >= end:
            raise MalformedVersionFile(f"a section begins at byte {offset}, not at {at}")
        section = _section(raw, offset)
        at = section.end
        if at > end:
            raise MalformedVersionFile(f"the section at byte {offset} reaches into the manifest")
        for _ in fields_of(raw[section.start : section.end]):
            pass
    if at != end:
        raise MalformedVersionFile(f"nothing owns the bytes from {at} to {end}")


# Messages ----------------------------------------------------------------------------------------


class Field(NamedTuple):
    number: int
    start: int
    end: int
    """Of the field with its key, in its message."""
    value: int | bytes

    @property
    def number_value(self) -> int:
        if not isinstance(self.value, int):
            raise MalformedVersionFile(f"field {self.number} is no number")
        return self.value

    @property
    def bytes_value(self) -> bytes:
        if not isinstance(self.value, bytes):
            raise MalformedVersionFile(f"field {self.number} is a number")
        return self.value


def fields_of(message: bytes) -> Iterator[Field]:
    """The fields of a protobuf message, in order."""
    at = 0
    while at < len(message):
        start = at
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        value: int | bytes
        if number == 0:
            # What zeroed bytes look like.
            raise MalformedVersionFile(f"a field has the number 0, at byte {start}")
        if wire == VARINT:
            value, at = _varint(message, at)
        elif wire in (EIGHT_BYTES, FOUR_BYTES, DELIMITED):
            if wire == DELIMITED:
                length, at = _varint(message, at)
            else:
                length = 8 if wire == EIGHT_BYTES else 4
            value, at = message[at : at + length], at + length
            if at > len(message):
                raise MalformedVersionFile(f"field {number} reaches beyond its message")
        else:
            raise MalformedVersionFile(f"field {number} has the unknown wire type {wire}")
        yield Field(number, start, at, value)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    if at < len(message) and message[at] < 0x80:
        return message[at], at + 1  # as nearly all are
    value = 0
    for position, byte in enumerate(message[at : at + MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, at + position + 1
    raise MalformedVersionFile(f"a number does not end, at byte {at}")


def varint_bytes(value: int) -> bytes:
    """A number as protobuf writes it."""
    done = bytearray()
    while value >= 0x80:
        done.append(value & 0x7F | 0x80)
        value >>= 7
    done.append(value)
    return bytes(done)


def _delimited(number: int, value: bytes) -> bytes:
    return varint_bytes(number << 3 | DELIMITED) + varint_bytes(len(value)) + value


# Bases -------------------------------------------------------------------------------------------


def _base(message: bytes) -> Base:
    id_, name, path = 0, None, ""
    for field in fields_of(message):
        if field.number == BASE_ID:
            id_ = field.number_value
        elif field.number == BASE_NAME:
            name = _text(field)
        elif field.number == BASE_PATH:
            path = _text(field)
    return Base(id_, name, path)


def _base_at(message: bytes, address_of: Callable[[str | None], str]) -> bytes:
    path = address_of(_base(message).name).encode()
    return b"".join(
        _delimited(BASE_PATH, path)
        if field.number == BASE_PATH
        else message[field.start : field.end]
        for field in fields_of(message)
    )


def _text(field: Field) -> str:
    try:
        return field.bytes_value.decode()
    except UnicodeDecodeError:
        raise MalformedVersionFile(f"field {field.number} is no text") from None
