"""A load that is too large for one request: its rows go up in parts, and the server loads them.

Every step may be sent again: a part has a number and a checksum, and a job is started once. So a
server that is away for a while, to be restarted say, is waited for.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from omnigraph.base.errors import (
    ArgumentInvalid,
    LoadCancelled,
    OmnigraphError,
    OutcomeUnknown,
    ServerUnreachable,
)
from omnigraph.base.progress import Progress, silent
from omnigraph.engine.requests import Load
from omnigraph.engine.results import LoadResult
from omnigraph.surfaces.client.exchange import BYTES, Answer, Exchange, Message, error_in
from omnigraph.surfaces.client.lines import Outgoing
from omnigraph.surfaces.crossing.values import Unreadable, read_value

__all__ = ["load_by_job"]

JOBS = "/load/jobs"
PART_BYTES = 8 << 20
"""Small enough for a slow line within the time that a server gives a body."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 2.0
PATIENCE_S = 120.0
"""How long a server may be away before it is given up."""
OVER = ("succeeded", "failed", "cancelled")


def load_by_job(
    exchange: Exchange, request: Load, outgoing: Outgoing, progress: Progress | None
) -> LoadResult:
    """Load by a job of the server; what goes wrong here or there ends it, a Ctrl-C as well."""
    job = _Job(exchange, progress or silent)
    job.begin(_order(request, outgoing))
    try:
        job.upload(outgoing)
        return job.result()
    except BaseException as error:
        is_cancelled = job.cancel()
        if isinstance(error, KeyboardInterrupt) and is_cancelled:
            # As of a load here: whoever shows it to a person knows how far it was.
            raise KeyboardInterrupt("nothing was loaded") from None
        raise


def _order(request: Load, outgoing: Outgoing) -> bytes:
    order = {
        "upload": {"name": outgoing.name[:1000], "bytes": outgoing.size},
        "branch": request.branch,
        "from": request.from_,
        "mode": request.mode,
        "format": outgoing.form.value,
        "mapping": request.mapping,
        "dry_run": request.dry_run,
        "embed": request.embed,
        "message": request.message,
        "engine": request.engine,
        "load_id": request.load_id,
    }
    try:
        return json.dumps(order).encode()
    except (TypeError, ValueError, RecursionError) as error:
        rule = f"it can't be sent to a server: {error}"
        raise ArgumentInvalid(argument="mapping", value=None, rule=rule) from None


class _Job:
    def __init__(self, exchange: Exchange, tell: Progress) -> None:
        self._exchange = exchange
        self._tell = tell
        self._path = JOBS
        self._part_bytes = PART_BYTES
        self._is_over = False

    def begin(self, order: bytes) -> None:
        # Should its answer be lost, a job without parts is left, and forgotten after a day.
        job = self._ask(Message(path=JOBS, body=order, is_write=False))
        self._path = f"{JOBS}/{job['id']}"
        self._part_bytes = min(PART_BYTES, job["upload"]["max_part_bytes"])

    def upload(self, outgoing: Outgoing) -> None:
        """Send all parts, and start the load."""
        number = sent = 0
        total = outgoing.size or 0
        self._tell("upload", 0, total)
        for number, part in enumerate(_parts(outgoing.pieces(), self._part_bytes), 1):
            digest = base64.b64encode(hashlib.sha256(part).digest()).decode()
            self._patiently(
                Message(
                    path=f"{self._path}/parts/{number}",
                    method="PUT",
                    body=part,
                    body_type=BYTES,
                    is_write=False,
                    headers={"Content-Digest": f"sha-256=:{digest}:"},
                )
            )
            sent += len(part)
            self._tell("upload", sent, total)
        body = json.dumps({"part_count": number}).encode()
        self._ask(Message(path=f"{self._path}/start", body=body, is_write=False))

    def result(self) -> LoadResult:
        """Wait for the load to end; raises what it ended with."""
        job = self._wait(self._tell_progress)
        self._is_over = True
        url = f"{self._exchange.address.url}{self._path}"
        if job["state"] == "cancelled":
            raise LoadCancelled(job["id"])
        if job["state"] == "failed":
            raise error_in(job["error"], url=url, status=job["error_status"])
        try:
            result: LoadResult = read_value(LoadResult, job["loaded"], is_lenient=True)
        except Unreadable as error:
            raise Answer(url, 200, {}, b"").unreadable(str(error)) from None
        return result

    def cancel(self) -> bool:
        """End the job; true if nothing of it was loaded. It is no use to fail over that."""
        if self._is_over:
            return False
        with suppress(OmnigraphError):
            job = self._read(Message(path=self._path, method="DELETE", is_write=False))
            if job["state"] not in OVER:
                job = self._wait(lambda job: None)
            return bool(job["state"] == "cancelled")
        return False

    def _tell_progress(self, job: dict[str, Any]) -> None:
        if job["state"] == "succeeded":
            self._tell("publish", 1, 1)
        elif (progress := job.get("progress")) is not None:
            self._tell(progress["phase"], progress["done"], progress["total"])

    def _wait(self, hear: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        pause_s = FIRST_PAUSE_S
        message = Message(path=self._path, method="GET", is_write=False)
        while True:
            job = self._ask(message)
            hear(job)
            if job["state"] in OVER:
                return job
            self._exchange.pause(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)

    def _ask(self, message: Message) -> dict[str, Any]:
        return _job_in(self._patiently(message))

    def _read(self, message: Message) -> dict[str, Any]:
        return _job_in(self._exchange.ask(message))

    def _patiently(self, message: Message) -> Answer:
        """The answer, also of a server that is away for a while."""
        waited_s = 0.0
        while True:
            try:
                return self._exchange.ask(message)
            except ServerUnreachable as away:
                if self._path == JOBS:
                    raise  # nothing was begun
                if waited_s >= PATIENCE_S:
                    raise OutcomeUnknown(f"{away.url}{self._path}", away.reason) from away
            self._exchange.pause(LONGEST_PAUSE_S)
            waited_s += LONGEST_PAUSE_S


def _job_in(answer: Answer) -> dict[str, Any]:
    try:
        job = json.loads(answer.body)
        if isinstance(job, dict) and isinstance(job["id"], str) and isinstance(job["state"], str):
            return job
    except (ValueError, KeyError):
        pass
    raise answer.unreadable("it is no load job")


def _parts(pieces: Iterator[bytes], part_bytes: int) -> Iterator[bytes]:
    """The pieces cut anew; one part at least, which may be empty."""
    held = bytearray()
    is_first = True
    for piece in pieces:
        held += piece
        while len(held) > part_bytes:
            is_first = False
            yield bytes(held[:part_bytes])
            del held[:part_bytes]
    if held or is_first:
        yield bytes(held)
