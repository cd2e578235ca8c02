"""Where something lies, and how to get there: on a disk, or in a bucket with access to it.

This is the only module that tells a disk from a bucket. A location is plain data that travels to
Spark's tasks by pickle, and carries what it takes to reach a bucket: a worker may not have the
driver's environment. Neither its text nor its repr shows a secret.

A graph has one location: links are followed once, when a person or a program names a graph
(`graph_location`). Lance compares addresses as text when it decides which files a fork still needs,
so a second spelling would cost data.
"""

import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.store.durability import Durability
from omnigraph.store.objects import DiskObjects, Objects, SwappableObjects

__all__ = [
    "BucketAccess",
    "BucketLocation",
    "DiskLocation",
    "Location",
    "graph_location",
    "is_bucket_address",
    "is_location",
    "is_within",
    "name_below",
    "source_location",
]

SCHEME = "s3://"
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# Letters that mean the same in a key and in an address, so that everyone reads the same.
SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9!_.*'()-]+")

DEFAULT_REGION = "us-east-1"


@frozen
class DiskLocation:
    path: Path
    """Absolute, as seen from where it was named."""

    is_on_disk: ClassVar[bool] = True
    options: ClassVar[None] = None

    def __str__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> "DiskLocation":
        """What lies below, by a name with `/`."""
        return DiskLocation(self.path / name)

    @property
    def parent(self) -> "DiskLocation":
        return DiskLocation(self.path.parent)

    @property
    def name(self) -> str:
        """The last part of its address."""
        return self.path.name

    def objects(self, durability: Durability = Durability.FSYNC) -> Objects:
        """The files below, as objects."""
        return DiskObjects(self.path, durability)


@frozen
class BucketLocation:
    bucket: str
    key: str
    """A prefix of keys, or the key of an object; without slashes at its ends. Empty is the whole
    bucket."""
    options: dict[str, str] = field(repr=False, hash=False, default_factory=dict)
    """How to reach the bucket, in the words of Lance and obstore: secrets too."""

    is_on_disk: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}".rstrip("/")

    def __truediv__(self, name: str) -> "BucketLocation":
        """What lies below, by a name with `/`."""
        return replace(self, key=f"{self.key}/{name}" if self.key else name)

    @property
    def parent(self) -> "BucketLocation":
        return replace(self, key=self.key.rpartition("/")[0])

    @property
    def name(self) -> str:
        """The last part of its address."""
        return PurePosixPath(self.key).name

    def objects(self, durability: Durability = Durability.FSYNC) -> SwappableObjects:
        """The objects below. A bucket keeps what it has acknowledged, whatever the durability."""
        from omnigraph.store.bucket import BucketObjects  # a disk needs no client of S3

        return BucketObjects.at(self.bucket, self.key, self.options)


Location = DiskLocation | BucketLocation


@frozen
class BucketAccess:
    """How to reach buckets. What is None is left to the store's own defaults."""

    region: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    endpoint: str | None = None
    """Of a store that is not Amazon's."""
    is_path_style: bool | None = None
    """True if the bucket is named in the path of a request, not in its host."""
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
            rule = "http sends the data unencrypted: use https, or set AWS_ALLOW_HTTP=true"
            raise ArgumentInvalid(argument="endpoint", value=self.endpoint, rule=rule)
        if self.is_path_style is False:
            return parts._replace(netloc=f"{bucket}.{parts.netloc}").geturl()
        return self.endpoint


def graph_location(uri: str, access: BucketAccess | None = None) -> Location:
    """The location of a graph that someone means by an address, in whichever spelling."""
    parts = urlsplit(uri)
    match parts.scheme:
        case "http" | "https":
            raise _refused(
                uri, "http:// is a server, not storage: give a path or s3://bucket/prefix"
            )
        case "s3":
            return _graph_in_bucket(uri, access or BucketAccess())
        case "file":
            if parts.netloc not in ("", "localhost"):
                raise _refused(uri, "file:// takes no host name: write file:///path")
            return _graph_on_disk(uri, Path(unquote(parts.path)))
        case scheme if scheme and "://" in uri:
            raise _refused(uri, f"{scheme}:// is not supported: give a path, or s3://bucket/prefix")
        case _ if not uri:
            raise _refused(uri, "the path is empty")
        case _:
            return _graph_on_disk(uri, Path(uri))


def source_location(uri: str, access: BucketAccess, *, argument: str = "source") -> BucketLocation:
    """The location in a bucket that an `s3://` address of a load's source, or of files, names.

    Unlike a graph's, its key may have any letters.
    """
    bucket, key = _bucket_and_key(uri, argument=argument)
    if "//" in key or key.startswith("/"):
        rule = 'the key contains an empty segment ("//")'
        raise _refused(uri, rule, argument=argument)
    return BucketLocation(bucket, key.rstrip("/"), access.options(bucket))


def name_below(location: Location, root: Location) -> str:
    """The name of a location below a root, as objects of the root use it."""
    return str(location).removeprefix(f"{root}/")


def is_within(inner: Location, outer: Location) -> bool:
    """True if a location is the other one, or lies below it."""
    match inner, outer:
        case DiskLocation(), DiskLocation():
            return inner.path.is_relative_to(outer.path)
        case BucketLocation(), BucketLocation():
            # The whole bucket has an empty key.
            prefix = f"{outer.key}/" if outer.key else ""
            return inner.bucket == outer.bucket and f"{inner.key}/".startswith(prefix)
        case _:
            return False


def is_bucket_address(text: str) -> bool:
    """True if a text is an address in a bucket, and not a path."""
    return text.startswith(SCHEME)


def is_location(uri: str) -> bool:
    """True if a graph may lie at this address, as far as its text tells."""
    try:
        graph_location(uri)
    except ArgumentInvalid:
        return False
    return True


def _graph_on_disk(uri: str, path: Path) -> DiskLocation:
    try:
        resolved = path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise _refused(uri, f"the path can't be resolved: {error}") from error
    try:
        str(resolved).encode()
    except UnicodeEncodeError:
        shown = str(resolved).encode(errors="backslashreplace").decode()
        raise _refused(shown, "the path is not UTF-8 text: rename the directory") from None
    if "?" in str(resolved):
        # Lance would put branches into another directory, whose name ends there.
        raise _refused(uri, "the path contains a question mark")
    return DiskLocation(resolved)


def _graph_in_bucket(uri: str, access: BucketAccess) -> BucketLocation:
    bucket, key = _bucket_and_key(uri, argument="graph")
    prefix = key.rstrip("/")
    if prefix and not all(SEGMENT.fullmatch(segment) for segment in prefix.split("/")):
        raise _refused(
            uri,
            "a prefix may contain only letters, digits and !_.*'()-, separated by single slashes",
        )
    return BucketLocation(bucket, prefix, access.options(bucket))


def _bucket_and_key(uri: str, *, argument: str) -> tuple[str, str]:
    bucket, _, key = uri.partition("://")[2].partition("/")
    if not BUCKET.fullmatch(bucket):
        raise _refused(
            uri, "the name of the bucket is missing or invalid: write s3://bucket/prefix", argument
        )
    return bucket, key


def _refused(uri: str, rule: str, argument: str = "graph") -> ArgumentInvalid:
    return ArgumentInvalid(argument=argument, value=uri, rule=rule)
