"""Requests of a person who looks around: a text that is being typed, an answer to show, one entity,
and what a branch would change. The Explorer asks them, and so may any program.
"""

import threading
from collections.abc import Mapping
from typing import Any

from omnigraph.base.choices import EntityKind, check_choice
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName
from omnigraph.base.span import SourceText
from omnigraph.engine.arguments import check_cancel, check_limit
from omnigraph.engine.change_requests import DiffRead
from omnigraph.engine.gate import Where
from omnigraph.engine.requests import OneQuery, Read

__all__ = [
    "AnswerRead",
    "CompareRead",
    "CompleteRead",
    "EntityHistoryRead",
    "EntityRead",
    "FindRead",
    "LintRead",
    "LoadsRead",
    "ReviewRead",
]

MAX_SHOWN_ROWS = 10_000
"""A page that holds more is slower than a file of them."""
MAX_SHOWN_NODES = 5_000
"""A picture of more is a cloud."""
MAX_HITS = 200
MAX_HISTORY_ENTRIES = 200
MAX_COMPARED = 1_000
MAX_LOADS = 1_000


@frozen(kw_only=True)
class LintRead(Read):
    """What is wrong with a text of queries."""

    source: SourceText
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)


@frozen(kw_only=True)
class CompleteRead(Read):
    """What may be typed at a place of a text."""

    text: str
    offset: int | None = None
    """How many characters stand before the place; None: all of them."""
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        if self.offset is not None and not 0 <= self.offset <= len(self.text):
            rule = f"it must be a place of the text, from 0 to {len(self.text):,}"
            raise ArgumentInvalid(argument="offset", value=str(self.offset), rule=rule)


@frozen(kw_only=True)
class AnswerRead(OneQuery, Read):
    """An answer to look at: its first rows, and what of them is a graph."""

    limit_rows: int = 1_000
    limit_nodes: int = 1_000
    timeout_s: float | None = None
    memory_bytes: int | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        check_limit("memory_bytes", self.memory_bytes)
        _check_count("limit_rows", self.limit_rows, MAX_SHOWN_ROWS)
        _check_count("limit_nodes", self.limit_nodes, MAX_SHOWN_NODES)


@frozen(kw_only=True)
class FindRead(Read):
    """Nodes by a text: a key, the beginning of one, a part of one, or words."""

    text: str
    types: tuple[str, ...] | None = None
    """None: all node types."""
    limit: int = 20
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        _check_count("limit", self.limit, MAX_HITS)
        if not isinstance(self.text, str):
            raise ArgumentInvalid(argument="text", value=str(self.text), rule="it must be text")


@frozen(kw_only=True)
class EntityRead(Read):
    """One node or edge."""

    kind: EntityKind
    type_name: str
    entity_id: str

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, EntityKind)


@frozen(kw_only=True)
class EntityHistoryRead(Read):
    """What commits have made of one node or edge."""

    kind: EntityKind
    type_name: str
    entity_id: str
    limit: int = 20
    page_token: str | None = None
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, EntityKind)
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        _check_count("limit", self.limit, MAX_HISTORY_ENTRIES)


@frozen(kw_only=True)
class CompareRead(DiffRead):
    """A page of what differs between two moments, property by property."""

    limit: int = 200
    page_token: str | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        _check_count("limit", self.limit, MAX_COMPARED)


@frozen(kw_only=True)
class ReviewRead(Read):
    """What a merge of `source` into the branch would come to."""

    source: BranchName
    resolve: str | tuple[Mapping[str, Any], ...] | None = None

    @property
    def where(self) -> Where | None:
        return Where(self.branch)


@frozen(kw_only=True)
class LoadsRead(Read):
    """The loads that a branch has taken."""

    limit: int = 50

    def __post_init__(self) -> None:
        _check_count("limit", self.limit, MAX_LOADS)


def _check_count(argument: str, value: object, most: int) -> None:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    if not (is_count and 1 <= value <= most):  # type: ignore[operator]
        rule = f"it must be a number from 1 to {most:,}"
        raise ArgumentInvalid(argument=argument, value=str(value), rule=rule)
