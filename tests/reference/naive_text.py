"""Text search by its definition: word by word, row by row, over plain lists.

Shares nothing with the engine but the analysis of one text (`terms_of`).
"""

import math
from collections.abc import Sequence

from omnigraph.read.search.analysis import terms_of

__all__ = ["NaiveTexts", "edits_between"]

Row = int


class NaiveTexts:
    def __init__(self, texts: Sequence[str | None]) -> None:
        self.rows = [terms_of(text) if text else [] for text in texts]

    def search(self, query: str) -> list[Row]:
        wanted = set(terms_of(query))
        return [row for row, terms in enumerate(self.rows) if wanted & set(terms)]

    def phrase(self, query: str) -> list[Row]:
        wanted = terms_of(query)
        if not wanted:
            return []
        return [
            row
            for row, terms in enumerate(self.rows)
            if any(terms[at : at + len(wanted)] == wanted for at in range(len(terms)))
        ]

    def fuzzy(self, query: str, max_edits: int | None) -> list[Row]:
        def is_near(term: str, wanted: str) -> bool:
            by_length = 0 if len(wanted) <= 2 else 1 if len(wanted) <= 5 else 2
            return edits_between(term, wanted) <= (by_length if max_edits is None else max_edits)

        wanted = terms_of(query)
        return [
            row
            for row, terms in enumerate(self.rows)
            if any(is_near(term, word) for term in terms for word in wanted)
        ]

    def scores(self, query: str) -> dict[Row, float]:
        """BM25 of the rows that have a term: k1 is 1.2 and b 0.75."""
        filled = [terms for terms in self.rows if terms]
        mean = sum(map(len, filled)) / len(filled) if filled else 1.0
        weights = {}
        wanted = terms_of(query)
        for term in set(wanted):
            having = sum(term in terms for terms in filled)
            rarity = math.log(1.0 + (len(filled) - having + 0.5) / (having + 0.5)) * (1.2 + 1.0)
            weights[term] = wanted.count(term) * rarity
        # Sums of floats depend on their order: the terms that weigh most come first.
        order = sorted(weights, key=lambda term: (-weights[term], term))
        scores = {}
        for row, terms in enumerate(self.rows):
            if set(order) & set(terms):
                scores[row] = 0.0
                for term in order:
                    often = float(terms.count(term))
                    room = len(terms) * (1.2 * 0.75 / mean) + 1.2 * (1.0 - 0.75) + often
                    scores[row] += weights[term] * (often / room)
        return scores


def edits_between(one: str, other: str) -> int:
    """Levenshtein's distance."""
    before = list(range(len(other) + 1))
    for number, letter in enumerate(one, start=1):
        now = [number]
        for place, beside in enumerate(other, start=1):
            replaced = before[place - 1] + (letter != beside)
            now.append(min(replaced, before[place] + 1, now[place - 1] + 1))
        before = now
    return before[-1]
