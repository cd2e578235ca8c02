"""Headers of `neo4j-admin database import`: which column is what.

A field is `name:type`, with a space of ids or options behind it: `movieId:ID(Movie)`,
`born:datetime{timezone:+02:00}`, `:START_ID(Person)`, `roles:string[]`, `:IGNORE`.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import field
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from omnigraph.base.errors import SourceInvalid, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import suggestion
from omnigraph.base.types import ListOf, Scalar, ValueType
from omnigraph.base.words import clipped

__all__ = [
    "END",
    "ID",
    "LABEL",
    "OFFSET",
    "START",
    "TYPE",
    "Field",
    "Header",
    "is_header",
    "read_header",
    "zone_of",
]

DELIMITERS = (",", "\t", ";", "|")

FIELD = re.compile(
    r"""(?P<name>.*?)
        (?: : (?P<type>[A-Za-z_]+) (?P<list>\[\])? (?:\((?P<space>[^)]*)\))?
            \s* (?P<options>\{.*\})? )?""",
    re.VERBOSE | re.DOTALL,
)
OFFSET = re.compile(r"(Z|[-+][0-9]{2}(:?[0-9]{2})?)$")
OPTION = re.compile(r"""\s*([A-Za-z-]+)\s*:\s*(?:'([^']*)'|"([^"]*)"|([^,}]*))\s*[,}]""")

ID, LABEL, START, END, TYPE, IGNORE = "ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE"
ROLES = (ID, LABEL, START, END, TYPE, IGNORE)

TYPES: dict[str, Scalar] = {
    **dict.fromkeys(("byte", "short", "int", "integer", "long"), Scalar.I64),
    **dict.fromkeys(("float", "double"), Scalar.F64),
    "boolean": Scalar.BOOL,
    **dict.fromkeys(("char", "string"), Scalar.STRING),
    "date": Scalar.DATE,
    **dict.fromkeys(("localdatetime", "datetime"), Scalar.DATETIME),
    **dict.fromkeys(("localtime", "time", "duration", "point"), Scalar.STRING),
}
KEPT_AS_TEXT = ("localtime", "time", "duration", "point")


@frozen
class Field:
    name: str
    role: str | None = None
    """None: it is a property."""
    type: ValueType = Scalar.STRING
    space: str = ""
    options: dict[str, str] = field(default_factory=dict, hash=False)
    is_kept_as_text: bool = False


@frozen
class Header:
    fields: tuple[Field, ...]
    delimiter: str

    @property
    def is_of_nodes(self) -> bool:
        return self.with_role(ID) is not None

    def with_role(self, role: str) -> Field | None:
        return next((one for one in self.fields if one.role == role), None)

    @property
    def properties(self) -> tuple[Field, ...]:
        return tuple(one for one in self.fields if one.role is None)

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each field: that of a property is its own."""
        return tuple(
            one.name if one.role is None else f":{one.role}:{number}"
            for number, one in enumerate(self.fields)
        )

    def columns_of(self, role: str) -> list[str]:
        named = zip(self.columns, self.fields, strict=True)
        return [column for column, one in named if one.role == role]

    def column_of(self, role: str) -> str | None:
        return next(iter(self.columns_of(role)), None)


def is_header(line: str) -> bool:
    """True if a field of the line says that it is an id or an end."""
    fields = _split(line, _delimiter(line))
    return any(
        match is not None and (match["type"] or "").upper() in (ID, START, END)
        for match in (FIELD.fullmatch(text.strip()) for text in fields)
    )


def read_header(line: str, file: str) -> Header:
    """The header in this line; `file` is its place, for messages."""
    delimiter = _delimiter(line)
    fields = tuple(_field(text, file) for text in _split(line, delimiter))
    _check(fields, file)
    return Header(fields, delimiter)


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a field of a size that no header has
        return []


def _delimiter(line: str) -> str:
    """The one that tells apart the most fields; a comma where several do."""
    fields = {one: len(_split(line, one)) for one in DELIMITERS}
    return max(DELIMITERS, key=lambda one: fields[one])


def _field(text: str, file: str) -> Field:
    match = FIELD.fullmatch(text.strip())
    assert match is not None, "every text is a name"
    name, word = match["name"].strip(), match["type"]
    if word is None:
        return Field(name)
    options = _options(match["options"] or "")
    if word.upper() in ROLES and match["list"] is None:
        space, role = match["space"] or "", word.upper()
        type_ = _id_type(options, file, text) if role == ID else Scalar.STRING
        return Field(name, role, type_, space, options)
    scalar = TYPES.get(word.lower())
    if scalar is None:
        near = suggestion(word, (*TYPES, *ROLES))
        reason = f"the type {clipped(word)} is not known{near}"
        raise SourceInvalid(file=file, column=clipped(text), reason=reason)
    if scalar is Scalar.DATETIME:
        _check_zone(options.get("timezone"), file, text)
    of_all: ValueType = ListOf(scalar) if match["list"] else scalar
    return Field(name, None, of_all, "", options, word.lower() in KEPT_AS_TEXT)


def _check_zone(zone: str | None, file: str, text: str) -> None:
    """Without it, times would be taken for those of another zone."""
    if zone is not None and not OFFSET.fullmatch(zone) and zone_of(zone) is None:
        raise SourceInvalid(
            file=file,
            column=clipped(text),
            reason=f"the time zone {clipped(zone)} is not known",
            advice="write an offset, such as +02:00, or a name, such as Europe/Paris",
        )


def zone_of(name: str) -> ZoneInfo | None:
    """The time zone of this name, if there is one."""
    try:
        return ZoneInfo(name)
    # No zone, no name that one could have, or the folder of some zones.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _options(text: str) -> dict[str, str]:
    found: Iterable[tuple[str, ...]] = OPTION.findall(text[1:]) if text else ()
    return {name: (one or two or three).strip() for name, one, two, three in found}


def _id_type(options: dict[str, str], file: str, text: str) -> Scalar:
    word = options.get("id-type", "string")
    scalar = TYPES.get(word.lower())
    if scalar not in (Scalar.STRING, Scalar.I64):
        reason = f"ids can't have the type {clipped(word)}: they are string or long"
        raise SourceInvalid(file=file, column=clipped(text), reason=reason)
    return scalar


def _check(fields: tuple[Field, ...], file: str) -> None:
    roles = [one.role for one in fields]
    for role in (ID, START, END, TYPE):
        if roles.count(role) > 1:
            what = f"a header with several :{role} columns ({file})"
            raise Unsupported(what=what, instead="join them into one column first")
    if ID not in roles and not {START, END} <= set(roles):
        raise SourceInvalid(
            file=file,
            reason="the header names neither :ID (of nodes) nor :START_ID and :END_ID (of edges)",
            advice="write it as neo4j-admin database import wants it: personId:ID,name,:LABEL",
        )
    if ID in roles and (START in roles or END in roles):
        reason = "the header names both :ID and an end of edges: it is of nodes or of edges"
        raise SourceInvalid(file=file, reason=reason)
    names = [one.name for one in fields if one.role in (None, ID) and one.name]
    for name in names:
        if names.count(name) > 1:
            raise SourceInvalid(file=file, column=name, reason="two columns have this name")
    if any(one.role is None and not one.name for one in fields):
        reason = "a column has no name: write :IGNORE to leave it out"
        raise SourceInvalid(file=file, reason=reason)
