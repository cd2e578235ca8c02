"""Who asks, and what they may do: answers for a page that offers nothing that would be denied."""

from enum import StrEnum

import msgspec

__all__ = ["BranchRightsOutput", "GraphMeOutput", "IndexOutput", "MeOutput", "ServerState"]


class ServerState(StrEnum):
    OPEN = "open"
    """Anyone may do anything."""
    PERSONAL = "personal"
    """One person, with the token of this run, may do anything."""
    DEFAULT_DENY = "default_deny"
    """Who has a token may read."""
    POLICY = "policy"
    """Who has a token may do what the policy allows."""


class IndexOutput(msgspec.Struct, kw_only=True):
    """The paths where a program or a person goes on from `/`."""

    name: str
    version: str
    explorer: str
    graphs: str
    documentation: str
    openapi: str


class MeOutput(msgspec.Struct, kw_only=True):
    version: str
    state: ServerState
    actor_id: str | None
    graphs: list[str] | None
    """None: the actor may not list them."""


class BranchRightsOutput(msgspec.Struct, kw_only=True):
    name: str
    actions: list[str]
    merges_into: list[str]
    """The branches into which the actor may merge this one, whatever it has changed."""
    merges_some_into: list[str]
    """The branches into which the actor may merge this one if rules about rows allow each row that
    it has changed: a preview of the merge tells."""


class GraphMeOutput(msgspec.Struct, kw_only=True):
    graph_id: str
    version: str
    state: ServerState
    actor_id: str | None
    is_read_only: bool
    branches: list[BranchRightsOutput]
