"""A server as a process of its own, on a port of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.processes import PATIENCE_S, wait_until

ADDRESS = "OMNIGRAPH_LISTEN_ADDR="
TOKENS = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"


@dataclass
class ServerProcess:
    process: "subprocess.Popen[str]"
    host: str
    port: int
    lines: list[dict[str, Any]] = field(default_factory=list)
    """What it logged so far."""

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def wait_for(self, message: str) -> dict[str, Any]:
        def found() -> list[dict[str, Any]]:
            return [line for line in self.lines if message in line["message"]]

        wait_until(lambda: bool(found()), f"the log never said {message}")
        return found()[-1]


@contextmanager
def server_process(
    store: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    of: str = "--store",
) -> Iterator[ServerProcess]:
    """`omnigraph serve` on any free port; it is killed if the test leaves it running."""
    command = [sys.executable, "-m", "omnigraph", "serve", of, str(store)]
    with subprocess.Popen(
        [*command, "--bind", "127.0.0.1:0", *options],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            said = process.stdout.readline()
            assert said.startswith(ADDRESS), process.stderr.read()
            host, _, port = said.removeprefix(ADDRESS).strip().rpartition(":")
            server = ServerProcess(process, host, int(port))
            reader = threading.Thread(target=_read, args=(process.stderr, server.lines))
            reader.start()
            yield server
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        reader.join()


def _read(stream: Any, lines: list[dict[str, Any]]) -> None:
    for line in stream:
        lines.append(json.loads(line))
