"""What holds for a mutation or a load of an actor, on a graph of which they see a part.

It does what it would do on the graph without the hidden rows, and leaves these as they were; or it
is denied, in the words of every denial, and does nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from omnigraph import Graph
from omnigraph.base.ids import BranchName
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.store.arrow import table_schema
from tests.policy.walks import answers
from tests.policy.walks.states import (
    State,
    entities_of,
    in_catalog,
    named,
    seen_of,
    state_of,
    without_made_ids,
)

if TYPE_CHECKING:
    from tests.policy.walks.walk import Walk

SAME_WORDS = "not all of its rows may be written"
TRIED = "tried"


class WritingLaw:
    def __init__(self, walk: "Walk", actor: str, branch: str) -> None:
        self._walk = walk
        self._actor = actor
        self._branch = branch
        self._role = walk.roles[actor]

    def check(self, write: Callable[[Graph, str], Any]) -> None:
        removed = self._walk.removed(self._actor, self._branch)
        before = self._walk.states()
        ours = answers.outcome(lambda: write(self._walk.as_(self._actor), self._branch))
        after = self._walk.states()
        others = {name for name in before if name != self._branch}
        assert all(before[name] == after[name] for name in others)
        is_refused = isinstance(ours, answers.Refusal)
        assert not is_refused or after == before
        if is_refused and ours.kind == "PolicyDenied":
            assert SAME_WORDS in ours.text, ours
            return
        theirs, left = self._tried(removed.graph, write)
        if is_refused and self._walk.is_in_files:
            # Of rows in files less is told: what is wrong with each by itself.
            assert isinstance(theirs, answers.Refusal)
            return
        assert ours == theirs
        self._compare(before[self._branch], after[self._branch], left)

    def _tried(self, graph: Graph, write: Callable[[Graph, str], Any]) -> tuple[Any, State]:
        """What the write does where all is to be seen, on a branch that goes afterwards."""
        graph.branch_create(TRIED)
        told = answers.outcome(lambda: write(graph, TRIED))
        left = state_of(graph.engine.store.snapshot(BranchName(TRIED)))
        graph.branch_delete(TRIED)
        return told, left

    def _compare(self, before: State, after: State, left: State) -> None:
        catalog = self._walk.graph.engine.store.snapshot(BranchName(self._branch)).catalog
        shown = self._shown_catalog()
        was_seen = seen_of(before, catalog, self._role)
        all_, seen, now, without = (
            without_made_ids(in_catalog(state, shown))
            for state in (before, was_seen, after, _filled(left, catalog))
        )
        for name in all_:
            assert now[name] == (all_[name] - seen[name]) + without[name], name
        unknown = {name for name in before if name not in entities_of(shown)}
        assert all(before[name] == after[name] for name in unknown)
        self._judge(before, after, was_seen, catalog, shown)

    def _judge(
        self, before: State, after: State, was_seen: State, catalog: Catalog, shown: Catalog
    ) -> None:
        """Only rows that were seen are changed, that may be, and to what may be."""
        for name, id_, was, now in changed_rows(before, after):
            entity = entities_of(catalog)[name]
            assert was is None or id_ in was_seen[name], (name, id_)
            for image in (was, now):
                assert image is None or self._role.may_change(name, named(entity, image))
            if was is not None and now is not None:
                known = table_schema(entities_of(shown)[name]).names
                kept = [column for column in was if column not in known]
                assert all(was[column] == now[column] for column in kept)

    def _shown_catalog(self) -> Catalog:
        return self._walk.as_(self._actor).schema(self._branch).catalog


def _filled(state: State, catalog: Catalog) -> State:
    """With the types that a part of a graph lacks."""
    return {**{name: {} for name in entities_of(catalog)}, **state}


def changed_rows(
    before: State, after: State
) -> list[tuple[str, str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Each row that differs, as it was and as it is."""
    return [
        (name, id_, before[name].get(id_), rows.get(id_))
        for name, rows in after.items()
        for id_ in Counter([*before[name], *rows])
        if before[name].get(id_) != rows.get(id_)
    ]
