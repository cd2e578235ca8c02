"""The upkeep of a server's graphs: one thread, for as long as the server lives.

It looks after one graph after the other, so that at most one build is under way. Before each table
it waits for a moment without requests; a server that never has one is made to wait no more than
`MAX_YIELD_S`.

A build can't be broken off. A server that stops waits for one up to its limit, and then goes: what
was not published is in no table, and what was armed is finished by the next writer.
"""

import logging
import random
import threading
import time
from collections.abc import Mapping

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.ids import BranchName
from omnigraph.engine.handles.graph import Graph
from omnigraph.engine.reconcile import Reconciler
from omnigraph.engine.results import CommitInfo
from omnigraph.surfaces.server.logs import MEMBERS
from omnigraph.surfaces.server.metrics import Metrics

__all__ = ["Upkeep"]

log = logging.getLogger("omnigraph.server")

MAX_YIELD_S = 5.0
"""How long a table is left for requests under way."""
LOOK_S = 0.02


class Upkeep:
    """Begun by `start`, ended by `tell_to_stop` and `wait`. A pause of 0 s: there is none."""

    def __init__(
        self,
        graphs: Mapping[str, Graph],
        metrics: Metrics,
        *,
        pause_s: float,
        yield_s: float = MAX_YIELD_S,
    ) -> None:
        self._metrics = metrics
        self._pause_s = pause_s
        self._yield_s = yield_s
        self._stop = threading.Event()
        self._told_s = 0.0
        self._graphs: dict[str, Graph] = {}
        self._reconcilers: dict[str, Reconciler] = {}
        self.follow(graphs)
        self._thread = threading.Thread(target=self._run, name="omnigraph-upkeep", daemon=True)

    def follow(self, graphs: Mapping[str, Graph]) -> None:
        """Look after these graphs from now on; of those that are known, as before."""
        known = self._reconcilers
        self._reconcilers = {
            id_: known[id_] if self._graphs.get(id_) is graph else self._reconciler(id_, graph)
            for id_, graph in graphs.items()
            if not graph.backend.is_read_only
        }
        self._graphs = dict(graphs)

    def _reconciler(self, id_: str, graph: Graph) -> Reconciler:
        return Reconciler(
            graph.engine,
            in_background=True,
            may_begin=self._yielded,
            watcher=_Told(id_, self._metrics),
        )

    def start(self) -> None:
        if self._pause_s > 0:
            self._thread.start()

    def tell_to_stop(self) -> None:
        if not self._stop.is_set():
            self._told_s = time.monotonic()
            self._stop.set()

    def wait(self, limit_s: float) -> bool:
        """Wait until so long after it was told to stop; False: it is still at work."""
        self.tell_to_stop()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, self._told_s + limit_s - time.monotonic()))
        return not self._thread.is_alive()

    def _run(self) -> None:
        # The pause comes first: a server that has just started has others to look after. Pauses
        # differ: several servers of one graph would else build the same at the same time.
        while not self._stop.wait(random.uniform(0.5, 1.5) * self._pause_s):
            self._metrics.upkeep_rounds.inc()
            for id_, reconciler in self._reconcilers.items():
                self._look_after(id_, reconciler)

    def _look_after(self, id_: str, reconciler: Reconciler) -> None:
        try:
            reconciler.run_once(self._stop)
        except OmnigraphError as failure:
            _tell_failure(failure, self._metrics, {"graph": id_})
        except Exception as defect:
            self._metrics.upkeep_failures.inc()
            log.error("the upkeep failed", exc_info=defect, extra={MEMBERS: {"graph": id_}})

    def _yielded(self) -> bool:
        """Let requests under way pass; False: the server stops."""
        until_s = time.monotonic() + self._yield_s
        while self._metrics.requests_under_way and time.monotonic() < until_s:
            if self._stop.wait(LOOK_S):
                break
        return not self._stop.is_set()


class _Told:
    """What the upkeep of one graph does, in the log and the metrics."""

    def __init__(self, id_: str, metrics: Metrics) -> None:
        self._id = id_
        self._metrics = metrics

    def made(self, commit: CommitInfo) -> None:
        self._metrics.upkeep_commits.labels(commit.kind).inc()
        members = {
            "graph": self._id,
            "branch": commit.graph_branch,
            "kind": commit.kind,
            "commit": commit.graph_commit_id,
        }
        log.info("upkeep", extra={MEMBERS: members})

    def failed(self, branch: BranchName, failure: OmnigraphError) -> None:
        _tell_failure(failure, self._metrics, {"graph": self._id, "branch": branch})


def _tell_failure(failure: OmnigraphError, metrics: Metrics, of: dict[str, str]) -> None:
    metrics.upkeep_failures.inc()
    members = {**of, "code": failure.code, "reason": str(failure)}
    log.warning("the upkeep failed", extra={MEMBERS: members})
