"""The request of a load, and whether it has been answered before."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import BranchMissing
from omnigraph.base.ids import BranchName
from omnigraph.engine.load.bad_rows import BadRows
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.store.commits import Commit
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.location import BucketAccess

if TYPE_CHECKING:
    from omnigraph.pipeline.sources.mapping import MappingArgument

__all__ = ["Request", "loaded_before"]


@dataclass(frozen=True, slots=True)
class Request:
    """What to load, how, and where to."""

    source: object
    mapping: "MappingArgument"
    format: str | None
    mode: LoadModeName
    branch: BranchName
    from_: BranchName | None
    load_id: str | None
    resume: bool
    engine: str
    bad_rows: BadRows
    is_dry_run: bool
    access: BucketAccess
    """How to reach buckets in which there is input."""
    limits: LoadLimits


def loaded_before(store: GraphStore, request: Request) -> Commit | None:
    """The commit that brought an earlier load with this load id, by itself or by a merge."""
    if request.load_id is None:
        return None
    line = store.history().line(request.branch)
    try:
        return next((commit for commit in line if request.load_id in commit.load_ids), None)
    except BranchMissing:
        if request.from_ is None:
            raise
        return None
