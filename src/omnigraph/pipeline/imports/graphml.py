"""GraphML: nodes and edges with typed attributes, read as the XML comes in.

A document may order nothing of its reader: declarations of entities are refused, so none can be
expanded, and nothing outside of the file is ever read. Nodes are of the type `Node` and edges of
the type `Edge`, unless they have labels as Neo4j writes them (`labels=":Person"`, `label="KNOWS"`).
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import LimitExceeded, SourceInvalid, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import suggestion
from omnigraph.base.types import INTEGER_RANGES, ListOf, Scalar, ValueType
from omnigraph.base.words import clipped
from omnigraph.pipeline.imports.blocks import (
    BLOCK_ROWS,
    Columns,
    EdgeBlock,
    End,
    Labels,
    NodeBlock,
    columns_of_rows,
    place,
)
from omnigraph.pipeline.imports.files import SourceFile
from omnigraph.pipeline.imports.values import FoundType, text_array, widest
from omnigraph.pipeline.limits import InputLimits

__all__ = ["GraphmlReader"]

TYPES: dict[str, Scalar] = {
    "boolean": Scalar.BOOL,
    "int": Scalar.I32,
    "long": Scalar.I64,
    "float": Scalar.F32,
    "double": Scalar.F64,
    "string": Scalar.STRING,
}
LIST_TYPES = {**TYPES, "int": Scalar.I64}
BOOLEANS = {"1": "true", "0": "false"}
NODES, EDGES = "node", "edge"
UNLABELLED_EDGE = "Edge"
EDGE_ID, DIRECTED = "id", "directed"
ENDS = ("source", "target")
XML = "\x00xml"
"""Stands for a value that is XML itself; no document can hold this text."""

WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,4000}", re.ASCII)
WHOLE_TYPES = (Scalar.I32, Scalar.I64)
WIDE_DIGITS = 10
"""Fewer digits fit into 32 bits."""

CHUNK_BYTES = 1 << 16
MAX_VALUE_BYTES = InputLimits().max_line_bytes
# Far deeper than graphs within nodes are ever nested.
MAX_DEPTH = 200


@frozen
class _Key:
    """An attribute, as a `key` element declares it."""

    name: str
    domain: str
    type: Scalar
    default: str | None = None
    items: Scalar | None = None
    """Neo4j writes lists as JSON, in attributes of text with an `attr.list`."""

    def type_of(self, text: str) -> ValueType:
        """The type of a value: programs call whole numbers `int` that need more room."""
        if self.items is not None:
            return ListOf(self.items) if _is_list(text) else Scalar.STRING
        is_wide = self.type in WHOLE_TYPES and len(text) >= WIDE_DIGITS
        if is_wide and WHOLE_NUMBER.fullmatch(text):
            return next((type_ for type_ in self._wider if _has(type_, int(text))), Scalar.STRING)
        return self.type

    @property
    def _wider(self) -> tuple[Scalar, ...]:
        return WHOLE_TYPES[WHOLE_TYPES.index(self.type) :]


@dataclass(slots=True)
class _Element:
    """A node or an edge."""

    kind: str
    line: int
    about: dict[str, str]
    is_directed: bool = True
    values: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Seen:
    """What the document has that a person should hear of."""

    is_directed: set[bool] = field(default_factory=set)
    has_edge_ids: bool = False
    left_out: set[str] = field(default_factory=set)

    def see(self, element: _Element) -> None:
        if element.kind == EDGES:
            self.is_directed.add(element.is_directed)
            self.has_edge_ids |= "id" in element.about


class GraphmlReader:
    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._seen = _Seen()

    def survey_nodes(self) -> Iterator[NodeBlock]:
        return self.nodes()

    def survey_edges(self) -> Iterator[EdgeBlock]:
        return self.edges()

    def nodes(self) -> Iterator[NodeBlock]:
        for labels, document, elements in self._gathered(NODES, "labels"):
            yield NodeBlock(
                file=self._source.file,
                lines=np.array([one.line for one in elements], np.int64),
                space="",
                labels=labels,
                ids=text_array(one.about["id"] for one in elements),
                columns=_columns(document, NODES, elements),
            )

    def edges(self) -> Iterator[EdgeBlock]:
        for labels, document, elements in self._gathered(EDGES, "label"):
            source, target = (End(_named(elements, end), "") for end in ENDS)
            columns = self._with_more(_columns(document, EDGES, elements), document, elements)
            yield EdgeBlock(
                file=self._source.file,
                lines=np.array([one.line for one in elements], np.int64),
                label=labels[0] if labels else UNLABELLED_EDGE,
                source=source,
                target=target,
                columns=columns,
            )

    def notes(self) -> list[str]:
        told = [f"{what} left out" for what in sorted(self._seen.left_out)]
        if self._seen.is_directed == {False}:
            told.append("the graph is undirected: each edge leads from its source to its target")
        if len(self._seen.is_directed) == 2:
            told.append(f"some edges are undirected: the property {DIRECTED} of an edge tells")
        return told

    def _gathered(
        self, kind: str, label_attribute: str
    ) -> Iterator[tuple[Labels, "_Document", list[_Element]]]:
        """Elements of a kind by their labels, so many at a time."""
        document = _Document(self._source, self._seen)
        groups: dict[Labels, list[_Element]] = defaultdict(list)
        count = 0
        for element in document.elements():
            self._seen.see(element)
            if element.kind != kind:
                continue
            labels = tuple(sorted({*element.about.get(label_attribute, "").split(":")} - {""}))
            groups[labels].append(element)
            if (count := count + 1) == BLOCK_ROWS:
                yield from ((labels, document, rows) for labels, rows in groups.items())
                groups, count = defaultdict(list), 0
        yield from ((labels, document, rows) for labels, rows in groups.items())

    def _with_more(
        self, columns: Columns, document: "_Document", elements: list[_Element]
    ) -> Columns:
        """What an edge says of itself in XML: its id, and whether it has a direction."""
        cells, types = dict(columns.cells), dict(columns.types)
        # Of all that edges may have: these may have none of it, and others of their type do.
        taken = {key.name for key in document.declared(EDGES).values()}
        if self._seen.has_edge_ids:
            name = _free(EDGE_ID, taken)
            cells[name], types[name] = _named(elements, "id"), Scalar.STRING
        if len(self._seen.is_directed) == 2:
            name = _free(DIRECTED, taken)
            words = ("true" if one.is_directed else "false" for one in elements)
            cells[name], types[name] = text_array(words), Scalar.BOOL
        return replace(columns, cells=cells, types=types)


def _named(elements: list[_Element], attribute: str) -> pa.Array:
    return text_array(one.about.get(attribute) for one in elements)


def _free(name: str, taken: Set[str]) -> str:
    return name if name not in taken else f"edge_{name}"


def _columns(document: "_Document", kind: str, elements: list[_Element]) -> Columns:
    """The attributes that the elements have, and those with a default."""
    declared = document.declared(kind)
    preset = {key.name: key.default for key in declared.values() if key.default is not None}
    types: dict[str, FoundType] = {}
    words: dict[str, set[str]] = defaultdict(set)
    rows: list[dict[str, object]] = []
    used: dict[str, FoundType] = {
        id_: key.type_of(key.default) for id_, key in declared.items() if key.default is not None
    }
    for element in elements:
        for id_, text in element.values.items():
            found = declared[id_].type_of(text)
            used[id_] = widest(used.get(id_, found), found)
    for id_, key in declared.items():
        if id_ in used:
            types[key.name] = widest(types.get(key.name, used[id_]), used[id_])
            # A number that no type of whole numbers has room for is text.
            is_text = used[id_] is Scalar.STRING
            words[key.name] |= {str(key.type), *([str(Scalar.STRING)] if is_text else [])}
    for element in elements:
        own = {declared[id_].name: text for id_, text in element.values.items()}
        rows.append({**preset, **own})
    columns = columns_of_rows(rows, types=types)
    mixed = {name: of_name for name, of_name in words.items() if len(of_name) > 1}
    return replace(columns, defaults=preset, mixed=mixed)


# XML ----------------------------------------------------------------------------------------------


class _Document:
    """One reading of the file, from its beginning to its end."""

    def __init__(self, source: SourceFile, seen: _Seen) -> None:
        self._source, self._path, self._seen = source, source.file, seen
        self.keys: dict[str, _Key] = {}
        self._ready: list[_Element] = []
        self._open: list[str] = []
        """The elements that are open, from the outermost."""
        self._elements: list[_Element] = []
        """The nodes and edges among them: a node may hold a graph."""
        self._directed: list[bool] = []
        self._key: dict[str, str] | None = None
        self._default: str | None = None
        self._data: str | None = None
        self._text: list[str] = []
        self._text_bytes = 0
        self._foreign = 0
        self._tags: dict[str, str] = {}
        """The name of each element without its namespace: few names, and many elements."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        self._parser = parser

    def declared(self, kind: str) -> dict[str, _Key]:
        """The attributes that elements of a kind may have."""
        return {id_: key for id_, key in self.keys.items() if key.domain in (kind, "all")}

    def elements(self) -> Iterator[_Element]:
        for chunk in self._source.chunks(CHUNK_BYTES):
            self._parse(chunk, is_last=False)
            yield from self._ready
            self._ready.clear()
        self._parse(b"", is_last=True)
        yield from self._ready

    def _parse(self, chunk: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(chunk, is_last)
        except expat.ExpatError as error:
            where = place(self._path, error.lineno, error.offset + 1)
            if is_last:
                reason, advice = "the document ends before graphml does", "is the file cut off?"
                raise SourceInvalid(file=where, reason=reason, advice=advice) from error
            reason = expat.ErrorString(error.code)
            raise SourceInvalid(file=where, reason=f"broken XML: {reason}") from error
        except (LookupError, ValueError) as error:  # an encoding that expat does not know
            reason = f"broken XML: {error}"
            raise SourceInvalid(file=place(self._path, 1), reason=reason) from error

    def _start(self, name: str, about: dict[str, str]) -> None:
        if (tag := self._tags.get(name)) is None:
            tag = self._tags[name] = _local(name)
        if not self._open and tag != "graphml":
            raise self._wrong(f"the document is {clipped(tag)}, not graphml")
        if len(self._open) >= MAX_DEPTH:
            raise LimitExceeded(what=f"elements within elements at {self._place}", limit=MAX_DEPTH)
        self._open.append(tag)
        if self._data is not None or self._default is not None:
            self._foreign += 1  # an attribute that is XML itself, such as a drawing
            return
        match tag:
            case "graph":
                self._directed.append(about.get("edgedefault", "directed") != "undirected")
                if self._elements:
                    self._seen.left_out.add("which graph lies within which node is")
            case "key":
                self._key = about
            case "default" if self._key is not None:
                self._default = ""
            case "node":
                self._need(about, "node", ("id",))
                self._elements.append(_Element(NODES, self._line, about))
            case "edge":
                self._need(about, "edge", ENDS)
                usual = self._directed[-1] if self._directed else True
                is_directed = {"true": True, "false": False}.get(about.get("directed", ""), usual)
                self._elements.append(_Element(EDGES, self._line, about, is_directed))
            case "data":
                self._need(about, "data", ("key",))
                self._data = about["key"]
            case "hyperedge":
                what = f"a hyperedge ({self._place})"
                raise Unsupported(what=what, instead="write it as edges between two nodes each")
            case "port":
                self._seen.left_out.add("ports are")
            case _:
                pass

    def _end(self, name: str) -> None:
        tag = self._open.pop()
        if self._foreign:
            self._foreign -= 1
            if not self._foreign:
                self._text = [XML]
            return
        match tag:
            case "graph":
                self._directed.pop()
            case "default" if self._default is not None:
                self._key = {**(self._key or {}), "default": self._taken_text()}
                self._default = None
            case "key" if self._key is not None:
                self._declare(self._key)
                self._key = None
            case "data":
                self._add_value(self._taken_text())
                self._data = None
            case "node" | "edge":
                self._ready.append(self._elements.pop())
            case _:
                pass

    def _characters(self, text: str) -> None:
        is_value = self._data is not None or self._default is not None
        if self._foreign or not is_value or self._text[:1] == [XML]:
            return
        self._text.append(text)
        self._text_bytes += len(text)
        if self._text_bytes > MAX_VALUE_BYTES:
            raise LimitExceeded(what=f"a value at {self._place}, in bytes,", limit=MAX_VALUE_BYTES)

    def _refuse_entity(self, *_: object) -> int:
        raise SourceInvalid(
            file=self._place,
            reason="the document declares or uses entities of its own, which are never expanded",
            advice="write it again without a DOCTYPE that declares entities",
        )

    def _declare(self, about: dict[str, str]) -> None:
        self._need(about, "key", ("id",))
        id_, word = about["id"], about.get("attr.type", "string")
        type_ = TYPES.get(word)
        if type_ is None:
            near = suggestion(word, TYPES)
            raise self._wrong(f"the attr.type {clipped(word)} is not known{near}")
        if id_ in self.keys:
            raise self._wrong(f"the key {clipped(id_)} is declared twice")
        default = _cell(about.get("default"), type_)
        items = LIST_TYPES.get(about.get("attr.list", "")) if type_ is Scalar.STRING else None
        key = _Key(about.get("attr.name", id_), about.get("for", "all"), type_, items=items)
        self.keys[id_] = key if default is None else replace(key, default=default)

    def _add_value(self, text: str) -> None:
        id_ = self._data or ""
        if not self._elements or self._open[-1] not in (NODES, EDGES):
            self._seen.left_out.add("data of the graph itself, or of ports, are")
            return
        element = self._elements[-1]
        if (key := self.keys.get(id_)) is None or key.domain not in (element.kind, "all"):
            if id_ in ("labels", "label") and id_ in element.about:
                return
            raise self._wrong(f"no key {clipped(id_)} is declared for a {element.kind}")
        if key.name in ("labels", "label") and key.name in element.about:
            return  # Neo4j says it twice
        if text == XML:
            self._seen.left_out.add(f"values of {clipped(key.name)}, which are XML themselves, are")
            return
        if any(self.keys[known].name == key.name for known in element.values):
            raise self._wrong(f"the {element.kind} has two values of {clipped(key.name)}")
        if (cell := _cell(text, key.type)) is not None:
            element.values[id_] = cell

    def _taken_text(self) -> str:
        text = "".join(self._text)
        self._text, self._text_bytes = [], 0
        return text

    def _need(self, about: dict[str, str], tag: str, attributes: tuple[str, ...]) -> None:
        for attribute in attributes:
            if attribute not in about:
                article = "an" if tag == "edge" else "a"
                raise self._wrong(f"{article} {tag} has no {attribute}")

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    @property
    def _place(self) -> str:
        return place(self._path, self._line, self._parser.CurrentColumnNumber + 1)

    def _wrong(self, reason: str) -> SourceInvalid:
        return SourceInvalid(file=self._place, reason=reason)


def _local(name: str) -> str:
    """The name of an element of GraphML; that of another namespace with the namespace."""
    space, _, local = name.rpartition(" ")
    return local if not space or "graphml" in space else name


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _has(type_: Scalar, number: int) -> bool:
    low, high = INTEGER_RANGES[type_]
    return low <= number <= high


def _cell(text: str | None, type_: Scalar) -> str | None:
    """A value as a cell: numbers and truth values may have blanks around them. Nothing is a text,
    and no value of the other types."""
    if text is None or type_ is Scalar.STRING:
        return text
    if not (stripped := text.strip()):
        return None
    if type_ is Scalar.BOOL:
        return BOOLEANS.get(stripped, stripped)
    return stripped.removeprefix("+") if WHOLE_NUMBER.fullmatch(stripped) else stripped
