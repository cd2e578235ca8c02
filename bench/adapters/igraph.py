"""igraph: a graph in memory, made of pairs of numbers."""

from pathlib import Path

import igraph
import numpy as np
import pyarrow.json as json

from bench.workloads.people import Data, Ranked


class Analytics:
    """The ends of edges are read from the file that all systems load; then it is C."""

    name = "igraph"

    def version(self) -> str:
        return str(igraph.__version__)

    def load(self, data: Data, place: Path) -> None:
        """It keeps nothing: `open` makes the graph."""
        self.data = data

    def open(self, place: Path) -> None:
        rows = json.read_json(self.data.follows_file)
        ends = np.stack([rows[end].cast("int64").to_numpy() for end in ("from", "to")], axis=1)
        people = sum(1 for _ in self.data.people_file.open("rb"))
        self.graph = igraph.Graph(n=people, edges=ends, directed=True)

    def ranks(self) -> Ranked:
        scores = np.array(self.graph.pagerank())
        best = int(scores.argmax())
        return Ranked(str(best), float(scores[best]))

    def components(self) -> int:
        # It remembers that a graph is connected, and then looks at no edge.
        getattr(self.graph, "__invalidate_cache")()
        return len(self.graph.connected_components(mode="weak"))
