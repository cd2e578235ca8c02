"""Load jobs of a server: what can't be begun, sent or gone on with."""

from dataclasses import dataclass
from typing import Any, ClassVar

from omnigraph.base.errors.tree import (
    ConflictError,
    DeniedError,
    InputError,
    LimitError,
    MissingError,
)

__all__ = [
    "FileNotAllowed",
    "JobMissing",
    "JobNotOpen",
    "LoadCancelled",
    "PartDamaged",
    "PartsMissing",
    "SpoolFull",
]

SHOWN_PARTS = 20


@dataclass(eq=False)
class JobMissing(MissingError):
    """No such job, or one of another actor: nobody is told which."""

    job: str

    def __str__(self) -> str:
        return f"no load job {self.job}"

    @property
    def hint(self) -> str | None:
        return "GET load/jobs lists those that you have begun"


@dataclass(eq=False)
class FileNotAllowed(DeniedError):
    """A file outside the places that a server loads from. Whether it is there is not told."""

    code: ClassVar[str] = "file_not_allowed"
    file: str

    def __str__(self) -> str:
        return f"{self.file} is in no place that this server loads from"

    @property
    def hint(self) -> str | None:
        return (
            "name a file below a directory or prefix of the server's option --load-from, "
            "or upload it in parts"
        )


@dataclass(eq=False)
class JobNotOpen(ConflictError):
    """A job takes no more parts, or was not made for any."""

    code: ClassVar[str] = "job_not_open"
    job: str
    state: str
    """As it is: `queued`, `running`, `succeeded`, `failed`, `cancelled`."""
    doing: str
    """What can't be done."""

    def __str__(self) -> str:
        return f"load job {self.job} is {self.state}: {self.doing}"

    @property
    def hint(self) -> str | None:
        return "look at the job, or begin another one"


@dataclass(eq=False)
class PartsMissing(ConflictError):
    """An upload is to be loaded, and not all of it is there."""

    code: ClassVar[str] = "parts_missing"
    job: str
    count: int
    """How many parts there should be."""
    missing: tuple[int, ...]
    """Numbers of parts that are not there."""
    beyond: tuple[int, ...] = ()
    """Numbers of parts that are there, and above the count."""

    def __str__(self) -> str:
        if not self.missing:
            return f"load job {self.job} has parts above {self.count}: {_numbers(self.beyond)}"
        are = "s are" if len(self.missing) > 1 else " is"
        lost = _numbers(self.missing)
        return f"of {self.count:,} parts of load job {self.job} part{are} missing: {lost}"

    @property
    def hint(self) -> str | None:
        if not self.missing:
            return "nothing was begun: say how many parts there are, and start again"
        return "nothing was begun: send what is missing, and start again"

    @property
    def details(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "count": self.count,
            "missing": list(self.missing),
            "beyond": list(self.beyond),
        }


@dataclass(eq=False)
class PartDamaged(InputError):
    """The bytes of a part are not those that its checksum is of."""

    code: ClassVar[str] = "part_damaged"
    number: int

    def __str__(self) -> str:
        return f"part {self.number} has another checksum than its header Content-Digest says"

    @property
    def hint(self) -> str | None:
        return "nothing of it was kept: send it again"


@dataclass(eq=False)
class SpoolFull(LimitError):
    """A server has no room for more of what is uploaded to it."""

    code: ClassVar[str] = "spool_full"
    limit: int | None = None
    """In bytes; None: the disk itself is full."""

    def __str__(self) -> str:
        if self.limit is None:
            return "the server's disk has no room for this upload"
        return f"the server holds as much of uploads as it may: {self.limit:,} bytes"

    @property
    def hint(self) -> str | None:
        return "try again when other loads have ended, or load from a place of --load-from"


@dataclass(eq=False)
class LoadCancelled(LimitError):
    """A load was cancelled before it was published."""

    code: ClassVar[str] = "cancelled"
    job: str

    def __str__(self) -> str:
        return f"load job {self.job} was cancelled, and nothing was loaded"


def _numbers(parts: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, parts[:SHOWN_PARTS]))
    more = len(parts) - SHOWN_PARTS
    return f"{shown} and {more:,} more" if more > 0 else shown
