"""Requests and their steps as spans: where time went, and nothing of the data."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

from omnigraph import Graph
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.trace import NO_STEP
from omnigraph.engine.engine import Engine
from omnigraph.surfaces.server.tracing import RequestTrace
from tests.surfaces.server.world import ADD, PEOPLE, G, World, make_graph, serve_here

SECRET = "xyzzy-plugh"
FRIENDS = """
query friends($name: String) {
  match { $p: Person { name: $name }  $p knows $f }
  return { $f.name }
}
"""


class Recorded(trace.NonRecordingSpan):
    """A span that is kept, with its name, what was told of it, and the one it is inside of."""

    def __init__(self, name: str, parent: trace.Span) -> None:
        super().__init__(trace.SpanContext(1, 1, is_remote=False))
        self.name = name
        self.parent = parent
        self.told: dict[str, Any] = {}
        self.is_ended = False

    def is_recording(self) -> bool:
        return True

    def update_name(self, name: str) -> None:
        self.name = name

    def set_attribute(self, key: str, value: Any) -> None:
        self.told[key] = value

    def record_exception(self, exception: BaseException, *more: Any, **others: Any) -> None:
        self.told["exception"] = str(exception)

    def end(self, end_time: int | None = None) -> None:
        self.is_ended = True


class Recorder:
    """Stands for the SDK, which is not ours to install: it keeps every span."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []

    def get_tracer(self, *arguments: Any, **more: Any) -> Any:
        return self

    @contextmanager
    def start_as_current_span(
        self,
        name: str,
        context: Any = None,
        *,
        kind: Any = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> Iterator[Recorded]:
        span = Recorded(name, trace.get_current_span(context))
        self.spans.append(span)
        with trace.use_span(
            span,
            end_on_exit=True,
            record_exception=record_exception,
            set_status_on_exception=set_status_on_exception,
        ):
            yield span

    def tree(self) -> list[tuple[str, str | None]]:
        """Each span with the one that it is inside of."""
        return [(span.name, getattr(span.parent, "name", None)) for span in self.spans]


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(trace, "get_tracer", recorder.get_tracer)
    return recorder


@pytest.fixture
def traced(tmp_path: Path, recorder: Recorder) -> World:
    make_graph(tmp_path)
    return serve_here(Graph(Engine.open(str(tmp_path / "people.omni"), trace=RequestTrace())))


def test_every_request_is_a_span_of_the_trace_that_it_names(
    traced: World, recorder: Recorder
) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    traced.get(f"{G}/schema", headers={"traceparent": parent})
    (span,) = recorder.spans
    assert span.name == "GET cluster_getSchema"
    assert span.told == {"http.route": "cluster_getSchema", "http.response.status_code": 200}
    assert f"{span.parent.get_span_context().trace_id:032x}" in parent


def test_a_query_is_its_plan_and_its_operators_inside_of_each_other(
    traced: World, recorder: Recorder
) -> None:
    assert traced.query(FRIENDS, params={"name": "ada"}).json()["row_count"] == 1
    request = "POST cluster_query"
    tree = recorder.tree()
    assert {("plan", request), ("project", request)} <= set(tree)
    assert Counter(tree)["expand", "project"] == 1
    assert [name for name, _ in tree].count("scan") == 1
    assert ("expand", "expand") not in tree
    rows = {span.name: span.told.get("omnigraph.rows") for span in recorder.spans}
    assert (rows["scan"], rows["expand"], rows["project"]) == (3, 1, 1)
    assert all(span.is_ended for span in recorder.spans)


def test_a_write_is_a_commit_with_the_steps_of_the_protocol(
    traced: World, recorder: Recorder
) -> None:
    traced.post(f"{G}/mutate", json={"query": ADD, "params": {"name": "x"}})
    inside = [name for name, parent in recorder.tree() if parent == "commit"]
    assert inside == ["prepare", "stage", "land", "publish", "compact"]
    assert ("commit", "POST cluster_mutate") in recorder.tree()
    assert ("plan", "prepare") in recorder.tree()


def test_what_a_crash_left_is_a_recovery_of_the_request_that_meets_it(
    traced: World, recorder: Recorder
) -> None:
    dying = Engine.open(traced.graph.uri, faults=CrashAt(Failpoint.AFTER_LAND_ALL))
    with pytest.raises(Crash):
        Graph(dying).mutate(ADD, params={"name": "left"})
    traced.post(f"{G}/mutate", json={"query": ADD, "params": {"name": "next"}})
    assert Counter(name for name, _ in recorder.tree())["recovery"] == 1
    assert {"left", "next"} < set(traced.names())


def test_nothing_of_the_data_is_in_a_span(traced: World, recorder: Recorder) -> None:
    named = f'match {{ $p: Person {{ name: "{SECRET}" }} }}'
    source = f"query q($x: String) {{ {named} return {{ $x as x }} }}"
    traced.query(source, params={"x": SECRET})
    traced.query(source, params={SECRET: SECRET})
    loop = "query e($n: String) { insert Knows { from: $n, to: $n } }"
    traced.post(f"{G}/mutate", json={"query": loop, "params": {"n": SECRET}})
    traced.post(f"{G}/mutate", json={"query": ADD, "params": {"name": SECRET}})
    traced.get(f"{G}/blob?entity=node&type=Person&id={SECRET}&property=avatar")
    shown = [f"{span.name} {span.told}" for span in recorder.spans]
    assert len(shown) > 10
    assert SECRET not in " ".join(shown)
    failed = {span.told["error.type"] for span in recorder.spans if "error.type" in span.told}
    assert failed == {"constraint_violation"}


def test_without_a_recorded_request_nothing_is_a_step(graph: Graph) -> None:
    off = RequestTrace()
    assert not off.is_on
    assert off.step("plan") is NO_STEP
    world = serve_here(Graph(Engine.open(graph.uri, trace=off)))
    assert world.query(PEOPLE).json()["row_count"] == 3
