"""Who asks, and what they may do."""

from typing import TYPE_CHECKING

import omnigraph
from omnigraph.base.errors import BranchMissing
from omnigraph.base.ids import BranchName
from omnigraph.engine.backend import engine_of
from omnigraph.engine.gate import Action
from omnigraph.engine.guard import Extent
from omnigraph.surfaces.server.access import (
    GRAPH_LIST,
    Access,
    DefaultDeny,
    Open,
    Personal,
    UnderPolicy,
    Where,
    may,
)
from omnigraph.surfaces.server.calls import Call, Reply, json_reply
from omnigraph.surfaces.server.models.me import (
    BranchRightsOutput,
    GraphMeOutput,
    MeOutput,
    ServerState,
)

if TYPE_CHECKING:
    from omnigraph.store.snapshot import Snapshot

__all__ = ["of_graph", "of_server"]

# Rights into every other branch are told of so many: their number grows with its square.
MAX_TARGETS = 50
ON_ONE_BRANCH = tuple(action for action in Action if action is not Action.BRANCH_MERGE)


def of_server(call: Call) -> Reply:
    access, actor = call.serving.access, call.actor
    is_shown = may(access, actor, GRAPH_LIST, Where())
    return json_reply(
        MeOutput(
            version=omnigraph.__version__,
            state=_state(access),
            actor_id=actor,
            graphs=sorted(call.serving.registry.graphs) if is_shown else None,
        )
    )


def of_graph(call: Call) -> Reply:
    """What the actor may do, on the branches that they may read."""
    names, rights = call.graph.branches(), _Rights(call)
    return json_reply(
        GraphMeOutput(
            graph_id=call.of.id,
            version=omnigraph.__version__,
            state=_state(call.access),
            actor_id=call.actor,
            is_read_only=call.graph.backend.is_read_only,
            branches=[_branch_rights(rights, name, names[:MAX_TARGETS]) for name in names],
        )
    )


def _branch_rights(rights: "_Rights", name: str, targets: list[str]) -> BranchRightsOutput:
    extents = {into: rights.to_merge(name, into) for into in targets if into != name}
    return BranchRightsOutput(
        name=name,
        actions=[str(a) for a in ON_ONE_BRANCH if rights.has(a, name)],
        merges_into=[into for into, extent in extents.items() if extent is Extent.EVERYTHING],
        merges_some_into=[into for into, extent in extents.items() if extent is Extent.SOME_ROWS],
    )


class _Rights:
    """What the engine's gate and the server's own state say, both."""

    def __init__(self, call: Call) -> None:
        self._access = call.access
        self._actor = call.actor
        self._engine = engine_of(call.graph.backend)
        self._gate = self._engine.gate
        self._heads: dict[BranchName, Snapshot] = {}

    def to_merge(self, source: str, target: str) -> Extent:
        where = Where(branch=source, target=target)
        is_open = may(self._access, self._actor, Action.BRANCH_MERGE, where)
        if self._gate.is_read_only or not is_open:
            return Extent.NOTHING
        guard, from_, into = self._gate.guard, BranchName(source), BranchName(target)
        if guard is None:
            return Extent.EVERYTHING
        if not guard.allows(self._actor, Action.BRANCH_MERGE, from_, into):
            return Extent.NOTHING
        try:
            return guard.may_merge(self._actor, self._head(from_), self._head(into))
        except BranchMissing:
            # Deleted since the branches were listed.
            return Extent.NOTHING

    def _head(self, branch: BranchName) -> "Snapshot":
        if branch not in self._heads:
            self._heads[branch] = self._engine.store.snapshot(branch)
        return self._heads[branch]

    def has(self, action: Action, branch: str) -> bool:
        if self._gate.is_read_only and not action.is_reading:
            return False
        if not may(self._access, self._actor, action, Where(branch=branch)):
            return False
        guard = self._gate.guard
        on = BranchName(branch)
        if guard is None or action is Action.BRANCH_CREATE:
            # Where a new branch may be made depends on its name: the server's state said it.
            return True
        return guard.allows(self._actor, action, on)


def _state(access: Access) -> ServerState:
    match access:
        case Open():
            return ServerState.OPEN
        case Personal():
            return ServerState.PERSONAL
        case DefaultDeny():
            return ServerState.DEFAULT_DENY
        case UnderPolicy():
            return ServerState.POLICY
