"""Where things lie under a graph's root. Names are part of the format on disk."""

from omnigraph.lang.schema.catalog import EdgeType, EntityType, NodeType

__all__ = [
    "ADDRESS",
    "AUDIT",
    "BLOB_MARK",
    "EDGES",
    "EMBEDDINGS",
    "GRAPH",
    "LOCKS",
    "MANIFEST",
    "NODES",
    "RECOVERY",
    "SCHEMAS",
    "STAGING",
    "table_path",
]

GRAPH = "_graph.json"
ADDRESS = "_address.json"
MANIFEST = "__manifest"
AUDIT = "_graph_commit_recoveries.lance"
RECOVERY = "__recovery"
STAGING = "__staging"
EMBEDDINGS = "__embeddings"
LOCKS = "__locks"
SCHEMAS = "_schemas"
NODES, EDGES = "nodes", "edges"

BLOB_MARK = {b"lance-encoding:blob": b"true"}
"""Of a column, in Arrow's metadata: Lance keeps its large values beside the file."""

FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def table_path(entity: EntityType) -> str:
    """Where a new type's dataset goes. The manifest remembers it, so a rename moves nothing."""
    match entity:
        case NodeType(name=name):
            return f"{NODES}/{_fnv1a64(name):016x}"
        case EdgeType(name=name):
            return f"{EDGES}/{_fnv1a64(name):016x}"


def _fnv1a64(text: str) -> int:
    value = FNV_OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * FNV_PRIME) & (2**64 - 1)
    return value
