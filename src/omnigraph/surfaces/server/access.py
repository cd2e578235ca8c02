"""What an actor may do: one of four states, chosen when the server starts.

| state | started with | lets |
|---|---|---|
| `Open` | `--unauthenticated` | anyone do anything; there are no actors |
| `Personal` | `omnigraph explore` | one person, who has the token of this run, do anything |
| `DefaultDeny` | tokens | actors with a token read, and do nothing else |
| `UnderPolicy` | tokens and `--policy` | actors with a token do what the policy allows |

The engine asks the policy at every door. What it has no door for is asked here: the list of graphs,
and stored queries. So is whether a write would be allowed, before an actor is told to wait.
"""

from typing import TYPE_CHECKING

from omnigraph.base.errors import DeniedError, PolicyDenied, PolicyNeedsTokens
from omnigraph.base.frozen import frozen
from omnigraph.engine.backend import engine_of
from omnigraph.engine.gate import Action
from omnigraph.surfaces.server.tokens import Tokens

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph
    from omnigraph.policy.policy import FittedPolicy

__all__ = [
    "GRAPH_LIST",
    "INVOKE_QUERY",
    "METRICS",
    "Access",
    "DefaultDeny",
    "Open",
    "Personal",
    "UnderPolicy",
    "Where",
    "may",
]

GRAPH_LIST, INVOKE_QUERY, METRICS = "graph_list", "invoke_query", "metrics"
"""Actions that only a server has: to list graphs, to run a stored query, and to read metrics."""

NO_POLICY = "the server was started without a policy, so actors may read and do nothing else"


@frozen
class Where:
    """What is known of a request's aim: the rest the engine asks about."""

    branch: str | None = None
    target: str | None = None
    """Of a merge: the branch that takes the changes."""
    query: str | None = None


@frozen
class Open:
    is_list_closed: bool = False
    """True if a policy says who lists the graphs: there are no actors whom it could let."""
    may_run_spark: bool = False
    """True if anyone may start Spark, which takes much memory and time."""

    def actor(self, header: str | None) -> str | None:
        """Nobody: a token that is sent all the same proves nothing here."""
        return None

    def allow(self, actor: str | None, action: str, where: Where) -> None:
        if self.is_list_closed and action == GRAPH_LIST:
            raise PolicyNeedsTokens(None)

    def handle(self, graph: "Graph", actor: str | None) -> "Graph":
        return graph if self.may_run_spark else _without_spark(graph)


@frozen
class Personal:
    tokens: Tokens
    as_actor: str | None
    """Who acts. It may be nobody, as in other commands of one who has not said who they are."""

    def actor(self, header: str | None) -> str | None:
        self.tokens.actor_of(header)
        return self.as_actor

    def allow(self, actor: str | None, action: str, where: Where) -> None:
        return

    def handle(self, graph: "Graph", actor: str | None) -> "Graph":
        return graph if actor is None else graph.as_actor(actor)


@frozen
class DefaultDeny:
    tokens: Tokens

    def actor(self, header: str | None) -> str | None:
        return self.tokens.actor_of(header)

    def allow(self, actor: str | None, action: str, where: Where) -> None:
        if action != Action.READ:
            raise PolicyDenied(action=action, actor=actor, branch=where.branch, reason=NO_POLICY)

    def handle(self, graph: "Graph", actor: str | None) -> "Graph":
        assert actor is not None, "a token is of somebody"
        return _without_spark(graph.as_actor(actor))


@frozen
class UnderPolicy:
    tokens: Tokens
    policy: "FittedPolicy"

    def actor(self, header: str | None) -> str | None:
        return self.tokens.actor_of(header)

    def allow(self, actor: str | None, action: str, where: Where) -> None:
        """Raise if the answer is no. Where the branch is not known yet, the engine asks again; an
        actor who may write no branch at all is refused before the body is read."""
        if where.branch is None and action not in (GRAPH_LIST, INVOKE_QUERY, METRICS):
            if action != Action.READ and not self.policy.may_ever(actor=actor, action=action):
                raise PolicyDenied(action=action, actor=actor)
            return
        decision = self.policy.decide(
            actor=actor,
            action=action,
            branch=where.branch,
            target_branch=where.target,
            query=where.query,
        )
        if not decision.allowed:
            raise PolicyDenied(
                action=action, actor=actor, branch=where.branch, target_branch=where.target
            )

    def handle(self, graph: "Graph", actor: str | None) -> "Graph":
        assert actor is not None, "a token is of somebody"
        return graph.as_actor(actor)


Access = Open | Personal | DefaultDeny | UnderPolicy


def _without_spark(graph: "Graph") -> "Graph":
    from omnigraph.engine.handles.graph import Graph

    return Graph(engine_of(graph.backend).without_spark())


def may(access: Access, actor: str | None, action: str, where: Where) -> bool:
    try:
        access.allow(actor, action, where)
    except DeniedError:
        return False
    return True
