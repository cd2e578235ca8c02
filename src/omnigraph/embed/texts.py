"""Turn texts into vectors, request by request. A text that the provider refuses fails alone.

A refusal does not name the text, and every server words it differently: too long, too many, not
allowed. So a refused batch is sent again in halves until each text stands alone. If the fault is
not in a text (an unknown model, a width the model cannot make), halving would send a flood of
requests. A harmless text is sent first: if the provider refuses it too, the request is at fault.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from omnigraph.base.errors import EmbedRefused
from omnigraph.base.frozen import frozen
from omnigraph.base.violations import Violation
from omnigraph.base.words import amount, clipped
from omnigraph.embed.batches import batches
from omnigraph.embed.provider import Provider, Purpose, Vectors

__all__ = ["Answered", "Embedded", "Refused", "embed_in_parts", "embed_texts"]

HARMLESS = "text"


@frozen
class Refused:
    """A text that the provider refuses to embed."""

    characters: int
    error: EmbedRefused

    def violation(self, type_name: str, id_: str | None, property_name: str) -> Violation:
        """The violation of a row whose property holds this text."""
        who = f"{type_name} {clipped(id_)}" if id_ is not None else type_name
        message = (
            f"{who}: the text of {property_name}, {amount(self.characters, 'character')}, "
            f"is refused by {self.error.service}: {self.error.reason}"
        )
        return Violation("embed", message, type_name, property_name, id_)


@frozen(slots=False, eq=False)
class Embedded:
    vectors: Vectors
    """One row per text; zeros for a refused text."""
    refused: dict[int, Refused]
    """By the position of the text."""


@frozen(slots=False, eq=False)
class Answered:
    """The outcome of one request: vectors of consecutive texts, or one text that is refused."""

    start: int
    """The position of the first text."""
    vectors: Vectors
    """Empty if the text is refused."""
    refused: Refused | None = None


def embed_texts(
    provider: Provider,
    texts: Sequence[str],
    *,
    purpose: Purpose,
    width: int,
    limit_s: float | None = None,
) -> Embedded:
    """The vector of each text. An error that is not about one text is raised."""
    vectors = np.zeros((len(texts), width), np.float32)
    refused: dict[int, Refused] = {}
    for part in embed_in_parts(provider, texts, purpose=purpose, width=width, limit_s=limit_s):
        if part.refused is not None:
            refused[part.start] = part.refused
        vectors[part.start : part.start + len(part.vectors)] = part.vectors
    return Embedded(vectors, refused)


def embed_in_parts(
    provider: Provider,
    texts: Sequence[str],
    *,
    purpose: Purpose,
    width: int,
    limit_s: float | None = None,
) -> Iterator[Answered]:
    """Yield each answer as soon as the provider has given it, so that the caller can keep it.

    An error that is not about one text is raised after the answers before it were yielded.
    """
    asking = _Asking(provider, purpose, width, limit_s)
    start = 0
    for batch in batches(texts, provider.limits):
        yield from asking.embed(batch, start)
        start += len(batch)


class _Asking:
    def __init__(
        self, provider: Provider, purpose: Purpose, width: int, limit_s: float | None
    ) -> None:
        self._provider = provider
        self._purpose = purpose
        self._width = width
        self._limit_s = limit_s
        self._is_request_good = False

    def embed(self, texts: Sequence[str], start: int) -> Iterator[Answered]:
        try:
            vectors = self._ask(texts)
        except EmbedRefused as error:
            if not error.may_be_for_a_text:
                raise
            self._rule_out_the_request(error)
            refusal = error
        else:
            yield Answered(start, vectors)
            return
        if len(texts) == 1:
            nothing = np.empty((0, self._width), np.float32)
            yield Answered(start, nothing, Refused(len(texts[0]), refusal))
            return
        half = len(texts) // 2
        yield from self.embed(texts[:half], start)
        yield from self.embed(texts[half:], start + half)

    def _rule_out_the_request(self, refusal: EmbedRefused) -> None:
        """Raise the refusal if the provider refuses a harmless text too."""
        if not self._is_request_good:
            try:
                self._ask([HARMLESS])
            except EmbedRefused:
                raise refusal from None
            self._is_request_good = True

    def _ask(self, texts: Sequence[str]) -> Vectors:
        return self._provider.embed(
            texts, purpose=self._purpose, width=self._width, limit_s=self._limit_s
        )
