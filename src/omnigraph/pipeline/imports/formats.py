"""Which format a source has, and its reader."""

from pathlib import Path

from omnigraph.base.choices import ImportFormat, check_choice
from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import FileMissing, SourceInvalid, Unsupported
from omnigraph.pipeline.imports.apoc import ApocReader, json_files
from omnigraph.pipeline.imports.blocks import Reader
from omnigraph.pipeline.imports.graphml import GraphmlReader
from omnigraph.pipeline.imports.kuzu import SCHEMA, KuzuReader
from omnigraph.pipeline.imports.neo4j_csv import Neo4jReader, csv_files

__all__ = ["detect_format", "open_reader"]

HEAD_BYTES = 4096


def open_reader(source: str, format: ImportFormat) -> Reader:
    check_choice("format", format, ImportFormat)
    path = _path(source)
    match format:
        case "kuzu":
            if not path.is_dir():
                reason = f"an export of Kuzu or Ladybug is a directory with {SCHEMA}"
                raise SourceInvalid(file=source, reason=reason)
            return KuzuReader(path)
        case "neo4j-csv":
            return Neo4jReader(path)
        case "apoc":
            return ApocReader(path)
        case "graphml":
            if path.is_dir():
                reason = "GraphML is one file, and this is a directory"
                raise SourceInvalid(file=source, reason=reason)
            return GraphmlReader(path)


def detect_format(source: str) -> ImportFormat:
    """The format that names and first bytes tell."""
    path = _path(source)
    if path.is_dir():
        if (path / SCHEMA).is_file():
            return "kuzu"
        if csv_files(path):
            return "neo4j-csv"
        if json_files(path):
            return "apoc"
    else:
        with reading_file(source), path.open("rb") as file:
            head = file.read(HEAD_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n")
        if path.suffix.lower() == ".graphml" or head.startswith(b"<"):
            return "graphml"
        if head.startswith(b"{"):
            return "apoc"
        if path.suffix.lower() in (".csv", ".tsv"):
            return "neo4j-csv"
    raise SourceInvalid(
        file=source,
        reason="its format can't be told",
        advice="say it: --format kuzu, neo4j-csv, apoc or graphml",
    )


def _path(source: str) -> Path:
    if "://" in source:
        what, instead = f"importing from {source}", "copy the files to a disk first"
        raise Unsupported(what=what, instead=instead)
    path = Path(source)
    with reading_file(source):
        if not path.exists():
            raise FileMissing(path=source)
    return path
