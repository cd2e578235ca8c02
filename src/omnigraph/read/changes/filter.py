"""Which changes a reader asks for: of some types, of nodes or edges, of some operations."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

from omnigraph.base.choices import ChangeOp, EntityKind, check_choice
from omnigraph.base.errors import ArgumentInvalid, NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.lang.schema.catalog import Catalog, EntityType, NodeType

__all__ = ["EVERYTHING", "ChangeFilter", "kind_of"]


@frozen
class ChangeFilter:
    types: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    ops: frozenset[str] | None = None
    """None: all of them."""

    @classmethod
    def of(
        cls,
        types: Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        ops: Iterable[str] | None = None,
    ) -> "ChangeFilter":
        """As a caller says it: one word may stand for a list of one word."""
        chosen = cls(_words("types", types), _words("kinds", kinds), _words("ops", ops))
        for kind in sorted(chosen.kinds or ()):
            check_choice("kinds", kind, EntityKind)
        for op in sorted(chosen.ops or ()):
            check_choice("ops", op, ChangeOp)
        return cls(
            chosen.types,
            chosen.kinds if chosen.kinds != frozenset(get_args(EntityKind)) else None,
            chosen.ops if chosen.ops != frozenset(get_args(ChangeOp)) else None,
        )

    def entities(self, catalog: Catalog) -> list[EntityType]:
        """The types whose rows are asked for, nodes before edges, each sort by name."""
        known = tuple(entity.name for entity in catalog.entities)
        for name in sorted((self.types or frozenset()).difference(known)):
            raise NameMissing(what="type", name=name, known=known)
        return [entity for entity in catalog.entities if self.selects(entity)]

    def as_named_in(self, catalog: Catalog, *, by: Catalog) -> "ChangeFilter":
        """The same types under the names that `catalog` has for them: `by` knows them by ours.

        A type that only `by` has is left out. A name that `by` does not know stays as it is.
        """
        if self.types is None or catalog is by:
            return self
        ours = {entity.id: entity.name for entity in by.entities}
        meant = {e.name for e in catalog.entities if ours.get(e.id) in self.types}
        unknown = self.types.difference(ours.values())
        return replace(self, types=frozenset(map(str, meant | unknown)))

    def selects(self, entity: EntityType) -> bool:
        return (self.types is None or entity.name in self.types) and (
            self.kinds is None or kind_of(entity) in self.kinds
        )

    def to_json(self) -> list[Any]:
        """The same for filters that ask for the same."""
        parts = (self.types, self.kinds, self.ops)
        return [None if part is None else sorted(part) for part in parts]


EVERYTHING = ChangeFilter()


def kind_of(entity: EntityType) -> EntityKind:
    return "node" if isinstance(entity, NodeType) else "edge"


def _words(argument: str, given: object) -> frozenset[str] | None:
    if given is None:
        return None
    if isinstance(given, str):
        return frozenset([given])
    words: list[Any] = [*given] if isinstance(given, Iterable) else [given]
    if not all(isinstance(word, str) for word in words):
        raise ArgumentInvalid(
            argument=argument, value=str(given), rule="it must be a list of words"
        )
    return frozenset(words)
