"""Blobs over HTTP: ranges, tags and conditions, as a truth table."""

import pytest

from tests.surfaces.server.world import G, World

BYTES = b"hello world"
PATH = f"{G}/blob?entity=node&type=Person&id=ada&property=avatar"


@pytest.fixture(scope="module")
def tag(shared: World) -> str:
    etag: str = shared.head(PATH).headers["etag"]
    return etag


def test_a_blob_comes_whole_with_its_tag_and_its_commit(shared: World, tag: str) -> None:
    answer = shared.get(PATH)
    assert (answer.status_code, answer.content) == (200, BYTES)
    assert answer.headers["content-length"] == "11"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["accept-ranges"] == "bytes"
    commit = shared.graph.commits()[0].graph_commit_id
    assert answer.headers["omnigraph-snapshot-id"] == commit
    assert tag.startswith('"') and answer.headers["etag"] == tag
    at = shared.get(f"{PATH}&snapshot={commit}")
    assert (at.content, at.headers["etag"]) == (BYTES, tag)


@pytest.mark.parametrize(
    ("range_", "status", "bytes_", "where"),
    [
        ("bytes=0-4", 206, b"hello", "bytes 0-4/11"),
        ("bytes=6-", 206, b"world", "bytes 6-10/11"),
        ("bytes=-5", 206, b"world", "bytes 6-10/11"),
        ("bytes=-50", 206, BYTES, "bytes 0-10/11"),
        ("bytes=0-500", 206, BYTES, "bytes 0-10/11"),
        ("bytes=10-10", 206, b"d", "bytes 10-10/11"),
        ("bytes=11-", 416, None, "bytes */11"),
        ("bytes=50-60", 416, None, "bytes */11"),
        ("bytes=-0", 416, None, "bytes */11"),
        ("bytes=5-2", 200, BYTES, None),
        ("bytes=0-1,3-4", 200, BYTES, None),
        ("bytes=a-b", 200, BYTES, None),
        ("items=0-1", 200, BYTES, None),
        ("bytes=-", 200, BYTES, None),
    ],
)
def test_a_range_is_given_or_refused_or_not_understood(
    shared: World, tag: str, range_: str, status: int, bytes_: bytes | None, where: str | None
) -> None:
    answer = shared.get(PATH, headers={"range": range_})
    assert answer.status_code == status
    assert answer.headers.get("content-range") == where
    assert answer.headers["etag"] == tag
    if bytes_ is not None:
        assert answer.content == bytes_
        assert answer.headers["content-length"] == str(len(bytes_))
    else:
        assert answer.json()["code"] == "bad_request"
        assert answer.json()["blob_range"]["length"] == 11


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("if-match", "{tag}", 200),
        ("if-match", "*", 200),
        ("if-match", '"other", {tag}', 200),
        ("if-match", '"other"', 412),
        ("if-match", "W/{tag}", 412),
        ("if-none-match", "{tag}", 304),
        ("if-none-match", "W/{tag}", 304),
        ("if-none-match", "*", 304),
        ("if-none-match", '"other"', 200),
        ("if-range", "{tag}", 206),
        ("if-range", '"other"', 200),
        ("if-range", "W/{tag}", 200),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_condition_holds_or_does_not(
    shared: World, tag: str, method: str, header: str, value: str, status: int
) -> None:
    headers = {header: value.format(tag=tag)}
    if header == "if-range":
        headers["range"] = "bytes=0-4"
        status = 200 if method == "HEAD" else status  # a range means nothing to HEAD
    answer = shared.request(method, PATH, headers=headers)
    assert answer.status_code == status
    assert answer.headers["etag"] == tag
    if method == "HEAD" or status == 304:
        assert answer.content == b""
    if status == 304:
        assert "content-length" not in answer.headers, "it would be that of the bytes"
    if method == "HEAD" and status == 200:
        assert answer.headers["content-length"] == "11"
    if method == "GET" and status == 412:
        assert (answer.json()["code"], answer.json()["details"]["code"]) == (
            "conflict",
            "blob_changed",
        )


def test_tags_in_several_headers_are_one_list(shared: World, tag: str) -> None:
    for name, status in (("if-match", 200), ("if-none-match", 304)):
        headers = [(name, '"other"'), (name, tag)]
        assert shared.get(PATH, headers=headers).status_code == status


def test_another_value_has_another_tag(world: World) -> None:
    before = world.head(PATH).headers["etag"]
    line = b'{"type": "Person", "data": {"name": "ada", "avatar": "base64:Ynll"}}'
    kind = {"content-type": "application/x-ndjson"}
    assert world.post(f"{G}/load/ndjson", content=line, headers=kind).is_success
    answer = world.get(PATH)
    assert (answer.content, answer.headers["etag"] != before) == (b"bye", True)
    assert world.get(PATH, headers={"if-match": before}).status_code == 412
