"""Where the graphs of a test lie: on a disk, and in a bucket of a real S3 server on loopback.

A test that takes `place` runs once on each. A place is an address; whoever opens one, in whichever
process, finds the way to the bucket in the environment.
"""

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.store.durability import Durability
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import LOCKS
from omnigraph.store.location import DiskLocation
from omnigraph.store.objects import Objects
from tests.buckets import BUCKET, CARELESS, ENDPOINT, location_of

# A program of its own: what it takes to be a server is no part of a test run.
SERVER = Path(__file__).with_name("s3_server.py")


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The endpoint of the one S3 server of a test run."""
    server = subprocess.Popen(
        [sys.executable, SERVER, CARELESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
    for bucket in (BUCKET, CARELESS):
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")).close()
    os.environ[ENDPOINT] = endpoint
    yield endpoint
    del os.environ[ENDPOINT]
    server.stdin.close()
    server.wait()
    server.stdout.close()


@pytest.fixture
def bucket(s3: str) -> str:
    """A place in a bucket where nothing is."""
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/g"


@pytest.fixture(params=["disk", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place where nothing is."""
    if request.param == "disk":
        return str(tmp_path / "place")
    return str(request.getfixturevalue("bucket"))


def copied(source: str, target: str) -> str:
    """All objects of a place, byte for byte, at another place; gives the other place."""
    read, written = _objects(source), _objects(target)
    for name in list(read.walk("")):
        written.put(name, read.get(name) or b"")
    return target


def moved(source: str, target: str) -> str:
    """The same, and nothing is left at the first place."""
    if isinstance(root := location_of(source), DiskLocation):
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        root.path.rename(target)
        return target
    copied(source, target)
    for name in list(_objects(source).walk("")):
        _objects(source).delete(name)
    return target


def _objects(place: str) -> Objects:
    return location_of(place).objects(Durability.RELAXED)


def let_leases_end(store: GraphStore) -> None:
    """What time does to the leases of a graph whose holders are dead. A disk has none."""
    for name in store.objects.list(LOCKS):
        record = json.loads(store.objects.get(name) or b"{}") if is_lease(name) else {}
        if record.get("owner") is not None:
            store.objects.put(name, json.dumps({**record, "expires_at_ms": 0}).encode())


def is_lease(name: str) -> bool:
    return not name.endswith((".lock", "/probe"))
