"""Vectors for rows that are being loaded, before they are written: in a task, a batch at a time."""

import uuid

import numpy as np
import pyarrow as pa

from omnigraph.base.violations import Violation
from omnigraph.embed.columns import has_text, matrix_of, vector_column
from omnigraph.embed.digests import text_digests, vector_digests
from omnigraph.embed.keeping import KeepingProvider
from omnigraph.embed.origins import FACTS, note_origins
from omnigraph.embed.provider import EmbedConfig
from omnigraph.embed.providers import open_provider
from omnigraph.embed.targets import VectorTarget, vectors_of
from omnigraph.lang.schema.catalog import ID, EntityType
from omnigraph.store.objects import Objects

__all__ = ["Ingest"]


class Ingest:
    def __init__(self, config: EmbedConfig, objects: Objects, kept_in: str) -> None:
        self._provider = KeepingProvider(open_provider(config), objects, kept_in)
        self._objects = objects
        self._facts = [FACTS.empty_table()]

    def fill(
        self, entity: EntityType, rows: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, list[tuple[int, Violation]]]:
        """The rows; those with a text and without its vector have it now.

        And the numbers of rows whose text the provider refuses, with what is wrong.
        """
        refused: list[tuple[int, Violation]] = []
        for target in vectors_of(entity):
            rows, more = self._filled(entity, target, rows)
            refused += more
        return rows, refused

    def note(self) -> None:
        """Write down what the vectors were made of."""
        facts = pa.concat_tables(self._facts)
        if facts.num_rows:
            note_origins(self._objects, uuid.uuid4().hex, self._provider.provider.model, facts)

    def _filled(
        self, entity: EntityType, target: VectorTarget, rows: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, list[tuple[int, Violation]]]:
        column, source = rows[target.column], rows[target.source]
        matrix, is_there = matrix_of(column, target.width)
        wanted = has_text(source) & ~is_there
        if not wanted.any():
            return rows, []
        encoded = source.filter(pa.array(wanted)).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        digests = text_digests(texts)
        made = self._provider.embed(texts, digests, target.width)
        facts = {"text": digests, "vector": vector_digests(made.vectors)}
        is_made = pa.array([at not in made.refused for at in range(len(texts))])
        self._facts.append(pa.table(facts, schema=FACTS).filter(is_made))
        numbers = encoded.indices.to_numpy()
        matrix[wanted] = made.vectors[numbers]
        filled = vector_column(matrix, np.asarray(is_there | wanted), column.type)
        at = rows.schema.get_field_index(target.column)
        # Without a key, an id is made up as long as nothing is written.
        ids = rows[ID].to_pylist() if entity.key and made.refused else [None] * len(rows)
        refused = [
            (row, made.refused[number].violation(entity.name, ids[row], target.source_name))
            for row, number in zip(np.flatnonzero(wanted).tolist(), numbers.tolist(), strict=True)
            if number in made.refused
        ]
        return rows.set_column(at, rows.schema.field(at), filled), refused
