"""The one door: a commit becomes visible here, whole, or not at all.

Nothing else in the house changes what a reader sees.
"""

from omnigraph.base.errors import HeadMoved
from omnigraph.store.branches import Branch
from omnigraph.store.commits import Commit
from omnigraph.store.manifest import Manifest, ManifestMoved, ManifestState

__all__ = ["publish"]


def publish(
    manifest: Manifest, branch: Branch, *, onto: ManifestState, commit: Commit
) -> ManifestState:
    """Swap the branch's head from `onto` to `commit`, or raise `HeadMoved` with no effect."""
    if commit.parent != onto.head:
        raise HeadMoved(branch=branch.name, expected=commit.parent, actual=onto.head)
    visible = commit.published_at(onto.version + 1)
    try:
        published = manifest.replace(
            onto,
            name=branch.name,
            tables={**onto.tables, **visible.entries},
            commit=visible.to_row(),
        )
    except ManifestMoved as moved:
        actual = manifest.newest(branch.lance_branch).head
        raise HeadMoved(branch=branch.name, expected=onto.head, actual=actual) from moved
    assert published.head == commit.id and published.version == visible.manifest_version
    return published
