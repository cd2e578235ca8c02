"""Inside a task: have the provider make the vectors of some texts, and keep them."""

from dataclasses import field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.embed.digests import text_digests
from omnigraph.embed.kept import KeptObject
from omnigraph.embed.provider import EmbedConfig
from omnigraph.embed.providers import open_provider
from omnigraph.embed.texts import Refused, embed_in_parts
from omnigraph.store.datasets import DatasetRef, Datasets, row_set
from omnigraph.store.location import Location

__all__ = ["MakeTask", "make_vectors"]


@frozen
class MakeTask:
    root: Location
    ref: DatasetRef
    source: str
    """The column of the texts."""
    row_ids: NDArray[np.uint64] = field(repr=False)
    """Of rows with the texts."""
    width: int
    config: EmbedConfig
    kept_in: str
    """The object for the vectors."""


def make_vectors(task: MakeTask) -> dict[bytes, Refused]:
    """Keep the vectors of all texts that the provider takes; return the others by their digests.

    Each answer of the provider is kept before the next request is sent: what has been paid for
    survives whatever comes after.
    """
    dataset = Datasets(task.root).open(task.ref)
    rows = dataset.rows_at(row_set(task.row_ids), [task.source])
    texts = pa.compute.unique(rows[task.source])
    digests = text_digests(texts.to_pylist())
    kept = KeptObject(task.root.objects(), task.kept_in, task.width)
    lacking = kept.lacks(digests)
    texts, digests = texts.filter(lacking), digests.filter(lacking)
    refused: dict[bytes, Refused] = {}
    for part in embed_in_parts(
        open_provider(task.config), texts.to_pylist(), purpose="row", width=task.width
    ):
        if part.refused is not None:
            refused[digests[part.start].as_py()] = part.refused
        else:
            kept.add(digests.slice(part.start, len(part.vectors)), part.vectors)
    return refused
