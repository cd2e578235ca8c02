"""The vectors that a query looks near to: settled before the first row is read.

A text is embedded once per call, whatever the number of rows or places that ask for it, and by the
model that made the vectors of the property. Text without a word is near to nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.errors import EmbedProviderMissing
from omnigraph.base.types import Value, VectorOf
from omnigraph.lang.plan.chain import chain, types_bound
from omnigraph.lang.plan.ir import Literal, Nearest, Parameter, Project
from omnigraph.lang.plan.rankings import rankings_of
from omnigraph.lang.schema.catalog import Catalog, Property

__all__ = ["QueryVectors", "TextEmbedder", "query_vectors"]

Vector = NDArray[np.float32]


class TextEmbedder(Protocol):
    def embed_query(
        self, texts: Sequence[str], *, model: str | None, width: int, limit_s: float | None
    ) -> NDArray[np.float32]:
        """A row of `width` numbers for each text; `model` is None where the schema names none.

        `limit_s` is how long the query may still take; None: as long as it takes.
        """


class _Text(NamedTuple):
    """A text, and how the property that it is compared with was embedded."""

    text: str
    model: str | None
    width: int


class QueryVectors:
    """What each `nearest` of a query looks for, in the terms of each property it looks into."""

    def __init__(self, parameters: Mapping[str, Value], embedded: Mapping[_Text, Vector]) -> None:
        self._parameters = parameters
        self._embedded = embedded

    def of(self, ranking: Nearest, property_: Property) -> Vector | None:
        """None: there is nothing to be near to."""
        value = _value(ranking.query, self._parameters)
        if isinstance(value, str):
            return self._embedded[_text(value, property_)] if value.strip() else None
        return None if value is None else np.array(value, dtype=np.float32)


def query_vectors(
    plan: Project,
    catalog: Catalog,
    parameters: Mapping[str, Value],
    embedder: TextEmbedder | None,
    limit_s: float | None,
) -> QueryVectors:
    texts: dict[_Text, None] = {}
    for ranking, property_ in _compared(plan, catalog):
        value = _value(ranking.query, parameters)
        if isinstance(value, str) and value.strip():
            texts[_text(value, property_)] = None
    return QueryVectors(parameters, _embedded(list(texts), embedder, limit_s))


def _embedded(
    texts: Sequence[_Text], embedder: TextEmbedder | None, limit_s: float | None
) -> dict[_Text, Vector]:
    """One call for each model and width."""
    if not texts:
        return {}
    if embedder is None:
        raise EmbedProviderMissing
    found: dict[_Text, Vector] = {}
    for model, width in dict.fromkeys((each.model, each.width) for each in texts):
        asked = [each for each in texts if (each.model, each.width) == (model, width)]
        given = [each.text for each in asked]
        rows = embedder.embed_query(given, model=model, width=width, limit_s=limit_s)
        found |= dict(zip(asked, rows, strict=True))
    return found


def _compared(plan: Project, catalog: Catalog) -> Iterator[tuple[Nearest, Property]]:
    """Each `nearest` of the plan, with the property of each type that its variable may have."""
    types = types_bound(chain(plan))
    for ranking in rankings_of(plan):
        if isinstance(ranking, Nearest):
            for name in types[ranking.field.variable]:
                entity = catalog.node_by_name.get(name) or catalog.edge_by_name[name]
                if (property_ := entity.by_name.get(ranking.field.name)) is not None:
                    yield ranking, property_


def _text(text: str, property_: Property) -> _Text:
    assert isinstance(property_.type, VectorOf), "nearest looks into vectors"
    embed = property_.embed
    return _Text(text, embed.model if embed is not None else None, property_.type.width)


def _value(query: Literal | Parameter, parameters: Mapping[str, Value]) -> Value:
    return query.value if isinstance(query, Literal) else parameters[query.name]
