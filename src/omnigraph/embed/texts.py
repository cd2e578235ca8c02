"""Texts become vectors, batch by batch; a text that the provider refuses spoils no other.

A refusal names no text, and no two servers word it alike: too long, too many, not allowed. So a
batch that is refused is sent again in halves until the texts stand alone. That would be a flood of
requests where the fault is not in a text at all (a model that is not there, a width it can't make),
so a harmless text goes first: if that is refused as well, the refusal is about the request.
"""

from collections.abc import Sequence

import numpy as np

from omnigraph.base.errors import EmbedRefused
from omnigraph.base.frozen import frozen
from omnigraph.base.violations import Violation
from omnigraph.base.words import amount, clipped
from omnigraph.embed.batches import batches
from omnigraph.embed.provider import Provider, Purpose, Vectors

__all__ = ["Embedded", "Refused", "embed_texts"]

HARMLESS = "text"


@frozen
class Refused:
    """A text that the provider won't embed."""

    characters: int
    error: EmbedRefused

    def violation(self, type_name: str, id_: str | None, property_name: str) -> Violation:
        """What is wrong with a row whose property has this text."""
        who = f"{type_name} {clipped(id_)}" if id_ is not None else type_name
        message = (
            f"{who}: the text of {property_name}, {amount(self.characters, 'character')}, "
            f"is refused by {self.error.service}: {self.error.reason}"
        )
        return Violation("embed", message, type_name, property_name, id_)


@frozen(slots=False, eq=False)
class Embedded:
    vectors: Vectors
    """For each text; of those that are refused, zeros."""
    refused: dict[int, Refused]
    """By the place of the text."""


def embed_texts(
    provider: Provider,
    texts: Sequence[str],
    *,
    purpose: Purpose,
    width: int,
    limit_s: float | None = None,
) -> Embedded:
    """The vector of each text. An error that is not about a text is raised."""
    asking = _Asking(provider, purpose, width, limit_s)
    first = 0
    parts = [np.empty((0, width), np.float32)]
    refused: dict[int, Refused] = {}
    for batch in batches(texts, provider.limits):
        made = asking.embed(batch)
        parts.append(made.vectors)
        refused |= {first + at: why for at, why in made.refused.items()}
        first += len(batch)
    return Embedded(np.concatenate(parts), refused)


class _Asking:
    def __init__(
        self, provider: Provider, purpose: Purpose, width: int, limit_s: float | None
    ) -> None:
        self._provider = provider
        self._purpose = purpose
        self._width = width
        self._limit_s = limit_s
        self._is_request_good = False

    def embed(self, texts: Sequence[str]) -> Embedded:
        try:
            return Embedded(self._ask(texts), {})
        except EmbedRefused as error:
            if not error.may_be_for_a_text:
                raise
            self._rule_out_the_request(error)
            if len(texts) == 1:
                nothing = np.zeros((1, self._width), np.float32)
                return Embedded(nothing, {0: Refused(len(texts[0]), error)})
        half = len(texts) // 2
        former, latter = self.embed(texts[:half]), self.embed(texts[half:])
        return Embedded(
            np.concatenate([former.vectors, latter.vectors]),
            former.refused | {half + at: why for at, why in latter.refused.items()},
        )

    def _rule_out_the_request(self, refusal: EmbedRefused) -> None:
        """Raise the refusal, if any text would be refused."""
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
