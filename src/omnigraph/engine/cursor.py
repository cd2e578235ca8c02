"""Cursors of the change feed, and page tokens: a place in the history, as text to keep.

The text is opaque to callers. It names the graph, the incarnation of the branch and the filter it
was made with, so that it can't be used for another, and a digest, so that a torn one is noticed.
"""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import msgspec

from omnigraph.base.errors import ChangeCursorRejected
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.read.changes.compare import Place
from omnigraph.read.changes.filter import ChangeFilter
from omnigraph.store.branches import Branch

__all__ = ["Cursor", "FilterForm", "PageToken", "PlaceForm", "packed", "unpacked"]

DIGEST_BYTES = 8

FilterForm = tuple[list[str] | None, list[str] | None, list[str] | None]
PlaceForm = tuple[str, str]
CursorForm = tuple[str, str, str, FilterForm, str, PlaceForm | None]
PageForm = tuple[str, str, FilterForm, PlaceForm]
"""Members of the texts, with their types."""


@frozen
class Cursor:
    """All up to the commit `after` was delivered, and of the next commit all up to `within`."""

    graph: str
    branch: BranchName
    incarnation: str
    filter: ChangeFilter
    after: CommitId
    within: Place | None = None

    PREFIX = "ogc1_"

    def to_text(self) -> str:
        where = [self.graph, self.branch, self.incarnation, self.filter.to_json(), self.after]
        return packed(self.PREFIX, [*where, self.within])

    @classmethod
    def parse(cls, text: object) -> "Cursor":
        found: CursorForm = unpacked(cls.PREFIX, text, CursorForm)
        graph, branch, incarnation, words, after, within = found
        place = None if within is None else _place(within)
        filter_ = ChangeFilter.of(*words)
        return cls(graph, BranchName(branch), incarnation, filter_, CommitId(after), place)

    def check(self, *, graph: str, branch: Branch, filter_: ChangeFilter) -> None:
        """Raise `ChangeCursorRejected` where something else is asked for than it was made for."""
        _check_graph(self.graph, graph)
        if self.branch != branch.name:
            raise ChangeCursorRejected(
                reason="branch",
                explanation=f"it is of branch {self.branch}, and branch {branch.name} is asked for",
            )
        if self.incarnation != branch.incarnation:
            raise ChangeCursorRejected(
                reason="incarnation",
                explanation=f"branch {self.branch} was deleted and made again since",
            )
        _check_filter(self.filter, filter_)


@frozen
class PageToken:
    """The page of one commit's changes that begins after `last`."""

    graph: str
    commit: CommitId
    filter: ChangeFilter
    last: Place

    PREFIX = "ogp1_"

    def to_text(self) -> str:
        return packed(self.PREFIX, [self.graph, self.commit, self.filter.to_json(), self.last])

    @classmethod
    def parse(cls, text: object) -> "PageToken":
        found: PageForm = unpacked(cls.PREFIX, text, PageForm)
        graph, commit, words, last = found
        return cls(graph, CommitId(commit), ChangeFilter.of(*words), _place(last))

    def check(self, *, graph: str, commit: CommitId, filter_: ChangeFilter) -> None:
        _check_graph(self.graph, graph)
        if self.commit != commit:
            raise ChangeCursorRejected(
                reason="position",
                explanation=f"it is of commit {self.commit}, and commit {commit} is asked for",
            )
        _check_filter(self.filter, filter_)


def _check_graph(ours: str, asked: str) -> None:
    if ours != asked:
        raise ChangeCursorRejected(
            reason="graph", explanation=f"it is of graph {ours}, and this is graph {asked}"
        )


def _check_filter(ours: ChangeFilter, asked: ChangeFilter) -> None:
    if ours != asked:
        raise ChangeCursorRejected(
            reason="filter",
            explanation=f"it was made for {_said(ours)}, and {_said(asked)} are asked for",
        )


def _said(filter_: ChangeFilter) -> str:
    named = {"types": filter_.types, "kinds": filter_.kinds, "ops": filter_.ops}
    said = (f"{name} {', '.join(sorted(words))}" for name, words in named.items() if words)
    return "; ".join(said) or "all changes"


def packed(prefix: str, members: list[Any]) -> str:
    """The members as opaque text, with a digest."""
    data = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
    return prefix + urlsafe_b64encode(_digest(data) + data).decode().rstrip("=")


def unpacked(prefix: str, text: object, form: Any) -> Any:
    """The members that a text was made of; raises `ChangeCursorRejected` if it is torn.

    The digest has no secret in it, so anybody can make a text that it fits.
    """
    torn = ChangeCursorRejected(reason="torn", explanation="it is torn, or was changed")
    if not isinstance(text, str) or not text.startswith(prefix):
        raise torn
    body = text.removeprefix(prefix)
    try:
        raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        raise torn from None
    digest, data = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    # A text with other letters in its last place, or strange ones inside, may decode to the same.
    if digest != _digest(data) or urlsafe_b64encode(raw).decode().rstrip("=") != body:
        raise torn
    try:
        return msgspec.json.decode(data, type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise torn from None


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:DIGEST_BYTES]


def _place(members: PlaceForm) -> Place:
    return Place(TableKey(members[0]), members[1])
