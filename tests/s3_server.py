"""An S3 server on loopback: moto, made as strict as a real store.

moto looks at the condition of a put and then writes, with nothing to keep another request out in
between; here, requests take turns. In the bucket that is named to it as careless, conditions are
ignored, as some stores do. `/requests` tells how many requests there have been.

It prints its port, and serves until its standard input ends.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

Environ = dict[str, Any]
Respond = Callable[..., Any]


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
            return list(self._moto(environ, respond))


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    # Connections are kept: a new one for each request would take longer than the request.
    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    app = Strict(create_backend_app("s3"), careless=sys.argv[1])
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main()
