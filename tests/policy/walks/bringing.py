"""What holds for merges and reverts of actors: rules decide which rows they write, previews agree
with what is then done, and both report what the actor sees."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from omnigraph import Graph
from omnigraph.base.conflicts import Conflict
from omnigraph.base.ids import BranchName
from omnigraph.errors import MergeConflicts, OmnigraphError, PolicyDenied
from tests.policy.walks import answers
from tests.policy.walks.roles import BOSS
from tests.policy.walks.states import State, entities_of, named, seen_of
from tests.policy.walks.steps import Merge, Revert
from tests.policy.walks.writing import SAME_WORDS, changed_rows

if TYPE_CHECKING:
    from tests.policy.walks.walk import Walk


Counts = dict[str, tuple[int, int, int]]


class BringingLaw:
    def __init__(self, walk: "Walk", step: Merge | Revert) -> None:
        self._walk = walk
        self._step = step
        self._graph = walk.as_(step.actor)
        self._branch = step.into if isinstance(step, Merge) else "main"

    def check(self) -> None:
        before = self._walk.states()
        resolve = self._resolve()
        preview = self._call(preview=True, resolve=resolve)
        assert self._walk.states() == before, "a preview changes nothing"
        head = self._head()
        done = self._call(preview=False, resolve=resolve)
        after = self._walk.states()
        for told in (preview, done):
            self._check_conflicts(told, before)
        if isinstance(done, OmnigraphError):
            assert after == before
            if isinstance(done, PolicyDenied) and not isinstance(preview, OmnigraphError):
                assert preview.refusal == done.message
            return
        assert preview.refusal is None
        assert all(before[name] == after[name] for name in before if name != self._branch)
        self._judge(before[self._branch], after[self._branch])
        rows, counts = answers.differences(self._graph, head, self._head())
        assert not isinstance(preview, OmnigraphError) and not preview.conflicts
        for told in (preview, done):
            assert self._is_all_or_whole_types(_counts(told), counts, preview)
        if preview.changes is not None:
            assert sorted(map(repr, preview.changes.to_pylist())) == rows

    def _is_all_or_whole_types(self, told: Counts, counts: Counts, preview: Any) -> bool:
        """Where rows are in files, they are counted of types alone that are seen whole."""
        if preview.changes is not None:
            return told == counts
        return told.items() <= counts.items()

    def _head(self) -> str:
        return self._walk.graph.engine.store.snapshot(BranchName(self._branch)).commit.id

    def _resolve(self) -> Any:
        """For choices, a side for each conflict that is told."""
        if self._step.resolve != "choices":
            return self._step.resolve
        preview = self._call(preview=True, resolve=None)
        if isinstance(preview, OmnigraphError) or not preview.conflicts:
            return None
        random = self._walk.random
        return [_choice(each, random.choice(["ours", "theirs"])) for each in preview.conflicts]

    def _call(self, *, preview: bool, resolve: Any) -> Any:
        """What came of it; an error is given back."""
        try:
            return _brought(self._graph, self._step, preview=preview, resolve=resolve)
        except OmnigraphError as error:
            return error

    def _judge(self, before: State, after: State) -> None:
        """The actor may merge, or for a revert change, every row that changes, seen or not."""
        if self._step.actor == BOSS:
            return
        role = self._walk.roles[self._step.actor]
        may_write = role.may_merge if isinstance(self._step, Merge) else role.may_change
        snapshot = self._walk.graph.engine.store.snapshot(BranchName(self._branch))
        for name, _, was, now in changed_rows(before, after):
            entity = entities_of(snapshot.catalog)[name]
            for image in (was, now):
                assert image is None or may_write(name, named(entity, image)), name

    # Conflicts -----------------------------------------------------------------------------------

    def _check_conflicts(self, told: Any, states: dict[str, State]) -> None:
        """What is told is about rows that are seen on every side that has them."""
        if self._step.actor == BOSS:
            return
        match told:
            case PolicyDenied():
                assert SAME_WORDS in str(told), told
            case MergeConflicts(conflicts=conflicts):
                self._require_seen(conflicts, states)
            case OmnigraphError():
                assert told.code in ALLOWED, (told.code, told)
            case _:
                self._require_seen(told.conflicts, states)

    def _require_seen(self, conflicts: Iterable[Conflict], states: dict[str, State]) -> None:
        role, store = self._walk.roles[self._step.actor], self._walk.graph.engine.store
        sides = [self._branch]
        if isinstance(self._step, Merge):
            sides.append(self._step.source)
        hidden = {name.partition(".") for name in role.hidden_properties}
        for conflict in conflicts:
            for side in sides:
                catalog = store.snapshot(BranchName(side)).catalog
                rows, seen = states[side], seen_of(states[side], catalog, role)
                if conflict.entity_id in rows.get(conflict.type_name, {}):
                    assert conflict.entity_id in seen[conflict.type_name], conflict
            for type_, _, name in hidden:
                said = f"{conflict.property} {conflict.base} {conflict.ours} {conflict.theirs}"
                assert type_ != conflict.type_name or name not in said, conflict


ALLOWED = {"invalid_argument", "schema_error", "not_found"}


def _brought(graph: Graph, step: Merge | Revert, *, preview: bool, resolve: Any) -> Any:
    if isinstance(step, Merge):
        return graph.branch_merge(step.source, step.into, preview=preview, resolve=resolve)
    commits = graph.commits()
    commit = commits[min(step.back, len(commits) - 1)]
    return graph.revert(commit, preview=preview, resolve=resolve)


def _counts(told: Any) -> Counts:
    return {name: (c.inserted, c.updated, c.deleted) for name, c in told.counts.items()}


def _choice(conflict: Conflict, take: str) -> dict[str, Any]:
    chosen = {"type": conflict.type_name, "id": conflict.entity_id, "take": take}
    return chosen if conflict.property is None else {**chosen, "property": conflict.property}
