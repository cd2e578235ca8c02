"""all-MiniLM-L6-v2 in NumPy: six layers of a transformer, the mean of the tokens, length one.

Texts of one number of tokens go through together: no padding, and so no mask.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from omnigraph.base.frozen import frozen
from omnigraph.embed.wordpiece import WordPiece

__all__ = ["WIDTH", "MiniLm"]

WIDTH = 384
LAYERS, HEADS, HEAD_WIDTH = 6, 12, 32
MAX_TOKENS = 256
EPSILON = 1e-12

# Activations of so many tokens stay in a processor's cache.
MAX_BATCH_TOKENS = 4096

Floats = NDArray[np.float32]


@frozen
class _Dense:
    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(x @ self.weight + self.bias, dtype=np.float32)


@frozen
class _Norm:
    gain: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred)[:, None] / WIDTH
        scaled = centred / np.sqrt(variance + EPSILON) * self.gain + self.bias
        return np.asarray(scaled, dtype=np.float32)


@frozen
class _Layer:
    query_key_value: _Dense
    attention: _Dense
    attention_norm: _Norm
    widen: _Dense
    narrow: _Dense
    norm: _Norm


class MiniLm:
    def __init__(self, directory: Path) -> None:
        """Raise `OSError`, `ValueError` or `KeyError` where the files are not the model's."""
        self._words = WordPiece(directory / "vocab.txt", max_tokens=MAX_TOKENS)
        tensors = _tensors(directory / "model.safetensors")
        self._tokens = tensors["embeddings.word_embeddings.weight"]
        # Every text is of the first kind: there is no second sentence.
        self._places = (
            tensors["embeddings.position_embeddings.weight"]
            + tensors["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = _norm(tensors, "embeddings.LayerNorm")
        self._layers = [_layer(tensors, f"encoder.layer.{number}.") for number in range(LAYERS)]

    def embed(self, texts: Sequence[str]) -> Floats:
        tokens = [self._words.tokens(text) for text in texts]
        made = np.empty((len(texts), WIDTH), np.float32)
        for batch in _of_one_length([len(one) for one in tokens]):
            made[batch] = self._vectors(np.array([tokens[at] for at in batch]))
        return made

    def _vectors(self, tokens: NDArray[np.int64]) -> Floats:
        texts, length = tokens.shape
        x = (self._tokens[tokens] + self._places[:length]).reshape(texts * length, WIDTH)
        x = self._norm(x)
        for layer in self._layers:
            x = layer.attention_norm(x + layer.attention(_attended(layer, x, texts)))
            wide = layer.widen(x)
            wide *= np.float32(0.5) * (1 + erf(wide * np.float32(2**-0.5)))
            x = layer.norm(x + layer.narrow(wide))
        pooled = x.reshape(texts, length, WIDTH).mean(1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), np.float32)


def _attended(layer: _Layer, x: Floats, texts: int) -> Floats:
    """What each token takes from all tokens of its text."""
    heads = layer.query_key_value(x).reshape(texts, -1, 3, HEADS, HEAD_WIDTH)
    query, key, value = heads.transpose(2, 0, 3, 1, 4)
    weights = (query @ key.transpose(0, 1, 3, 2)) * np.float32(HEAD_WIDTH**-0.5)
    weights -= weights.max(-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(-1, keepdims=True)
    return np.asarray((weights @ value).transpose(0, 2, 1, 3).reshape(len(x), WIDTH))


def _of_one_length(lengths: Sequence[int]) -> list[NDArray[np.int64]]:
    """Positions in batches: all of one length, and not too many tokens together."""
    order = np.argsort(lengths, kind="stable")
    borders = np.flatnonzero(np.diff(np.asarray(lengths)[order])) + 1
    made: list[NDArray[np.int64]] = []
    for alike in np.split(order, borders):
        if len(alike):
            count = max(1, MAX_BATCH_TOKENS // lengths[alike[0]])
            made += [alike[start : start + count] for start in range(0, len(alike), count)]
    return made


# The weights -------------------------------------------------------------------------------------


def _tensors(path: Path) -> dict[str, Floats]:
    """A safetensors file: eight bytes of length, a header in JSON, then the numbers themselves."""
    raw = np.memmap(path, np.uint8, "r")
    start = 8 + int(raw[:8].view("<u8")[0])
    header = json.loads(raw[8:start].tobytes())
    tensors: dict[str, Floats] = {}
    for name, about in header.items():
        if about.get("dtype") == "F32":
            first, end = about["data_offsets"]
            tensors[name] = raw[start + first : start + end].view("<f4").reshape(about["shape"])
    return tensors


def _layer(tensors: dict[str, Floats], prefix: str) -> _Layer:
    parts = [_dense(tensors, f"{prefix}attention.self.{n}") for n in ("query", "key", "value")]
    return _Layer(
        query_key_value=_Dense(
            np.concatenate([part.weight for part in parts], axis=1),
            np.concatenate([part.bias for part in parts]),
        ),
        attention=_dense(tensors, f"{prefix}attention.output.dense"),
        attention_norm=_norm(tensors, f"{prefix}attention.output.LayerNorm"),
        widen=_dense(tensors, f"{prefix}intermediate.dense"),
        narrow=_dense(tensors, f"{prefix}output.dense"),
        norm=_norm(tensors, f"{prefix}output.LayerNorm"),
    )


def _dense(tensors: dict[str, Floats], name: str) -> _Dense:
    return _Dense(tensors[f"{name}.weight"].T.copy(), tensors[f"{name}.bias"].copy())


def _norm(tensors: dict[str, Floats], name: str) -> _Norm:
    return _Norm(tensors[f"{name}.weight"].copy(), tensors[f"{name}.bias"].copy())
