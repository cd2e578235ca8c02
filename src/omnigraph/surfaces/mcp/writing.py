"""Tools that write: a mutation, a load. Each is one commit or nothing, on a branch."""

from collections.abc import Callable
from typing import Any

import msgspec

from omnigraph.base.span import SourceText
from omnigraph.engine.gate import Action
from omnigraph.engine.results import LoadResult, MutationResult
from omnigraph.surfaces.mcp.caller import Caller, Written
from omnigraph.surfaces.mcp.tool import Answer, Arguments
from omnigraph.surfaces.named_lines import NamedLines
from omnigraph.surfaces.wire import load_json, mutation_json

__all__ = ["load", "mutate", "run_mutation"]

USUAL_MODE = "merge"
"""A load that says nothing can be sent twice and comes to the same."""
OF_NO_USE = (
    "seconds",
    "engine",
    "engine_reason",
    "quarantine",
    "resumed_tasks",
    "base_branch",
    "branch_created",
)
"""Members of a load's account that say nothing to an agent, or another thing than ours."""


def mutate(caller: Caller, arguments: Arguments) -> Answer:
    def change(branch: str) -> MutationResult:
        return caller.graph.mutate(
            SourceText(arguments["query"], "<query>"),
            arguments.get("name"),
            arguments.get("params") or {},
            branch=branch,
            message=arguments.get("message"),
            if_commit=arguments.get("if_commit"),
            request_id=arguments.get("request_id"),
            timeout_s=caller.timeout_s,
            cancel=caller.cancel,
        )

    return run_mutation(caller, arguments, change)


def run_mutation(
    caller: Caller, arguments: Arguments, change: Callable[[str], MutationResult]
) -> Answer:
    """What a mutation, stored or not, comes to on the branch that a call names."""
    result, told = _written(caller, arguments, change)
    return Answer({**mutation_json(result), **told})


def load(caller: Caller, arguments: Arguments) -> Answer:
    given = arguments["data"]
    if isinstance(given, str):
        lines = NamedLines(given.encode(), "data")
    else:
        lines = NamedLines(b"\n".join(msgspec.json.encode(row) for row in given), "data")

    def write(branch: str) -> LoadResult:
        # In this process, always: a call starts no Spark.
        return caller.graph.load(
            lines,
            mode=arguments.get("mode", USUAL_MODE),
            branch=branch,
            from_=arguments.get("from"),
            dry_run=arguments.get("dry_run", False),
            load_id=arguments.get("load_id"),
            message=arguments.get("message"),
            engine="local",
        )

    result, told = _written(caller, arguments, write)
    shown = {name: each for name, each in load_json(result).items() if name not in OF_NO_USE}
    return Answer({**shown, **told})


def _written(
    caller: Caller, arguments: Arguments, write: Callable[[str], Written]
) -> tuple[Written, dict[str, Any]]:
    """Write to the branch that a call names, or to the agent's own; and what to tell it then."""
    branch = caller.branch_to_write(arguments.get("branch"))
    caller.allow(Action.CHANGE, branch, None)
    result, is_made = caller.write(branch, write, from_=arguments.get("from"))
    told: dict[str, Any] = {"branch_created": is_made}
    if result.commit is None:
        told["next"] = "nothing was changed"
    elif branch != caller.base:
        told["next"] = (
            f"{branch} has it, {caller.base} does not: call `propose` to look at it whole"
        )
    return result, told
