"""Review: what a branch changes, entity by entity and property by property, and what a merge of it
would come to. Nothing is written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from omnigraph.base.choices import ChangeOp, EntityKind
from omnigraph.base.conflicts import Conflict
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey, TypeName
from omnigraph.engine.change_results import Diff
from omnigraph.engine.change_values import change_dicts, property_changes
from omnigraph.engine.cursor import FilterForm, PlaceForm, packed, unpacked
from omnigraph.engine.diff import compared
from omnigraph.engine.engine import Engine
from omnigraph.engine.entity_history import PropertyChange
from omnigraph.engine.explore_requests import CompareRead, ReviewRead
from omnigraph.engine.history import known
from omnigraph.engine.merge import merge
from omnigraph.engine.requests import Merge
from omnigraph.engine.results import ChangeCounts, CommitInfo
from omnigraph.engine.told_values import told_value
from omnigraph.engine.travel import page_moment, told
from omnigraph.merge.writer import MergeOutcome
from omnigraph.read.changes.compare import Page, Place

__all__ = ["ChangedEntity", "ComparePage", "Review", "compare", "review"]

PREFIX = "ogd1_"
TokenForm = tuple[str, str, bool, FilterForm, PlaceForm]
"""Of a page token: both commits that were asked for, how, and the last entity of the page."""
MAX_COMMITS = 200
"""Of a branch that is reviewed, so many commits are listed."""


@frozen
class ChangedEntity:
    kind: EntityKind
    type_name: TypeName
    id: str
    op: ChangeOp
    properties: tuple[PropertyChange, ...]
    """Those that differ; of an edge that came or went, also its ends."""


@frozen
class ComparePage:
    """Some of what differs between two moments."""

    from_commit_id: CommitId
    to_commit_id: CommitId
    counts: Mapping[str, ChangeCounts] | None
    """By type, of all changes that were asked for; None on a later page."""
    changes: tuple[ChangedEntity, ...]
    next_page_token: str | None


@frozen(kw_only=True)
class Review:
    """What a merge of a branch would come to, and where the two stand."""

    source: BranchName
    target: BranchName
    source_commit_id: CommitId
    """Pass it to the merge as `if_source_commit`, and the target's as `if_commit`: then what is
    merged is what was reviewed."""
    target_commit_id: CommitId
    base_commit_id: CommitId
    """The latest commit that both have: `diff(base, source)` is what the branch changed."""
    outcome: MergeOutcome
    """What the merge would be, once its conflicts are settled."""
    counts: Mapping[str, ChangeCounts]
    """By type: the rows of the target that would change, without those in conflict."""
    conflicts: tuple[Conflict, ...]
    more_conflicts: int
    """How many there are beside those listed."""
    left_out: Mapping[str, int]
    """Changes that the target's schema has no place for."""
    commits: tuple[CommitInfo, ...]
    """The commits that the merge would bring, newest first."""
    has_more_commits: bool
    refusal: str | None
    """Why the merge would be denied to the caller; None: it would not."""


def compare(engine: Engine, request: CompareRead) -> ComparePage:
    """A page of what differs between two moments, as the caller may see both."""
    how = request.since_base, request.filter.to_json()
    last = None
    if request.page_token is not None:
        token: TokenForm = unpacked(PREFIX, request.page_token, TokenForm)
        from_, to, since_base, filter_, place = token
        if (since_base, [*filter_]) != how:
            rule = "it was made for another question"
            raise ArgumentInvalid("page_token", None, rule, "ask for the first page without it")
        last = Place(TableKey(place[0]), place[1])
        # The heads of branches may have moved since.
        request = replace(
            request,
            from_=page_moment(engine, request.from_, CommitId(from_)),
            to=page_moment(engine, request.to, CommitId(to)),
        )
    with compared(engine, request) as (found, sides):
        page = found.page(after=last, limit=request.limit)
        counts = Diff.of(found).counts if last is None else None
        changes = tuple(_changed(page))
        engine.places.keep(found.before, found.after, found.found)
    more = None
    if page.last is not None:
        more = packed(PREFIX, [*sides.asked, *how, page.last])
    return ComparePage(
        from_commit_id=sides.before.commit.id,
        to_commit_id=sides.after.commit.id,
        counts=counts,
        changes=changes,
        next_page_token=more,
    )


def _changed(page: Page) -> Iterator[ChangedEntity]:
    for entity, rows in page.tables:
        types = {p.name: p.type for p in entity.properties}
        for change in change_dicts(entity, rows):
            different = property_changes(change)
            yield ChangedEntity(
                kind=change["kind"],
                type_name=entity.name,
                id=change["id"],
                op=change["op"],
                properties=tuple(
                    PropertyChange(
                        name, told_value(types.get(name), was), told_value(types.get(name), now)
                    )
                    for name, was, now in different
                ),
            )


def review(engine: Engine, request: ReviewRead) -> Review:
    """What a merge of a branch would come to, as its caller may know it."""
    wanted = Merge(
        source=request.source,
        branch=request.branch,
        resolve=request.resolve,
        preview=True,
        actor=request.actor,
    )
    preview = merge(engine, wanted)
    source, target = preview.source_commit_id, preview.target_commit_id
    history = engine.store.history()
    theirs = history.ancestors(source) - history.ancestors(target)
    brought = known(engine, request, (c for c in history.descent([source]) if c.id in theirs))
    commits = [told(engine, request, commit) for commit in islice(brought, MAX_COMMITS + 1)]
    return Review(
        source=preview.source,
        target=preview.target,
        source_commit_id=source,
        target_commit_id=target,
        base_commit_id=history.merge_base(target, source).id,
        outcome=preview.outcome,
        counts=preview.counts,
        conflicts=preview.conflicts,
        more_conflicts=preview.more_conflicts,
        left_out=preview.left_out,
        commits=tuple(commits[:MAX_COMMITS]),
        has_more_commits=len(commits) > MAX_COMMITS,
        refusal=preview.refusal,
    )
