"""Questions about descent, over histories drawn at random."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import CommitMissing
from omnigraph.base.ids import MAIN, CommitId
from omnigraph.store.commits import Commit, CommitKind, History, TableChange
from omnigraph.store.manifest import CommitRow
from omnigraph.store.transactions import DatasetRef
from tests.store_contract.builders import PERSON


def commit(number: int, parent: int | None, merged: int | None = None) -> Commit:
    def name(n: int | None) -> CommitId | None:
        return None if n is None else CommitId(f"c{n}")

    return Commit(
        id=CommitId(f"c{number}"),
        parent=name(parent),
        merged_parent=name(merged),
        branch=MAIN,
        seq=number,
        kind=CommitKind.MERGE if merged is not None else CommitKind.MUTATION,
        created_at_ms=number,
        schema_hash="h",
        changes=(TableChange(PERSON.table_key, DatasetRef("nodes/p", "b.1", number), 3, 1, 2, 0),),
        actor="someone",
        extra={"load_id": "l"},
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Commit]:
    made = [commit(0, None)]
    for number in range(1, draw(st.integers(1, 12))):
        older = st.integers(0, number - 1)
        made.append(commit(number, draw(older), draw(st.none() | older)))
    return made


def reachable(commits: list[Commit], start: CommitId) -> set[CommitId]:
    by_id = {c.id: c for c in commits}
    seen: set[CommitId] = set()
    stack = [start]
    while stack:
        current = stack.pop()
        seen.add(current)
        stack += by_id[current].parents
    return seen


@given(histories(), st.data())
def test_the_merge_base_is_a_common_ancestor_below_which_there_is_none(
    commits: list[Commit], data: st.DataObject
) -> None:
    pick = st.sampled_from([c.id for c in commits])
    ours, theirs = data.draw(pick), data.draw(pick)
    history = History(commits)
    common = reachable(commits, ours) & reachable(commits, theirs)
    base = history.merge_base(ours, theirs)
    assert base.id in common
    assert not any(base.id in reachable(commits, other) for other in common - {base.id})
    assert history.merge_base(theirs, ours) == base
    if ours in common:
        assert base.id == ours
    assert history.ancestors(ours) == reachable(commits, ours)


def test_first_parents_follow_the_line_and_not_the_merges() -> None:
    history = History([commit(0, None), commit(1, 0), commit(2, 0), commit(3, 1, merged=2)])
    assert [c.id for c in history.first_parents(CommitId("c3"))] == ["c3", "c1", "c0"]
    assert history[CommitId("c3")].is_merge


def test_commits_without_a_common_ancestor_have_no_merge_base() -> None:
    history = History([commit(0, None), commit(1, None)])
    with pytest.raises(CommitMissing):
        history.merge_base(CommitId("c0"), CommitId("c1"))


def test_a_commit_reads_back_from_its_manifest_row() -> None:
    made = commit(3, 1, merged=2).published_at(9)
    row = made.to_row()
    assert Commit.from_row(CommitRow(row.id, row.seq, row.parents, row.metadata)) == made
    assert row.parents == ("c1", "c2")
