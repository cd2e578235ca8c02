"""The page about the server is true: its commands are run as they stand, against a real server."""

import shlex
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.house.reading import FENCE, FILE, commands
from tests.processes import wait_until
from tests.surfaces.cli import CommandLine
from tests.surfaces.server.process import server_process

PAGE = (Path(__file__).parents[3] / "docs/user/server.md").read_text()


def test_the_page_about_the_server_is_true(
    omnigraph: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, contents in FILE.findall(PAGE):
        (tmp_path / name).write_text(contents)
    blocks = [block for language, block in FENCE.findall(PAGE) if language == "sh"]
    steps = [command for block in blocks for command in commands(block)]
    assert len(steps) == PAGE.count("\nomnigraph ") + PAGE.count("\ncurl ")
    begin = next(n for n, step in enumerate(steps) if step[1] == "serve")
    for _, *arguments in steps[:begin]:
        assert omnigraph(*arguments).exit_code == 0
    store, *options = steps[begin][3:]
    with server_process(tmp_path / store, *options) as server:
        job = ""
        for program, *arguments in steps[begin + 1 :]:
            assert program == "curl"
            answer = curl(server.url, [word.replace("$JOB", job) for word in arguments])
            assert answer.is_success, f"{shlex.join(arguments)}: {answer.text}"
            job = answer.json()["id"] if answer.status_code == 202 else job
        loaded = f"{server.url}/graphs/people/load/jobs/{job}"
        wait_until(lambda: httpx2.get(loaded).json()["state"] == "succeeded", "it was never loaded")
        assert server.stop() == 0


def curl(server: str, arguments: list[str]) -> httpx2.Response:
    """What curl does with these arguments, at the address of our server."""
    method, body, headers, address = None, None, {}, ""
    left = iter(arguments)
    for word in left:
        match word:
            case "-X":
                method = next(left)
            case "-H":
                name, value = next(left).split(": ", 1)
                headers[name] = value
            case "-d":
                body = next(left).encode()
            case _:
                address = word
    parts = urlsplit(address)
    assert parts.netloc == "127.0.0.1:8080"
    url = f"{server}{parts.path}" + (f"?{parts.query}" if parts.query else "")
    verb = method or ("GET" if body is None else "POST")
    return httpx2.request(verb, url, content=body, headers=headers)
