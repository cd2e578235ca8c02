"""Export: one view of a snapshot as files that a load reads back as the same graph, ids included.

JSON lines go into one file or stream, nodes before edges. Parquet goes into a directory, one file a
type, beside the schema and a manifest that says what there must be. What goes to a bucket, or is
written by Spark, is a directory of parts (`export_parts`).
"""

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from omnigraph.base.errors import ArgumentInvalid, NameMissing, Unsupported
from omnigraph.engine.engine import Engine
from omnigraph.engine.export_manifest import (
    MANIFEST,
    SCHEMA,
    holds_export,
    manifest_of,
    needs_parts,
)
from omnigraph.engine.outfile import new_directory, new_file, place_of
from omnigraph.engine.requests import Export, Target
from omnigraph.engine.results import ExportedFile, ExportResult
from omnigraph.engine.schema import schema_text
from omnigraph.engine.travel import view_for
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.pipeline.export.files import Checksum, Sink, parquet_path, write_lines, write_parquet
from omnigraph.pipeline.sources.opening import PACKED_SUFFIXES, suffix_of
from omnigraph.read.view import View
from omnigraph.store.durability import Durability
from omnigraph.store.location import (
    DiskLocation,
    Location,
    is_bucket_address,
    is_within,
    source_location,
)

__all__ = ["MANIFEST", "export", "lines_target"]


def export(engine: Engine, request: Export) -> ExportResult:
    """Write one view to a file, a directory or a stream."""
    engine.gate.allow(request)
    _check_place(engine, request.target)
    with view_for(engine, request) as view:
        entities = _chosen(view.catalog, request.types)
        batch_bytes = engine.settings.read_limits.max_export_batch_bytes
        if needs_parts(request):
            # Most processes never write one.
            from omnigraph.engine.export_parts import export_parts

            return export_parts(engine, request, view, entities)
        match request.format:
            case "jsonl":
                return _export_lines(
                    view,
                    entities,
                    request.target,
                    overwrite=request.overwrite,
                    batch_bytes=batch_bytes,
                )
            case "parquet":
                path = _path(request.target)
                if path is None:
                    raise ArgumentInvalid(
                        argument="format",
                        value=request.format,
                        rule="it makes a directory of files, and the target is a stream",
                        advice="write jsonl to a stream, or name a directory",
                    )
                return _export_parquet(
                    view,
                    entities,
                    path,
                    schema_source=schema_text(engine, view),
                    overwrite=request.overwrite,
                    batch_bytes=batch_bytes,
                    durability=engine.store.datasets.durability,
                )


def _check_place(engine: Engine, target: Target) -> None:
    """Raise if files would lie among those of the graph, which its upkeep takes for its own, or
    take the place of a directory that the graph lies in."""
    if not isinstance(target, str | os.PathLike):
        return
    address, root = os.fspath(target), engine.store.root
    if not address:
        raise ArgumentInvalid(argument="target", value=address, rule="the path is empty")
    place: Location
    if is_bucket_address(address):
        place = source_location(address, engine.settings.bucket_access, argument="target")
    elif "://" in address:
        return  # refused by whoever would write there
    else:
        place = DiskLocation(place_of(address))
    if is_within(place, root):
        raise ArgumentInvalid(
            argument="target",
            value=address,
            rule=f"it lies in the directory of the graph, {root}",
            advice="export to a place outside of it",
        )
    if is_within(root, place):
        raise ArgumentInvalid(
            argument="target",
            value=address,
            rule=f"the graph lies in there, at {root}",
            advice="export to a place beside it",
        )


def _chosen(catalog: Catalog, wanted: frozenset[str] | None) -> Sequence[EntityType]:
    """The types asked for, nodes first, each sort by name."""
    if wanted is None:
        return catalog.entities
    known = tuple(entity.name for entity in catalog.entities)
    for name in sorted(wanted.difference(known)):
        raise NameMissing(what="type", name=name, known=known)
    return [entity for entity in catalog.entities if entity.name in wanted]


def _path(target: Target) -> Path | None:
    if not isinstance(target, str | os.PathLike):
        return None
    text = os.fspath(target)
    if "://" in text:
        raise Unsupported(
            what=f"exporting to {text}", instead="export to a file, a stream or a bucket (s3://…)"
        )
    return place_of(text)


# JSON lines --------------------------------------------------------------------------------------


def _export_lines(
    view: View,
    entities: Sequence[EntityType],
    target: Target,
    *,
    overwrite: bool,
    batch_bytes: int,
) -> ExportResult:
    with lines_target(target, overwrite=overwrite) as (sink, path):
        return _lines_to(view, entities, sink, path, batch_bytes=batch_bytes)


@contextmanager
def lines_target(target: Target, *, overwrite: bool) -> Iterator[tuple[Sink, str | None]]:
    """Where lines go to, and its path: a file that is there whole or not at all, or a stream."""
    path = _path(target)
    if path is not None:
        _check_not_packed(path)
        with new_file(path, overwrite=overwrite) as file:
            yield file, str(path)
        return
    assert not isinstance(target, str | os.PathLike)
    stream: object = target
    if not callable(getattr(stream, "write", None)):
        raise ArgumentInvalid(
            argument="target",
            value=type(stream).__name__,
            rule="it is neither a path nor has it a write() that takes bytes",
            advice="pass a path, or a file that is open for writing in binary",
        )
    if isinstance(stream, io.TextIOBase):
        raise ArgumentInvalid(
            argument="target",
            value=repr(stream),
            rule="the stream takes text, and an export writes bytes",
            advice='open the file with mode "wb"',
        )
    if isinstance(stream, io.RawIOBase):
        with _buffered(stream) as file:
            yield file, None
        return
    yield target, None


@contextmanager
def _buffered(stream: io.RawIOBase) -> Iterator[Sink]:
    """A stream that writes all that it is given: a raw one may write less, as on a disk that is
    nearly full, and says so only by a number."""
    file = io.BufferedWriter(stream)
    try:
        yield file
        file.flush()
    finally:
        # It stays open: it is the caller's.
        with suppress(OSError):
            file.detach()


def _check_not_packed(path: Path) -> None:
    """A load unpacks what is called so, and would find no archive."""
    if suffix_of(path) in PACKED_SUFFIXES:
        plain = path.with_suffix("").name
        raise Unsupported(
            what=f"writing a packed file ({path.name})",
            instead=f"export to {plain} and pack that, or pack standard output on its way",
        )


def _lines_to(
    view: View, entities: Sequence[EntityType], sink: Sink, path: str | None, *, batch_bytes: int
) -> ExportResult:
    through = Checksum(sink)
    counts = {
        str(entity.name): write_lines(view, entity, through, batch_bytes=batch_bytes)
        for entity in entities
    }
    file = ExportedFile(path, sum(counts.values()), through.bytes, through.sha256)
    return ExportResult.of(view.snapshot, "jsonl", path, counts, (file,))


# Parquet -----------------------------------------------------------------------------------------


def _export_parquet(
    view: View,
    entities: Sequence[EntityType],
    path: Path,
    *,
    schema_source: str,
    overwrite: bool,
    batch_bytes: int,
    durability: Durability,
) -> ExportResult:
    counts: dict[str, int] = {}
    files = []
    with new_directory(
        path, overwrite=overwrite, is_ours=holds_export, durability=durability
    ) as directory:
        for entity in entities:
            name = parquet_path(entity)
            file = directory / name
            file.parent.mkdir(exist_ok=True)
            rows = write_parquet(view, entity, file, batch_bytes=batch_bytes)
            counts[entity.name] = rows
            files.append(ExportedFile(str(name), rows, file.stat().st_size, _sha256(file)))
        result = ExportResult.of(view.snapshot, "parquet", str(path), counts, tuple(files))
        objects = DiskLocation(directory).objects(durability)
        # Before the manifest: it must never name a file that a power cut has torn.
        objects.sync(str(parquet_path(entity)) for entity in entities)
        objects.put(SCHEMA, schema_source.encode())
        objects.put(MANIFEST, manifest_of(result))
    return result


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
