"""Scores of entities, kept by row number so that every row that binds one of them finds its own."""

import numpy as np

from omnigraph.base.frozen import frozen
from omnigraph.read.frame import Binding, Frame
from omnigraph.read.search.ranked import Ranked, Scores
from omnigraph.read.space import Space
from omnigraph.read.topology.csr import Ordinals

__all__ = ["Scored"]


@frozen
class Scored:
    """The entities that a ranking ranked."""

    space: Space
    rows: Ordinals
    """Ascending, each once."""
    scores: Scores

    @classmethod
    def of(cls, space: Space, ranked: Ranked) -> "Scored":
        order = np.argsort(ranked.rows)
        return cls(space, ranked.rows[order], ranked.scores[order])

    def at(self, binding: Binding) -> Scores:
        """The score on each row, NaN where the entity was not ranked."""
        ordinals = binding.space.translate(binding.rows, self.space)
        found = np.full(len(ordinals), np.nan)
        if len(self.rows):
            position = np.searchsorted(self.rows, ordinals)
            position[position == len(self.rows)] = 0
            is_ranked = self.rows[position] == ordinals
            found[is_ranked] = self.scores[position[is_ranked]]
        return found

    def keep(self, frame: Frame, binding: Binding) -> Frame:
        """The rows whose entity was ranked; `binding` is the frame's own."""
        if binding.is_whole:
            return frame.take(self.rows)
        is_ranked = np.zeros(self.space.size + 1, dtype=np.bool_)
        is_ranked[self.rows] = True
        # NULL as an index is the last position, of no entity.
        return frame.filter(is_ranked[binding.space.translate(binding.rows, self.space)])
