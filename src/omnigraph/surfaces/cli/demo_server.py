"""The server of the demo: a process of its own on any free port, for as long as it is asked."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from omnigraph.base.frozen import frozen

__all__ = ["SERVE", "TOKENS", "DemoServer", "demo_server"]

SERVE = "serve --store packages.omni --policy policy.yaml --queries queries.gq --bind 127.0.0.1:0"
TOKENS = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
ADDRESS = "OMNIGRAPH_LISTEN_ADDR="
# Generous: a process that starts beside others may be slow.
MAX_WAIT_S = 120.0


@frozen
class DemoServer:
    address: str

    def ask(self, path: str, token: str) -> list[dict[str, Any]]:
        """The rows of a stored query."""
        # No proxy of the environment comes in between.
        line = HTTPConnection(self.address, timeout=MAX_WAIT_S)
        try:
            line.request("POST", path, headers={"Authorization": f"Bearer {token}"})
            answer = line.getresponse()
            body = json.loads(answer.read())
        finally:
            line.close()
        assert answer.status == 200, body
        rows: list[dict[str, Any]] = body["rows"]
        return rows


@contextmanager
def demo_server(folder: Path, tokens: Mapping[str, str]) -> Iterator[DemoServer]:
    """`omnigraph serve` in the folder of the tour; it has stopped when this ends."""
    others = {k: v for k, v in os.environ.items() if not k.startswith("OMNIGRAPH_SERVER_")}
    command = [sys.executable, "-m", "omnigraph", *SERVE.split()]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**others, TOKENS: json.dumps(dict(tokens))},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            said = process.stdout.readline().strip()
            if not said.startswith(ADDRESS):
                process.wait(MAX_WAIT_S)
                log.seek(0)
                raise AssertionError(f"the server did not start: {log.read().decode()}")
            yield DemoServer(said.removeprefix(ADDRESS))
        finally:
            process.terminate()
            try:
                process.wait(MAX_WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
