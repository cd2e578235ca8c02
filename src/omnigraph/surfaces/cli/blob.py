"""Commands over single blobs: blob get, blob stat."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.choices import EntityKind
from omnigraph.base.words import amount
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.options import (
    JsonOption,
    ReadBranchOption,
    SnapshotOption,
    StoreOption,
    branch_to_read,
    group,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.wire import blob_json, blob_part_json

if TYPE_CHECKING:
    from omnigraph.engine.blob import Blob

KindArgument = Annotated[EntityKind, typer.Argument(help="node or edge.")]
TypeArgument = Annotated[str, typer.Argument(help="The type.", autocompletion=completing.types)]
IdArgument = Annotated[str, typer.Argument(help="The id of the entity.")]
PropertyArgument = Annotated[str, typer.Argument(help="The Blob property.")]


def register(app: typer.Typer) -> None:
    blob = group(
        "Read the bytes of Blob properties.",
        example="omnigraph blob stat node Person ada@example.org photo --store g.omni",
    )
    blob.command("get")(get)
    blob.command("stat")(stat)
    app.add_typer(blob, name="blob")


def get(
    kind: KindArgument,
    type_name: TypeArgument,
    id_: IdArgument,
    name: PropertyArgument,
    *,
    store: StoreOption,
    span: Annotated[
        str | None,
        typer.Option(
            "--range",
            help="Only some bytes, as in HTTP: 0-99 (both included), 100- or -100.",
            metavar="A-B",
        ),
    ] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", help="From this byte on, counted from 0.", min=0)
    ] = None,
    length: Annotated[
        int | None, typer.Option("--length", help="At most so many bytes.", min=0)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "--out", "-o", help="A file, instead of standard output."),
    ] = None,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the bytes of a blob.

    Example: omnigraph blob get node Person ada@example.org photo -o ada.jpg --store g.omni
    """
    if span is not None and (offset is not None or length is not None):
        raise typer.BadParameter(
            "say which bytes once: with --range, or with --offset and --length"
        )
    if as_json and output is None:
        raise typer.BadParameter(
            "--json wants standard output, and so do the bytes: name a file with --out"
        )
    on = branch_to_read(branch, snapshot)
    graph = open_graph(store, read_only=True)
    blob = graph.blob(kind, type_name, id_, name, branch=on, snapshot=snapshot)
    from omnigraph.engine.outfile import new_file

    start, end = _span(span, blob) if span is not None else _part(offset, length, blob)
    chunks = blob.chunks(start, end)
    if output is None:
        sys.stdout.buffer.writelines(chunks)
        sys.stdout.buffer.flush()
        return
    with new_file(output, overwrite=True) as file:
        file.writelines(chunks)
    if as_json:
        print_json(blob_part_json(blob, start=start, end=end, path=str(output)))
    else:
        say(f"wrote {amount(end - start, 'byte')} to {output}")


def stat(
    kind: KindArgument,
    type_name: TypeArgument,
    id_: IdArgument,
    name: PropertyArgument,
    *,
    store: StoreOption,
    branch: ReadBranchOption = None,
    snapshot: SnapshotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the size and the tag of a blob without reading it.

    Example: omnigraph blob stat node Person ada@example.org photo --store g.omni
    """
    on = branch_to_read(branch, snapshot)
    graph = open_graph(store, read_only=True)
    blob = graph.blob(kind, type_name, id_, name, branch=on, snapshot=snapshot)
    if as_json:
        print_json(blob_json(blob))
    else:
        sys.stdout.write(f"size: {blob.size}\netag: {blob.etag}\n")


def _part(offset: int | None, length: int | None, blob: "Blob") -> tuple[int, int]:
    start = offset or 0
    return start, blob.size if length is None else min(start + length, blob.size)


def _span(text: str, blob: "Blob") -> tuple[int, int]:
    parts = re.fullmatch(r"(\d*)-(\d*)", text)
    if parts is None or text == "-":
        raise typer.BadParameter(f"{text!r} is no range: write 0-99, 100- or -100")
    first, last = parts.groups()
    if not first:
        return max(0, blob.size - int(last)), blob.size
    return int(first), int(last) + 1 if last else blob.size
