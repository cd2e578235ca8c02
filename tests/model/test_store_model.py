"""A graph beside a plain dictionary: whatever is done to both, they agree.

A branch of the model is its contents, the line of its commits with what each held, and perhaps
what a crash has left for the next writer to finish.
"""

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from omnigraph.base.errors import BranchExists, BranchHasChildren, BranchMissing, CommitMissing
from omnigraph.base.failpoints import Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.changes import Edits
from omnigraph.store.commits import CommitKind
from omnigraph.store.layout import RECOVERY
from omnigraph.write.recover import recover_all
from omnigraph.write.upkeep import Indexing, Optimizing
from omnigraph.write.work import CommitNote, Target
from omnigraph.write.writer import write
from tests.store_contract.builders import (
    ages,
    changes,
    contents,
    id_of,
    knows,
    make_store,
    open_store,
    pairs,
    people,
    put,
)

Contents = tuple[dict[str, int], set[str]]

NAMES = ["ada", "bob", "eve", "zoe"]
BRANCHES = [BranchName("a"), BranchName("b"), BranchName("team/c")]
FINISHED = set(Failpoint) - {Failpoint.AFTER_STAGE, Failpoint.AFTER_ARM}
VISIBLE = {Failpoint.AFTER_PUBLISH, Failpoint.AFTER_DISARM}


@dataclass(frozen=True)
class Edit:
    put: dict[str, int]
    gone: str
    edges: set[str]

    def on(self, held: Contents) -> Contents:
        kept = {k: v for k, v in held[0].items() if k != self.gone or self.gone in self.put}
        return {**kept, **self.put}, held[1] | self.edges

    def work(self) -> Edits:
        gone = [self.gone] if self.gone not in self.put else []
        return changes(people=people(**self.put), knows=knows(*self.edges), gone=gone)


EDITS = st.builds(
    Edit,
    put=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9), min_size=1, max_size=3),
    gone=st.sampled_from(NAMES),
    edges=st.sets(st.sampled_from(["ada-bob", "bob-eve", "eve-eve", "zoe-ada"]), max_size=2),
)


@dataclass(frozen=True)
class Line:
    """A branch of the model."""

    held: Contents
    parent: BranchName | None
    past: tuple[tuple[CommitId, Contents], ...]
    unfinished: Contents | None = None


class GraphBesideDictionary(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.model: dict[BranchName, Line] = {}

    @initialize()
    def init(self) -> None:
        self.store = make_store(self.place / "g")
        # A second handle that is never told anything, and a reader that is never renewed.
        self.other = open_store(self.place / "g")
        first = next(self.store.history().line()).id
        self.model[MAIN] = Line(({}, set()), None, ((first, ({}, set())),))

    def teardown(self) -> None:
        if self.model:
            self.every_past_commit_reads_as_it_was()
        shutil.rmtree(self.place)

    # Steps ---------------------------------------------------------------------------------------

    @rule(data=st.data(), edit=EDITS, by_other=st.booleans())
    def write(self, data: st.DataObject, edit: Edit, by_other: bool) -> None:
        name = self.some_branch(data)
        self.heal(name)
        store = self.other if by_other else self.store
        made = put(store, edit.work(), branch=name)
        assert made is not None
        self.moved(name, made, edit.on(self.model[name].held))

    @rule(data=st.data(), edit=EDITS, point=st.sampled_from(Failpoint))
    def crash(self, data: st.DataObject, edit: Edit, point: Failpoint) -> None:
        name = self.some_branch(data)
        self.heal(name)
        with pytest.raises(Crash):
            put(self.store, edit.work(), branch=name, faults=CrashAt(point))
        after = edit.on(self.model[name].held)
        if point in VISIBLE:
            self.moved(name, self.store.snapshot(name).commit.id, after)
        elif point in FINISHED:
            self.model[name] = replace(self.model[name], unfinished=after)
        # Nobody who only reads can tell.
        self.store = open_store(self.place / "g")

    @rule()
    def recover(self) -> None:
        recover_all(self.other)
        for name in self.model:
            self.heal(name, is_healed=True)
        assert self.store.objects.list(RECOVERY) == []

    @rule(data=st.data(), is_compaction=st.booleans())
    def tidy(self, data: st.DataObject, is_compaction: bool) -> None:
        name = self.some_branch(data)
        self.heal(name)
        upkeep = Optimizing(self.store) if is_compaction else Indexing(self.store)
        kind = CommitKind.OPTIMIZE if is_compaction else CommitKind.INDEX
        written = write(self.store, upkeep, to=Target(name), note=CommitNote(kind))
        if (made := id_of(written)) is not None:
            self.moved(name, made, self.model[name].held)

    @rule(data=st.data(), name=st.sampled_from(BRANCHES))
    def make_branch(self, data: st.DataObject, name: BranchName) -> None:
        source = self.some_branch(data)
        if name in self.model:
            with pytest.raises(BranchExists):
                create_branch(self.store, name, source)
            return
        create_branch(self.store, name, source)
        line = self.model[source]
        self.model[name] = Line(line.held, source, line.past)

    @rule(name=st.sampled_from(BRANCHES))
    def delete_branch(self, name: BranchName) -> None:
        if name not in self.model:
            with pytest.raises(BranchMissing):
                delete_branch(self.other, name)
        elif any(line.parent == name for line in self.model.values()):
            with pytest.raises(BranchHasChildren):
                delete_branch(self.other, name)
        else:
            delete_branch(self.other, name)
            del self.model[name]

    @rule(data=st.data())
    def travel(self, data: st.DataObject) -> None:
        line = self.model[self.some_branch(data)]
        commit, held = data.draw(st.sampled_from(line.past))
        snapshot = self.store.snapshot_at(commit)
        assert (ages(snapshot), pairs(snapshot)) == held

    # What always holds ---------------------------------------------------------------------------

    @invariant()
    def every_branch_holds_what_the_model_does(self) -> None:
        if not self.model:
            return
        for store in (self.store, self.other):
            assert {branch.name for branch in store.branches.list()} == set(self.model)
        for name, line in self.model.items():
            assert contents(self.other, name) == line.held
            assert self.other.snapshot(name).commit.id == line.past[-1][0]

    def every_past_commit_reads_as_it_was(self) -> None:
        fresh = open_store(self.place / "g")
        for name, line in self.model.items():
            assert [c.id for c in reversed(list(fresh.history().line(name)))] == [
                c for c, _ in line.past
            ]
            for commit, held in line.past:
                snapshot = fresh.snapshot_at(commit)
                assert (ages(snapshot), pairs(snapshot)) == held
        with pytest.raises(CommitMissing):
            fresh.snapshot_at(CommitId("01ARZ3NDEKTSV4RRFFQ69G5FAV"))

    # The model's own -----------------------------------------------------------------------------

    def some_branch(self, data: st.DataObject) -> BranchName:
        return data.draw(st.sampled_from(sorted(self.model)))

    def heal(self, name: BranchName, *, is_healed: bool = False) -> None:
        """A write begins by finishing what a crash has left on its branch."""
        after = self.model[name].unfinished
        if after is not None:
            if not is_healed:
                assert put(self.other, changes(gone=["nobody"]), branch=name) is None
            self.moved(name, self.other.snapshot(name).commit.id, after)

    def moved(self, name: BranchName, commit: CommitId, held: Contents) -> None:
        line = self.model[name]
        past = (*line.past, (commit, held))
        self.model[name] = replace(line, held=held, past=past, unfinished=None)


def test_a_graph_agrees_with_a_dictionary_whatever_is_done_to_it(
    request: pytest.FixtureRequest,
) -> None:
    is_deep = request.config.getoption("--deep")
    profile = (
        settings(max_examples=60, stateful_step_count=40)
        if is_deep
        else settings(max_examples=12, stateful_step_count=12)
    )
    run_state_machine_as_test(GraphBesideDictionary, settings=profile)
