"""Who asks, and what they may do."""

import omnigraph
from omnigraph.base.ids import BranchName
from omnigraph.engine.backend import engine_of
from omnigraph.engine.gate import Action
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
            branches=[
                BranchRightsOutput(
                    name=name,
                    actions=[str(a) for a in ON_ONE_BRANCH if rights.has(a, name)],
                    merges_into=[
                        into
                        for into in names[:MAX_TARGETS]
                        if into != name and rights.has(Action.BRANCH_MERGE, name, into)
                    ],
                )
                for name in names
            ],
        )
    )


class _Rights:
    """What the engine's gate and the server's own state say, both."""

    def __init__(self, call: Call) -> None:
        self._access = call.access
        self._actor = call.actor
        self._gate = engine_of(call.graph.backend).gate

    def has(self, action: Action, branch: str, target: str | None = None) -> bool:
        if self._gate.is_read_only and not action.is_reading:
            return False
        if not may(self._access, self._actor, action, Where(branch=branch, target=target)):
            return False
        guard = self._gate.guard
        on = BranchName(branch)
        if guard is None or action is Action.BRANCH_CREATE:
            # Where a new branch may be made depends on its name: the server's state said it.
            return True
        return guard.allows(self._actor, action, on, target)


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
