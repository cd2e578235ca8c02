"""`search`, `fuzzy` and `match_text` over the rows that a variable is bound to."""

import numpy as np

from omnigraph.lang.plan.ir import TextMatch
from omnigraph.read.context import Context
from omnigraph.read.frame import Binding
from omnigraph.read.space import Part
from omnigraph.read.values.compare import Mask
from omnigraph.read.values.predicates import constant_of, words_match

__all__ = ["text_matches"]


def text_matches(predicate: TextMatch, binding: Binding, context: Context) -> Mask:
    """Which rows bind an entity that matches. No text, and no entity, match nothing."""
    query = constant_of(predicate.query, context.parameters, context.now_ms).as_py()

    def of_table(part: Part) -> Mask:
        found = part.entity.by_name.get(predicate.field.name)
        if found is None or query is None:
            return np.zeros(part.size, dtype=np.bool_)
        words = context.searches.text(part.entity, found.column)
        return words_match(predicate, query, words, context.pace("search"))

    # One more for NULL, which as an index is the last position.
    none = np.zeros(1, dtype=np.bool_)
    mask = np.concatenate([*(of_table(part) for part in binding.space.parts), none])
    return mask[:-1] if binding.ordinals is None else mask[binding.ordinals]
