"""Commands for the languages: lint, fmt, explain, schema diagram.

They read files and, where asked, a graph's schema; none of them changes a graph.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.choices import DiagramFormat
from omnigraph.base.errors import Diagnostic
from omnigraph.base.span import SourceText
from omnigraph.base.words import amount
from omnigraph.engine import language
from omnigraph.engine.text import QUERY, SCHEMA, read_source
from omnigraph.surfaces.cli.load_options import ReadEngineOption
from omnigraph.surfaces.cli.options import (
    ExpressionOption,
    JsonOption,
    ParamsFileOption,
    ParamsOption,
    QueryFileOption,
    QueryNameArgument,
    ReadBranchOption,
    SnapshotOption,
    branch_to_read,
    open_graph,
    parameters,
    query_source,
)
from omnigraph.surfaces.cli.output import print_json, print_text, say
from omnigraph.surfaces.cli.progress import waiting
from omnigraph.surfaces.wire import explanation_json

if TYPE_CHECKING:
    from omnigraph.lang.schema.catalog import Catalog

SchemaFileOption = Annotated[
    Path | None, typer.Option("--schema", help="A .pg schema.", metavar="FILE")
]
OptionalStoreOption = Annotated[
    str | None, typer.Option("--store", "--uri", help="A graph whose schema to use.")
]

ONE_SCHEMA = "give a schema file or a graph with --store"


def register(app: typer.Typer) -> None:
    app.command()(lint)
    app.command("check", hidden=True)(lint)
    app.command("fmt")(format_files)
    app.command()(explain)


def lint(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Query files.", metavar="FILE...")
    ] = None,
    *,
    named: Annotated[
        list[Path] | None,
        typer.Option("--query", "-q", help="A query file; repeatable.", metavar="FILE"),
    ] = None,
    schema: SchemaFileOption = None,
    store: OptionalStoreOption = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but what is found.")] = False,
) -> None:
    """Check query files against a schema: all errors, and what is probably a mistake.

    Example: omnigraph lint --schema people.pg people.gq
    """
    queries = [*(files or ()), *(named or ())]
    if not queries:
        raise typer.BadParameter("name query files: as arguments, or with --query")
    catalog = _catalog(schema, store)
    reports = language.lint([read_source(file, QUERY) for file in queries], catalog)
    if schema is not None:
        reports.insert(0, language.lint_schema(read_source(schema, SCHEMA)))
    errors = sum(not d.is_warning for report in reports for d in report.all_findings)
    if as_json:
        print_json({"files": [report.to_json() for report in reports]})
    else:
        for report in reports:
            for finding in report.all_findings:
                say(_rendered(finding, report.source))
        warnings = sum(len(report.all_findings) for report in reports) - errors
        found = f"{amount(errors, 'error')}, {amount(warnings, 'warning')}"
        if not quiet:
            say(f"{found} in {amount(len(reports), 'file')}")
    raise typer.Exit(1 if errors else 0)


def format_files(
    files: Annotated[list[Path], typer.Argument(help=".pg and .gq files.", metavar="FILE...")],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a file would change.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Rewrite files in the canonical form, comments kept.

    Example: omnigraph fmt people.pg people.gq
    """
    changed = [file for file in files if _would_change(file, is_dry=check)]
    if as_json:
        print_json({"changed": [str(file) for file in changed]})
    else:
        for file in changed:
            say(f"{'would rewrite' if check else 'rewrote'} {file}")
    raise typer.Exit(1 if check and changed else 0)


def explain(
    name: QueryNameArgument = None,
    *,
    file: QueryFileOption = None,
    expression: ExpressionOption = None,
    schema: SchemaFileOption = None,
    store: OptionalStoreOption = None,
    params: ParamsOption = None,
    params_file: ParamsFileOption = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="Run it: rows and milliseconds of each step.")
    ] = False,
    engine: ReadEngineOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Show the plan of a query: for a schema as it is written, for a graph as it would run.

    Example: omnigraph explain friends_of --query people.gq --schema people.pg
    """
    source, given = query_source(file, expression), parameters(params, params_file)
    if store is not None:
        if schema is not None:
            raise typer.BadParameter(ONE_SCHEMA)
        graph = open_graph(store, read_only=True)
        on = branch_to_read(branch, snapshot)
        with waiting("explain", as_json=as_json):
            plan = graph.explain(
                source, name, given, branch=on, snapshot=snapshot, analyze=analyze, engine=engine
            )
    elif analyze or given or engine != "local" or branch is not None or snapshot is not None:
        raise typer.BadParameter("a query runs on a graph: name it with --store")
    else:
        plan = language.explain_text(source, _catalog(schema, store), name)
    if as_json:
        print_json(explanation_json(plan))
    else:
        print_text(str(plan))


def schema_diagram(
    schema: Annotated[Path | None, typer.Argument(help="A .pg schema.", metavar="FILE")] = None,
    *,
    store: OptionalStoreOption = None,
    style: Annotated[DiagramFormat, typer.Option("--format", help="mermaid or svg.")] = "mermaid",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file, instead of standard output.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a schema: Mermaid text, or an SVG picture.

    Example: omnigraph schema diagram people.pg --format svg -o people.svg
    """
    picture = language.draw(_catalog(schema, store), style)
    if output is not None:
        output.write_text(picture, encoding="utf-8")
    if as_json:
        path = None if output is None else str(output)
        print_json({"format": style, "path": path, "diagram": picture})
    elif output is None:
        sys.stdout.write(picture)
    else:
        say(f"wrote {output}")


def _catalog(schema: Path | None, store: str | None) -> "Catalog":
    """The catalog of exactly one of a `.pg` file and a graph."""
    if (schema is None) == (store is None):
        raise typer.BadParameter(ONE_SCHEMA)
    if schema is not None:
        return language.catalog_of(read_source(schema, SCHEMA))
    assert store is not None
    return open_graph(store, read_only=True).schema().catalog


def _would_change(file: Path, *, is_dry: bool) -> bool:
    source = read_source(file, language.language_of(file.name))
    formatted = language.format_text(source)
    if formatted == source.text:
        return False
    if not is_dry:
        file.write_text(formatted, encoding="utf-8")
    return True


def _rendered(finding: Diagnostic, source: SourceText) -> str:
    word = "warning" if finding.is_warning else "error"
    hint = f"\n  hint: {finding.hint}" if finding.hint else ""
    return f"{word}[{finding.code}]: {finding.message}\n{source.point_at(finding.span)}{hint}"
