"""The check that every provider's answer passes: one finite vector for each text, of length one."""

from collections.abc import Sequence

import numpy as np

from omnigraph.base.errors import EmbedAnswerInvalid, EmbedWidthWrong
from omnigraph.base.words import amount
from omnigraph.embed.provider import Vectors

__all__ = ["unit_vectors"]


def unit_vectors(
    rows: Sequence[Sequence[float]], *, count: int, width: int, service: str, model: str
) -> Vectors:
    """What a provider gave for so many texts, brought to length one, or an error."""
    if len(rows) != count:
        reason = f"{amount(len(rows), 'vector')} for {amount(count, 'text')}"
        raise EmbedAnswerInvalid(service=service, reason=reason)
    for row in rows:
        if len(row) != width:
            raise EmbedWidthWrong(model=model, expected=width, found=len(row))
    numbers = np.array(rows, dtype=np.float64).reshape(count, width)
    # A number that is not finite, or one too large, shows in the length.
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise EmbedAnswerInvalid(service=service, reason="a number is not finite")
    if not lengths.all():
        raise EmbedAnswerInvalid(service=service, reason="a vector has nothing but zeros")
    return np.asarray(numbers / lengths, dtype=np.float32)
