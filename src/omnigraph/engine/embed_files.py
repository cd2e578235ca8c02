"""Embed files: lines of JSON in, the same lines with vectors out. No graph is needed.

A line is an envelope as a load takes it. One to which nothing is added comes out as it was, byte
for byte.

While a file is embedded, the answers of the provider are kept in a folder next to the file that is
written. The folder is removed once the file is there.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from omnigraph.base.errors import EmbedTextRefused, SourceInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import suggestion
from omnigraph.base.words import clipped
from omnigraph.embed.digests import text_digests
from omnigraph.embed.keeping import KeepingProvider
from omnigraph.embed.kept import kept_as
from omnigraph.embed.provider import EmbedConfig, Provider
from omnigraph.embed.targets import VectorTarget, require_models, targets_of, vectors_of
from omnigraph.embed.texts import Embedded, Refused, embed_texts
from omnigraph.engine.outfile import new_file
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.store.objects import DiskObjects

__all__ = ["EmbeddedLines", "embed_lines", "new_embedded_file"]

# Enough texts for a provider's batches, and little to hold.
BATCH_LINES = 2_048


@frozen
class EmbeddedLines:
    lines: int
    vectors: int
    """How many were made."""


@dataclass(slots=True)
class _Line:
    where: str
    """The file, and its number in it."""
    raw: bytes
    envelope: dict[str, Any]
    targets: tuple[VectorTarget, ...]
    """Vectors that it lacks, and whose text it has."""


@contextmanager
def new_embedded_file(
    path: Path, provider: Provider, config: EmbedConfig
) -> Iterator[tuple[BinaryIO, KeepingProvider]]:
    """A file for embedded lines, at `path` once all went well, and the provider to ask for them.

    If that fails, the vectors that were made stay in a folder next to `path`, for the next try.
    """
    kept = path.with_name(f".{path.name}.vectors")
    folder = f"{kept.name}/{kept_as(config=config, model=provider.model)}"
    with new_file(path, overwrite=False) as sink:
        yield sink, KeepingProvider(provider, DiskObjects(path.parent), folder)
    shutil.rmtree(kept, ignore_errors=True)


def embed_lines(
    provider: Provider | KeepingProvider,
    catalog: Catalog,
    source: Iterable[bytes],
    sink: BinaryIO,
    *,
    file: str,
    is_all: bool = False,
) -> EmbeddedLines:
    """Write every line of `source`, with the vectors that it lacks; with `is_all`, with new ones.

    `file` is what errors call the source.
    """
    asked = provider.provider if isinstance(provider, KeepingProvider) else provider
    require_models(asked, targets_of(catalog))
    read = made = 0
    numbered = iter(enumerate(source, start=1))
    while batch := list(islice(numbered, BATCH_LINES)):
        lines = [
            _read(raw, catalog, where=f"{file}:{number}", is_all=is_all) for number, raw in batch
        ]
        made += _fill(provider, lines)
        read += len(lines)
        sink.writelines(_written(line) for line in lines)
    return EmbeddedLines(read, made)


def _read(raw: bytes, catalog: Catalog, *, where: str, is_all: bool) -> _Line:
    if not raw.strip():
        return _Line(where, raw, {}, ())
    try:
        envelope = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SourceInvalid(file=where, reason=f"broken JSON: {error}") from None
    except RecursionError:
        raise SourceInvalid(file=where, reason="broken JSON: it is nested too deeply") from None
    entity = _entity(envelope, catalog, where)
    data = envelope.get("data") or {}
    if not isinstance(data, dict):
        raise SourceInvalid(file=where, reason="data must be a JSON object")
    lacks = (t for t in vectors_of(entity) if is_all or data.get(t.name) is None)
    said = tuple(t for t in lacks if _says(data.get(t.source_name)))
    return _Line(where, raw, envelope, said)


def _says(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _entity(envelope: Any, catalog: Catalog, where: str) -> EntityType:
    given = envelope if isinstance(envelope, dict) else {}
    node, edge = given.get("type"), given.get("edge")
    if isinstance(node, str) and node in catalog.node_by_name:
        return catalog.node_by_name[node]
    if isinstance(edge, str) and edge.casefold() in catalog.edge_by_folded_name:
        return catalog.edge_by_folded_name[edge.casefold()]
    reason = "it names no type of the schema"
    if isinstance(name := node or edge, str):
        known = [each.name for each in (catalog.nodes if node else catalog.edges)]
        reason = f"the schema has no type {clipped(name)}{suggestion(name, known)}"
    raise SourceInvalid(
        file=where,
        reason=reason,
        advice='write {"type": "…", "data": {…}} or {"edge": "…", "from": "…", "to": "…"}',
    )


def _fill(provider: Provider | KeepingProvider, lines: list[_Line]) -> int:
    """Put vectors into the envelopes that lack them; how many."""
    made = 0
    for width in sorted({target.width for line in lines for target in line.targets}):
        places = [*_places(lines, width)]
        texts = list(dict.fromkeys(text for _, _, text in places))
        embedded = _embedded(provider, texts, width)
        if embedded.refused:
            raise _refusal(places, {texts[at]: why for at, why in embedded.refused.items()})
        by_text = dict(zip(texts, embedded.vectors, strict=True))
        for line, target, text in places:
            line.envelope["data"][target.name] = by_text[text].tolist()
        made += len(places)
    return made


def _embedded(provider: Provider | KeepingProvider, texts: list[str], width: int) -> Embedded:
    if isinstance(provider, KeepingProvider):
        return provider.embed(texts, text_digests(texts), width)
    return embed_texts(provider, texts, purpose="row", width=width)


def _places(lines: list[_Line], width: int) -> Iterator[tuple[_Line, VectorTarget, str]]:
    for line in lines:
        for target in line.targets:
            if target.width == width:
                yield line, target, line.envelope["data"][target.source_name]


def _refusal(
    places: list[tuple[_Line, VectorTarget, str]], refused: dict[str, Refused]
) -> EmbedTextRefused:
    """The error that names the lines with these texts."""
    rows = []
    for line, target, text in places:
        if text in refused:
            name = line.envelope.get("type") or line.envelope["edge"]
            found = refused[text].violation(name, line.envelope.get("id"), target.source_name)
            rows.append(replace(found, file=line.where))
    return EmbedTextRefused(count=len(rows), rows=tuple(rows))


def _written(line: _Line) -> bytes:
    if line.targets:
        return msgspec.json.encode(line.envelope) + b"\n"
    return line.raw if line.raw.endswith(b"\n") else line.raw + b"\n"
