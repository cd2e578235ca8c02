"""The schema of a commit: its text as it was accepted, and the catalog that was made of it."""

from dataclasses import dataclass, field

from omnigraph.base.ids import CommitId
from omnigraph.base.words import amount
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import SchemaRead
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["Schema", "schema"]


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """A schema as callers see it. `str` gives the text; a notebook shows the diagram."""

    text: str
    graph_commit_id: CommitId
    catalog: Catalog = field(compare=False)
    """The types, as the languages see them."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        nodes = amount(len(self.catalog.nodes), "node type")
        edges = amount(len(self.catalog.edges), "edge type")
        return f"<Schema at {self.graph_commit_id}: {nodes}, {edges}>"

    def _repr_svg_(self) -> str:
        from omnigraph.lang.schema.picture.drawing import schema_svg

        return schema_svg(self.catalog)


def schema(engine: Engine, request: SchemaRead) -> Schema:
    """The schema at one commit."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        text = engine.store.schemas.source(view.snapshot.schema_hash)
        return Schema(text, view.commit.id, view.catalog)
