"""Rules over columns of a file in which a blob stands before them."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import ConstraintViolated
from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits

# Columns stand in a table by name: the unique one comes after two blobs and before others.
OTHERS = [f"x{n}" for n in range(8)]
SCHEMA = f"""
node P {{ k: String @key  a: Blob?  b: Blob?  u: I64? @unique
         {"  ".join(f"{name}: I64?" for name in OTHERS)} }}
"""


def row(key: str, u: int, others: int) -> dict[str, object]:
    data = {"k": key, "u": u, "a": "base64:aGk=", **dict.fromkeys(OTHERS, others)}
    return {"type": "P", "data": data}


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("is_large", [True, False])
def test_the_column_that_is_named_is_looked_at(
    tmp_path: Path, mode: LoadModeName, is_large: bool
) -> None:
    limits = LoadLimits(max_lookup_bytes=0, max_held_bytes=0) if is_large else LoadLimits()
    settings = Settings(load_engine="local", load_limits=limits)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed", settings=settings)
    with pytest.raises(ConstraintViolated, match="u must be unique"):
        graph.load([row("a", 1, 1), row("b", 1, 2)], mode=mode)
    graph.load([row("a", 1, 7), row("b", 2, 7)], mode=mode)
    assert graph.blob("node", "P", "b", "a").read(0, 2) == b"hi"
    asked = "query q() { match { $p: P } return { $p.k as k, $p.u as u, $p.x7 as x } order { k } }"
    assert graph.query(asked).to_pylist() == [
        {"k": "a", "u": 1, "x": 7},
        {"k": "b", "u": 2, "x": 7},
    ]
