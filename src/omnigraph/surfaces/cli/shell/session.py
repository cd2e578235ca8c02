"""`Session`: one graph, the branch or commit that is looked at, and how answers are shown.

It knows no terminal: a text goes in, and what `omnigraph query` or `mutate` would print comes out.
Errors are raised; `said` puts them in the words of the shell.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import (
    BranchMissing,
    CommitMissing,
    MomentMissing,
    OmnigraphError,
    ParameterInvalid,
    ReadOnly,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped
from omnigraph.engine.handles.at import At
from omnigraph.engine.handles.branch import Branch
from omnigraph.surfaces.cli.data import say_changed
from omnigraph.surfaces.cli.output import Format, print_json, print_rows, say
from omnigraph.surfaces.cli.shell.running import interruptible
from omnigraph.surfaces.cli.shell.typed import Typed
from omnigraph.surfaces.cli.words import error_as_typed
from omnigraph.surfaces.wire import mutation_json, query_json

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph
    from omnigraph.engine.results import QueryResult
    from omnigraph.lang.schema.catalog import Catalog

__all__ = ["MODES", "Asked", "Session", "asked_of", "said"]

MODES = (Format.TABLE, Format.JSON, Format.JSONL, Format.CSV, Format.KV)

SHOWN_OF_A_COMMIT = 10
"""The time of its id, which begins it: a prompt has no room for more."""


@frozen
class Asked:
    """One query of a text, with its parameters."""

    source: SourceText
    name: str | None
    params: Mapping[str, Any]
    is_change: bool


class Session:
    def __init__(
        self,
        graph: "Graph",
        *,
        branch: str = MAIN,
        style: Format | None = None,
        actor: str | None = None,
        is_read_only: bool = False,
    ) -> None:
        """Raises BranchMissing, and whatever keeps the graph from being read."""
        self.graph = graph
        self.place: Branch | At = graph.branch(branch)
        self.mode = style or Format.TABLE
        self.actor = actor
        self.is_read_only = is_read_only
        self.is_timed = False
        self.params: Mapping[str, Any] = {}
        self.last: Asked | None = None
        """What was asked last, for `.explain`."""
        self._catalog: Catalog | None = None

    # Where ----------------------------------------------------------------------------------------

    @property
    def branch(self) -> str:
        """The branch that is checked out; of a commit, the one that it was made on."""
        return self.place.name if isinstance(self.place, Branch) else self.place.branch

    @property
    def label(self) -> str:
        """The graph and the place, in the few words of a prompt."""
        name = self.graph.uri.rstrip("/").rpartition("/")[2].removesuffix(".omni")
        if isinstance(self.place, Branch):
            return f"{name} {self.place.name}"
        return f"{name} {self.place.graph_commit_id[:SHOWN_OF_A_COMMIT]}… (read only)"

    def checkout(self, name: str) -> None:
        """Look at a branch, or at the past: a commit, or a time of the branch that is looked at."""
        if is_ulid(name):
            self.place = self.graph.at(name)
            return
        try:
            self.place = self.graph.branch(name)
        except BranchMissing as missing:
            try:
                self.place = self.graph.at(name, self.branch)
            except CommitMissing:
                # It is no time either.
                raise missing from None

    def make_branch(self, name: str) -> None:
        """Make a branch here, and look at it."""
        is_branch = isinstance(self.place, Branch)
        self.graph.branch_create(
            name, from_=self.branch if is_branch else self._commit(), actor=self.actor
        )
        self.place = self.graph.branch(name)

    def open(self, graph: "Graph") -> None:
        """Go on with the main of another graph."""
        place = graph.branch(MAIN)
        self.graph.close()
        self.graph, self.place, self.last = graph, place, None

    def _commit(self) -> str:
        assert isinstance(self.place, At), "a branch is no commit"
        return self.place.graph_commit_id

    # What is known, for completion ----------------------------------------------------------------

    def catalog(self) -> "Catalog | None":
        """The types, as of the last `forget`; None where they can't be had."""
        if self._catalog is None:
            try:
                self._catalog = self.place.schema().catalog
            except OmnigraphError:
                return None
        return self._catalog

    def branches(self) -> list[str]:
        """The names of all branches; none where they can't be had."""
        try:
            return self.graph.branches()
        except OmnigraphError:
            return []

    def forget(self) -> None:
        """Others may have changed the schema meanwhile."""
        self._catalog = None

    # Asking and changing --------------------------------------------------------------------------

    def run(self, typed: Typed) -> None:
        """Ask what was typed, or make the change, and print what came of it."""
        with typed.errors_at_its_place():
            self.do(asked_of(typed))

    def do(self, asked: Asked) -> None:
        self.last = asked
        with self._timed():
            if asked.is_change:
                self._change(asked)
            else:
                self._ask(asked)

    def explain(self, asked: Asked, *, analyze: bool) -> str:
        return str(self.place.explain(asked.source, asked.name, asked.params, analyze=analyze))

    def _ask(self, asked: Asked) -> None:
        def ask(cancel: threading.Event) -> "QueryResult":
            return self.place.query(asked.source, asked.name, asked.params, cancel=cancel)

        result = interruptible(ask)
        if self.mode is Format.JSON:
            branch = self.place.name if isinstance(self.place, Branch) else None
            print_json(query_json(result, branch=branch))
        else:
            print_rows(result, self.mode, how_whole=".mode kv")

    def _change(self, asked: Asked) -> None:
        if not isinstance(self.place, Branch):
            raise ReadOnly(f"commit {self._commit()}")
        if self.is_read_only:
            raise ReadOnly(self.graph.uri)
        # In this thread: Ctrl-C undoes what is not yet committed, as in `omnigraph mutate`.
        result = self.place.mutate(asked.source, asked.name, asked.params, actor=self.actor)
        if self.mode is Format.JSON:
            print_json(mutation_json(result))
        else:
            say_changed(result, self.graph.uri)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        if self.is_timed:
            say(f"time: {time.perf_counter() - begun:.3f} s")


def asked_of(typed: Typed) -> Asked:
    return Asked(typed.source, typed.name, typed.params, typed.is_change)


def said(error: OmnigraphError, session: Session) -> str:
    """The error as a person reads it who types into the shell."""
    match error:
        case BranchMissing(branch=branch, known=known):
            near = did_you_mean(branch, known)
            hint = f"{near + ' ' if near else ''}.branch {clipped(branch)} makes it here"
        case CommitMissing() | MomentMissing():
            hint = ".log shows the commits; a time is written as 2026-03-01T12:00Z"
        case ParameterInvalid(reason="P001", parameter=parameter):
            hint = f'.params {{"{parameter}": …}} gives it a value'
        case ReadOnly() if isinstance(session.place, At):
            back = f".checkout {session.branch} goes back to the branch"
            hint = f"{back}, and .branch NAME makes a branch here"
        case ReadOnly():
            hint = "start the shell without --read-only to change it"
        case _:
            return error_as_typed(error)
    return f"error: {error}\n  hint: {hint}"
