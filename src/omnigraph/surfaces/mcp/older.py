"""Tools that earlier clients call and that nobody is offered: they work, and are not listed."""

from typing import Any

import omnigraph
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.tool import Answer, Arguments, Schema, Tool
from omnigraph.surfaces.wire import (
    change_page_json,
    commit_changes_json,
    commit_json,
    tables_json,
)

__all__ = ["OLDER_NAMES", "OLDER_TOOLS"]

OLDER_NAMES = {
    "schema_get": "schema",
    "branches_list": "branches",
    "commits_list": "commits",
    "branches_create": "branch_create",
    "branches_delete": "branch_delete",
    "branches_merge": "branch_merge",
    "read": "query",
    "change": "mutate",
    "ingest": "load",
}
"""Other names of tools that are there."""

CHANGES = 100
TEXT: Schema = {"type": "string", "minLength": 1}


def _health(caller: Caller, arguments: Arguments) -> Answer:
    return Answer({"status": "ok", "version": omnigraph.__version__})


def _snapshot(caller: Caller, arguments: Arguments) -> Answer:
    branch = caller.branch_to_read(arguments.get("branch"))
    return _answer(tables_json(caller.graph.tables(branch)))


def _commit(caller: Caller, arguments: Arguments) -> Answer:
    return _answer(commit_json(caller.graph.commit(arguments["commit_id"])))


def _commit_changes(caller: Caller, arguments: Arguments) -> Answer:
    page = caller.graph.commit_changes(
        arguments["commit_id"], page_token=arguments.get("page_token"), **_which(caller, arguments)
    )
    return _answer(commit_changes_json(page))


def _poll(caller: Caller, arguments: Arguments) -> Answer:
    page = caller.graph.changes(
        arguments.get("cursor"),
        start=arguments.get("start", "now"),
        branch=caller.branch_to_read(arguments.get("branch")),
        **_which(caller, arguments),
    )
    return _answer(change_page_json(page))


def _which(caller: Caller, arguments: Arguments) -> dict[str, Any]:
    chosen = {name: arguments.get(name) for name in ("types", "kinds", "ops")}
    limit = min(arguments.get("limit", CHANGES), caller.limits.max_page_rows)
    how = {"timeout_s": caller.timeout_s, "cancel": caller.cancel}
    return {**chosen, **how, "limit": limit}


def _answer(shape: Any) -> Answer:
    return Answer(dict(shape))


WHICH: dict[str, Schema] = {
    "types": {"type": "array", "items": TEXT},
    "kinds": {"type": "array", "items": {"enum": ["node", "edge"]}},
    "ops": {"type": "array", "items": {"enum": ["insert", "update", "delete"]}},
    "limit": {"type": "integer", "minimum": 1},
}
SINGULAR = {"type": "types", "kind": "kinds", "op": "ops"}

_TOOLS = (
    Tool(
        name="health",
        title="Health",
        description="Tell that somebody answers.",
        handler=_health,
    ),
    Tool(
        name="snapshot",
        title="Snapshot",
        description="The version and the size of every table.",
        handler=_snapshot,
        arguments={"branch": TEXT},
    ),
    Tool(
        name="commits_get",
        title="Commit",
        description="One commit.",
        handler=_commit,
        arguments={"commit_id": TEXT},
        required=("commit_id",),
    ),
    Tool(
        name="commits_changes",
        title="Changes of a commit",
        description="What a commit changed, a page at a time.",
        handler=_commit_changes,
        arguments={"commit_id": TEXT, "page_token": TEXT, **WHICH},
        required=("commit_id",),
        other_names=SINGULAR,
    ),
    Tool(
        name="changes_poll",
        title="Changes",
        description="What was published to a branch since a cursor.",
        handler=_poll,
        arguments={"branch": TEXT, "start": TEXT, "cursor": TEXT, **WHICH},
        other_names={**SINGULAR, "page_token": "cursor"},
    ),
)

OLDER_TOOLS = {tool.name: tool for tool in _TOOLS}
