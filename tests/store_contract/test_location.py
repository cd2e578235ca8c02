"""Which addresses name a place to store, and how a bucket is reached."""

import os
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid, StorageFailed
from omnigraph.pipeline.sources.splits import LineRange
from omnigraph.store.datasets import TableHome, write_fragments
from omnigraph.store.location import (
    BucketAccess,
    BucketLocation,
    DiskLocation,
    graph_location,
    name_below,
)


def test_paths_and_file_addresses_name_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = DiskLocation(tmp_path / "my graph")
    assert graph_location("my graph") == place
    assert graph_location(str(place)) == place
    assert graph_location(f"file://{tmp_path}/my%20graph") == place
    assert graph_location("~/g") == DiskLocation(Path(os.environ["HOME"]) / "g")


@pytest.mark.parametrize(
    ("address", "root"),
    [
        ("s3://bucket/team/g", BucketLocation("bucket", "team/g")),
        ("s3://bucket/team/g//", BucketLocation("bucket", "team/g")),
        ("s3://my.bucket-1", BucketLocation("my.bucket-1", "")),
        ("s3://bucket/a.b_(1)!'*-", BucketLocation("bucket", "a.b_(1)!'*-")),
    ],
)
def test_an_s3_address_names_a_bucket_and_a_prefix(address: str, root: BucketLocation) -> None:
    access = BucketAccess()
    expected = replace(root, options=access.options(root.bucket))
    assert graph_location(address) == expected
    assert graph_location(str(root), access) == expected


@pytest.mark.parametrize(
    "address",
    [
        *("", "http://localhost:8080/g", "https://example.org/g", "file://elsewhere/g"),
        *("s3://", "s3:///g", "s3://UPPER/g", "s3://b/g", "s3://bucket/a//b", "s3://bucket/../g"),
        *("s3://bucket/a b", "s3://bucket/a%20b", "s3://bucket/a?b", "s3://bucket/a#b"),
    ],
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ArgumentInvalid):
        graph_location(address)


def test_a_path_that_is_not_utf_8_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """Lance takes its paths as UTF-8 text."""
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9/g"))

    def init() -> Graph:
        return Graph.init(place, "node Person { name: String @key }")

    for use in (init, partial(Graph.open, place)):
        with pytest.raises(ArgumentInvalid, match="UTF-8") as refused:
            use()
        assert str(refused.value).encode()  # a terminal can show it
    assert not any(tmp_path.iterdir())


def test_access_says_what_was_given_and_no_more() -> None:
    assert BucketAccess().options("b") == {"aws_region": "us-east-1"}
    given = BucketAccess(
        region="eu-west-1",
        access_key_id="key",
        secret_access_key="hidden",
        session_token="hidden too",
        endpoint="http://localhost:9000",
        is_path_style=True,
        allows_http=True,
    )
    assert given.options("b") == {
        "aws_region": "eu-west-1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "hidden",
        "aws_session_token": "hidden too",
        "aws_endpoint": "http://localhost:9000",
        "aws_allow_http": "true",
    }
    assert "hidden" not in repr(given)


def test_a_bucket_may_be_named_in_the_host() -> None:
    access = BucketAccess(endpoint="https://example.org:9000", is_path_style=False)
    assert access.options("b")["aws_endpoint"] == "https://b.example.org:9000"
    assert access.options("b")["aws_virtual_hosted_style_request"] == "true"


def test_an_endpoint_without_encryption_must_be_allowed() -> None:
    with pytest.raises(ArgumentInvalid, match="AWS_ALLOW_HTTP"):
        BucketAccess(endpoint="http://localhost:9000").options("b")


@pytest.mark.parametrize("uri", ["gs://bucket/graph", "az://bucket/graph", "hdfs://host/graph"])
def test_a_store_of_another_kind_is_refused_and_no_directory_of_its_name_is_made(uri: str) -> None:
    with pytest.raises(ArgumentInvalid, match="is not supported: give a path, or s3://"):
        graph_location(uri)


SECRETS = BucketAccess(access_key_id="known", secret_access_key="hidden", session_token="hidden")


@pytest.mark.parametrize("address", ["/data/g", "s3://bucket/g"])
def test_what_lies_below_is_reached_in_the_same_way(address: str) -> None:
    location = graph_location(address, SECRETS)
    found = location / "nodes/x"
    assert str(found) == f"{address}/nodes/x"
    assert name_below(found, location) == "nodes/x"
    assert found == location / "nodes" / "x"
    assert (found.parent, found.name) == (location / "nodes", "x")
    assert found.options == location.options


def test_the_whole_of_a_bucket_has_places_below() -> None:
    bucket = BucketLocation("bucket", "")
    assert str(bucket / "x") == "s3://bucket/x"
    assert (bucket / "x").parent == bucket


def test_a_location_shows_no_secret_wherever_it_is_printed() -> None:
    location = graph_location("s3://bucket/g", SECRETS)
    travelled = pickle.loads(pickle.dumps(location))
    assert travelled == location
    assert travelled.options["aws_secret_access_key"] == "hidden"
    for printed in (location, travelled, location / "x", {"at": location}, travelled.parent):
        assert "hidden" not in f"{printed} {printed!r}"
    assert "hidden" not in repr(LineRange("in.jsonl", location / "in.jsonl", 0, 1))
    with pytest.raises(StorageFailed) as caught:
        there = BucketLocation("not a bucket", "g", SECRETS.options("b"))
        write_fragments(TableHome(there, 1), iter([]), pa.schema([]))
    assert "hidden" not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"


def test_one_place_with_two_secrets_is_two_locations_of_one_hash() -> None:
    location, other = (
        graph_location("s3://bucket/g", BucketAccess(secret_access_key=s)) for s in ("a", "b")
    )
    assert location != other
    assert hash(location) == hash(other)
