"""Texts of queries as vectors: each text is embedded once, and kept while it is asked again."""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.recent import Recent
from omnigraph.embed.provider import Provider, Vectors
from omnigraph.embed.providers import require_model
from omnigraph.embed.texts import embed_texts

__all__ = ["QueryTexts"]

# Of vectors of 1,536 numbers they take 12 megabytes.
MAX_KEPT_TEXTS = 2_048


class QueryTexts:
    """Safe to share between threads. The provider is opened by the first text."""

    def __init__(self, open_provider: Callable[[], Provider]) -> None:
        self._open = open_provider
        self._lock = threading.Lock()
        self._provider: Provider | None = None
        self._known: Recent[tuple[int, str], Vectors] = Recent(MAX_KEPT_TEXTS)

    def embed_query(
        self,
        texts: Sequence[str],
        *,
        model: str | None,
        width: int,
        limit_s: float | None = None,
    ) -> Vectors:
        """A vector of length one for each text, by the model that `@embed` names."""
        provider = self._opened()
        require_model(provider, model)
        if not all(text.strip() for text in texts):
            rule = "the text to search for is empty"
            raise ArgumentInvalid(argument="nearest", value=None, rule=rule)
        found = {text: self._known.get((width, text)) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            made = embed_texts(provider, missing, purpose="query", width=width, limit_s=limit_s)
            for refused in made.refused.values():
                raise refused.error
            for text, vector in zip(missing, made.vectors, strict=True):
                found[text] = vector
                self._known.put((width, text), vector)
        vectors = np.empty((len(texts), width), np.float32)
        for at, text in enumerate(texts):
            vectors[at] = found[text]
        return vectors

    def _opened(self) -> Provider:
        with self._lock:
            if self._provider is None:
                self._provider = self._open()
            return self._provider
