"""An S3 server: moto, made as strict as a real store.

moto looks at the condition of a put and then writes, with nothing to keep another request out in
between; here, requests take turns. In the bucket that is named to it as careless, conditions are
ignored, as some stores do. Whether an object is there, which most requests ask, is answered from
moto's objects at once: its own way to the same answer takes ten times as long.
`/requests` tells how many requests there have been.

It listens where its second argument says, or on loopback. It prints its port, and serves until its
standard input ends.
"""

import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

Environ = dict[str, Any]
Respond = Callable[..., Any]

# A bucket and a key that no client and no server spells in two ways.
PLAIN_PATH = re.compile(r"/([\w.-]+)/([\w./=-]+)", re.ASCII)
# Those who send them want more to be looked at.
CONDITIONS = ("MATCH", "NONE_MATCH", "MODIFIED_SINCE", "UNMODIFIED_SINCE")


class Strict:
    def __init__(
        self, moto: Callable[[Environ, Respond], Iterable[bytes]], *, careless: str
    ) -> None:
        self._moto = moto
        self._careless = f"/{careless}/"
        self._turn = threading.Lock()
        self._requests = 0

    def __call__(self, environ: Environ, respond: Respond) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/requests":
            respond("200 OK", [("Content-Type", "text/plain")])
            return [str(self._requests).encode()]
        if environ["PATH_INFO"].startswith(self._careless):
            environ.pop("HTTP_IF_MATCH", None)
            environ.pop("HTTP_IF_NONE_MATCH", None)
        with self._turn:
            self._requests += 1
            if asked := _object_asked_for(environ):
                return _tell_of_object(*asked, respond)
            return list(self._moto(environ, respond))


def _object_asked_for(environ: Environ) -> tuple[str, str] | None:
    """The bucket and the key, if all that is asked is whether and how an object is there."""
    path = PLAIN_PATH.fullmatch(environ["PATH_INFO"])
    is_plain = (
        environ["REQUEST_METHOD"] == "HEAD"
        and not environ.get("QUERY_STRING")
        and "HTTP_AUTHORIZATION" in environ
        and not any(f"HTTP_IF_{condition}" in environ for condition in CONDITIONS)
    )
    return (path[1], path[2]) if path and is_plain else None


def _tell_of_object(bucket: str, key: str, respond: Respond) -> list[bytes]:
    found = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].head_object(bucket, key)
    if found is None:
        respond("404 NOT FOUND", [("Content-Length", "0")])
    else:
        respond("200 OK", [*found.metadata.items(), *found.response_dict.items()])
    return []


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    # Connections are kept: a new one for each request would take longer than the request.
    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    app = Strict(create_backend_app("s3"), careless=sys.argv[1])
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    server = make_server(address, 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main()
