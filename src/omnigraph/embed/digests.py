"""Sixteen bytes that stand for a text, or for a vector."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from omnigraph.embed.provider import Vectors

__all__ = ["DIGEST", "text_digests", "vector_digests"]

DIGEST_BYTES = 16
DIGEST = pa.binary(DIGEST_BYTES)


def text_digests(texts: Iterable[str]) -> pa.Array:
    return _digests(text.encode() for text in texts)


def vector_digests(vectors: Vectors) -> pa.Array:
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    return _digests(row.tobytes() for row in rows)


def _digests(values: Iterable[bytes]) -> pa.Array:
    return pa.array([blake2b(v, digest_size=DIGEST_BYTES).digest() for v in values], DIGEST)
