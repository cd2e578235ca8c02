"""Metrics in the form of Prometheus. Labels are routes and statuses: few, and not secret."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from omnigraph.surfaces.server.admission import Admission
from omnigraph.surfaces.server.jobs.job import JobState
from omnigraph.surfaces.server.jobs.jobs import Jobs

__all__ = ["METRICS_TYPE", "Metrics"]

METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class Metrics:
    """The metrics of one server; a process may have several, in tests say."""

    def __init__(self, admission: Admission) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._requests = Counter(
            "omnigraph_http_requests", "Requests answered.", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "omnigraph_http_request_seconds",
            "From the headers of a request to the end of its answer.",
            ("route",),
            buckets=SECONDS,
            registry=registry,
        )
        self._sent = Counter(
            "omnigraph_http_sent_bytes", "Bytes of answers.", ("route",), registry=registry
        )
        self.requests_under_way = 0
        """Counted on the event loop; other threads look at it."""
        under_way = Gauge(
            "omnigraph_http_requests_under_way", "Requests not yet answered.", registry=registry
        )
        under_way.set_function(lambda: self.requests_under_way)
        self.slow_reads = Counter(
            "omnigraph_slow_reads", "Reads that took longer than the limit.", registry=registry
        )
        self.reloads = Counter(
            "omnigraph_reloads", "Reloads by SIGHUP.", ("outcome",), registry=registry
        )
        self.upkeep_commits = Counter(
            "omnigraph_upkeep_commits", "Commits by the upkeep.", ("kind",), registry=registry
        )
        self.upkeep_failures = Counter(
            "omnigraph_upkeep_failures", "Tables left as they were.", registry=registry
        )
        self.upkeep_rounds = Counter(
            "omnigraph_upkeep_rounds", "How often all graphs were looked at.", registry=registry
        )
        writes = Gauge("omnigraph_writes_under_way", "Writes not yet answered.", registry=registry)
        writes.set_function(admission.writes_under_way)

    def watch(self, jobs: Jobs) -> None:
        """Tell of load jobs, too."""
        registry = self._registry
        known = Gauge(
            "omnigraph_load_jobs", "Load jobs that are known.", ("state",), registry=registry
        )
        for state in JobState:
            known.labels(state.value).set_function(partial(jobs.count, state))
        spooled = Gauge(
            "omnigraph_spool_bytes", "Bytes uploaded and not loaded yet.", registry=registry
        )
        spooled.set_function(jobs.spooled_bytes)

    def answered(self, *, route: str, status: int, seconds: float, sent_bytes: int) -> None:
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        self._sent.labels(route).inc(sent_bytes)

    def text(self) -> bytes:
        return generate_latest(self._registry)
