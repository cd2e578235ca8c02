"""An export by tasks: a directory of parts, on a disk or in a bucket, by Spark or in this process.

The manifest is written last, and says which files there must be. On a disk the directory gets its
name when it is whole; in a bucket an export is there once its manifest is, and until then an object
says that it is not whole. Files that no manifest names, as a task leaves them that was run twice,
are removed before. A task returns when its files outlive a power cut, so no manifest names a torn
one.
"""

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from omnigraph.base.errors import ArgumentInvalid, TargetTaken, Unsupported
from omnigraph.engine.choose_runner import WorkSize, choose_runner
from omnigraph.engine.engine import Engine
from omnigraph.engine.export_manifest import (
    MANIFEST,
    SCHEMA,
    UNFINISHED,
    holds_export,
    manifest_of,
)
from omnigraph.engine.outfile import new_directory, place_of
from omnigraph.engine.requests import Export
from omnigraph.engine.results import ExportedFile, ExportResult
from omnigraph.engine.schema import schema_text
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.pipeline.export.parts import PartFile, part_tasks, write_part
from omnigraph.pipeline.exported import files_named, is_ours
from omnigraph.pipeline.runner import Runner
from omnigraph.read.statistics import statistics_of
from omnigraph.read.view import View
from omnigraph.store.bucket_files import files_below, look_at
from omnigraph.store.durability import Durability
from omnigraph.store.location import (
    BucketLocation,
    DiskLocation,
    Location,
    is_bucket_address,
    source_location,
)

__all__ = ["export_parts", "export_size"]

# Up to here it pays more to begin at once than to wait for Spark.
MAX_LOCAL_BYTES = 4 << 30

# A guess: a row of short texts takes less in a file, and a row with a vector takes more.
BYTES_PER_ROW = 1 << 10

NOT_WHOLE = b"An export to this place has not ended, or was killed. Export again with --force.\n"


def export_parts(
    engine: Engine, request: Export, view: View, entities: Sequence[EntityType]
) -> ExportResult:
    """Write what the view shows of these types as a directory of parts."""
    address = _address(request)
    schema, durability = schema_text(engine, view).encode(), engine.store.datasets.durability

    def write(target: Location) -> ExportResult:
        runner = _runner(engine, request, view, entities)
        tasks = part_tasks(
            view,
            entities,
            target,
            format=request.format,
            parallelism=runner.parallelism,
            batch_bytes=engine.settings.read_limits.max_export_batch_bytes,
            durability=durability,
        )
        written = [
            file for ran in runner.run(tasks, write_part, doing="exporting") for file in ran.result
        ]
        return _result(view, entities, request, address, written)

    if is_bucket_address(address):
        location = source_location(address, engine.settings.bucket_access, argument="target")
        return _to_bucket(location, write, schema, overwrite=request.overwrite)
    path = place_of(address)
    return _to_disk(path, write, schema, overwrite=request.overwrite, durability=durability)


def _address(request: Export) -> str:
    if not isinstance(request.target, str | os.PathLike):
        raise ArgumentInvalid(
            argument="engine",
            value=request.engine,
            rule="Spark writes a directory of files, and the target is a stream",
            advice="name a directory or a prefix of a bucket, or leave out engine",
        )
    address = os.fspath(request.target)
    if "://" in address and not is_bucket_address(address):
        instead = "export to a directory, or to a bucket (s3://…)"
        raise Unsupported(what=f"exporting to {address}", instead=instead)
    return address


def _runner(engine: Engine, request: Export, view: View, entities: Sequence[EntityType]) -> Runner:
    choice = choose_runner(
        engine.settings,
        lambda: export_size(engine, view, entities),
        asked=request.engine,
        session=request.spark,
        may_start_spark=engine.gate.allows_spark(request.actor),
    )
    if choice.engine == "spark":
        return engine.spark_for(request.actor, request.spark)
    from omnigraph.pipeline.local import InProcess

    return InProcess()


def export_size(engine: Engine, view: View, entities: Sequence[EntityType]) -> WorkSize:
    """How much the export reads, as far as the caller may know: files of a type that they see in
    part hold hidden rows too, so its size is a guess from the rows that they see."""
    partial = [entity for entity in entities if view.is_partial(entity)]
    rows = statistics_of(view, engine.cache, [entity.name for entity in partial], ()).rows
    sizes = (
        rows[entity.name] * BYTES_PER_ROW
        if view.is_partial(entity)
        else view.snapshot.dataset(entity).files.bytes
        for entity in entities
    )
    return WorkSize(sum(sizes), MAX_LOCAL_BYTES)


# Where it goes ------------------------------------------------------------------------------------

Write = Callable[[Location], ExportResult]


def _to_disk(
    path: Path, write: Write, schema: bytes, *, overwrite: bool, durability: Durability
) -> ExportResult:
    with new_directory(
        path, overwrite=overwrite, is_ours=holds_export, durability=durability
    ) as directory:
        target = DiskLocation(directory.resolve())
        result = write(target)
        _remove_others(target, _named(result))
        target.objects(durability).put(SCHEMA, schema)
        target.objects(durability).put(MANIFEST, manifest_of(result))
    return result


def _to_bucket(
    target: BucketLocation, write: Write, schema: bytes, *, overwrite: bool
) -> ExportResult:
    objects = target.objects()
    before = _names(target)
    if look_at(target) is not None:
        # An object may have the name of a folder, and is what a load of this place would take.
        raise TargetTaken(str(target), was_forced=overwrite)
    # An export that was killed has no manifest, and is ours all the same.
    may_replace = UNFINISHED in before or is_ours(objects.get(MANIFEST) or b"")
    if before and not (overwrite and may_replace):
        raise TargetTaken(str(target), was_forced=overwrite)
    note = NOT_WHOLE + f"{uuid.uuid4().hex}\n".encode()
    if not objects.put_if_absent(UNFINISHED, note):
        if UNFINISHED not in before:
            # Another export has begun meanwhile, and what is there is its own.
            raise TargetTaken(str(target), was_overtaken=True)
        # Whoever left it was killed. If it is still at work, it sees at its end that it has lost.
        objects.put(UNFINISHED, note)
    with _undone(target, before, note):
        result = write(target)
        if objects.get(UNFINISHED) != note:
            raise TargetTaken(str(target), was_overtaken=True)
        # What an earlier export has written stays until this one is there.
        _remove_others(target, _named(result) | before | {UNFINISHED})
        objects.put(SCHEMA, schema)
        objects.put(MANIFEST, manifest_of(result))
    _remove_others(target, _named(result) | {UNFINISHED})
    objects.delete(UNFINISHED)
    return result


@contextmanager
def _undone(target: BucketLocation, before: set[str], note: bytes) -> Iterator[None]:
    """If the block fails, what it wrote is removed, and the schema there before is there again."""
    objects = target.objects()
    schema = objects.get(SCHEMA) if SCHEMA in before else None
    try:
        yield
    except BaseException:
        left = objects.get(UNFINISHED)
        if left == note:
            if schema is not None:
                objects.put(SCHEMA, schema)
            _remove_others(target, before | {UNFINISHED})
            if UNFINISHED not in before:
                objects.delete(UNFINISHED)
        elif left is None and is_ours(manifest := objects.get(MANIFEST) or b""):
            # Another export has ended here meanwhile. One that is at work removes what is not its
            # own when it ends.
            _remove_others(target, {MANIFEST, SCHEMA, *files_named(manifest)})
        raise


def _names(target: BucketLocation) -> set[str]:
    """Of all files below; an empty folder, as consoles of stores make it, is no file."""
    keys = (file.location.key for file in files_below(target))
    return {key.removeprefix(target.key).strip("/") for key in keys} - {""}


def _remove_others(target: Location, names: set[str]) -> None:
    objects = target.objects()
    for name in filter(None, list(objects.walk(""))):
        if name not in names:
            objects.delete(name)


def _named(result: ExportResult) -> set[str]:
    return {MANIFEST, SCHEMA, *(file.path for file in result.files if file.path is not None)}


# What was written ---------------------------------------------------------------------------------


def _result(
    view: View,
    entities: Sequence[EntityType],
    request: Export,
    address: str,
    written: Sequence[PartFile],
) -> ExportResult:
    counts = {str(entity.name): 0 for entity in entities}
    for file in written:
        counts[file.type_name] += file.rows
    files = tuple(ExportedFile(f.name, f.rows, f.bytes, f.sha256) for f in written)
    path = address if is_bucket_address(address) else str(place_of(address))
    return ExportResult.of(view.snapshot, request.format, path, counts, files)
