"""Embed texts and keep each answer of the provider before the next request is sent."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.embed.kept import KeptObject, KeptVectors, Whereabouts, kept_vectors
from omnigraph.embed.provider import Provider
from omnigraph.embed.texts import Embedded, Refused, embed_in_parts
from omnigraph.store.objects import Objects

__all__ = ["KeepingProvider"]


class KeepingProvider:
    """A provider that is asked only for texts whose vectors no earlier try has kept."""

    def __init__(self, provider: Provider, objects: Objects, folder: str) -> None:
        self.provider = provider
        self._objects = objects
        self._kept = KeptVectors(objects, folder)
        self._known: dict[int, Whereabouts] = {}
        self._added: dict[int, KeptObject] = {}

    def embed(self, texts: Sequence[str], digests: pa.Array, width: int) -> Embedded:
        """The vector of each text; no text is given twice."""
        if width not in self._known:
            self._known[width] = self._kept.whereabouts(width)
            self._added[width] = self._new_object(width)
        places = self._known[width].find(digests)
        vectors, is_there = kept_vectors(self._objects, places, digests, width)
        lacking = np.flatnonzero(~is_there)
        refused: dict[int, Refused] = {}
        wanted = [texts[at] for at in lacking.tolist()]
        for part in embed_in_parts(self.provider, wanted, purpose="row", width=width):
            at = lacking[part.start : part.start + len(part.vectors)]
            if part.refused is not None:
                refused[int(lacking[part.start])] = part.refused
            else:
                vectors[at] = part.vectors
                if self._added[width].is_full:
                    self._added[width] = self._new_object(width)
                self._added[width].add(digests.take(pa.array(at)), part.vectors)
        return Embedded(vectors, refused)

    def _new_object(self, width: int) -> KeptObject:
        return KeptObject(self._objects, self._kept.new_object(width), width)
