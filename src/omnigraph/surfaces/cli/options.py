"""The options that several commands share, each written once."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import ArgumentInvalid, JsonInvalid
from omnigraph.base.span import SourceText, Span
from omnigraph.engine.text import QUERY, read_bytes, read_source
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.garbage import settle

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph
    from omnigraph.engine.settings import Settings

StoreOption = Annotated[str, typer.Option("--store", "--uri", help="The graph: a path or URI.")]
UriArgument = Annotated[str | None, typer.Argument(help="The graph: a path or URI.")]
UriOption = Annotated[
    str | None, typer.Option("--store", "--uri", help="The graph, instead of the argument.")
]
BranchOption = Annotated[
    str,
    typer.Option("--branch", help="The branch to work on.", autocompletion=completing.branches),
]
ReadBranchOption = Annotated[
    str | None,
    typer.Option("--branch", help="The branch to read.", autocompletion=completing.branches),
]
QueryNameArgument = Annotated[
    str | None,
    typer.Argument(help="Which query of the file.", autocompletion=completing.queries),
]
TypesOption = Annotated[
    list[str] | None,
    typer.Option("--type", help="Only this type; repeatable.", autocompletion=completing.types),
]
SnapshotOption = Annotated[
    str | None, typer.Option("--snapshot", help="A commit, or a time, to read at.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Say nothing on standard error.")]
ActorOption = Annotated[str | None, typer.Option("--as", help="Who makes the change.")]
MessageOption = Annotated[str | None, typer.Option("--message", "-m", help="Why.")]
QueryFileOption = Annotated[
    Path | None, typer.Option("--query", "-q", help="A .gq file.", metavar="FILE")
]
ExpressionOption = Annotated[
    str | None, typer.Option("-e", "--query-string", help="Query text.", metavar="SOURCE")
]
ParamsOption = Annotated[
    str | None, typer.Option("--params", help='Parameters as JSON: \'{"name": "Ada"}\'.')
]
ParamsFileOption = Annotated[
    Path | None, typer.Option("--params-file", help="Parameters from a JSON file.")
]


def group(about: str, *, example: str) -> typer.Typer:
    """Commands below one word."""
    return typer.Typer(help=f"{about}\n\nExample: {example}", no_args_is_help=True)


OTHER_WAYS = "with --store, with --server and --graph, or with a profile of your configuration"


def open_graph(uri: str, *, read_only: bool = False, settings: "Settings | None" = None) -> "Graph":
    """The graph at an address: a path, a bucket, or a URL of a server."""
    from omnigraph.engine.handles.graph import Graph

    settle()
    if uri.startswith(("http://", "https://")):
        from omnigraph.engine.settings import Settings
        from omnigraph.surfaces.cli.configuration.credentials import token_for
        from omnigraph.surfaces.client.connection import connect

        return Graph(connect(uri, token=token_for(settings or Settings.from_environment(), uri)))
    return Graph.open(uri, read_only=read_only, settings=settings)


def spark_settings(master: str | None, remote: str | None, *, engine: str | None) -> "Settings":
    """The environment's settings, but for where Spark runs, if that is said here."""
    from omnigraph.engine.settings import Settings

    if master is not None and remote is not None:
        raise typer.BadParameter("Spark runs in one place: give --master or --remote, not both")
    if engine == "local" and not (master is None and remote is None):
        rule = "--master and --remote say where Spark runs, and the engine is local"
        raise typer.BadParameter(f"{rule}: write --engine spark, or leave them out")
    settings = Settings.from_environment()
    if master is not None:
        return replace(settings, spark_master=master, spark_remote=None)
    return settings if remote is None else replace(settings, spark_remote=remote)


def one_uri(argument: str | None, option: str | None) -> str:
    """The graph's address, given once: as the argument or with `--store`."""
    if argument is not None and option is not None:
        raise typer.BadParameter("name the graph once: as the argument or with --store")
    uri = option if argument is None else argument
    if uri is None:
        raise typer.BadParameter(f"name the graph: as the argument, {OTHER_WAYS}")
    return uri


def branch_to_read(branch: str | None, snapshot: str | None) -> str | None:
    """The branch of `--branch`, if it is given; refused beside a commit, which is of no branch."""
    if branch is not None and snapshot is not None and is_ulid(snapshot):
        raise typer.BadParameter("a commit is of no branch: give --branch or --snapshot, not both")
    return branch


def query_source(file: Path | None, expression: str | None) -> SourceText:
    """The query's text, from exactly one of `--query` and `-e`."""
    if (file is None) == (expression is None):
        raise typer.BadParameter("give the query with --query FILE or with -e SOURCE")
    if expression is not None:
        return SourceText(expression, "<query>")
    assert file is not None
    return read_source(file, QUERY)


def parameters(text: str | None, file: Path | None) -> Mapping[str, Any]:
    """The parameters, from at most one of `--params` and `--params-file`."""
    if text is not None and file is not None:
        raise typer.BadParameter("give --params or --params-file, not both")
    if text is None and file is None:
        return {}
    argument, name = ("--params", None) if file is None else ("--params-file", str(file))
    given = _read_json(text if file is None else read_bytes(file), argument, name)
    if not isinstance(given, dict):
        rule = 'it must be a JSON object, such as {"name": "Ada"}'
        raise ArgumentInvalid(argument, name or text, rule)
    return given


def _read_json(text: str | bytes | None, argument: str, name: str | None) -> Any:
    """What JSON says; the first character that it can't have is pointed at."""
    assert text is not None
    place: dict[str, Any] = {}
    try:
        written = text if isinstance(text, str) else text.decode("utf-8-sig")
        return json.loads(written)
    except json.JSONDecodeError as error:
        why = f"{error.msg[:1].lower()}{error.msg[1:]}"
        source = SourceText(error.doc, name or argument)
        place = {"line": error.lineno, "column": error.colno}
        place["excerpt"] = source.point_at(Span(error.lineno, error.colno))
    except UnicodeDecodeError as error:
        why = f"byte {error.start + 1} is no UTF-8"
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError:
        why = "a number is too long"
    advice = 'write an object: \'{"name": "Ada"}\''
    raise JsonInvalid(argument, name, f"it is not JSON: {why}", advice, **place)
