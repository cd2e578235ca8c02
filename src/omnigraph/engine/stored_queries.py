"""Stored queries: `.gq` files that are offered by the names of their queries.

All of them must fit the schema that the graph has when the server starts or reloads. When the
schema changes later, the catalog is made again for the new one. A query that does not fit any more
is left out of it; whoever runs it is told what is wrong with it.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from omnigraph.base.errors import ArgumentInvalid, LanguageError, QueryMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.recent import Recent
from omnigraph.base.span import SourceText
from omnigraph.base.types import ListOf, Scalar, ValueType
from omnigraph.engine.handles.graph import Graph
from omnigraph.engine.schema import Schema
from omnigraph.engine.signatures import QuerySignature, query_kinds, signature_of
from omnigraph.engine.text import QUERY, read_source

__all__ = ["StoredQueries", "read_queries", "with_bigints"]

log = logging.getLogger(__name__)

# Of branches, and of roles that see a part of one.
MAX_SCHEMAS = 64
BIGINTS = (Scalar.I64, Scalar.U64)

Catalog = Mapping[str, QuerySignature]


@frozen
class StoredQueries:
    sources: Mapping[str, SourceText] = field(default_factory=dict)
    """The text of each query's file, by the query's name."""
    mutations: frozenset[str] = frozenset()
    _catalogs: Recent[str, Catalog] = field(
        default_factory=lambda: Recent(MAX_SCHEMAS), repr=False, compare=False
    )

    def require_fit(self, graph: Graph) -> None:
        """Raise if a query does not fit the schema that main has now."""
        schema = graph.schema()
        found = {name: self._signature(name, schema) for name in self.sources}
        self._catalogs.put(schema.text, found)

    def tell_misfits(self, graph: Graph) -> None:
        """Tell the log which queries do not fit the schema that main has now."""
        schema = graph.schema()
        for name in self.sources.keys() - self.catalog(schema).keys():
            log.warning("the stored query %s does not fit the schema any more", name)

    def catalog(self, schema: Schema) -> Catalog:
        """The queries that fit a schema, by name. Of a schema with hidden parts that an actor has,
        those that look at none of them."""
        if (known := self._catalogs.get(schema.text)) is None:
            known = {}
            for name in self.sources:
                with suppress(LanguageError):
                    known[name] = self._signature(name, schema)
            self._catalogs.put(schema.text, known)
        return known

    def source(self, name: str) -> SourceText:
        """The text that holds a query; raises as for a query that nobody stored."""
        if (source := self.sources.get(name)) is None:
            raise QueryMissing(name, ())
        return source

    def signature(self, name: str, schema: Schema, *, is_told: bool) -> QuerySignature:
        """The signature of a query; raises if it does not fit the schema.

        Unless the caller may be told why, it is then as if there were no such query: what is wrong
        names what is hidden.
        """
        self.source(name)
        if (known := self.catalog(schema).get(name)) is not None:
            return known
        if not is_told:
            raise QueryMissing(name, ())
        return self._signature(name, schema)

    def _signature(self, name: str, schema: Schema) -> QuerySignature:
        return signature_of(self.sources[name], name, schema.catalog)


def read_queries(paths: Iterable[Path]) -> StoredQueries:
    """The queries of `.gq` files and of directories of them; a name may be there once."""
    sources: dict[str, SourceText] = {}
    mutations: set[str] = set()
    for file in _files(paths):
        source = read_source(file, QUERY)
        for name, is_mutation in query_kinds(source).items():
            if name in sources:
                rule = f"the query {name} is in {sources[name].name} too; give one another name"
                raise ArgumentInvalid("--queries", str(file), rule)
            sources[name] = source
            mutations |= {name} if is_mutation else set()
    return StoredQueries(sources, frozenset(mutations))


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.glob(f"*{QUERY}"))
        if not found:
            raise ArgumentInvalid("--queries", str(path), "the directory holds no .gq file")
        yield from found


def with_bigints(signature: QuerySignature, params: Any) -> Any:
    """The parameters with 64-bit integers that came as text: JavaScript has no others."""
    if not isinstance(params, dict):
        return params
    types = {parameter.name: parameter.type for parameter in signature.parameters}
    return {name: _number(types.get(name), value) for name, value in params.items()}


def _number(type_: ValueType | None, value: Any) -> Any:
    if type_ in BIGINTS and isinstance(value, str):
        digits = value.removeprefix("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= 20
        return int(value) if is_number else value
    if isinstance(type_, ListOf) and isinstance(value, list):
        return [_number(type_.item, item) for item in value]
    return value
