"""Who asks: bearer tokens, kept as SHA-256, compared in constant time, never shown."""

import hashlib
import hmac
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import ArgumentInvalid, Unauthorized
from omnigraph.base.frozen import frozen
from omnigraph.engine.settings import TokenSources

__all__ = ["Tokens", "read_tokens"]

SCHEME = "bearer "
ONLY_ACTOR = "default"
"""The actor of `OMNIGRAPH_SERVER_BEARER_TOKEN`."""

FILE, JSON, SINGLE = (
    "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE",
    "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON",
    "OMNIGRAPH_SERVER_BEARER_TOKEN",
)


@frozen
class Tokens:
    _actors: Mapping[bytes, str] = field(repr=False)

    @classmethod
    def of(cls, by_actor: Mapping[str, str]) -> "Tokens":
        return cls({_digest(token): actor for actor, token in by_actor.items()})

    def __bool__(self) -> bool:
        return bool(self._actors)

    def actor_of(self, header: str | None) -> str:
        """The actor that an `Authorization` header proves; raises Unauthorized."""
        if header is None:
            raise Unauthorized("the request has no token")
        if header[: len(SCHEME)].lower() != SCHEME:
            raise Unauthorized("the Authorization header is not a bearer token")
        # Only the blanks of HTTP: `strip()` alone would also take a no-break space.
        digest = _digest(header[len(SCHEME) :].strip(" \t"))
        found = None
        for known, actor in self._actors.items():
            if hmac.compare_digest(known, digest):
                found = actor  # and on: all of them are compared, whoever asks
        if found is None:
            raise Unauthorized("the token is not known")
        return found


def read_tokens(sources: TokenSources) -> Tokens:
    """The tokens of all sources; raises where one can't be read, or is one of two actors."""
    actors: dict[bytes, str] = {}
    for origin, actor, token in _all(sources):
        if not actor.strip() or not token.strip() or token != token.strip():
            rule = f"the token of {actor!r} is empty, or begins or ends with a blank"
            raise ArgumentInvalid(origin, None, rule)
        if not (token.isascii() and token.isprintable()):
            # Headers have no others: nobody could send it.
            rule = f"the token of {actor!r} holds characters that are not printable ASCII"
            raise ArgumentInvalid(origin, None, rule)
        if not actor.isprintable():
            rule = f"the actor {actor!r} holds characters that can't be printed"
            raise ArgumentInvalid(origin, None, rule)
        digest = _digest(token)
        if actors.setdefault(digest, actor) != actor:
            rule = f"{actors[digest]!r} and {actor!r} have the same token"
            raise ArgumentInvalid(origin, None, rule)
    return Tokens(actors)


def _all(sources: TokenSources) -> Iterator[tuple[str, str, str]]:
    if sources.file is not None:
        with reading_file(Path(sources.file)):
            data = _private(Path(sources.file))
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise ArgumentInvalid(FILE, None, "the file is not UTF-8") from None
        yield from ((FILE, actor, token) for actor, token in _by_actor(FILE, text))
    if sources.json is not None:
        yield from ((JSON, actor, token) for actor, token in _by_actor(JSON, sources.json))
    if sources.single is not None:
        yield SINGLE, ONLY_ACTOR, sources.single


def _private(path: Path) -> bytes:
    """The bytes of a file that only its owner may read."""
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
            rule = "other users of this machine may read this file, which holds tokens"
            raise ArgumentInvalid(FILE, str(path), rule, f"chmod 600 {path}")
        return file.read()


def _by_actor(origin: str, text: str) -> Iterator[tuple[str, str]]:
    """Nothing of the text is shown: it is secret."""
    rule = 'it must be a JSON object of tokens by actor: {"ada": "TOKEN"}'
    try:
        pairs = json.loads(text, object_pairs_hook=lambda members: members)
    except (ValueError, RecursionError):
        raise ArgumentInvalid(origin, None, rule) from None
    if not isinstance(pairs, list) or not text.lstrip().startswith("{"):
        raise ArgumentInvalid(origin, None, rule)
    for actor, token in pairs:
        if not isinstance(token, str):
            raise ArgumentInvalid(origin, None, rule)
        yield actor, token
    if len({actor for actor, _ in pairs}) != len(pairs):
        raise ArgumentInvalid(origin, None, "an actor is there twice")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
