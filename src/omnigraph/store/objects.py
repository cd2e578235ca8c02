"""Small objects beside the datasets: the graph's id, schemas, sidecars.

An object is written whole or not at all, and once `put` returns it survives a power cut. Names use
`/` and are relative to the graph's root.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from omnigraph.base.errors import ArgumentInvalid, StorageFailed, Unsupported
from omnigraph.store.durability import Disk, Durability

__all__ = ["DiskObjects", "Objects", "graph_root"]

# A name that `list` never shows: a half-written object is nobody's.
UNFINISHED = ".unfinished-"


class Objects(Protocol):
    def put(self, name: str, data: bytes) -> None: ...

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """False, and nothing written, where the object is there already."""
        ...

    def get(self, name: str) -> bytes | None: ...

    def list(self, folder: str) -> list[str]:
        """The names of the objects in a folder, sorted; none where there is no folder."""
        ...

    def delete(self, name: str) -> None:
        """Gone afterwards, whether it was there or not."""
        ...


def graph_root(uri: str) -> Path:
    """The absolute path that a graph's address means."""
    parts = urlsplit(uri)
    match parts.scheme:
        case "http" | "https":
            raise ArgumentInvalid(
                argument="graph", value=uri, rule="it is a server to talk to, not a place to store"
            )
        case "s3":
            raise Unsupported(what="a graph on s3://", instead="use a path on a local disk")
        case "file":
            if parts.netloc not in ("", "localhost"):
                raise ArgumentInvalid(
                    argument="graph", value=uri, rule="a file:// address names no host"
                )
            return Path(unquote(parts.path)).absolute()
        case _ if not uri:
            raise ArgumentInvalid(argument="graph", value=uri, rule="an empty path names no place")
        case _:
            return Path(uri).expanduser().absolute()


class DiskObjects:
    def __init__(self, root: Path, durability: Durability = Durability.FSYNC) -> None:
        self._root = root
        self._disk = Disk(root, durability)

    def put(self, name: str, data: bytes) -> None:
        with _failures("write", name), self._written(name, data) as unfinished:
            unfinished.rename(self._root / name)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        with _failures("write", name), self._written(name, data) as unfinished:
            try:
                (self._root / name).hardlink_to(unfinished)
            except FileExistsError:
                return False
            return True

    def get(self, name: str) -> bytes | None:
        with _failures("read", name):
            try:
                return (self._root / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def list(self, folder: str) -> list[str]:
        with _failures("list", folder):
            try:
                names = [entry.name for entry in os.scandir(self._root / folder)]
            except FileNotFoundError:
                return []
        return sorted(f"{folder}/{n}" for n in names if not n.startswith(UNFINISHED))

    def delete(self, name: str) -> None:
        with _failures("delete", name):
            (self._root / name).unlink(missing_ok=True)

    @contextmanager
    def _written(self, name: str, data: bytes) -> Iterator[Path]:
        """The bytes under a name of their own, to be given the real one; then the names synced."""
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.parent / f"{UNFINISHED}{os.getpid()}-{os.urandom(8).hex()}"
        try:
            unfinished.write_bytes(data)
            # Before the rename: a name must never be durable before its bytes are.
            self._disk.sync_bytes([unfinished])
            yield unfinished
        finally:
            unfinished.unlink(missing_ok=True)
        self._disk.sync_names([target])


@contextmanager
def _failures(doing: str, name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageFailed(doing=doing, path=name, reason=reason) from error
