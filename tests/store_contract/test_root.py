"""Which addresses name a place to store, and how a bucket is reached."""

import os
from pathlib import Path

import pytest

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.store.root import BucketAccess, BucketRoot, DiskRoot, graph_root


def test_paths_and_file_addresses_name_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = DiskRoot(tmp_path / "my graph")
    assert graph_root("my graph") == place
    assert graph_root(str(place)) == place
    assert graph_root(f"file://{tmp_path}/my%20graph") == place
    assert graph_root("~/g") == DiskRoot(Path(os.environ["HOME"]) / "g")


@pytest.mark.parametrize(
    ("address", "root"),
    [
        ("s3://bucket/team/g", BucketRoot("bucket", "team/g")),
        ("s3://bucket/team/g//", BucketRoot("bucket", "team/g")),
        ("s3://my.bucket-1", BucketRoot("my.bucket-1", "")),
        ("s3://bucket/a.b_(1)!'*-", BucketRoot("bucket", "a.b_(1)!'*-")),
    ],
)
def test_an_s3_address_names_a_bucket_and_a_prefix(address: str, root: BucketRoot) -> None:
    assert graph_root(address) == root
    assert graph_root(str(root)) == root


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
        graph_root(address)


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
        graph_root(uri)
