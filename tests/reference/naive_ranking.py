"""Text search and rankings by their definitions, entity by entity, over plain rows."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.lang.plan import ir
from tests.reference.naive_text import NaiveTexts

if TYPE_CHECKING:
    from tests.reference.naive import Entity, PlainGraph

Scores = dict["Entity", float]


def no_vector(text: str) -> list[float]:
    raise AssertionError("nobody embeds texts here")


@dataclass(frozen=True)
class NaiveRanking:
    graph: "PlainGraph"
    parameters: Mapping[str, Any]
    embed: Callable[[str], list[float]] = no_vector
    _texts: dict[tuple[str, str], NaiveTexts] = field(default_factory=dict)
    _matched: dict[tuple[ir.TextMatch, str], set["Entity"]] = field(default_factory=dict)
    _scores: dict[tuple[str, str, str], Scores] = field(default_factory=dict)

    def matches(self, test: ir.TextMatch, entity: "Entity | None") -> bool:
        query = self._given(test.query)
        if entity is None or query is None:
            return False
        if (test, entity.type) not in self._matched:
            texts, rows = self._corpus(entity.type, test.field.name), self._rows(entity.type)
            found = {
                ir.TextMatchKind.SEARCH: lambda: texts.search(query),
                ir.TextMatchKind.PHRASE: lambda: texts.phrase(query),
                ir.TextMatchKind.FUZZY: lambda: texts.fuzzy(query, test.max_edits),
            }[test.kind]()
            self._matched[test, entity.type] = {rows[row] for row in found}
        return entity in self._matched[test, entity.type]

    def scores(
        self, ranking: ir.Ranking, candidates: Iterable["Entity | None"], k: int | None
    ) -> Scores:
        """Of those that are ranked; a fusion for the k best, or of whole rankings."""
        entities = [entity for entity in dict.fromkeys(candidates) if entity is not None]
        if isinstance(ranking, ir.Rrf):
            return self._fused(ranking, entities, k)
        scores = {entity: self._score(ranking, entity) for entity in entities}
        return {entity: score for entity, score in scores.items() if score is not None}

    def in_order(self, ranking: ir.Ranking, scores: Scores) -> list["Entity"]:
        """Best first; of equal ones the lower id, and the type that comes first."""
        sign = 1.0 if isinstance(ranking, ir.Nearest) else -1.0
        return sorted(scores, key=lambda entity: (sign * scores[entity], entity.id, entity.type))

    def _fused(self, ranking: ir.Rrf, entities: list["Entity"], k: int | None) -> Scores:
        depth = None if k is None else max(100, 5 * k)
        fused: Scores = {}
        for side in (ranking.left, ranking.right):
            order = self.in_order(side, self.scores(side, entities, None))
            for place, entity in enumerate(order[:depth], start=1):
                fused[entity] = fused.get(entity, 0.0) + 1.0 / (ranking.k + place)
        return fused

    def _score(self, ranking: ir.Nearest | ir.Bm25, entity: "Entity") -> float | None:
        query = self._given(ranking.query)
        if query is None:
            return None
        if isinstance(ranking, ir.Bm25):
            return self._bm25(entity.type, ranking.field.name, query).get(entity)
        if isinstance(query, str):
            query = self.embed(query) if query.strip() else None
        vector = entity.values.get(ranking.field.name)
        if vector is None or query is None:
            return None
        lengths = math.hypot(*vector) * math.hypot(*query)
        return float(1.0 - sum(a * b for a, b in zip(vector, query, strict=True)) / lengths)

    def _bm25(self, type_: str, name: str, query: str) -> Scores:
        if (type_, name, query) not in self._scores:
            rows, found = self._rows(type_), self._corpus(type_, name).scores(query)
            self._scores[type_, name, query] = {rows[row]: score for row, score in found.items()}
        return self._scores[type_, name, query]

    def _given(self, query: ir.Literal | ir.Parameter) -> Any:
        return query.value if isinstance(query, ir.Literal) else self.parameters[query.name]

    def _rows(self, type_: str) -> list["Entity"]:
        return self.graph.nodes[type_] if type_ in self.graph.nodes else self.graph.edges[type_]

    def _corpus(self, type_: str, name: str) -> NaiveTexts:
        """Every row of a type is part of it, whatever the query asks of rows."""
        if (type_, name) not in self._texts:
            texts = [entity.values.get(name) for entity in self._rows(type_)]
            self._texts[type_, name] = NaiveTexts(texts)
        return self._texts[type_, name]
