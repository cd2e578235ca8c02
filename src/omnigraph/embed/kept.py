"""Vectors that were made but are not where they belong yet, kept in storage by text digest.

They survive a killed driver and a failing provider: the next try makes only the missing ones. The
vector of a text may be stored twice; both copies are valid.

Vectors for a graph are kept in the graph's storage, vectors for a file in a folder next to it.
"""

import hashlib
import uuid
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.embed.digests import DIGEST
from omnigraph.embed.provider import EmbedConfig, Vectors
from omnigraph.store.layout import STAGING
from omnigraph.store.objects import Objects

__all__ = ["KeptObject", "KeptVectors", "Whereabouts", "kept_as", "kept_for", "kept_vectors"]


MAX_OBJECT_TEXTS = 1_024


@frozen(slots=False, eq=False)
class Whereabouts:
    """In which object the vector of each text lies."""

    texts: pa.Array
    """Digests."""
    numbers: NDArray[np.int64]
    objects: tuple[str, ...]
    """By number."""

    def with_more(
        self, texts: pa.Array, numbers: NDArray[np.int64], objects: Sequence[str]
    ) -> "Whereabouts":
        return Whereabouts(
            pa.concat_arrays([self.texts, texts]),
            np.concatenate([self.numbers, numbers + len(self.objects)]),
            (*self.objects, *objects),
        )

    def lacks(self, texts: pa.Array) -> pa.Array:
        return pc.invert(pc.is_in(texts, value_set=self.texts))

    def find(self, texts: pa.Array) -> tuple[str, ...]:
        """The objects that hold vectors of these texts."""
        at = pc.index_in(texts, value_set=self.texts).drop_null()
        found = self.numbers[at.to_numpy()]
        return tuple(self.objects[number] for number in np.unique(found))


def kept_for(job: Literal["embed", "load"], *, branch: str, config: EmbedConfig, model: str) -> str:
    """The folder of a graph for the vectors of such a job: one for each branch and model."""
    return f"{STAGING}/embed~{kept_as(job, branch, config=config, model=model)}"


def kept_as(*about: str, config: EmbedConfig, model: str) -> str:
    """A name that differs wherever one text may have another vector."""
    told = "\n".join((*about, model))
    if config.max_characters is not None:
        told += f"\n{config.max_characters}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]


class KeptVectors:
    """The vectors in one folder."""

    def __init__(self, objects: Objects, folder: str) -> None:
        self._objects = objects
        self._folder = folder

    def new_object(self, width: int) -> str:
        return f"{self._folder}/{width}-{uuid.uuid4().hex}.arrow"

    def whereabouts(self, width: int) -> Whereabouts:
        """Of vectors of this width that are there already."""
        found = Whereabouts(pa.array([], DIGEST), np.empty(0, np.int64), ())
        for name in self._objects.list(self._folder):
            data = self._objects.get(name)
            if data is not None and name.rpartition("/")[2].startswith(f"{width}-"):
                texts = _opened(data)["text"].combine_chunks()
                found = found.with_more(texts, np.zeros(len(texts), np.int64), [name])
        return found

    def drop(self, *, is_alone: bool) -> None:
        """They are in a commit now, or were never needed.

        The empty folder goes only if the caller `is_alone`: another job that is just writing a
        vector into it would fail.
        """
        for name in self._objects.list(self._folder):
            self._objects.delete(name)
        if is_alone:
            self._objects.forget_folder(self._folder)


# Inside a task ------------------------------------------------------------------------------------


class KeptObject:
    """The object of one task. It is written again, whole, with each answer of the provider."""

    def __init__(self, objects: Objects, name: str, width: int) -> None:
        self._objects = objects
        self._name = name
        # A task that is run again goes on where its earlier run stopped.
        found = objects.get(name)
        self._table = (
            _table([], np.empty((0, width), np.float32)) if found is None else _opened(found)
        )

    @property
    def is_full(self) -> bool:
        """Whether more vectors should go into another object: this one is always written whole."""
        return bool(self._table.num_rows >= MAX_OBJECT_TEXTS)

    def lacks(self, texts: pa.Array) -> pa.Array:
        """For each digest of a text, whether its vector still has to be made."""
        return pc.invert(pc.is_in(texts, value_set=self._table["text"].combine_chunks()))

    def add(self, texts: pa.Array, vectors: Vectors) -> None:
        """Write down the vectors of these texts, given by their digests."""
        self._table = pa.concat_tables([self._table, _table(texts, vectors)])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, self._table.schema) as file:
            file.write_table(self._table)
        self._objects.put(self._name, sink.getvalue().to_pybytes())


def kept_vectors(
    objects: Objects, names: Sequence[str], texts: pa.Array, width: int
) -> tuple[Vectors, NDArray[np.bool_]]:
    """The vector of each text, from these objects, and whether it was found."""
    made = np.zeros((len(texts), width), np.float32)
    is_found = np.zeros(len(texts), np.bool_)
    for name in names:
        if (data := objects.get(name)) is None:
            continue  # another job of this branch has ended and removed the folder
        table = _opened(data)
        at = pc.index_in(texts, value_set=table["text"].combine_chunks())
        is_here = at.is_valid().to_numpy(zero_copy_only=False)
        vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, width)
        made[is_here] = vectors[at.drop_null().to_numpy()]
        is_found |= is_here
    return made, is_found


def _table(texts: pa.Array | list[bytes], vectors: Vectors) -> pa.Table:
    flat = pa.array(vectors.reshape(-1), pa.float32())
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table({"text": pa.array(texts, DIGEST), "vector": column})


def _opened(data: bytes) -> pa.Table:
    return pa.ipc.open_file(data).read_all()
