"""Where a graph lies: a directory of a disk, or a prefix of a bucket.

A place has one root: links are followed once, when a person or a program names the place
(`graph_root`). Lance compares addresses as text when it decides which files a fork still needs, so
a second spelling would cost data.

A root is plain data that travels to Spark's tasks as its text (`root_at`). What it takes to reach a
bucket travels beside it, and never through a variable of the environment that a worker might not
have.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from omnigraph.base.errors import ArgumentInvalid

__all__ = [
    "BucketAccess",
    "BucketRoot",
    "DiskRoot",
    "Root",
    "bucket_and_key",
    "graph_root",
    "root_at",
]

BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# Letters that mean the same in a key and in an address, so that everyone reads one place.
SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9!_.*'()-]+")

DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class DiskRoot:
    path: Path
    """Absolute and without links, as seen from where the graph was opened."""

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class BucketRoot:
    bucket: str
    prefix: str
    """Without slashes at its ends; empty is the whole bucket."""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


Root = DiskRoot | BucketRoot


def graph_root(uri: str) -> Root:
    """The place that someone means by an address, in whichever spelling."""
    parts = urlsplit(uri)
    match parts.scheme:
        case "http" | "https":
            raise _refused(uri, "it is a server to talk to, not a place to store")
        case "s3":
            return _bucket_root(uri)
        case "file":
            if parts.netloc not in ("", "localhost"):
                raise _refused(uri, "a file:// address names no host")
            return _disk_root(uri, Path(unquote(parts.path)))
        case scheme if scheme and "://" in uri:
            raise _refused(uri, f"{scheme}:// is not supported: give a path, or s3://bucket/prefix")
        case _ if not uri:
            raise _refused(uri, "an empty path names no place")
        case _:
            return _disk_root(uri, Path(uri))


def root_at(address: str) -> Root:
    """The root whose text this is. No link is followed: a worker may have others than the driver.

    A folder below a root has an address too.
    """
    return _bucket_root(address) if address.startswith("s3://") else DiskRoot(Path(address))


def bucket_and_key(uri: str) -> tuple[str, str]:
    """What an `s3://` address names in a bucket; the key may have any letters."""
    bucket, _, key = uri.partition("://")[2].partition("/")
    if not BUCKET.fullmatch(bucket):
        raise _refused(uri, "an s3:// address begins with the name of a bucket", "source")
    if "//" in key or key.startswith("/"):
        raise _refused(uri, "between two slashes of an s3:// address there is a name", "source")
    return bucket, key


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """How to reach buckets. What is None is left to the store's own defaults."""

    region: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    endpoint: str | None = None
    """Of a store that is not Amazon's."""
    is_path_style: bool | None = None
    """Whether the bucket is named in the path of a request, not in its host."""
    allows_http: bool = False

    def options(self, bucket: str) -> dict[str, str]:
        """The same in the words of Lance and of obstore, who both speak `object_store`'s."""
        given: Mapping[str, str | None] = {
            "aws_region": self.region or DEFAULT_REGION,
            "aws_access_key_id": self.access_key_id,
            "aws_secret_access_key": self.secret_access_key,
            "aws_session_token": self.session_token,
            "aws_endpoint": self._endpoint_of(bucket),
            "aws_allow_http": "true" if self.allows_http else None,
            "aws_virtual_hosted_style_request": "true" if self.is_path_style is False else None,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _endpoint_of(self, bucket: str) -> str | None:
        if self.endpoint is None:
            return None
        parts = urlsplit(self.endpoint)
        if parts.scheme == "http" and not self.allows_http:
            rule = "http shows the data to the network: set AWS_ALLOW_HTTP=true if it may"
            raise ArgumentInvalid(argument="endpoint", value=self.endpoint, rule=rule)
        if self.is_path_style is False:
            return parts._replace(netloc=f"{bucket}.{parts.netloc}").geturl()
        return self.endpoint


def _disk_root(uri: str, path: Path) -> DiskRoot:
    try:
        resolved = path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise _refused(uri, f"it names no place: {error}") from error
    if "?" in str(resolved):
        # Lance would put branches into another directory, whose name ends there.
        raise _refused(uri, "the path of a graph holds no question mark")
    return DiskRoot(resolved)


def _bucket_root(uri: str) -> BucketRoot:
    bucket, _, prefix = uri.partition("://")[2].partition("/")
    if not BUCKET.fullmatch(bucket):
        raise _refused(uri, "an s3:// address begins with the name of a bucket")
    prefix = prefix.rstrip("/")
    if prefix and not all(SEGMENT.fullmatch(segment) for segment in prefix.split("/")):
        raise _refused(uri, "a prefix is made of letters, digits and !_.*'()-, between slashes")
    return BucketRoot(bucket, prefix)


def _refused(uri: str, rule: str, argument: str = "graph") -> ArgumentInvalid:
    return ArgumentInvalid(argument=argument, value=uri, rule=rule)
