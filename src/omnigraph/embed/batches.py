"""Texts in batches that a provider takes: not too many, not too long together."""

from collections.abc import Iterator, Sequence
from sys import maxsize

from omnigraph.base.frozen import frozen

__all__ = ["NO_LIMITS", "BatchLimits", "batches", "estimated_tokens"]

# No provider's tokens are known here. English has about four bytes to a token and other scripts
# about three: an estimate that is too high only makes batches smaller.
BYTES_PER_TOKEN = 3


@frozen
class BatchLimits:
    """What one request may hold."""

    texts: int
    tokens: int


NO_LIMITS = BatchLimits(texts=maxsize, tokens=maxsize)


def batches(texts: Sequence[str], limits: BatchLimits) -> Iterator[Sequence[str]]:
    """The texts in order, cut where a limit is reached. A text longer than all is alone."""
    start, tokens = 0, 0
    for at, text in enumerate(texts):
        more = estimated_tokens(text)
        if at > start and (at - start >= limits.texts or tokens + more > limits.tokens):
            yield texts[start:at]
            start, tokens = at, 0
        tokens += more
    if start < len(texts):
        yield texts[start:]


def estimated_tokens(text: str) -> int:
    return 1 + len(text.encode()) // BYTES_PER_TOKEN
