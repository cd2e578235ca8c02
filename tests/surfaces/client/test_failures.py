"""What a caller is told when a server is not there, is no server of ours, or hangs up."""

import json
import logging
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.engine.settings import TokenSources
from omnigraph.errors import (
    AnswerUnreadable,
    ArgumentInvalid,
    OmnigraphError,
    OutcomeUnknown,
    PathMissing,
    PolicyDenied,
    QueryCancelled,
    ServerFailed,
    ServerUnreachable,
    Unauthorized,
)
from omnigraph.surfaces.client.connection import Connection
from omnigraph.surfaces.client.exchange import TRIES, Exchange
from omnigraph.surfaces.client.pool import Address
from omnigraph.surfaces.server.access import DefaultDeny
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.rows import arrow_pieces
from omnigraph.surfaces.server.tokens import read_tokens
from tests.processes import PATIENCE_S
from tests.surfaces.client.served import answering, hurried, served, silent
from tests.surfaces.server.world import ADD, PEOPLE, make_graph, serve_here

TOKEN = "a-secret-that-nobody-may-see"
BRANCHES = b'["main"]'


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def connected(url: str, pauses: list[float] | None = None, timeout_s: float = 60) -> Graph:
    pause: Callable[[float], None] = (pauses if pauses is not None else []).append
    exchange = Exchange(Address.parse(url), token=TOKEN, timeout_s=timeout_s, pause=pause)
    return Graph(Connection(exchange))


def nowhere() -> str:
    """A port where nobody listens any more."""
    with answering() as line:
        return line.url


# Reads are tried again, writes are not ------------------------------------------------------------


def test_a_read_that_is_not_answered_is_sent_again() -> None:
    pauses: list[float] = []
    with answering(None, answer(BRANCHES)[:-3], answer(BRANCHES)) as line:
        assert connected(line.url, pauses).branches() == ["main"]
    assert len(line.asked) == TRIES and len(pauses) == TRIES - 1 and pauses == sorted(pauses)


def test_a_read_that_is_never_answered_fails_with_nothing_written() -> None:
    with (
        answering(*[None] * TRIES) as line,
        pytest.raises(ServerUnreachable, match="closed before an answer") as failed,
    ):
        connected(line.url).branches()
    assert "nothing was written" in str(failed.value.hint)


@pytest.mark.parametrize("torn", [None, answer(b'{"~": "Mut', "200 OK")[:-3], b"HTTP/1.1 20"])
def test_a_write_whose_answer_is_lost_is_sent_once_and_its_outcome_is_unknown(
    torn: bytes | None,
) -> None:
    with answering(torn) as line, pytest.raises(OutcomeUnknown) as failed:
        connected(line.url).mutate(ADD, {"name": "x"})
    assert len(line.asked) == 1 and "before you retry" in str(failed.value.hint)


def test_a_write_that_was_never_sent_has_written_nothing() -> None:
    with pytest.raises(ServerUnreachable, match="refused"):
        connected(nowhere()).mutate(ADD, {"name": "x"})


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    busy = answer(b'{"error": "busy"}', "503 Service Unavailable", "Retry-After: 2")
    pauses: list[float] = []
    with answering(busy, answer(BRANCHES)) as line:
        assert connected(line.url, pauses).branches() == ["main"]
    assert pauses == [2.0]


@pytest.mark.parametrize("when", ["3600", "soon"])
def test_a_server_that_wants_a_long_pause_is_not_waited_for(when: str) -> None:
    busy = answer(b'{"error": "busy"}', "503 Service Unavailable", f"Retry-After: {when}")
    with answering(busy) as line, pytest.raises(ServerFailed, match="busy"):
        connected(line.url).branches()


# What comes is no answer --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("came", "told"),
    [
        (answer(b"<html>502 Bad Gateway</html>", "502 Bad Gateway"), "<html>502 Bad Gateway"),
        (answer(b"<html>welcome</html>"), "no JSON"),
        (answer(b'{"branches": ["main"]}'), "is no list"),
        (answer(b"[1]"), "1 is no str"),
        (answer(b"[" * 100_000), "nested too deeply"),
        (answer(b"", "302 Found", "Location: https://login.example"), "sends on to https://login"),
        (answer(b"", "304 Not Modified"), "no answer"),
        (answer(b'{"error": 7}', "400 Bad Request"), "no error of ours"),
        (answer(b"[" * 100_000, "400 Bad Request"), "no error of ours"),
    ],
)
def test_an_answer_that_is_none_is_told_as_such(came: bytes, told: str) -> None:
    with answering(came) as line, pytest.raises(AnswerUnreadable, match="can't be read") as failed:
        connected(line.url).branches()
    assert told in str(failed.value)


def test_rows_that_are_torn_are_no_rows() -> None:
    head = ("Omnigraph-Query-Name: q", "Omnigraph-Snapshot-Id: 01")
    whole = b"".join(arrow_pieces(pa.table({"p.name": ["ada"] * 100})))
    flipped = whole[:16] + bytes(64) + whole[80:]
    bodies = (b"ARROW1", whole[:-200], whole[:40], flipped)
    came = [answer(body, "200 OK", *head) for body in bodies]
    for torn in (*came, answer(b"", "200 OK"), answer(whole, "200 OK")):
        with answering(torn) as line, pytest.raises(AnswerUnreadable, match="no rows"):
            connected(line.url).query(PEOPLE)


def test_an_export_without_its_last_line_leaves_no_file(tmp_path: Path) -> None:
    row = b'{"type": "Person", "data": {"name": "ada"}}\n'
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2c\r\n" + row + b"\r\n"
    for torn in (answer(row * 2), answer(row + b'{"~": "E'), answer(row * 2)[:-5], chunks):
        with answering(torn) as line, pytest.raises(AnswerUnreadable):
            connected(line.url).export(tmp_path / "rows.jsonl")
    assert not list(tmp_path.iterdir())


def test_bytes_of_a_blob_that_are_others_are_refused() -> None:
    found = (
        b'{"type_name": "P", "entity_id": "a", "property": "x", "size": 9, "etag": "e",'
        b' "graph_commit_id": "01"}'
    )
    with answering(answer(found), answer(b"123", "200 OK")) as line:
        blob = connected(line.url).blob("node", "P", "a", "x")
        with pytest.raises(AnswerUnreadable, match="not the bytes"):
            blob.read(0, 3)
    assert b"GET /graphs/people/blob?entity=node&type=P&id=a" in line.asked[1]


def test_a_defect_of_the_server_is_told_with_the_id_in_its_log() -> None:
    body = b'{"error": "the server could not carry this out", "request_id": "abc"}'
    failure = answer(body, "500 Internal Server Error")
    with answering(failure) as line, pytest.raises(ServerFailed) as failed:
        connected(line.url).mutate(ADD, {"name": "x"})
    assert "abc" in str(failed.value.hint)


# No connection ------------------------------------------------------------------------------------


def test_a_server_that_says_nothing_is_waited_for_as_long_as_is_said() -> None:
    with silent() as line, pytest.raises(OutcomeUnknown, match="in time"):
        connected(line.url, timeout_s=0.2).mutate(ADD, {"name": "x"})


def test_a_server_that_is_not_there_is_told_by_its_address() -> None:
    with pytest.raises(ServerUnreachable, match=r"http://127.0.0.1:\d+/graphs/people"):
        connected(nowhere()).branches()


def test_tls_where_there_is_none_fails_at_once() -> None:
    pauses: list[float] = []
    plain = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with hurried(plain) as line, pytest.raises(ServerUnreachable, match="TLS"):
        connected(line.url.replace("http:", "https:"), pauses).branches()
    assert not pauses


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    with silent(context) as line, pytest.raises(ServerUnreachable, match="not trusted"):
        connected(line.url.replace("http:", "https:")).branches()


def self_signed(folder: Path) -> Path:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(private + certificate.public_bytes(encoding))
    return folder / "both.pem"


@pytest.mark.parametrize(
    ("url", "graph", "told"),
    [
        ("ftp://host/graphs/g", None, "must be a URL"),
        ("host:80", "g", "must be a URL"),
        ("http://", "g", "must be a URL"),
        ("http://host:x", "g", "no URL"),
        ("http://a..b", "g", "no URL"),
        (f"http://{'a' * 70}.com", "g", "no URL"),
        ("http://\x00", "g", "can't be printed"),
        (7, "g", "must be text"),
        ("http://host", None, "names a server and no graph"),
        (f"http://me:{TOKEN}@host", "g", "no user"),
        (f"http://host/graphs/g?token={TOKEN}", None, "no user, query"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url: Any, graph: str | None, told: str) -> None:
    with pytest.raises(ArgumentInvalid, match=told) as refused:
        Graph.connect(url, graph=graph)
    assert TOKEN not in refused.value.render()


@pytest.mark.parametrize("wrong", ["", "two words", "a\r\nX: y", "ü"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_repeated(wrong: str) -> None:
    with pytest.raises(ArgumentInvalid, match="printable ASCII") as refused:
        Graph.connect("http://host", graph="g", token=wrong)
    assert not wrong or wrong not in refused.value.render()


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), "5"])
def test_a_time_that_is_none_is_refused(timeout_s: Any) -> None:
    with pytest.raises(ArgumentInvalid, match="above 0"):
        Graph.connect("http://host", graph="g", timeout_s=timeout_s)


def test_a_server_may_be_waited_for_without_end() -> None:
    with answering(answer(BRANCHES)) as line:
        graph = Graph.connect(line.url, timeout_s=float("inf"))
        assert graph.branches() == ["main"]


def test_a_path_is_sent_as_a_path_can_be() -> None:
    with answering(answer(BRANCHES)) as line:
        graph = Graph.connect(f"{line.url}/graphs/é é%20x")
        assert graph.branches() == ["main"]
    assert graph.uri.endswith("/graphs/%C3%A9%20%C3%A9%20x")


# Tokens, cancellation, many threads ---------------------------------------------------------------


def test_a_token_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), answering(answer(BRANCHES), None, None, None) as line:
        graph = connected(line.url)
        graph.branches()
        with pytest.raises(OmnigraphError) as failed:
            graph.branches()
    assert f"Authorization: Bearer {TOKEN}".encode() in line.asked[0]
    said = [repr(graph), repr(graph.backend), graph.uri, failed.value.render(), caplog.text]
    said += [repr(graph.branch), str(failed.value.to_json()), repr(failed.value)]
    assert not any(TOKEN in each for each in said)


def test_a_server_with_tokens_knows_who_asks(tmp_path: Path) -> None:
    tokens = read_tokens(TokenSources(json=json.dumps({"ada": TOKEN})))
    app = serve_here(make_graph(tmp_path), access=DefaultDeny(tokens)).app
    with served(app) as url:
        assert Graph.connect(url, graph="people", token=TOKEN).branches() == ["main"]
        with pytest.raises(PolicyDenied) as denied:
            Graph.connect(url, graph="people", token=TOKEN).mutate(ADD, {"name": "x"})
        assert denied.value.actor == "ada"
        for token in (None, "another"):
            with pytest.raises(Unauthorized):
                Graph.connect(url, graph="people", token=token).branches()
        with pytest.raises(PathMissing):
            Graph.connect(url, graph="nothing", token=TOKEN).branches()


def test_a_query_that_is_cancelled_hangs_up() -> None:
    cancel = threading.Event()
    with silent() as line:
        threading.Timer(0.05, cancel.set).start()
        with pytest.raises(QueryCancelled):
            connected(line.url).query(PEOPLE, cancel=cancel)


def test_a_connection_is_kept_between_requests_and_shared_by_threads(tmp_path: Path) -> None:
    world = serve_here(make_graph(tmp_path))
    answers: list[Any] = []
    with served(world.app) as url:
        graph = Graph.connect(url, graph="people")

        def ask() -> None:
            for _ in range(3):
                answers.append(graph.query(PEOPLE).to_pylist())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        pool = graph.backend._exchange._pool  # type: ignore[attr-defined]
        assert 1 <= len(pool._idle) <= 4
        graph.close()
        assert not pool._idle and graph.branches() == ["main"]
        graph.close()
    assert len(answers) == 12 and all(
        each == world.graph.query(PEOPLE).to_pylist() for each in answers
    )


def test_a_body_that_is_refused_before_it_was_read_is_answered(tmp_path: Path) -> None:
    limits = ServerLimits(max_body_bytes=1 << 10)
    with served(serve_here(make_graph(tmp_path), limits=limits).app) as url:
        graph = Graph.connect(url, graph="people")
        with pytest.raises(OmnigraphError) as refused:
            graph.mutate(ADD, {"name": "x" * (40 << 20)})
    assert refused.value.code == "resource_limit"
