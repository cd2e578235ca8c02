"""Tokens of servers, in a file that nobody else may read.

A token belongs to a server's scheme, host and port, and is sent nowhere else. No text that this
module makes holds one.
"""

import fcntl
import json
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import ConfigurationInvalid
from omnigraph.surfaces.client.pool import Address

if TYPE_CHECKING:
    from omnigraph.engine.settings import Settings

__all__ = ["CREDENTIALS_FILE", "forget_token", "keep_token", "origin_of", "token_for"]

CREDENTIALS_FILE = "credentials.json"
USUAL_PORTS = {True: 443, False: 80}


def origin_of(url: str) -> str:
    """The server of a URL: what a token is kept for."""
    address = Address.parse(url)
    host = f"[{address.host}]" if ":" in address.host else address.host.lower()
    port = address.port or USUAL_PORTS[address.is_secure]
    return f"http{'s' * address.is_secure}://{host}:{port}"


def token_for(settings: "Settings", url: str) -> str | None:
    """What the server of a URL knows this person by: `OMNIGRAPH_TOKEN`, or that of their login."""
    if settings.token is not None or settings.home is None:
        return settings.token
    return _read(settings.home).get(origin_of(url))


def keep_token(home: Path, url: str, token: str) -> None:
    with _turn(home):
        _write(home, {**_read(home), origin_of(url): token})


def forget_token(home: Path, url: str) -> bool:
    """Whether there was one."""
    if not home.exists():
        return False
    with _turn(home):
        tokens = _read(home)
        was_there = tokens.pop(origin_of(url), None) is not None
        if was_there:
            _write(home, tokens)
        return was_there


@contextmanager
def _turn(home: Path) -> Iterator[None]:
    """One process at a time: each writes all tokens, and would lose those of another."""
    with disk_failures("write", home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(home / f".{CREDENTIALS_FILE}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _read(home: Path) -> dict[str, str]:
    path = home / CREDENTIALS_FILE
    with disk_failures("read", path):
        try:
            with path.open("rb") as file:
                mode, text = os.fstat(file.fileno()).st_mode, file.read()
        except FileNotFoundError:
            return {}
    if stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
        rule = "others may read this file, which holds tokens"
        raise ConfigurationInvalid(str(path), None, None, rule, f"chmod 600 {path}")
    try:
        tokens = json.loads(text)
    except ValueError:
        tokens = None
    if not isinstance(tokens, dict) or not all(isinstance(t, str) for t in tokens.values()):
        rule, advice = "the file holds no tokens by server", "remove it, and log in again"
        raise ConfigurationInvalid(str(path), None, None, rule, advice)
    return tokens


def _write(home: Path, tokens: dict[str, str]) -> None:
    path = home / CREDENTIALS_FILE
    part = home / f".{CREDENTIALS_FILE}.{uuid.uuid4().hex}.part"
    with disk_failures("write", path):
        try:
            # Private before the first byte: a change of mode afterwards would come too late.
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w") as out:
                json.dump(tokens, out, indent=2)
                out.flush()
                os.fsync(out.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
