"""The steps of a request as OpenTelemetry spans below the request's own.

Names and numbers only. An error is told by its code: messages may hold values.
"""

from types import TracebackType

from opentelemetry import trace

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.trace import NO_STEP, Step

__all__ = ["RequestTrace"]

ROWS = "omnigraph.rows"
ERROR = "error.type"


class RequestTrace:
    """Steps of threads that work for a request whose span is recorded, and of no others."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("omnigraph")

    @property
    def is_on(self) -> bool:
        return trace.get_current_span().is_recording()

    def step(self, name: str) -> Step:
        return _SpanStep(self._tracer, name) if self.is_on else NO_STEP


class _SpanStep:
    def __init__(self, tracer: trace.Tracer, name: str) -> None:
        # An exception would be recorded with its message.
        self._opened = tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False
        )

    def __enter__(self) -> Step:
        self._span = self._opened.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        if error is not None:
            code = error.code if isinstance(error, OmnigraphError) else type(error).__name__
            self._span.set_attribute(ERROR, code)
        self._opened.__exit__(kind, error, traceback)

    def note_rows(self, count: int) -> None:
        self._span.set_attribute(ROWS, count)
