"""A server that does not answer as it should: it can't be reached, or its answer can't be read."""

from dataclasses import dataclass
from typing import ClassVar

from omnigraph.base.errors.tree import InputError, StorageError

__all__ = [
    "AnswerUnreadable",
    "LocalOnly",
    "OutcomeUnknown",
    "ServerFailed",
    "ServerUnreachable",
]


@dataclass(eq=False)
class LocalOnly(InputError):
    """A thing that needs the storage of a graph, asked of a connection to a server."""

    code: ClassVar[str] = "local_only"
    what: str
    instead: str | None = None

    def __str__(self) -> str:
        return f"a connection to a server can't do this: {self.what}"

    @property
    def hint(self) -> str | None:
        return self.instead or (
            "run it on a machine that has the storage of the graph: Graph.open(…), or --store"
        )


@dataclass(eq=False)
class ServerUnreachable(StorageError):
    """No connection came about, or a read was not answered. Nothing was written."""

    code: ClassVar[str] = "server_unreachable"
    url: str
    reason: str

    def __str__(self) -> str:
        return f"{self.url} does not answer: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "nothing was written: is the server running, and is this its address?"


@dataclass(eq=False)
class OutcomeUnknown(StorageError):
    """A write was sent, and its answer did not come: it may have been carried out."""

    code: ClassVar[str] = "outcome_unknown"
    url: str
    reason: str

    def __str__(self) -> str:
        return f"the answer of {self.url} to a write was lost: {self.reason}"

    @property
    def hint(self) -> str | None:
        return (
            "it may have been carried out: look at the newest commits before you retry, or repeat "
            "the write with the same request_id (of a load: load_id) if it had one"
        )


@dataclass(eq=False)
class AnswerUnreadable(StorageError):
    """What came is no answer of an OmniGraph server, or only a part of one."""

    code: ClassVar[str] = "answer_unreadable"
    url: str
    status: int
    reason: str

    def __str__(self) -> str:
        return f"the answer of {self.url} (status {self.status}) can't be read: {self.reason}"

    @property
    def hint(self) -> str | None:
        return (
            "is this the address of an OmniGraph server of this version, and does a proxy stand "
            "between? A write may have been carried out: look at the newest commits"
        )


@dataclass(eq=False)
class ServerFailed(StorageError):
    """The server could not carry out a request, and does not tell clients why."""

    code: ClassVar[str] = "server_failed"
    url: str
    status: int
    reason: str
    request_id: str | None

    def __str__(self) -> str:
        return f"{self.url} answered with status {self.status}: {self.reason}"

    @property
    def hint(self) -> str | None:
        id_ = f", under the request id {self.request_id}" if self.request_id else ""
        return f"the log of the server says why{id_}; look before you retry"
