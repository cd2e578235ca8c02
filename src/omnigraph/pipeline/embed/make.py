"""Inside a task: the vectors of some texts, made by the provider and kept."""

from dataclasses import field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.embed.digests import text_digests
from omnigraph.embed.provider import EmbedConfig
from omnigraph.embed.providers import open_provider
from omnigraph.embed.texts import Refused, embed_texts
from omnigraph.pipeline.embed.kept import keep
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
    """Keep the vectors of all texts that the provider takes; the others, by their digests."""
    dataset = Datasets(task.root).open(task.ref)
    rows = dataset.rows_at(row_set(task.row_ids), [task.source])
    texts: list[str] = pa.compute.unique(rows[task.source]).to_pylist()
    digests = text_digests(texts)
    made = embed_texts(open_provider(task.config), texts, purpose="row", width=task.width)
    is_made = np.ones(len(texts), np.bool_)
    is_made[list(made.refused)] = False
    keep(
        task.root.objects(), task.kept_in, digests.filter(pa.array(is_made)), made.vectors[is_made]
    )
    return {digests[at].as_py(): refused for at, refused in made.refused.items()}
