"""Vectors for rows that are being loaded, before they are written: in a task, a batch at a time."""

import uuid

import numpy as np
import pyarrow as pa

from omnigraph.embed.columns import has_text, matrix_of, vector_column
from omnigraph.embed.digests import text_digests, vector_digests
from omnigraph.embed.origins import FACTS, note_origins
from omnigraph.embed.provider import EmbedConfig
from omnigraph.embed.providers import open_provider
from omnigraph.embed.targets import VectorTarget, vectors_of
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.store.objects import Objects

__all__ = ["Ingest"]


class Ingest:
    def __init__(self, config: EmbedConfig) -> None:
        self._provider = open_provider(config)
        self._facts = [FACTS.empty_table()]

    def fill(self, entity: EntityType, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows; those with a text and without its vector have it now."""
        for target in vectors_of(entity):
            rows = self._filled(target, rows)
        return rows

    def note(self, objects: Objects) -> None:
        """Write down what the vectors were made of."""
        facts = pa.concat_tables(self._facts)
        if facts.num_rows:
            note_origins(objects, uuid.uuid4().hex, self._provider.model, facts)

    def _filled(self, target: VectorTarget, rows: pa.RecordBatch) -> pa.RecordBatch:
        column, source = rows[target.column], rows[target.source]
        matrix, is_there = matrix_of(column, target.width)
        wanted = has_text(source) & ~is_there
        if not wanted.any():
            return rows
        encoded = source.filter(pa.array(wanted)).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        made = self._provider.embed(texts, purpose="row", width=target.width)
        facts = {"text": text_digests(texts), "vector": vector_digests(made)}
        self._facts.append(pa.table(facts, schema=FACTS))
        matrix[wanted] = made[encoded.indices.to_numpy()]
        filled = vector_column(matrix, np.asarray(is_there | wanted), column.type)
        at = rows.schema.get_field_index(target.column)
        return rows.set_column(at, rows.schema.field(at), filled)
