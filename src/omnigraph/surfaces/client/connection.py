"""`Connection`: the backend of a handle whose graph is on a server."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import quote, unquote, urlencode

import pyarrow as pa

from omnigraph.base.errors import AnswerUnreadable, ArgumentInvalid, LimitExceeded, LocalOnly
from omnigraph.base.ids import CommitId
from omnigraph.base.progress import Progress
from omnigraph.engine.blob import Blob, find_blob
from omnigraph.engine.change_requests import Baseline
from omnigraph.engine.change_results import ChangeBaseline
from omnigraph.engine.engine import Engine
from omnigraph.engine.export import export, lines_target
from omnigraph.engine.export_manifest import needs_parts
from omnigraph.engine.feed import baseline
from omnigraph.engine.load.load import load
from omnigraph.engine.query import ask
from omnigraph.engine.requests import Ask, BlobRead, Export, Load
from omnigraph.engine.results import ExportResult, LoadResult, QueryResult
from omnigraph.pipeline.export.files import Sink
from omnigraph.surfaces.client.exchange import NDJSON, Answer, Exchange, Message
from omnigraph.surfaces.client.jobs import load_by_job
from omnigraph.surfaces.client.lines import LastLine, rows_to_send
from omnigraph.surfaces.client.pool import Address
from omnigraph.surfaces.client.stored import SNAPSHOT_ID, ServedQueries
from omnigraph.surfaces.crossing.calls import (
    BASELINE,
    BLOB,
    BODY_BYTES,
    CALLS,
    EXPORT,
    LOAD,
    NOT_SENT,
    QUERY,
    QUERY_NAME,
    BaselineLines,
    BlobFound,
    ExportLines,
    LoadLines,
    RemoteCall,
)
from omnigraph.surfaces.crossing.rows import rows_from_wire
from omnigraph.surfaces.crossing.values import Unreadable, decoded, encoded

__all__ = ["DEFAULT_TIMEOUT_S", "Connection", "connect"]

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_TIMEOUT_S = 330.0
"""How long the next byte of an answer is waited for: longer than a server lets a query run."""

MAX_AT_ONCE_BYTES = 32 << 20
"""Of a load: what a server takes unless it is told otherwise. More goes up in parts."""
FITS_IN_A_REQUEST = "the rows fit in one request"
"""Why a load runs in the process of the server."""
LONGEST_TIMEOUT_S = 10_000_000.0
"""Months. Sockets can't wait for ever, and refuse numbers that are too large."""

BY_USE_CASE: Mapping[Callable[..., Any], RemoteCall] = {call.use_case: call for call in CALLS}


def connect(
    url: str, *, token: str | None, graph: str | None = None, timeout_s: float | None = None
) -> "Connection":
    """A connection to one graph. Nothing is sent before something is asked."""
    address = Address.parse(url)
    if graph is not None:
        address = replace(address, path=f"{address.path}/graphs/{quote(graph, safe='')}")
    elif "/graphs/" not in address.path:
        raise ArgumentInvalid(
            argument="graph",
            value=None,
            rule="the URL names a server and no graph",
            advice="pass graph=, or a URL that ends in /graphs/NAME",
        )
    wait_s = DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s
    if not isinstance(wait_s, int | float) or not wait_s > 0:
        rule = "it must be a number of seconds above 0"
        raise ArgumentInvalid(argument="timeout_s", value=str(timeout_s), rule=rule)
    wait_s = min(wait_s, LONGEST_TIMEOUT_S)
    return Connection(Exchange(address, token=token, timeout_s=wait_s))


class Connection:
    actor = None
    """A server knows who acts by the token."""
    is_read_only = False

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._special: Mapping[Callable[..., Any], Callable[..., Any]] = {
            ask: self._ask,
            load: self._load,
            export: self._export,
            baseline: self._baseline,
            find_blob: self._find_blob,
        }

    @property
    def uri(self) -> str:
        return self._exchange.address.url

    @property
    def stored(self) -> ServedQueries:
        """The stored queries that the server has for the graph."""
        return ServedQueries(self._exchange)

    def acting_for(self, actor: str | None) -> "Connection":
        raise _acts_by_token(actor)

    def close(self) -> None:
        self._exchange.close()

    def run(
        self, use_case: Callable[Concatenate[Engine, P], T], *args: P.args, **more: P.kwargs
    ) -> T:
        """Have a use case carried out by the server; see `Backend`."""
        request = args[0]
        if (actor := getattr(request, "actor", None)) is not None:
            raise _acts_by_token(actor)
        if (special := self._special.get(use_case)) is not None:
            return cast(T, special(*args, **more))
        if (call := BY_USE_CASE.get(use_case)) is None:
            raise LocalOnly(use_case.__name__)
        is_write = not call.request.action.is_reading
        if getattr(request, "spark", None) is not None:
            raise LocalOnly("use a Spark session")
        # A write that was begun is carried out, whoever still waits for it.
        cancel = None if is_write else getattr(request, "cancel", None)
        answer = self._call(call.name, _sent(request), is_write=is_write, cancel=cancel)
        return cast(T, _read(call.result, answer))

    def _call(
        self, name: str, body: bytes, *, is_write: bool, cancel: threading.Event | None = None
    ) -> Answer:
        return self._exchange.ask(Message(path=_path(name), body=body, is_write=is_write), cancel)

    # In forms of their own ------------------------------------------------------------------------

    def _ask(self, request: Ask) -> QueryResult:
        message = Message(path=_path(QUERY), body=_sent(request), is_write=False)
        answer = self._exchange.ask(message, request.cancel)
        try:
            received = pa.ipc.open_stream(answer.body).read_all()
            table, drawable = rows_from_wire(received)
            name, commit = answer.headers[QUERY_NAME.lower()], answer.headers[SNAPSHOT_ID]
        # Arrow tells of bytes that are cut off, or are no message of its own, as an OSError.
        except (pa.ArrowException, OSError, KeyError, Unreadable) as error:
            raise answer.unreadable(f"it holds no rows ({error})") from error
        return QueryResult(unquote(name), CommitId(commit), table, drawable)

    def _load(self, request: Load, progress: Progress | None = None) -> LoadResult:
        """In one request where that can be, and else as a job of the server."""
        outgoing = rows_to_send(request)
        if request.engine != "spark" and request.mapping is None:
            rows, outgoing = outgoing.at_once(MAX_AT_ONCE_BYTES)
            if rows is not None:
                try:
                    return self._load_at_once(request, outgoing.name, rows)
                except LimitExceeded as refused:
                    if refused.what != BODY_BYTES:
                        raise
        return load_by_job(self._exchange, request, outgoing, progress)

    def _load_at_once(self, request: Load, name: str, rows: bytes) -> LoadResult:
        head = LoadLines(
            mode=request.mode,
            source_name=name,
            branch=request.branch,
            message=request.message,
            from_=request.from_,
            dry_run=request.dry_run,
            load_id=request.load_id,
            embed=request.embed,
        )
        body = encoded(head) + b"\n" + rows
        path = _path(LOAD)
        message = Message(path=path, body=body, is_write=True, body_type=NDJSON)
        result = cast(LoadResult, _read(LoadResult, self._exchange.ask(message)))
        if result.is_repeat or request.engine == "local":
            return result
        return replace(result, engine_reason=FITS_IN_A_REQUEST)

    def _export(self, request: Export) -> ExportResult:
        if request.format != "jsonl":
            raise LocalOnly(f"exporting {request.format}", "export jsonl, or use --store")
        if needs_parts(request):
            raise LocalOnly("exporting on Spark or to a bucket", "export to a file, or use --store")
        asked = ExportLines(
            branch=request.branch,
            is_branch_named=request.is_branch_named,
            moment=cast(Any, request.moment),
            types=request.types,
        )
        with lines_target(request.target, overwrite=request.overwrite) as (sink, path):
            result = self._lines(EXPORT, asked, sink, ExportResult)
        return _written_at(result, path)

    def _baseline(self, request: Baseline) -> ChangeBaseline:
        asked = BaselineLines(branch=request.branch, filter=request.filter)
        with lines_target(request.target, overwrite=request.overwrite) as (sink, path):
            result = self._lines(BASELINE, asked, sink, ChangeBaseline)
        return replace(result, export=_written_at(result.export, path))

    def _lines(self, name: str, asked: object, sink: Sink, form: type[T]) -> T:
        lines = LastLine(sink)
        message = Message(path=_path(name), body=encoded(asked), is_write=False)
        answer = self._exchange.receive(message, lines.take)
        if lines.line is None:
            raise answer.unreadable("it was cut off")
        return cast(T, _read(form, replace(answer, body=lines.line)))

    def _find_blob(self, request: BlobRead) -> Blob:
        answer = self._call(BLOB, _sent(request), is_write=False)
        found: BlobFound = _read(BlobFound, answer)
        where = {
            "entity": request.kind,
            "type": request.type_name,
            "id": request.entity_id,
            "property": request.property,
            "snapshot": found.graph_commit_id,
        }

        def read(start: int, end: int) -> bytes:
            headers = {"Range": f"bytes={start}-{end - 1}", "If-Match": f'"{found.etag}"'}
            path = f"/blob?{urlencode(where)}"
            message = Message(path=path, method="GET", is_write=False, headers=headers)
            answer = self._exchange.ask(message)
            if answer.status != 206 or len(answer.body) != end - start:
                raise answer.unreadable("these are not the bytes that were asked for")
            return answer.body

        return Blob(**{f.name: getattr(found, f.name) for f in fields(found)}, _bytes=read)


def _path(name: str) -> str:
    return f"/calls/{name}"


def _sent(request: Any) -> bytes:
    """The fields of a request that travel."""
    try:
        sent = (f.name for f in fields(request) if f.name not in NOT_SENT)
        return encoded({name: getattr(request, name) for name in sent})
    except (TypeError, ValueError, RecursionError) as error:
        rule = f"it can't be sent to a server: {error}"
        raise ArgumentInvalid(argument="params", value=None, rule=rule) from None


def _read(form: Any, answer: Answer) -> Any:
    try:
        return decoded(form, answer.body, is_lenient=True)
    except Unreadable as error:
        raise AnswerUnreadable(answer.url, answer.status, str(error)) from None


def _written_at(result: ExportResult, path: str | None) -> ExportResult:
    """The result in the words of this side: the server wrote to a stream, we to a file."""
    (file,) = result.files
    return replace(result, path=path, files=(replace(file, path=path),))


def _acts_by_token(actor: str | None) -> ArgumentInvalid:
    return ArgumentInvalid(
        argument="actor",
        value=actor,
        rule="a server knows who acts by the token",
        advice="leave it out, or connect with the token of that actor",
    )
