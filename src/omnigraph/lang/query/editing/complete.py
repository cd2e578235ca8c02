"""What may be typed next in a query: words of the language, names of the schema, variables.

The grammar says what kind of word may follow, and the tokens before it which names are meant: the
properties of `$p` behind `$p.`, the edges of its type behind `$p`. Every word that is offered keeps
the text the beginning of a query.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from omnigraph.base.frozen import frozen
from omnigraph.base.looks import Look, never
from omnigraph.base.types import Scalar
from omnigraph.lang.query.check.expressions import AGGREGATES, FORMS, RANKINGS, TEXT_MATCHES
from omnigraph.lang.query.editing.beginning import Beginning, keywords, read_beginning
from omnigraph.lang.query.editing.scope import Scope, read_scope
from omnigraph.lang.query.text.comments import COMMENT, OPEN_TEXT
from omnigraph.lang.query.text.expected import KEY_WORDS, NAME_WORDS
from omnigraph.lang.schema.catalog import ID, Catalog, EdgeType, InterfaceType, NodeType

__all__ = ["Candidate", "Completion", "complete"]

TYPED = re.compile(r"\$?[A-Za-z0-9_]*\Z")
PASSED_OVER = re.compile(rf'{OPEN_TEXT}"?|{COMMENT}')

VALUES = ("now", "date", "datetime")
"""Functions that a change may use."""
ANNOTATIONS = ("description", "instruction")
ENDS = ("from", "to")


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    text: str
    about: str = ""
    """What it is, in a word or two: `keyword`, `I32?`, `Person -> Company`."""


@frozen
class Completion:
    start: int
    """Where the word begins that a candidate takes the place of."""
    candidates: tuple[Candidate, ...]


def complete(
    text: str, catalog: Catalog, parameters: Iterable[str] = (), look: Look = never
) -> Completion:
    """The words that may stand at the end of a text, of which a part may be typed already.

    The text begins a query, or the body of one that has these parameters.
    """
    typed = TYPED.search(text)
    assert typed is not None, "nothing at all is a match"
    before = text[: typed.start()]
    if _is_in_comment(before):
        return Completion(typed.start(), ())
    beginning = read_beginning(before, look)
    look()
    scope = read_scope(beginning, catalog, parameters)
    folded = typed[0].casefold()
    found = {
        candidate.text: candidate
        for candidate in _Offer(beginning, catalog, scope).candidates()
        if candidate.text.casefold().startswith(folded)
    }
    return Completion(typed.start(), tuple(found.values()))


def _is_in_comment(text: str) -> bool:
    found = [*PASSED_OVER.finditer(text)]
    return bool(found) and found[-1].end() == len(text) and found[-1][0].startswith("//")


class _Offer:
    """What is offered behind one beginning."""

    def __init__(self, beginning: Beginning, catalog: Catalog, scope: Scope) -> None:
        self._accepted = beginning.accepted
        self._kinds = [piece.kind for piece in beginning.pieces]
        self._catalog = catalog
        self._scope = scope

    @property
    def _is_any_word_a_name(self) -> bool:
        return "NAME" in self._accepted and self._accepted >= NAME_WORDS

    def candidates(self) -> Iterator[Candidate]:
        if "VARIABLE" in self._accepted and not self._scope.is_header:
            for name in self._scope.variables:
                yield Candidate(f"${name}", self._scope.about(name))
        if "NAME" in self._accepted:
            yield from self._names()
        yield from self._keywords()

    def _keywords(self) -> Iterator[Candidate]:
        left = set(self._accepted)
        # Where any word may be a name, no word is meant as a keyword.
        if self._is_any_word_a_name:
            left -= KEY_WORDS if left >= KEY_WORDS and "STRING" not in left else NAME_WORDS
        for kind, word in keywords().items():
            if kind in left:
                yield Candidate(word, "keyword")

    def _names(self) -> Iterator[Candidate]:
        accepted, last = self._accepted, self._kinds[-1] if self._kinds else ""
        if "ENUM" in accepted or (last == "LBRACKET" and self._scope.is_header):
            yield from (Candidate(scalar.value, "type") for scalar in Scalar)
            if "ENUM" in accepted:
                yield Candidate("Vector(", "type")
        elif "UNDIRECTED" in accepted or last in ("UNDIRECTED", "VBAR"):
            yield from self._edges()
        elif last == "DOT":
            yield from self._of_variable()
        elif last in ("INSERT", "UPDATE", "DELETE"):
            yield from (Candidate(node.name, "node") for node in self._catalog.nodes)
            yield from (Candidate(edge.name, _joined(edge)) for edge in self._catalog.edges)
        elif last == "AT":
            yield from (Candidate(name, "annotation") for name in ANNOTATIONS)
        elif last == "BY":
            yield from (Candidate(f"{name}(", "ranking") for name in RANKINGS)
        elif last == "COLON" and accepted == {"NAME"}:
            yield from (Candidate(node.name, "node") for node in self._catalog.nodes)
            yield from (Candidate(each.name, "interface") for each in self._catalog.interfaces)
        elif accepted >= KEY_WORDS and "STRING" not in accepted:
            yield from self._keys()
        elif last not in ("AS", "QUERY"):
            yield from self._expressions()

    def _edges(self) -> Iterator[Candidate]:
        """Those of the variable's type first: a later clause may say another type."""
        ends = self._scope.types_before
        fits = {edge.name: bool({edge.source, edge.target} & ends) for edge in self._catalog.edges}
        for edge in sorted(self._catalog.edges, key=lambda edge: not fits[edge.name]):
            yield Candidate(edge.query_name, _joined(edge))

    def _of_variable(self) -> Iterator[Candidate]:
        """Its properties; all that there are where nothing has said yet what it is."""
        name = self._scope.last_variable
        if self._entity(name) is not None:
            yield from self._properties(name, has_id=True)
        else:
            for entity in self._catalog.entities:
                yield from self._properties(entity.name, has_id=True)

    def _properties(self, type_name: str | None, *, has_id: bool) -> Iterator[Candidate]:
        entity = self._entity(type_name)
        if entity is None:
            return
        for each in entity.properties:
            yield Candidate(each.name, f"{each.type}{'?' * each.is_nullable}")
        if has_id and ID not in entity.by_name:
            yield Candidate(ID, "identity")

    def _keys(self) -> Iterator[Candidate]:
        """Properties that a binding, an insert or a set may give: each once."""
        block = self._scope.block
        if block is None:
            return
        entity = self._entity(block.type_name)
        if block.is_insert and isinstance(entity, EdgeType):
            ends = zip(ENDS, (entity.source, entity.target), strict=True)
            yield from (Candidate(e, f"a {of}") for e, of in ends if e not in block.given)
        fixed = entity.key if block.is_set and isinstance(entity, NodeType | EdgeType) else ()
        is_binding = not (block.is_insert or block.is_set)
        for candidate in self._properties(block.type_name, has_id=is_binding):
            if candidate.text not in block.given and candidate.text not in fixed:
                yield candidate

    def _expressions(self) -> Iterator[Candidate]:
        match self._scope.part:
            case "where" if self._scope.is_left_of_test:
                yield from _functions(TEXT_MATCHES)
                yield from self._properties(self._scope.changed, has_id=True)
                if isinstance(self._entity(self._scope.changed), EdgeType):
                    yield from (Candidate(end, "end") for end in ENDS)
            case "where" | "insert" | "update":
                yield from _functions(VALUES)
            case "match" if "OPTIONAL" in self._accepted and not self._is_any_word_a_name:
                yield from _functions(TEXT_MATCHES, FORMS)
            case "match":
                yield from _functions(FORMS, RANKINGS)
                if self._kinds[-2:] == ["VARIABLE", "COMPARE"]:
                    # A `<` opens an edge of either direction only once its `>` is there.
                    for edge in self._edges():
                        yield replace(edge, text=f"{edge.text}>")
            case "return" | "order":
                yield from (Candidate(name, "column") for name in self._scope.columns)
                yield from _functions(AGGREGATES, FORMS, RANKINGS)
            case _:
                return

    def _entity(self, name: str | None) -> NodeType | EdgeType | InterfaceType | None:
        catalog = self._catalog
        if name is None:
            return None
        return (
            catalog.node_by_name.get(name)
            or catalog.edge_by_folded_name.get(name.casefold())
            or catalog.interface_by_name.get(name)
        )


def _functions(*names: Iterable[str]) -> Iterator[Candidate]:
    for name in itertools.chain(*names):
        is_of_nothing = FORMS.get(name, "").endswith("()")
        yield Candidate(f"{name}()" if is_of_nothing else f"{name}(", "function")


def _joined(edge: EdgeType) -> str:
    return f"{edge.source} -> {edge.target}"
