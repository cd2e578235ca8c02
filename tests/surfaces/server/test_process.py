"""A server as a process: it starts, reloads, stops, and dies without losing what it promised."""

import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from omnigraph import Graph
from tests.processes import PATIENCE_S, wait_until
from tests.surfaces.cli import CommandLine
from tests.surfaces.server.process import server_process
from tests.surfaces.server.world import QUERIES, G, make_graph

OPEN = "--unauthenticated"
NOTE = "query note($text: String) { insert Note { text: $text } }"
NOTES = "query notes() { match { $n: Note } return { $n.text } }"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    make_graph(tmp_path)
    return tmp_path / "people.omni"


def test_a_request_under_way_is_answered_after_a_signal_to_stop(store: Path) -> None:
    body = json.dumps({"query": NOTE, "params": {"text": "late"}}).encode()
    head = (
        f"POST {G}/mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    with (
        server_process(store, OPEN) as server,
        socket.create_connection((server.host, server.port), PATIENCE_S) as line,
    ):
        line.sendall(head + body[:5])
        assert httpx2.get(f"{server.url}/healthz").is_success
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("Shutting down")
        line.sendall(body[5:])
        answer = b""
        while part := line.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200")
        assert server.process.wait(PATIENCE_S) == 0
        assert server.wait_for("stopped")
    texts = Graph.open(store, read_only=True).query(NOTES).to_pylist()
    assert texts == [{"n.text": "late"}]


def test_a_reload_takes_all_that_is_new_or_nothing(store: Path, tmp_path: Path) -> None:
    tokens, queries = tmp_path / "tokens.json", tmp_path / "queries.gq"
    tokens.touch(0o600)
    tokens.write_text('{"ada": "old"}')
    queries.write_text(QUERIES)
    environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(tokens)}
    with server_process(store, "--queries", str(queries), environment=environment) as server:

        def status(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            return httpx2.get(f"{server.url}{G}/schema", headers=headers).status_code

        assert (status("old"), status("new")) == (200, 401)
        tokens.write_bytes(b'{"ada": "\xff"}')
        server.process.send_signal(signal.SIGHUP)
        assert "not UTF-8" in server.wait_for("the reload was refused")["message"]
        server.lines.clear()
        tokens.write_text('{"ada": "new"}')
        queries.write_text("query broken(")
        server.process.send_signal(signal.SIGHUP)
        refused = server.wait_for("the reload was refused")
        assert "Q000" in refused["message"] or "queries.gq" in refused["message"]
        assert (status("old"), status("new")) == (200, 401)
        queries.write_text("query all() { match { $n: Note } return { $n.text } }")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("reloaded")
        assert (status("old"), status("new")) == (401, 200)
        assert server.stop(signal.SIGINT) == 0
        assert not [line for line in server.lines if "old" in json.dumps(line)]


def test_every_acknowledged_write_is_there_after_a_kill_and_none_is_there_twice(
    store: Path,
) -> None:
    acknowledged: list[str] = []
    sent: list[str] = []

    def write(url: str, who: int) -> None:
        with httpx2.Client(base_url=url, timeout=PATIENCE_S) as client:
            for n in range(10_000):
                text = f"{who}-{n}"
                sent.append(text)
                try:
                    body = {"query": NOTE, "params": {"text": text}}
                    answer = client.post(f"{G}/mutate", json=body)
                except httpx2.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                acknowledged.append(text)

    with server_process(store, OPEN) as server:
        writers = [threading.Thread(target=write, args=(server.url, n)) for n in range(3)]
        for writer in writers:
            writer.start()
        wait_until(lambda: len(acknowledged) >= 12, "no write was acknowledged")
        server.process.send_signal(signal.SIGKILL)
        assert server.process.wait(PATIENCE_S) == -signal.SIGKILL
        for writer in writers:
            writer.join()
    with server_process(store, OPEN) as server:
        rows = httpx2.post(f"{server.url}{G}/query", json={"query": NOTES}).json()["rows"]
        found = [row["n.text"] for row in rows]
        assert len(found) == len(set(found)), "a write is there twice"
        assert set(acknowledged) <= set(found) <= set(sent)
        again = httpx2.post(
            f"{server.url}{G}/mutate", json={"query": NOTE, "params": {"text": "after"}}
        )
        assert again.is_success
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "a server needs tokens"),
        ([OPEN, "--bind", "203.0.113.1:80"], "it can't be listened to"),
    ],
)
def test_a_server_that_can_not_start_says_why(store: Path, options: list[str], says: str) -> None:
    command = [sys.executable, "-m", "omnigraph", "serve", "--store", str(store), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 1
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_address_that_is_none_is_refused(omnigraph: CommandLine) -> None:
    for bind in ("nowhere", ":80", "host:", "host:x", "host:70000", "host:-1"):
        answer = omnigraph("serve", "--store", "x.omni", "--bind", bind)
        assert answer.exit_code == 1
        assert "it must be a host and a port" in answer.err


def test_the_server_has_a_command_of_its_own() -> None:
    command = [str(Path(sys.executable).with_name("omnigraph-server")), "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert shown.returncode == 0
    assert "--unauthenticated" in shown.stdout
