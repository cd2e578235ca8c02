"""Questions about descent, over histories drawn at random."""

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.ids import MAIN, CommitId
from omnigraph.store.commits import Commit, CommitKind, History, TableChange
from omnigraph.store.manifest import CommitRow
from omnigraph.store.transactions import DatasetRef
from tests.store_contract.builders import PERSON


def commit(
    number: int, parent: int | None, merged: int | None = None, *, is_upkeep: bool = False
) -> Commit:
    def name(n: int | None) -> CommitId | None:
        return None if n is None else CommitId(f"c{n}")

    return Commit(
        id=CommitId(f"c{number}"),
        parent=name(parent),
        merged_parent=name(merged),
        branch=MAIN,
        seq=number,
        kind=CommitKind.MERGE
        if merged is not None
        else CommitKind.OPTIMIZE
        if is_upkeep
        else CommitKind.MUTATION,
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
        merged = draw(st.none() | older)
        made.append(commit(number, draw(older), merged, is_upkeep=draw(st.booleans())))
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


def rows_shown(commits: list[Commit]) -> dict[CommitId, CommitId]:
    """For each commit, whose rows it shows: its parent's, those it merged, or its own."""
    shown: dict[CommitId, CommitId] = {}
    for made in commits:
        if made.kind.keeps_rows and made.parent is not None:
            shown[made.id] = shown[made.parent]
        elif made.merged_parent is not None:
            shown[made.id] = shown[made.merged_parent]
        else:
            shown[made.id] = made.id
    return shown


@given(histories(), st.data())
def test_rows_are_followed_through_merges_and_compactions(
    commits: list[Commit], data: st.DataObject
) -> None:
    pick = st.sampled_from([c.id for c in commits])
    ours, theirs = data.draw(pick), data.draw(pick)
    history, shown = History(commits), rows_shown(commits)
    assert {c.id: history.origin_of_rows(c.id) for c in commits} == shown
    assert history.ancestors(theirs) == reachable(commits, theirs)
    alike = {c for c in reachable(commits, theirs) if shown[c] == shown[ours]}
    found = history.ancestor_like(ours, of=theirs)
    assert (found is None) == (not alike)
    if found is not None:
        assert found.id in alike
        line = [c.id for c in history.first_parents(theirs) if c.id in alike]
        assert found.id == (line[0] if line else max(alike, key=lambda c: history[c].seq))


def test_rows_of_a_branch_that_is_gone_are_still_told_from_others() -> None:
    history = History([commit(0, None), commit(3, 0, merged=2), commit(4, 0, merged=9)])
    assert history.origin_of_rows(CommitId("c3")) == CommitId("c2")
    assert history.ancestor_like(CommitId("c3"), of=CommitId("c4")) is None


def test_first_parents_follow_the_line_and_not_the_merges() -> None:
    history = History([commit(0, None), commit(1, 0), commit(2, 0), commit(3, 1, merged=2)])
    assert [c.id for c in history.first_parents(CommitId("c3"))] == ["c3", "c1", "c0"]
    assert history[CommitId("c3")].is_merge


def test_a_commit_reads_back_from_its_manifest_row() -> None:
    made = commit(3, 1, merged=2).published(9, at_ms=5)
    row = made.to_row()
    assert Commit.from_row(CommitRow(row.id, row.seq, row.parents, row.metadata)) == made
    assert row.parents == ("c1", "c2")
