"""Which format a source has, and its reader."""

from omnigraph.base.choices import ImportFormat, check_choice
from omnigraph.base.errors import SourceInvalid
from omnigraph.base.words import listed
from omnigraph.pipeline.exported import MANIFEST, is_ours
from omnigraph.pipeline.imports.apoc import SUFFIXES as JSON_SUFFIXES
from omnigraph.pipeline.imports.apoc import ApocReader
from omnigraph.pipeline.imports.blocks import Reader
from omnigraph.pipeline.imports.files import Source
from omnigraph.pipeline.imports.graphml import GraphmlReader
from omnigraph.pipeline.imports.kuzu import SCHEMA, KuzuReader
from omnigraph.pipeline.imports.neo4j_csv import SUFFIXES as CSV_SUFFIXES
from omnigraph.pipeline.imports.neo4j_csv import Neo4jReader
from omnigraph.store.layout import GRAPH

__all__ = ["detect_format", "open_reader"]

HEAD_BYTES = 4096

# How each format is told, which also says what an export lacks that was not finished.
SIGNS: dict[ImportFormat, str] = {
    "kuzu": f"a directory with {SCHEMA}, which EXPORT DATABASE of Kuzu and Ladybug writes",
    "neo4j-csv": f"{listed(CSV_SUFFIXES)} files",
    "apoc": f"{listed(JSON_SUFFIXES)} files in a directory, or a file that begins with {{",
    "graphml": "a .graphml file, or one that begins with <",
}


def open_reader(source: Source, format: ImportFormat) -> Reader:
    check_choice("format", format, ImportFormat)
    match format:
        case "kuzu":
            if not source.is_directory:
                reason = f"an export of Kuzu or Ladybug is a directory with {SCHEMA}"
                raise SourceInvalid(file=source.name, reason=reason)
            return KuzuReader(source)
        case "neo4j-csv":
            return Neo4jReader(source)
        case "apoc":
            return ApocReader(source)
        case "graphml":
            if source.is_directory:
                reason = "GraphML is one file, and this is a directory"
                raise SourceInvalid(file=source.name, reason=reason)
            return GraphmlReader(source.files[0])


def _refuse_ours(source: Source) -> None:
    """What this program has written is JSON too, and would be taken for lines of APOC."""
    if source.get(GRAPH) is not None:
        raise SourceInvalid(
            file=source.name,
            reason="it is a graph, and an import reads what other systems have written",
            advice="name the source first, and then the graph; to copy a graph, export and load it",
        )
    if (manifest := source.get(MANIFEST)) is not None and is_ours(b"".join(manifest.chunks())):
        raise SourceInvalid(
            file=source.name,
            reason="it is an export of this program",
            advice=f"load it: omnigraph load --data {source.name} --mode append GRAPH",
        )


def detect_format(source: Source) -> ImportFormat:
    """The format that names and first bytes tell."""
    if source.is_directory:
        if source.get(SCHEMA) is not None:
            return "kuzu"
        _refuse_ours(source)
        if source.with_suffixes(CSV_SUFFIXES):
            return "neo4j-csv"
        if source.with_suffixes(JSON_SUFFIXES):
            return "apoc"
    else:
        (file,) = source.files
        head = file.head(HEAD_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n")
        if file.suffix == ".graphml" or head.startswith(b"<"):
            return "graphml"
        # An array is none of its lines, and its reader says what to do about it.
        if head.startswith((b"{", b"[")):
            return "apoc"
        if file.suffix in (".csv", ".tsv"):
            return "neo4j-csv"
    raise SourceInvalid(
        file=source.name,
        reason="its format can't be told",
        advice="it is told by "
        + "; ".join(f"{sign} ({name})" for name, sign in SIGNS.items())
        + "; export again if such a file is missing, or say the format with --format",
    )
