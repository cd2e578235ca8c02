"""What the operating system refuses, as an error of ours that names the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.base.errors import FileMissing, StorageFailed

__all__ = ["disk_failures", "reading_file", "reason_of"]


@contextmanager
def disk_failures(doing: str, path: Path | str) -> Iterator[None]:
    """Raise `StorageFailed` for an `OSError`. `doing` is what we were about to do with the file."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(doing=doing, path=str(path), reason=reason_of(error)) from error


@contextmanager
def reading_file(path: Path | str) -> Iterator[None]:
    """The same for a file that a user named: it may not be there at all."""
    with disk_failures("read", path):
        try:
            yield
        except FileNotFoundError as error:
            raise FileMissing(path=str(path)) from error


def reason_of(error: OSError) -> str:
    """The system's own words, without the file's name."""
    return error.strerror or str(error)
