"""Objects in a bucket, and the only door to `obstore`.

A conditional put is what everything here stands on: `swap` either replaces exactly the state it was
told, or does nothing. A store that ignores the condition loses commits in silence, so one is asked
to prove itself (`LeaseFences.require`) before anything is written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import ObjectStore, S3Store

from omnigraph.base.errors import StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.process import claim_process
from omnigraph.store.objects import StoredObject

if TYPE_CHECKING:
    from obstore import ObjectMeta

__all__ = ["BucketObjects", "ObjectState"]

# The code of S3's error. It comes with status 404, as a missing object does.
NO_BUCKET = "NoSuchBucket"
BUCKET_ADVICE = "check its name and AWS_ENDPOINT_URL, or make the bucket first"

# How long a request that fails is tried again: as long as a store that restarts may take.
RETRY_S = 20

# Where a machine of Amazon's is asked for credentials, if none were given.
ADVICE = "check the address, the AWS_… variables and that the bucket can be reached, and retry"
METADATA_SERVICE = "169.254.169.254"


@frozen
class ObjectState:
    name: str
    size: int
    tag: str


class BucketObjects:
    """Objects under a prefix of a bucket; never pickled, made anew in each process."""

    def __init__(self, store: ObjectStore, bucket: str) -> None:
        self._store = store
        self._bucket = bucket

    @classmethod
    def at(cls, bucket: str, prefix: str, options: Mapping[str, str]) -> "BucketObjects":
        with _failures(bucket, "reach", f"s3://{bucket}/{prefix}".rstrip("/")):
            store = S3Store(
                bucket,
                prefix=prefix or None,
                config=dict(options),  # type: ignore[arg-type]  # a plain mapping of the same
                retry_config={"retry_timeout": timedelta(seconds=RETRY_S)},
            )
        return cls(store, bucket)

    def put(self, name: str, data: bytes) -> None:
        with self._failures("write", name):
            self._store.put(name, data)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        return self.swap(name, data, expected=None) is not None

    def get(self, name: str) -> bytes | None:
        found = self.get_tagged(name)
        return found[0] if found is not None else None

    def get_tagged(self, name: str) -> tuple[bytes, str] | None:
        with self._failures("read", name):
            try:
                found = self._store.get(name)
            except FileNotFoundError as error:
                self._require_bucket(error)
                return None
            return bytes(found.bytes()), _tag(found.meta)

    def swap(self, name: str, data: bytes, *, expected: str | None) -> str | None:
        with self._failures("write", name):
            try:
                put = self._store.put(
                    name, data, mode="create" if expected is None else {"e_tag": expected}
                )
            except (AlreadyExistsError, PreconditionError):
                return None
            return put["e_tag"] or ""

    def exists(self, name: str) -> bool:
        return self.look_at(name) is not None

    def look_at(self, name: str) -> "ObjectState | None":
        with self._failures("look at", name):
            try:
                return _state(self._store.head(name))
            except FileNotFoundError:
                return None

    def fingerprint(self, name: str) -> str | None:
        found = self.look_at(name)
        return found.tag if found is not None else None

    def read_range(self, name: str, start: int, end: int) -> bytes:
        """Bytes of an object that is there; fewer where it ends."""
        with self._failures("read", name):
            return bytes(self._store.get_range(name, start=start, end=end))

    def states(self, folder: str) -> "Iterator[ObjectState]":
        """Of all objects below a folder, at any depth."""
        return map(_state, self._listed(folder))

    def list(self, folder: str) -> list[str]:
        with self._failures("list", folder):
            found = self._store.list_with_delimiter(folder)
            if not found["objects"] and not found["common_prefixes"]:
                self._require_store(folder)
        return sorted(entry["path"] for entry in found["objects"])

    def walk(self, folder: str) -> Iterator[str]:
        return (state.name for state in self.states(folder))

    def survey(self, folder: str) -> Iterator[StoredObject]:
        for meta in self._listed(folder):
            changed_at_ms = round(meta["last_modified"].timestamp() * 1000)
            yield StoredObject(meta["path"], meta["size"], changed_at_ms)

    def copy(self, source: str, target: str) -> None:
        with self._failures("copy", source):
            self._store.copy(source, target)
            # The answer to a copy is not looked at, and a login page is an answer too.
            if self.look_at(target) is None:
                raise FileNotFoundError(f"{target} was acknowledged, and is not there")

    def delete(self, name: str) -> None:
        with self._failures("delete", name):
            self._store.delete(name)

    def forget_folder(self, folder: str) -> None:
        """Nothing to do: a bucket knows objects only."""

    def sync(self, names: Iterable[str]) -> None:
        """Nothing to do: what a bucket has acknowledged, it keeps."""

    def sync_removal(self, name: str) -> None:
        """Nothing to do, as above."""

    def _listed(self, folder: str) -> "Iterator[ObjectMeta]":
        """All objects below a folder, at any depth."""
        is_empty = True
        with self._failures("list", folder):
            for page in self._store.list(folder or None):
                is_empty = is_empty and not page
                yield from page
            if is_empty:
                self._require_store(folder)

    def _require_store(self, folder: str) -> None:
        """Raise if it is no object store that answers: a login page is read as an empty listing."""
        self.look_at(folder or "-")

    def _failures(self, doing: str, name: str) -> AbstractContextManager[None]:
        return _failures(self._bucket, doing, name)

    def _require_bucket(self, error: FileNotFoundError) -> None:
        """Raise the error of a missing bucket. A missing object in it raises nothing."""
        if NO_BUCKET in str(error):
            raise error


def _state(meta: "ObjectMeta") -> ObjectState:
    return ObjectState(meta["path"], meta["size"], _tag(meta))


def _tag(meta: "ObjectMeta") -> str:
    """The ETag, which every object store sends; a login page of a proxy has none."""
    tag = meta["e_tag"]
    if tag is None:
        raise ValueError(
            "the answer has no ETag, so it does not come from an object store: "
            "a proxy or a login page may answer instead"
        )
    return tag


@contextmanager
def _failures(bucket: str, doing: str, name: str) -> Iterator[None]:
    claim_process()
    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        if NO_BUCKET in str(error):
            path, reason, advice = f"s3://{bucket}", "there is no such bucket", BUCKET_ADVICE
            raise StorageFailed(doing="reach", path=path, reason=reason, advice=advice) from error
        raise StorageFailed(
            doing=doing, path=name or ".", reason=_answer_of(error), advice=ADVICE
        ) from error


def _answer_of(error: Exception) -> str:
    """The store's answer in one line."""
    text = str(error)
    if METADATA_SERVICE in text:
        return "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    answer = re.search(r"<Message>(.*?)</Message>", text, re.DOTALL)
    return answer[1] if answer is not None else text.split("\n", maxsplit=1)[0]
