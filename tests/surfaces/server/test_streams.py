"""Streams: forms of answers, packing, the pace of the client, and clients that go."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import anyio
import msgspec
import pyarrow as pa
import pytest

from omnigraph.surfaces.server.calls import NDJSON, Pulled, Pushed, Reply, Sink
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.presence import ClientGone
from omnigraph.surfaces.server.sending import Sender, Sending
from tests.surfaces.server.asgi import Client, call
from tests.surfaces.server.world import PEOPLE, G, World, make_graph, serve_here

ARROW = {"accept": "application/vnd.apache.arrow.stream"}
MANY = 12_000
NOTES = "query notes() { match { $n: Note } return { $n.text } order { $n.text } }"
PAIRS = (
    "query pairs() { match { $a: Note  $b: Note  $a.text < $b.text } return { count($a) as n } }"
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A server with more rows than one piece of JSON holds."""
    graph = make_graph(tmp_path_factory.mktemp("many"))
    lines = (json.dumps({"type": "Note", "data": {"text": f"{n:06}"}}) for n in range(MANY))
    graph.load("\n".join(lines).encode(), mode="append", engine="local")
    return serve_here(graph)


def test_arrow_holds_the_rows_that_json_does(many: World) -> None:
    plain = many.query(NOTES)
    answer = many.post(f"{G}/query", json={"query": NOTES}, headers=ARROW)
    assert answer.headers["content-type"] == ARROW["accept"]
    assert answer.headers["omnigraph-snapshot-id"] == plain.json()["graph_commit_id"]
    with pa.ipc.open_stream(answer.content) as stream:
        assert stream.read_all().to_pylist() == plain.json()["rows"]
    assert plain.json()["row_count"] == len(plain.json()["rows"]) == MANY
    assert "content-length" not in plain.headers


def test_an_answer_without_rows_is_one_in_every_form(many: World) -> None:
    none = "query none() { match { $c: Company { name: $x } } return { $c.name } }"
    source = none.replace("()", "($x: String)")
    body = {"query": source, "params": {"x": "nobody"}}
    assert many.post(f"{G}/query", json=body).json()["rows"] == []
    with pa.ipc.open_stream(many.post(f"{G}/query", json=body, headers=ARROW).content) as stream:
        assert stream.read_all().num_rows == 0


@pytest.mark.parametrize("accepted", ["gzip", "zstd", "gzip;q=0.5, zstd", "br, gzip", "zstd;q=0"])
@pytest.mark.parametrize("path", ["query", "export"])
def test_an_answer_is_packed_as_the_client_asks(many: World, accepted: str, path: str) -> None:
    body = {"query": NOTES} if path == "query" else {"type_names": ["Note"]}
    plain = many.post(f"{G}/{path}", json=body).content
    with many.client.stream(
        "POST", f"{G}/{path}", json=body, headers={"accept-encoding": accepted}
    ) as answer:
        raw = b"".join(answer.iter_raw())
    packing = answer.headers.get("content-encoding")
    match packing:
        case "gzip":
            assert gzip.decompress(raw) == plain
        case "zstd":
            with pa.CompressedInputStream(pa.BufferReader(raw), "zstd") as stream:
                assert stream.read() == plain
        case _:
            assert raw == plain
    expected = {"zstd;q=0": None, "gzip": "gzip", "br, gzip": "gzip"}
    assert packing == expected.get(accepted, "zstd")
    if packing is not None:
        assert len(raw) < len(plain) / 3


def test_a_small_answer_is_not_packed(many: World) -> None:
    answer = many.post(
        f"{G}/query", json={"query": PEOPLE}, headers={"accept-encoding": "gzip, zstd"}
    )
    assert "content-encoding" not in answer.headers


def test_times_and_numbers_are_exact_in_json(many: World) -> None:
    source = "query q() { match { $p: Person } return { $p.name, $p.big, $p.born } }"
    rows = {row["p.name"]: row for row in many.query(source).json()["rows"]}
    assert rows["bob"]["p.big"] == 9007199254740993
    assert rows["ada"]["p.born"] == "1815-12-10T06:00:00Z"


# Clients that go, or stand still ------------------------------------------------------------------


def test_a_client_that_goes_ends_its_read(many: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="omnigraph.server"):
        body = msgspec.json.encode({"query": PAIRS})
        client = call(many.app, Client([body], goes_after=0), "POST", f"{G}/query")
    assert client.sent == []
    (line,) = [r.members for r in caplog.records if hasattr(r, "members")]
    assert (line["status"], line["client_gone"]) == (499, True)
    assert "rows" not in line, "the query ran to its end"


@pytest.mark.parametrize("form", ["application/json", ARROW["accept"]])
@pytest.mark.parametrize("what", ["rows", "bytes"])
def test_an_answer_above_the_limit_is_refused_and_says_how_to_ask_for_pages(
    many: World, form: str, what: str
) -> None:
    limits = {
        "rows": ServerLimits(max_answer_rows=MANY - 1),
        "bytes": ServerLimits(max_answer_bytes=MANY),
    }
    world = serve_here(many.graph, limits=limits[what])
    headers = {"accept": form}
    refused = world.post(f"{G}/query", json={"query": NOTES}, headers=headers)
    assert refused.status_code == 413
    told = refused.json()
    assert told["details"]["code"] == "resource_limit"
    assert f"number of {what} of the answer" in told["error"]
    assert "limit and offset" in told["hint"]
    page = NOTES.rstrip("} ") + " } limit 500 offset 500 }"
    assert world.post(f"{G}/query", json={"query": page}, headers=headers).status_code == 200
    assert world.post(f"{G}/export", json={"type_names": ["Note"]}).status_code == 200


def test_a_client_that_goes_ends_its_mutation(world: World) -> None:
    inserts = " ".join(f'insert Person {{ name: "gone{n}" }}' for n in range(3_000))
    body = msgspec.json.encode({"query": f"query q() {{ {inserts} }}"})
    head = world.graph.commits(limit=1)
    client = call(world.app, Client([body], goes_after=0), "POST", f"{G}/mutate")
    assert client.sent == []
    assert world.graph.commits(limit=1) == head
    assert world.app.admission.writes_under_way() == 0


class Counted:
    """Makes pieces, and counts how many it was asked for."""

    def __init__(self, pieces: int, *, fails_after: int | None = None) -> None:
        self.pieces = pieces
        self.fails_after = fails_after
        self.made = 0

    def __iter__(self) -> Iterator[bytes]:
        for number in range(self.pieces):
            if number == self.fails_after:
                raise OSError("the disk is gone")
            self.made += 1
            yield b"x" * 1000

    def pulled(self) -> Reply:
        return Pulled(iter(self), NDJSON)

    def pushed(self) -> Reply:
        def produce(sink: Sink) -> None:
            for piece in self:
                sink.write(piece)

        return Pushed(produce, NDJSON)


def send(reply: Reply, client: Client, *, stall_s: float = 60.0) -> Sending:
    out = Sending(client.send, {})

    async def run() -> None:
        threads = [anyio.CapacityLimiter(2) for _ in range(2)]
        limits = ServerLimits(stall_timeout_s=stall_s)
        sender = Sender(limits, pulling=threads[0], pushing=threads[1])
        await sender.send(reply, out, client.receive)

    anyio.run(run)
    return out


@pytest.mark.parametrize("way", ["pulled", "pushed"])
def test_all_pieces_arrive_in_order_and_the_end_with_them(way: str) -> None:
    made = Counted(50)
    client = Client()
    out = send(getattr(made, way)(), client)
    assert client.is_complete
    assert (out.sent_bytes, made.made) == (50_000, 50)


@pytest.mark.parametrize("way", ["pulled", "pushed"])
def test_nothing_is_made_ahead_of_a_client_that_stands_still(way: str) -> None:
    made = Counted(1000)
    with pytest.raises(ClientGone):
        send(getattr(made, way)(), Client(stalls_after=3), stall_s=0.2)
    assert made.made <= 6, "memory is bounded: some pieces are waiting, and no more"


@pytest.mark.parametrize("way", ["pulled", "pushed"])
def test_nothing_more_is_made_for_a_client_that_has_gone(way: str) -> None:
    made = Counted(100_000)
    client = Client(goes_after=4)
    with pytest.raises(ClientGone):
        send(getattr(made, way)(), client)
    assert made.made < 1000
    assert not client.is_complete


@pytest.mark.parametrize("way", ["pulled", "pushed"])
def test_a_failure_before_the_first_piece_is_an_answer_of_its_own(way: str) -> None:
    client = Client()
    with pytest.raises(OSError, match="the disk is gone"):
        send(getattr(Counted(5, fails_after=0), way)(), client)
    assert client.sent == []


@pytest.mark.parametrize("way", ["pulled", "pushed"])
def test_a_failure_in_the_middle_leaves_the_answer_without_an_end(way: str) -> None:
    client = Client()
    with pytest.raises(OSError, match="the disk is gone"):
        send(getattr(Counted(5, fails_after=2), way)(), client)
    assert client.status == 200
    assert not client.is_complete


def test_an_export_stops_when_its_client_does(many: World) -> None:
    limited = serve_here(many.graph, limits=ServerLimits(stall_timeout_s=0.2))
    client = Client([b"{}"], stalls_after=2)
    call(limited.app, client, "POST", f"{G}/export")
    assert (client.status, client.is_complete) == (200, False)
    # All threads are free again.
    done: Any = call(limited.app, Client([b"{}"]), "POST", f"{G}/export")
    assert done.is_complete


def test_a_body_that_does_not_come_is_told_so(many: World) -> None:
    limited = serve_here(many.graph, limits=ServerLimits(body_timeout_s=0.05))
    client = call(limited.app, Client([b'{"que', None]), "POST", f"{G}/query")
    assert client.status == 408
    assert (b"connection", b"close") in client.sent[0]["headers"] or client.is_complete


def test_a_client_that_goes_while_it_sends_is_answered_nothing(many: World) -> None:
    client = call(many.app, Client([], goes_after=0), "POST", f"{G}/query")
    assert client.sent == []
