"""The schema of a commit: its text as it was accepted, and the catalog that was made of it."""

from dataclasses import field

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.base.span import SourceText
from omnigraph.base.words import amount
from omnigraph.engine.engine import Engine
from omnigraph.engine.requests import SchemaRead
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.read.view import View

__all__ = ["Schema", "schema", "schema_text"]

MEMBERS_DRAWN = 600
"""A page of a notebook draws so many types and properties."""
TYPES_LISTED = 50


@frozen(repr=False)
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

    def _repr_html_(self) -> str:
        """The diagram, for a notebook; of a schema too large for a picture, its types."""
        from omnigraph.engine.notebook.page import html_table, in_page
        from omnigraph.lang.schema.picture.drawing import schema_svg

        catalog = self.catalog
        members = sum(len(entity.properties) + 1 for entity in catalog.entities)
        if members <= MEMBERS_DRAWN:
            return in_page(schema_svg(catalog, is_inline=True))
        types = [
            {"type": entity.name, "properties": len(entity.properties)}
            for entity in catalog.entities[:TYPES_LISTED]
        ]
        below = f"{amount(len(catalog.entities), 'type')}; print the schema to see its text"
        return html_table(("type", "properties"), types, below=below)


def schema(engine: Engine, request: SchemaRead) -> Schema:
    """The schema at one commit."""
    engine.gate.allow(request)
    with view_for(engine, request) as view:
        return Schema(schema_text(engine, view), view.commit.id, view.catalog)


def schema_text(engine: Engine, view: View) -> str:
    """The schema as it was accepted; where something of it is hidden, the rest of it."""
    text = engine.store.schemas.source(view.snapshot.schema_hash)
    if view.snapshot.hidden is None:
        return text
    from omnigraph.lang.schema.text.part import text_of_part

    return text_of_part(SourceText(text), view.catalog)
