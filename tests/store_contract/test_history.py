"""Questions about descent, over histories drawn at random, and how much is read to answer them."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import BranchMissing, CommitMissing
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.store.commits import Commit
from omnigraph.store.history import MAX_BASE_LEVELS
from tests.store_contract.histories import (
    PlainLines,
    commit,
    histories,
    line,
    reachable,
    rows_shown,
)


def named(*numbers: int) -> list[CommitId]:
    return [CommitId(f"c{number}") for number in numbers]


# Laws ---------------------------------------------------------------------------------------------


@given(histories(), st.data())
def test_rows_are_followed_through_merges_and_compactions(
    commits: list[Commit], data: st.DataObject
) -> None:
    pick = st.sampled_from([c.id for c in commits])
    ours, theirs = data.draw(pick), data.draw(pick)
    keeps_merged = data.draw(st.booleans())
    log, shown = PlainLines(commits, keeps_merged=keeps_merged).log, rows_shown(commits)
    assert {c.id: log.origin_of_rows(c.id) for c in commits} == shown
    assert log.ancestors(theirs) == reachable(commits, theirs)
    alike = {c for c in reachable(commits, theirs) if shown[c] == shown[ours]}
    found = log.ancestor_like(ours, of=theirs)
    assert (found is None) == (not alike)
    if found is not None:
        assert found.id in alike
        on_line = [c.id for c in line(commits, theirs) if c.id in alike]
        assert found.id == (on_line[0] if on_line else max(alike, key=lambda c: log.get(c).seq))


@given(histories(), st.integers(1, 4), st.data())
def test_every_commit_and_line_is_found_in_whatever_order_it_is_asked_for(
    commits: list[Commit], recent_count: int, data: st.DataObject
) -> None:
    lines = PlainLines(commits, recent_count)
    log = lines.log
    for asked in data.draw(st.permutations(commits)):
        if data.draw(st.booleans()):
            assert log.get(asked.id) == asked
        else:
            assert [*log.line_of(asked.id)] == line(commits, asked.id)
    for name, tip in lines.tips().items():
        assert [*log.line(name)] == line(commits, tip.id)
    assert len(lines.opened) <= len(lines.tips())


def lowest_common(commits: list[Commit], one: CommitId, other: CommitId) -> set[CommitId]:
    """The common ancestors of which no other common ancestor descends."""
    common = reachable(commits, one) & reachable(commits, other)
    return {c for c in common if not any(c in reachable(commits, d) - {d} for d in common)}


@given(histories(length=16), st.integers(1, 4), st.data())
def test_the_merge_base_is_a_lowest_common_ancestor_and_always_the_same(
    commits: list[Commit], recent_count: int, data: st.DataObject
) -> None:
    pick = st.sampled_from([c.id for c in commits])
    one, other = data.draw(pick), data.draw(pick)
    bases = lowest_common(commits, one, other)
    seq = {c.id: c.seq for c in commits}
    expected = sorted(bases, key=lambda c: (seq[c], c), reverse=True)
    for asked in ((one, other), (other, one)):
        log = PlainLines(commits, recent_count).log
        assert [base.id for base in log.merge_bases(*asked)] == expected
        assert log.merge_base(*asked).id == expected[0]


def every_base(
    commits: list[Commit], one: CommitId, other: CommitId, levels: int = MAX_BASE_LEVELS
) -> set[CommitId]:
    """The bases of two commits, and those of any two of several bases themselves."""
    found = lowest_common(commits, one, other)
    pairs = combinations(found, 2) if levels > 1 else ()
    return found.union(*(every_base(commits, *pair, levels - 1) for pair in pairs))


@given(histories(length=16), st.integers(1, 4), st.data())
def test_bases_from_some_commits_are_those_of_the_heads_that_descend_from_them(
    commits: list[Commit], recent_count: int, data: st.DataObject
) -> None:
    pick = st.sampled_from([c.id for c in commits])
    asked, heads = data.draw(st.sets(pick)), data.draw(st.lists(pick, max_size=4))
    holders = [head for head in heads if asked & reachable(commits, head)]
    pairs = combinations(holders, 2)
    expected = set[CommitId]().union(*(every_base(commits, *pair) for pair in pairs))
    assert PlainLines(commits, recent_count).log.bases_from(asked, heads) == expected


@given(histories(length=16), st.integers(1, 4), st.data())
def test_deleting_branches_takes_nothing_away_that_others_descend_from(
    commits: list[Commit], recent_count: int, data: st.DataObject
) -> None:
    tips = PlainLines(commits).tips()
    deleted = data.draw(st.sets(st.sampled_from(sorted(tips)))) - {MAIN}
    log = PlainLines(commits, recent_count, deleted=deleted).log
    kept = {c for name in tips.keys() - deleted for c in reachable(commits, tips[name].id)}
    for asked in data.draw(st.permutations(commits)):
        if asked.id in kept:
            assert log.get(asked.id) == asked
            assert log.ancestors(asked.id) == reachable(commits, asked.id)
        else:
            with pytest.raises(CommitMissing):
                log.get(asked.id)


@given(histories(length=16), st.integers(1, 4), st.data())
def test_a_merge_brings_what_its_branch_does_not_hold(
    commits: list[Commit], recent_count: int, data: st.DataObject
) -> None:
    """Also in a graph from before merged commits were kept: then those of other lines too."""
    lines = PlainLines(commits, recent_count, keeps_merged=data.draw(st.booleans()))
    name, tip = data.draw(st.sampled_from(sorted(lines.tips().items())))
    merged = data.draw(st.sampled_from(commits)).id
    held = reachable(commits, tip.id)
    if not lines.keeps_merged:
        held = {c.id for c in line(commits, tip.id)}
    brought = lines.log.missing_on(name, merged)
    assert {row.id for row in brought} == until(commits, merged, held)
    assert [row.seq for row in brought] == sorted(row.seq for row in brought)


def until(commits: list[Commit], start: CommitId, held: set[CommitId]) -> set[CommitId]:
    """The commits on the way down from one to those that are held."""
    by_id, seen, stack = {c.id: c for c in commits}, set[CommitId](), [start]
    while stack:
        current = stack.pop()
        if current not in held:
            seen.add(current)
            stack += by_id[current].parents
    return seen


# Cases --------------------------------------------------------------------------------------------


def test_of_two_bases_that_crossing_merges_leave_the_one_with_the_longer_line_counts() -> None:
    commits = [commit(0, None), commit(1, 0), commit(2, 0, merged=1), commit(3, 1), commit(4, 2)]
    assert PlainLines(commits).log.merge_base(*named(3, 4)).id == "c1"


def test_in_an_old_graph_rows_of_a_branch_that_is_gone_are_still_told_from_others() -> None:
    made = [commit(0, None), commit(3, 0, merged=2, rows_of=2), commit(4, 0, merged=9, rows_of=9)]
    log = PlainLines(made, keeps_merged=False).log
    assert log.origin_of_rows(CommitId("c3")) == CommitId("c2")
    assert log.ancestor_like(CommitId("c3"), of=CommitId("c4")) is None
    assert log.ancestors(CommitId("c3")) == {*named(0, 3)}
    with pytest.raises(CommitMissing):
        log.get(CommitId("c2"))


def test_in_an_old_graph_a_merge_leads_to_the_commit_whose_rows_it_brought() -> None:
    """Commit 2 brought commit 1 to a branch that was merged into main as commit 3, and is gone."""
    made = [commit(0, None), commit(3, 0, merged=2, rows_of=1), commit(1, 0), commit(4, 1)]
    log = PlainLines(made, keeps_merged=False).log
    assert log.ancestors(CommitId("c3")) == {*named(0, 1, 3)}
    assert log.merge_base(*named(3, 4)).id == "c1"


def test_a_line_follows_first_parents_and_not_the_merges() -> None:
    log = PlainLines([commit(0, None), commit(1, 0), commit(2, 0), commit(3, 1, merged=2)]).log
    assert [c.id for c in log.line_of(CommitId("c3"))] == ["c3", "c1", "c0"]
    assert log.get(CommitId("c3")).is_merge


def test_a_branch_that_is_not_there_has_no_line() -> None:
    with pytest.raises(BranchMissing):
        next(PlainLines([commit(0, None)]).log.line(BranchName("none")))


# Cost ---------------------------------------------------------------------------------------------


def forked(branches: int, length: int = 10) -> list[Commit]:
    """A main of ten commits, and branches with so many of their own, all made from its fifth."""
    made = [commit(0, None), *(commit(n, n - 1) for n in range(1, 10))]
    for branch in range(1, branches + 1):
        first = 10 * branch
        made.append(commit(first, 4))
        made += [commit(n, n - 1) for n in range(first + 1, first + length)]
    return made


def test_a_recent_commit_is_found_without_reading_anything_older() -> None:
    lines = PlainLines(forked(5))
    assert lines.log.get(CommitId("c58")).seq == 58
    assert lines.read == []


def test_a_commit_that_was_seen_is_found_on_its_branch_and_no_other_is_looked_at() -> None:
    lines = PlainLines(forked(5), likely=BranchName("c39"))
    assert lines.log.get(CommitId("c31")).seq == 31
    assert lines.opened == ["c39"]
    assert {*lines.read} == {*named(*range(5), *range(30, 38))}


def test_an_old_commit_of_main_is_found_without_reading_the_older_ones_of_other_branches() -> None:
    lines = PlainLines(forked(5))
    assert lines.log.get(CommitId("c3")).seq == 3
    assert {*lines.read} == {*named(*range(8))}


def test_older_commits_that_all_branches_share_are_read_once() -> None:
    lines = PlainLines(forked(20, length=3), recent_count=5)
    with pytest.raises(CommitMissing):
        lines.log.get(CommitId("none"))
    assert sorted(lines.read) == named(*range(5))


def test_a_line_that_is_left_early_reads_nothing_older() -> None:
    lines = PlainLines(forked(5))
    newest = lines.log.line(MAIN)
    assert [next(newest).id, next(newest).id] == ["c9", "c8"]
    assert (lines.opened, lines.read) == ([MAIN], [])
    assert next(newest).id == "c7"
    assert {*lines.read} == {*named(*range(8))}


def test_a_merge_base_without_merges_reads_down_to_where_the_lines_part() -> None:
    lines = PlainLines([commit(0, None), commit(1, 0), commit(2, 1), commit(3, 1)], 2)
    assert lines.log.merge_base(*named(2, 3)).id == "c1"
    assert lines.read == []
