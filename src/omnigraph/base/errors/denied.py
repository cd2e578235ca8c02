"""Things that this caller, or this handle, may not do."""

from dataclasses import dataclass
from typing import ClassVar

from omnigraph.base.errors.tree import DeniedError

__all__ = ["ReadOnly"]


@dataclass(eq=False)
class ReadOnly(DeniedError):
    """A write was asked of a handle that was opened to read."""

    code: ClassVar[str] = "read_only"
    uri: str

    def __str__(self) -> str:
        return f"{self.uri} was opened read-only, so it can't be changed"

    @property
    def hint(self) -> str | None:
        return "open it without read_only to write"
