"""Which host names the server accepts, and pages of which sites may use it.

A browser sends a request to any server that it can reach if any page asks for it. A server that
needs no token would carry out such a request. Therefore it accepts a request only if `Host` is a
known name of the server, which stops DNS rebinding, and if the browser does not mark the request as
coming from another site. Other programs send neither `Origin` nor `Sec-Fetch-Site`.
"""

import re
from collections.abc import Iterable

from starlette.datastructures import Headers

from omnigraph.base.errors import ArgumentInvalid, PageNotAllowed, RequestMalformed
from omnigraph.base.frozen import frozen
from omnigraph.base.words import clipped

__all__ = ["ALLOWED_HOSTS", "ANY_CALLER", "Callers", "only_header"]

ALLOWED_HOSTS = "--allowed-hosts"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = ("0.0.0.0", "::", "")
"""Addresses to listen at that mean every interface: no request names the server by them."""
NAMED = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?")
USUAL_PORTS = {"http": ":80", "https": ":443"}
OWN_SITE = (None, "same-origin", "none")
"""Accepted values of `Sec-Fetch-Site`: absent, our own page, or an address that was typed."""


@frozen
class Callers:
    hosts: frozenset[str] | None = None
    """Names of this server; a name without a port is accepted with any port. None: accept all."""
    pages: frozenset[str] | None = None
    """Hosts whose pages may use the server, in addition to its own pages. None: do not check."""

    @classmethod
    def of(cls, *, bound: str, allowed: Iterable[str], is_open: bool) -> "Callers":
        """The rules for a server that listens at `bound`; `is_open` if it needs no token.

        Raises `ArgumentInvalid` if an allowed host is not a host name or an address.
        """
        named = frozenset(map(_checked, allowed))
        if not is_open and not named:
            return ANY_CALLER
        own = () if bound in EVERYWHERE else (f"[{bound}]" if ":" in bound else bound.lower(),)
        return cls(named | {*LOOPBACK, *own}, named if is_open else None)

    def check_host(self, headers: Headers) -> None:
        """Raise `RequestMalformed` unless `Host` is one of the names of the server."""
        if self.hosts is None:
            return
        host = (only_header(headers, "host") or "").lower()
        if not {host, _without_port(host)} & self.hosts:
            rule = f"the server is not called by the name {clipped(host)!r}"
            advice = f"use one of its names, or start it with {ALLOWED_HOSTS} NAME"
            raise RequestMalformed("Host", rule, advice)

    def check_page(self, headers: Headers) -> None:
        """Raise `PageNotAllowed` if a browser sends the request for a page of another site."""
        if self.pages is None:
            return
        origin, site = only_header(headers, "origin"), only_header(headers, "sec-fetch-site")
        if origin is not None:
            scheme, _, host = origin.lower().partition("://")
            host = _without_usual_port(host, scheme)
            if host in self.pages:
                return
            own = (only_header(headers, "host") or "").lower()
            if not host or host != _without_usual_port(own, scheme):
                raise PageNotAllowed(clipped(origin))
        if site not in OWN_SITE:
            raise PageNotAllowed(origin)


ANY_CALLER = Callers()


def only_header(headers: Headers, name: str) -> str | None:
    """The header. Two are refused: a proxy in front may have read the other one."""
    if len(given := headers.getlist(name)) > 1:
        raise RequestMalformed(name, "the header is there twice")
    return given[0] if given else None


def _checked(name: str) -> str:
    if not NAMED.fullmatch(name.lower()):
        rule = "it must be a host, or a host and a port, such as graphs.example.com"
        raise ArgumentInvalid(ALLOWED_HOSTS, name, rule, "leave out the scheme and the path")
    return name.lower()


def _without_port(host: str) -> str:
    return re.sub(r":[0-9]+$", "", host)


def _without_usual_port(host: str, scheme: str) -> str:
    return host.removesuffix(USUAL_PORTS.get(scheme, "")) if scheme in USUAL_PORTS else host
