"""The languages by themselves: check, format, plan and draw texts. No graph is needed or changed.

Every door calls these, so that a finding reads the same on the command line, over HTTP and in an
editor. Each function imports its part of the languages when it is called: start-up stays quick.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnigraph.base.choices import DiagramFormat
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.looks import Look, never
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText
from omnigraph.engine.text import QUERY, SCHEMA

if TYPE_CHECKING:
    from omnigraph.engine.explanation import Explanation
    from omnigraph.engine.schema_results import SchemaChange
    from omnigraph.lang.query.editing.complete import Completion
    from omnigraph.lang.query.editing.marks import Mark
    from omnigraph.lang.query.lint.lint import LintReport
    from omnigraph.lang.query.text.ast import Query
    from omnigraph.lang.schema.catalog import Catalog

__all__ = [
    "catalog_of",
    "complete",
    "draw",
    "explain_text",
    "format_text",
    "language_of",
    "lint",
    "lint_schema",
    "marks",
    "plan_schema",
    "queries_of",
    "text_of_type",
]


def catalog_of(schema: SourceText) -> "Catalog":
    """The types that a schema declares; raises all its mistakes at once."""
    from omnigraph.lang.schema.check.check import compile_schema

    return compile_schema(schema)


def lint(
    sources: Iterable[SourceText], catalog: "Catalog", look: Look = never
) -> list["LintReport"]:
    """Errors and probable mistakes in texts of queries."""
    from omnigraph.lang.query.lint.lint import lint_source

    return [lint_source(source, catalog, look=look) for source in sources]


def lint_schema(schema: SourceText) -> "LintReport":
    """Probable mistakes in a schema."""
    from omnigraph.lang.query.lint.lint import LintReport
    from omnigraph.lang.schema.check import lint

    return LintReport(schema, lint.lint_schema(schema), ())


def format_text(source: SourceText) -> str:
    """A schema or queries in the canonical form, comments kept; the name's ending says which."""
    if language_of(source.name) == SCHEMA:
        from omnigraph.lang.schema.text.format import format_schema

        return format_schema(source)
    from omnigraph.lang.query.text.format import format_source

    return format_source(source)


def language_of(file: str) -> str:
    """The language that the ending of a file's name says."""
    for language in (SCHEMA, QUERY):
        if file.endswith(language):
            return language
    raise ArgumentInvalid(
        argument="file", value=file, rule="the name must end in .pg (a schema) or .gq (queries)"
    )


def plan_schema(
    accepted: SourceText, desired: SourceText, *, allow_data_loss: bool = False
) -> "SchemaChange":
    """The steps from one schema to another, as if every type had rows."""
    from omnigraph.engine.schema_results import SchemaChange
    from omnigraph.lang.schema.check.check import compile_schema
    from omnigraph.lang.schema.migrate.plan import plan_migration
    from omnigraph.lang.schema.migrate.steps import Facts

    before = compile_schema(accepted)
    after = compile_schema(desired, before)
    plan = plan_migration(before, after, Facts(), allow_data_loss=allow_data_loss)
    return SchemaChange(plan.steps, plan.refusals)


def draw(catalog: "Catalog", style: DiagramFormat) -> str:
    """A schema as a picture: Mermaid text, or SVG."""
    match style:
        case "mermaid":
            from omnigraph.lang.schema.picture.diagram import schema_mermaid

            return schema_mermaid(catalog)
        case "svg":
            from omnigraph.lang.schema.picture.drawing import schema_svg

            return schema_svg(catalog)


def explain_text(source: SourceText, catalog: "Catalog", name: str | None = None) -> "Explanation":
    """The plan of a query as it is written; a graph may run it in another order."""
    from omnigraph.engine.explanation import explanation_of
    from omnigraph.lang.plan.compile import compile_query

    return explanation_of(compile_query(source, catalog, name))


def queries_of(
    source: SourceText, *, skips_broken: bool = False, look: Look = never
) -> "tuple[Query, ...]":
    """The queries of a text, as trees; raises all that can't be read, unless it is skipped."""
    from omnigraph.lang.query.text.parser import parse, read

    return (read(source, look).file if skips_broken else parse(source, look)).queries


def complete(
    text: str, catalog: "Catalog", parameters: Iterable[str] = (), look: Look = never
) -> "Completion":
    """What may be typed next in a query, or in the body of one that has these parameters."""
    from omnigraph.lang.query.editing import complete as completing

    return completing.complete(text, catalog, parameters, look)


def marks(text: str) -> "list[Mark]":
    """What each word of a query, or of its body, is."""
    from omnigraph.lang.query.editing import marks as marking

    return marking.marks(text)


def text_of_type(schema: SourceText, catalog: "Catalog", name: str) -> str:
    """What a schema says of one type, and of the interfaces that it implements."""
    from omnigraph.lang.schema.catalog import Catalog
    from omnigraph.lang.schema.text.part import text_of_part

    known = {each.name: each for each in (*catalog.entities, *catalog.interfaces)}
    if name not in known:
        raise ArgumentInvalid("type", name, "the schema has no such type", name_hint(name, known))
    nodes = tuple(node for node in catalog.nodes if node.name == name)
    shared = {name, *(interface for node in nodes for interface in node.interfaces)}
    part = Catalog(
        nodes=nodes,
        edges=tuple(edge for edge in catalog.edges if edge.name == name),
        interfaces=tuple(each for each in catalog.interfaces if each.name in shared),
    )
    return text_of_part(schema, part)
