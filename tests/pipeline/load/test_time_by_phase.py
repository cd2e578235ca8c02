"""Where the time of a load goes: told by phase, and without a gap."""

import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.engine.load import load as engine_module
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline import local
from omnigraph.pipeline.load import resolve
from omnigraph.pipeline.spark.session import Spark
from omnigraph.pipeline.staging import stage
from tests.pipeline.world import node, write

SLOW_S = 0.3

# A part of each phase.
PARTS: dict[str, tuple[ModuleType, str]] = {
    "start": (local, "InProcess"),
    "parse": (stage, "conform_split"),
    "write": (stage, "write_rows"),
    "check": (resolve, "LoadChecks"),
    "publish": (engine_module, "write"),
}


@pytest.mark.parametrize("phase", PARTS)
def test_what_takes_long_is_seen_in_its_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    module, name = PARTS[phase]
    part = getattr(module, name)

    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(SLOW_S)
        return part(*arguments, **options)

    monkeypatch.setattr(module, name, slow)
    began = time.monotonic()
    seconds = load_one(tmp_path, engine="local").seconds
    clock_s = time.monotonic() - began
    assert seconds[phase] >= SLOW_S
    # Nothing is counted twice: what is left over for the last phase would be less than nothing.
    assert list(seconds) == list(PARTS)
    assert all(spent >= 0 for spent in seconds.values())
    assert sum(seconds.values()) <= clock_s


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_tasks_elsewhere_tell_how_long_they_wrote(spark: Spark, tmp_path: Path) -> None:
    seconds = load_one(tmp_path, spark=spark).seconds
    assert seconds["parse"] > 0
    assert seconds["write"] > 0


def load_one(place: Path, **options: Any) -> LoadResult:
    with Graph.init(str(place / "graph"), "node Person { name: String @key }") as graph:
        source = write(place / "in.jsonl", node("Person", name="ada"))
        return graph.load(source, mode="append", **options)
