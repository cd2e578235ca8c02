"""Real connections, and what clients do to them: slow, torn, oversized, abandoned."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn

from omnigraph.surfaces.server.guard import guarded
from omnigraph.surfaces.server.lifecycle import uvicorn_config
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.presence import Message, Receive, Send
from tests.processes import PATIENCE_S, wait_until
from tests.surfaces.server.raw import CLOSE, request
from tests.surfaces.server.world import ADD, PEOPLE, G, World, make_graph, serve_here

LIMITS = ServerLimits(
    max_header_bytes=4000, header_timeout_s=0.3, body_timeout_s=0.3, max_body_bytes=5000
)


@dataclass(frozen=True)
class Listening:
    world: World
    port: int

    def connect(self) -> socket.socket:
        return connected(self.port)

    def say(self, *parts: bytes) -> bytes:
        """Send the parts, and give all that comes back until the server closes."""
        with self.connect() as line:
            for part in parts:
                line.sendall(part)
            return everything(line)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def everything(line: socket.socket) -> bytes:
    said = bytearray()
    while part := _part(line):
        said += part
    return bytes(said)


def _part(line: socket.socket) -> bytes:
    try:
        return line.recv(65536)
    except ConnectionResetError:
        return b""  # closed with something of ours unread: closed all the same


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    world = serve_here(make_graph(tmp_path_factory.mktemp("sockets")), limits=LIMITS)
    with serving(world.app, LIMITS) as port:
        yield Listening(world, port)


@contextmanager
def serving(app: Any, limits: ServerLimits) -> Iterator[int]:
    """Any application behind our guard, at this port."""
    bound = socket.create_server(("127.0.0.1", 0))
    server = _quiet(app, limits)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])))
    thread.start()
    wait_until(lambda: server.started, "the server never came up")
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


async def answer_ok(send: Send) -> None:
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


def through_ok(line: socket.socket) -> bytes:
    """One answer; less, if the server closes before its end."""
    said = b""
    while not said.endswith(b"ok") and (part := _part(line)):
        said += part
    return said


def _quiet(app: Any, limits: ServerLimits) -> uvicorn.Server:
    class Server(uvicorn.Server):
        def capture_signals(self):  # type: ignore[no-untyped-def]
            from contextlib import nullcontext

            return nullcontext()

    return Server(uvicorn_config(app, limits))


HEALTH = request("GET", "/healthz", b"", CLOSE)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_a_body_is_no_header_however_large_the_packet_in_which_it_ends(
    listening: Listening,
) -> None:
    asked = json.dumps({"query": PEOPLE}).encode()
    body = asked.ljust(LIMITS.max_body_bytes)
    assert len(body) > LIMITS.max_header_bytes
    whole = request("POST", f"{G}/query", body)
    last = request("GET", f"{G}/branches", b"", "Connection: close")
    for packets in ((whole + last,), (whole, last), (whole[:300], whole[300:], last)):
        said = listening.say(*packets)
        assert said.count(b"HTTP/1.1 200") == 2, said


def test_a_plain_request_is_answered(listening: Listening) -> None:
    assert status(listening.say(HEALTH)) == 200


@pytest.mark.parametrize(
    "headers",
    [
        [f"X-Large: {'x' * 5000}"],
        [f"X-{n}: {'x' * 100}" for n in range(60)],
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_headers_that_are_too_large_are_refused(
    listening: Listening, headers: list[str], at_once: bool
) -> None:
    whole = request("GET", "/healthz", b"", CLOSE, *headers)
    parts = [whole] if at_once else [whole[:1000], whole[1000:4500], whole[4500:]]
    assert status(listening.say(*parts)) in (431, 0)


def test_a_path_that_is_too_long_is_refused(listening: Listening) -> None:
    assert status(listening.say(request("GET", f"/{'x' * 9000}", b"", CLOSE))) == 431


@pytest.mark.parametrize("begun", [b"", b"GET", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"])
def test_headers_that_do_not_come_close_the_connection(listening: Listening, begun: bytes) -> None:
    assert status(listening.say(begun)) == 408


def test_the_next_request_of_a_connection_has_its_own_time(listening: Listening) -> None:
    with listening.connect() as line:
        line.sendall(request("GET", "/healthz"))
        first = line.recv(65536)
        assert status(first) == 200
        line.sendall(b"GET /hea")
        assert status(everything(line)) == 408


def test_a_byte_too_early_does_not_tear_the_answer_before_it() -> None:
    async def slow(scope: Message, receive: Receive, send: Send) -> None:
        await asyncio.sleep(2 * LIMITS.header_timeout_s)
        await answer_ok(send)

    with serving(slow, LIMITS) as port, connected(port) as line:
        line.sendall(request("GET", "/slow") + b"GET")
        assert status(through_ok(line)) == 200


UPGRADE = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c")


def test_an_upgrade_is_passed_over_or_refused_in_words(listening: Listening) -> None:
    body = json.dumps({"query": "query q() { match { $p: Person } return { $p.name } }"}).encode()
    assert status(listening.say(request("GET", "/healthz", b"", *UPGRADE))) == 200
    refused = listening.say(request("POST", f"{G}/query", body, *UPGRADE))
    assert status(refused) == 400 and b"leave out the header Upgrade" in refused


def test_a_body_that_stops_is_told_so(listening: Listening) -> None:
    body = json.dumps({"query": "query q() { }"}).encode()
    whole = request("POST", f"{G}/query", body)
    assert status(listening.say(whole[:-5])) == 408


def test_a_body_that_is_larger_than_it_says_is_no_part_of_the_next_request(
    listening: Listening,
) -> None:
    body = b'{"query": "x"}'
    whole = request("POST", f"{G}/query", body, CLOSE) + b"GET /graphs HTTP/1.1\r\n\r\n"
    answer = listening.say(whole)
    assert (status(answer), answer.count(b"HTTP/1.1")) == (400, 1)


def test_a_large_body_is_cut_off(listening: Listening) -> None:
    declared = request("POST", f"{G}/query", b"", "Content-Length: 100000000")
    assert status(listening.say(declared)) == 413
    chunked = request(
        "POST", f"{G}/query", b"", "Content-Type: application/json", "Transfer-Encoding: chunked"
    )
    chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
    assert status(listening.say(chunked, chunk, chunk)) == 413


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
)
def test_what_is_no_http_is_refused(listening: Listening, nonsense: bytes) -> None:
    answer = listening.say(nonsense)
    assert status(answer) in (400, 404, 405)
    assert b"Traceback" not in answer


def test_two_requests_sent_at_once_are_answered_in_order(listening: Listening) -> None:
    answers = listening.say(request("GET", "/healthz") + request("GET", "/nothing", b"", CLOSE))
    first, second = answers.split(b"HTTP/1.1 ")[1:]
    assert (first[:3], second[:3]) == (b"200", b"404")


def test_a_write_whose_client_hangs_up_is_made_whole_or_not_at_all(listening: Listening) -> None:
    for n in range(5):
        body = json.dumps({"query": ADD, "params": {"name": f"hang{n}"}}).encode()
        with listening.connect() as line:
            line.sendall(request("POST", f"{G}/mutate", body))
    wait_until(lambda: listening.world.app.admission.writes_under_way() == 0, "a write hangs")
    wait_until(lambda: status(listening.say(HEALTH)) == 200, "the server is gone")
    # At one moment: the last write may only be begun by now.
    graph = listening.world.graph
    commits = graph.commits()
    names = graph.query(PEOPLE, snapshot=commits[0]).to_arrow()["p.name"].to_pylist()
    assert len(names) == len(set(names))
    assert len(commits) == 2 + sum(n.startswith("hang") for n in names)


def test_the_guard_is_what_uvicorn_was_given() -> None:
    assert guarded(LIMITS).__mro__[1].__name__ == "HttpToolsProtocol"
