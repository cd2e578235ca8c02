"""What actors can do, in the words of policies: a closed list."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

__all__ = ["ACTIONS", "ROW_ACTIONS", "SERVER_ACTIONS", "ScopeKind"]


class ScopeKind(Enum):
    """Which branch of a request the scope of a rule is about."""

    BRANCH = "branch_scope"
    """The branch that is read or changed."""
    TARGET = "target_branch_scope"
    """The branch that is made, deleted, merged into or given a schema."""


ACTIONS: Mapping[str, ScopeKind | None] = MappingProxyType(
    {
        "read": ScopeKind.BRANCH,
        "export": ScopeKind.BRANCH,
        "change": ScopeKind.BRANCH,
        "schema_apply": ScopeKind.TARGET,
        "branch_create": ScopeKind.TARGET,
        "branch_delete": ScopeKind.TARGET,
        "branch_merge": ScopeKind.TARGET,
        "invoke_query": None,
        "admin": None,
        "run_spark": None,
        "graph_list": None,
        "metrics": None,
    }
)
"""Each action, and the scope that a rule about it can have."""

ROW_ACTIONS = ("read", "export", "change", "branch_merge")
"""Those that a rule can allow or deny row by row."""

SERVER_ACTIONS = ("graph_list", "metrics")
"""Those that are asked of the server, and not of a graph."""
