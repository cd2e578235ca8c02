"""The one door: a commit becomes visible here, whole, or not at all.

Nothing else in the house changes what a reader sees.
"""

from collections.abc import Sequence

from omnigraph.base.errors import FenceLost, HeadMoved
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import FencedBranch
from omnigraph.store.manifest import CommitRow, Manifest, ManifestMoved, ManifestState

__all__ = ["publish"]


def publish(
    manifest: Manifest,
    fenced: FencedBranch,
    *,
    onto: ManifestState,
    commit: Commit,
    merged: Sequence[CommitRow] = (),
    now_ms: int,
) -> ManifestState:
    """Swap the branch's head from `onto` to `commit`, or raise with no effect.

    `merged` are the commits that come with a merge: from now on the branch's manifest holds them,
    and they stay known when their own branch is gone.

    The commit's time is that of its publishing, and never before that of the commit it follows. So
    a moment of the past gives one answer for ever; only a moment less old than a swap takes,
    milliseconds, can still gain the commit that is being published.

    `HeadMoved`: another commit was first. `FenceLost`: another owner was. The swap replaces exactly
    the state whose number is looked at here, so an owner who comes later makes it fail.
    """
    branch = fenced.branch
    assert commit.branch == branch.name, f"{commit.id} was made for the branch {commit.branch}"
    if onto.fencing > fenced.number:
        raise FenceLost(branch=branch.name, holder="another writer")
    if commit.parent != onto.head:
        raise HeadMoved(branch=branch.name, expected=commit.parent, actual=onto.head)
    not_before_ms = Commit.from_row(onto.recent[-1]).created_at_ms
    visible = commit.published(onto.version + 1, at_ms=max(now_ms, not_before_ms))
    kept = {key: entry for key, entry in onto.tables.items() if key not in commit.dropped}
    try:
        published = manifest.replace(
            onto,
            name=branch.name,
            tables={**kept, **visible.entries},
            commit=visible.to_row(),
            merged=merged,
            fencing=fenced.number,
        )
    except ManifestMoved as moved:
        actual = manifest.newest(branch.lance_branch).head
        raise HeadMoved(branch=branch.name, expected=onto.head, actual=actual) from moved
    assert published.head == commit.id and published.version == visible.manifest_version
    return published
