"""What an export says of itself, and whether it is one file or a directory of parts."""

import json
import os
from pathlib import Path
from typing import Any

from omnigraph.engine.requests import Export
from omnigraph.engine.results import ExportResult
from omnigraph.pipeline.exported import MANIFEST, MANIFEST_VERSION, SCHEMA, UNFINISHED, is_ours
from omnigraph.store.location import is_bucket_address

__all__ = ["MANIFEST", "SCHEMA", "UNFINISHED", "holds_export", "manifest_of", "needs_parts"]


def needs_parts(request: Export) -> bool:
    """True if it is written by tasks: to a bucket, or on Spark."""
    target = request.target
    is_bucket = isinstance(target, str | os.PathLike) and is_bucket_address(os.fspath(target))
    return is_bucket or request.engine == "spark" or request.spark is not None


def holds_export(directory: Path) -> bool:
    """True if an export has written the directory: a new one may take its place."""
    manifest = directory / MANIFEST
    return manifest.is_file() and is_ours(manifest.read_bytes())


def manifest_of(result: ExportResult) -> bytes:
    """The file that says what an export must hold."""
    told: dict[str, Any] = {
        "manifest_version": MANIFEST_VERSION,
        "graph_commit_id": result.graph_commit_id,
        "schema": SCHEMA,
        "nodes": dict(result.nodes),
        "edges": dict(result.edges),
        "files": [
            {"path": f.path, "rows": f.rows, "bytes": f.bytes, "sha256": f.sha256}
            for f in result.files
        ],
    }
    return (json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode()
