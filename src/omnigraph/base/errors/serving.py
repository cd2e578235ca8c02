"""Requests over HTTP that are not answered: who asks, how it is asked, and how often."""

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
    "BlobChanged",
    "BodySlow",
    "MediaTypeUnsupported",
    "MethodUnknown",
    "PageNotAllowed",
    "PathMissing",
    "RequestMalformed",
    "RequestsTooMany",
    "Unauthorized",
]


@dataclass(eq=False)
class Unauthorized(DeniedError):
    """A request without a token, or with one that nobody has. It never says which token."""

    code: ClassVar[str] = "unauthorized"
    reason: str

    def __str__(self) -> str:
        return self.reason

    @property
    def hint(self) -> str | None:
        return "send the header Authorization: Bearer TOKEN"


@dataclass(eq=False)
class PageNotAllowed(DeniedError):
    """A browser sent the request on behalf of a page of another site.

    A server that asks for no token would carry out whatever any page asks for.
    """

    code: ClassVar[str] = "page_not_allowed"
    origin: str | None
    """The site, if the browser names it."""

    def __str__(self) -> str:
        site = "another site" if self.origin is None else self.origin
        return f"a page of {site} may not use this server"

    @property
    def hint(self) -> str | None:
        return "if the site is yours, start the server with --allowed-hosts HOST, its host"


@dataclass(eq=False)
class RequestMalformed(InputError):
    """A request that can't be read: no JSON, an unknown member, a value of another type."""

    code: ClassVar[str] = "bad_request"
    where: str
    """`body`, `query`, `path`, or the name of a header."""
    rule: str
    advice: str | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}"

    @property
    def hint(self) -> str | None:
        return self.advice or "/openapi.json says what each route takes"


@dataclass(eq=False)
class MediaTypeUnsupported(InputError):
    code: ClassVar[str] = "unsupported_media_type"
    what: str
    found: str
    taken: tuple[str, ...]

    def __str__(self) -> str:
        if not self.found:
            return f"{self.what} is missing"
        return f"{self.what} {self.found!r} is not taken here"

    @property
    def hint(self) -> str | None:
        return f"send {' or '.join(self.taken)}"


@dataclass(eq=False)
class MethodUnknown(InputError):
    """The path is there, and does not take this method."""

    code: ClassVar[str] = "method_not_allowed"
    method: str
    path: str
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path} does not take {self.method}"

    @property
    def hint(self) -> str | None:
        return f"it takes {', '.join(self.allowed)}"


@dataclass(eq=False)
class PathMissing(MissingError):
    path: str
    advice: str = "/openapi.json lists the routes, and GET /graphs the graphs"

    def __str__(self) -> str:
        return f"nothing is served at {self.path}"

    @property
    def hint(self) -> str | None:
        return self.advice


@dataclass(eq=False)
class RequestsTooMany(LimitError):
    """An actor has as much under way as one actor may."""

    code: ClassVar[str] = "too_many_requests"
    what: str
    limit: int
    retry_after_s: int

    def __str__(self) -> str:
        return f"{self.what}: the limit is {self.limit:,}"

    @property
    def hint(self) -> str | None:
        return f"nothing was done: try again in {self.retry_after_s} s, or when others are answered"


@dataclass(eq=False)
class BodySlow(LimitError):
    code: ClassVar[str] = "request_timeout"
    timeout_s: float

    def __str__(self) -> str:
        return f"the body of the request was not there after {self.timeout_s:g} s"

    @property
    def hint(self) -> str | None:
        return "nothing was done: send it again, in smaller parts if the line is slow"


@dataclass(eq=False)
class BlobChanged(ConflictError):
    """The bytes have another tag than the one that was asked for."""

    code: ClassVar[str] = "blob_changed"
    etag: str
    size: int

    def __str__(self) -> str:
        return f"the bytes are not those that were asked for: their tag is {self.etag}"

    @property
    def hint(self) -> str | None:
        return "read them again, and go on with the tag that they have now"

    @property
    def details(self) -> dict[str, Any]:
        return {"etag": self.etag, "size": self.size}
