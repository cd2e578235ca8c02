"""Arguments that are one of a few words: the words, for type checkers and for the check at run
time.

Each alias is written here and nowhere else, so that Python, the command line and HTTP offer the
same words.
"""

from enum import Enum, EnumType
from typing import Any, Literal, get_args

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.nearest import nearest

__all__ = [
    "AlgorithmName",
    "ChangeOp",
    "DiagramFormat",
    "DurabilityName",
    "EmbedOnly",
    "EntityKind",
    "ExportFormat",
    "ImportFormat",
    "LoadEngine",
    "LoadModeName",
    "OnError",
    "OutputMode",
    "QueryEngine",
    "SourceFormat",
    "check_choice",
    "words_of",
]

LoadModeName = Literal["append", "merge", "overwrite"]
OnError = Literal["fail", "quarantine"]
LoadEngine = Literal["auto", "spark", "local"]
QueryEngine = Literal["local", "spark"]
SourceFormat = Literal["jsonl", "csv", "parquet"]
EmbedOnly = Literal["missing", "stale", "all"]
ExportFormat = Literal["jsonl", "parquet"]
ImportFormat = Literal["kuzu", "neo4j-csv", "apoc", "graphml"]
DurabilityName = Literal["fsync", "relaxed"]
OutputMode = Literal["append", "complete", "update"]
DiagramFormat = Literal["mermaid", "svg"]
EntityKind = Literal["node", "edge"]
ChangeOp = Literal["insert", "update", "delete"]
AlgorithmName = Literal[
    "pagerank",
    "connected_components",
    "strongly_connected_components",
    "label_propagation",
    "triangle_count",
    "degrees",
    "k_core",
    "betweenness",
    "shortest_paths",
]


def words_of(choices: Any) -> tuple[str, ...]:
    """The words of an alias or of an enumeration."""
    if isinstance(choices, EnumType):
        members: list[Enum] = list(choices)
        return tuple(str(member.value) for member in members)
    return tuple(get_args(choices))


def check_choice(argument: str, value: object, choices: Any) -> None:
    """Refuse a value that is not one of the words, and say which there are."""
    words = words_of(choices)
    if value not in words:
        near = nearest(str(value), words)
        raise ArgumentInvalid(
            argument=argument,
            value=str(value),
            rule=f"it must be {', '.join(words[:-1])} or {words[-1]}",
            advice=f"did you mean {near}?" if near else None,
        )
