"""What stands at the end of a beginning: variables and their types, and the block around it.

Types are guessed from the tokens alone, clause by clause: good enough to offer names. The checker
works them out properly, from all clauses together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise, takewhile

from omnigraph.base.frozen import frozen
from omnigraph.lang.query.editing.beginning import Beginning, Piece
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["Block", "Scope", "read_scope"]

PARTS = frozenset({"MATCH", "RETURN", "ORDER", "LIMIT", "OFFSET", "INSERT", "UPDATE", "DELETE"})
OPENING = frozenset({"LBRACE", "LPAR", "LBRACKET"})
CLOSING = frozenset({"RBRACE", "RPAR", "CLOSE", "RBRACKET", "RSQB"})
WORD_EDGES = frozenset({"CONTAINS", "STARTS_WITH", "IN", "IS"})
"""Keywords that an edge may be called."""


@frozen
class Block:
    """The braces of `$p: Person { … }`, `insert Person { … }` or `update Person set { … }`."""

    type_name: str
    given: frozenset[str]
    """The properties that stand in it already."""
    is_insert: bool
    is_set: bool


@frozen
class Scope:
    is_header: bool
    """True before the body begins: variables are declared there."""
    parameters: tuple[str, ...]
    types: Mapping[str, str] = field(default_factory=dict)
    """Of variables that the pattern binds: a node type, an edge type or an interface."""
    bound: tuple[str, ...] = ()
    """All variables of the pattern, typed or not."""
    part: str = ""
    """The word that begins this part of the body: `match`, `return`, … or `where`."""
    is_left_of_test: bool = False
    changed: str | None = None
    """The type that an update or a delete is about."""
    last_variable: str | None = None
    """The type of the last variable before the end."""
    types_before: frozenset[str] = frozenset()
    """The types that the last variable may stand for."""
    columns: tuple[str, ...] = ()
    block: Block | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """What may be used here."""
        is_bound_known = self.part in ("match", "return", "order")
        return tuple(dict.fromkeys((*(self.bound if is_bound_known else ()), *self.parameters)))

    def about(self, variable: str) -> str:
        return self.types.get(variable, "parameter" if variable in self.parameters else "variable")


def read_scope(beginning: Beginning, catalog: Catalog, parameters: Iterable[str]) -> Scope:
    """The scope at the end of a beginning; a body's query has these parameters."""
    head, body = _parted(beginning)
    declared = [piece.text[1:] for piece in head if piece.kind == "VARIABLE"]
    known = (*parameters, *declared)
    if not body:
        return Scope(is_header=not beginning.is_body, parameters=known)
    types = _types(_pattern(body), catalog)
    last = [types.get(piece.text[1:]) for piece in body if piece.kind == "VARIABLE"][-1:]
    last_variable = last[0] if last else None
    begins = _last_part(body)
    part = [piece.kind for piece in body[begins:]]
    is_change = part[0] in ("UPDATE", "DELETE") and len(part) > 1
    return Scope(
        is_header=False,
        parameters=known,
        types=types,
        bound=_bound(_pattern(body)),
        part="where" if "WHERE" in part else body[begins].text,
        is_left_of_test=part[-1] in ("WHERE", "AND", "LPAR"),
        changed=body[begins + 1].text if is_change else None,
        last_variable=last_variable,
        types_before=_stands_for(last_variable, catalog),
        columns=tuple(name.text for word, name in pairwise(body) if word.kind == "AS"),
        block=_block(body),
    )


def _parted(beginning: Beginning) -> tuple[Sequence[Piece], Sequence[Piece]]:
    """The header and the body, without the brace between them."""
    pieces = beginning.pieces
    if beginning.is_body:
        return (), pieces
    opening = next((n for n, p in enumerate(pieces) if p.kind == "LBRACE"), None)
    return (pieces, ()) if opening is None else (pieces[:opening], pieces[opening + 1 :])


def _pattern(body: Sequence[Piece]) -> Sequence[Piece]:
    return [*takewhile(lambda piece: piece.kind != "RETURN", body)]


def _bound(pattern: Sequence[Piece]) -> tuple[str, ...]:
    variables = (piece.text[1:] for piece in pattern if piece.kind == "VARIABLE")
    return tuple(dict.fromkeys(name for name in variables if name != "_"))


def _types(pattern: Sequence[Piece], catalog: Catalog) -> Mapping[str, str]:
    types: dict[str, str] = {}
    steps: list[tuple[str, str, str]] = []
    kinds = [piece.kind for piece in pattern]
    for n, piece in enumerate(pattern):
        if piece.kind != "VARIABLE":
            continue
        is_edge = n > 0 and kinds[n - 1] == "VARIABLE"
        if kinds[n + 1 : n + 3] == ["COLON", "NAME"] and not is_edge:
            types.setdefault(piece.text[1:], pattern[n + 2].text)
        elif (step := _step(pattern, kinds, n)) is not None:
            edge_variable, edge, other = step
            if edge_variable is not None:
                types.setdefault(edge_variable, edge)
            steps.append((piece.text[1:], edge, other))
    # Twice: what a later clause says of a variable helps an earlier one.
    for left, name, right in (*steps, *steps):
        if (edge_type := catalog.edge_by_folded_name.get(name.casefold())) is None:
            continue
        is_backwards = types.get(left) == edge_type.target != edge_type.source or (
            left not in types and types.get(right) == edge_type.source
        )
        from_, to = (right, left) if is_backwards else (left, right)
        for variable, type_name in ((from_, edge_type.source), (to, edge_type.target)):
            if types.get(variable, "") in ("", *catalog.interface_by_name):
                types[variable] = type_name
    types.pop("_", None)
    return types


def _step(
    body: Sequence[Piece], kinds: Sequence[str], n: int
) -> tuple[str | None, str, str] | None:
    """The edge variable, the edge and the far variable of a traversal that begins at `n`."""
    n += 1
    variable = None
    if kinds[n : n + 2] == ["VARIABLE", "COLON"]:
        variable, n = body[n].text[1:], n + 2
    n += kinds[n : n + 1] == ["UNDIRECTED"]
    if not (n < len(kinds) and (kinds[n] == "NAME" or kinds[n] in WORD_EDGES)):
        return None
    edge = body[n].text
    while n < len(kinds) and kinds[n] not in ("VARIABLE", "DOT"):
        # Hops, other edges and the sign of a direction are all that can stand between.
        n += 1
    return (variable, edge, body[n].text[1:]) if n < len(kinds) and kinds[n] == "VARIABLE" else None


def _last_part(body: Sequence[Piece]) -> int:
    """Where the part of the body begins that its end is in."""
    depth, start = 0, 0
    for n, piece in enumerate(body):
        depth += (piece.kind in OPENING) - (piece.kind in CLOSING)
        if depth == 0 and piece.kind in PARTS:
            start = n
    return start


def _block(body: Sequence[Piece]) -> Block | None:
    """The innermost block that is open."""
    opened: list[int] = []
    for n, piece in enumerate(body):
        if piece.kind in OPENING:
            opened.append(n)
        elif piece.kind in CLOSING and opened:
            opened.pop()
    if not opened:
        return None
    at = opened[-1]
    before = [piece.kind for piece in body[max(0, at - 3) : at]]
    is_set = before[-1:] == ["SET"]
    owner = body[at - 2 if is_set else at - 1]
    if owner.kind != "NAME":
        return None
    inside = body[at + 1 :]
    given = frozenset(key.text for key, sign in pairwise(inside) if sign.kind == "COLON")
    return Block(owner.text, given, is_insert="INSERT" in before, is_set=is_set)


def _stands_for(type_name: str | None, catalog: Catalog) -> frozenset[str]:
    if type_name is None:
        return frozenset()
    return frozenset((type_name, *(node.name for node in catalog.implementers(type_name))))
