"""A source, imported into a new graph in this process, and what the graph then holds."""

import base64
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph import Graph, ImportPlan

__all__ = ["EXPORTS", "edges_of", "import_into", "nodes_of", "unpacked", "write_files"]

EXPORTS = Path(__file__).parent / "exports"


def import_into(folder: Path, source: str | os.PathLike[str], **options: Any) -> Graph:
    plan = ImportPlan.of(source)
    graph = Graph.init(folder / "graph.omni", plan.schema, durability="relaxed")
    graph.import_(plan, engine="local", **options)
    return graph


def unpacked(export: str, folder: Path) -> Path:
    """The directory of an export, as it was written. Parquet is kept as text in this repository."""
    if (EXPORTS / export).is_dir():
        return EXPORTS / export
    files = json.loads((EXPORTS / f"{export}.json").read_text())
    return write_files(folder / export, {n: base64.b64decode(data) for n, data in files.items()})


def nodes_of(graph: Graph, type_: str) -> list[dict[str, Any]]:
    return [row["data"] for row in _rows(graph, type_)]


def edges_of(graph: Graph, type_: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [(row["from"], row["to"], row.get("data", {})) for row in _rows(graph, type_)]


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def _rows(graph: Graph, type_: str) -> list[dict[str, Any]]:
    out = io.BytesIO()
    graph.export(out, types=[type_])
    return [json.loads(line) for line in out.getvalue().splitlines()]
