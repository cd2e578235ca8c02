"""Which text and which model a vector was made of, as facts about the vector and not about a row.

A fact says: this model made this vector of this text. Texts and vectors are told by their digests.
A fact stays true whatever becomes of rows: branches, merges, time travel, renamed properties and
moved graphs need no care, and facts that nobody needs do no harm. So they lie beside the tables, in
no commit, and are written before the commit that brings the vectors.

A vector is *ours* if there is a fact about it, and *fresh* if there is one with its row's text and
the model in use. Ours and not fresh is stale. One that is not ours was given by somebody.
"""

from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.embed.digests import DIGEST
from omnigraph.store.layout import EMBEDDINGS
from omnigraph.store.objects import Objects

__all__ = ["FACTS", "Origins", "note_origins", "read_origins", "tidy_origins"]

FACTS = pa.schema([("text", DIGEST), ("vector", DIGEST)])
MODEL = b"model"

# Each embedding adds an object, and all are read to tell what is stale.
MAX_OBJECTS = 32

# Others may tidy up while we read; each further try means that one more has done so.
MAX_TRIES = 5


@frozen(slots=False)
class Origins:
    """What is known of vectors, for one model."""

    ours: pa.Array
    """Digests of vectors that any model has made."""
    fresh: pa.Array
    """Digests of a text and of the vector that this model made of it, one after the other."""

    def are_ours(self, vectors: pa.Array) -> pa.Array:
        return pc.is_in(vectors, value_set=self.ours)

    def are_fresh(self, texts: pa.Array, vectors: pa.Array) -> pa.Array:
        return pc.is_in(_pairs(texts, vectors), value_set=self.fresh)


def note_origins(objects: Objects, name: str, model: str, facts: pa.Table) -> None:
    """Write facts down, in an object of this name: columns `text` and `vector`."""
    facts = facts.cast(FACTS).replace_schema_metadata({MODEL: model.encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, facts.schema) as file:
        file.write_table(facts)
    objects.put(f"{EMBEDDINGS}/{name}.arrow", sink.getvalue().to_pybytes())


def read_origins(objects: Objects, model: str) -> Origins:
    by_model = _facts(objects)
    everything = pa.concat_tables([FACTS.empty_table(), *by_model.values()])
    mine = by_model.get(model, FACTS.empty_table()).combine_chunks()
    return Origins(
        ours=pc.unique(everything["vector"]),
        fresh=_pairs(mine["text"].combine_chunks(), mine["vector"].combine_chunks()),
    )


def tidy_origins(objects: Objects, unique: str) -> None:
    """One object for each model, where there are too many. Safe beside others who do the same."""
    before = objects.list(EMBEDDINGS)
    if len(before) <= MAX_OBJECTS:
        return
    for number, (model, facts) in enumerate(_facts(objects).items()):
        once = facts.group_by(["text", "vector"]).aggregate([])
        note_origins(objects, f"{unique}-{number}", model, once)
    for name in before:
        objects.delete(name)


def _facts(objects: Objects) -> dict[str, pa.Table]:
    """All facts, by model."""
    for _ in range(MAX_TRIES):
        found: dict[str, list[pa.Table]] = defaultdict(list)
        names = objects.list(EMBEDDINGS)
        read = [objects.get(name) for name in names]
        if all(data is not None for data in read):
            for data in read:
                table = pa.ipc.open_file(data).read_all()
                model = table.schema.metadata[MODEL].decode()
                found[model].append(table.replace_schema_metadata(None))
            return {model: pa.concat_tables(tables) for model, tables in found.items()}
    raise StorageFailed(doing="read", path=EMBEDDINGS, reason="others keep rewriting it")


def _pairs(texts: pa.Array, vectors: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(
        texts.cast(pa.binary()), vectors.cast(pa.binary()), pa.scalar(b"", pa.binary())
    )
