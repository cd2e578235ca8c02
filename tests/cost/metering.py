"""Tables that count the rows Lance looks at to answer, as Lance itself reports them."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph import Graph
from omnigraph.base.clock import SystemClock
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.store.datasets import Dataset, DatasetRef, Datasets
from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import MANIFEST
from omnigraph.store.location import DiskLocation
from omnigraph.store.storage import Storage
from tests.buckets import location_of


@dataclass
class Meter:
    rows: int = 0
    """Rows of the graph's tables that were looked at, whether they were wanted or not."""
    rows_from_files: int = 0
    """Those among them for which files were read. Row ids and versions are no part of files."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, statistics: Any) -> None:
        with self.lock:
            rows = statistics.all_counts.get("rows_scanned", 0)
            self.rows += rows
            self.rows_from_files += rows if statistics.bytes_read else 0


class MeteredDataset(Dataset):
    meter: Meter

    def _read(self, columns: Sequence[str], **options: Any) -> pa.Table:
        return super()._read(columns, scan_stats_callback=self.meter.note, **options)


class MeteredDatasets(Datasets):
    def __init__(self, root: Path, meter: Meter) -> None:
        super().__init__(location_of(root), Durability.RELAXED)
        self._meter = meter

    def open(self, ref: DatasetRef) -> Dataset:
        if ref.path == MANIFEST:
            return super().open(ref)
        handle = self._handle(ref.path, ref.branch, ref.version)
        dataset = MeteredDataset(ref, handle, self._objects.get)
        dataset.meter = self._meter
        return dataset


def metered_graph(place: Path) -> tuple[Graph, Meter]:
    """A cold handle of the graph, and the meter of what it reads."""
    meter, clock = Meter(), SystemClock()
    storage = Storage.at(DiskLocation(place), clock=clock, durability=Durability.RELAXED)
    storage = replace(storage, datasets=MeteredDatasets(place, meter))
    return Graph(Engine.over(GraphStore(storage, clock=clock), Settings())), meter
