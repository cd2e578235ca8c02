"""Stored queries as tools: each under its name, with its parameters as arguments."""

from collections.abc import Container, Mapping
from typing import Any

from omnigraph.base.errors import BranchMissing, DeniedError, QueryMissing
from omnigraph.engine.gate import Action
from omnigraph.engine.results import MutationResult
from omnigraph.engine.signatures import QuerySignature
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.offered import OfferedQuery
from omnigraph.surfaces.mcp.parameters import required_parameters, schemas_of_parameters
from omnigraph.surfaces.mcp.reading import run_query
from omnigraph.surfaces.mcp.tool import Answer, Arguments, Schema, Tool
from omnigraph.surfaces.mcp.writing import run_mutation

__all__ = ["offered_queries", "stored_tools", "tool_name"]


def offered_queries(caller: Caller) -> Mapping[str, OfferedQuery]:
    """The stored queries that there are for the agent, by name; those that don't fit the schema
    that it sees are none of them."""
    try:
        return caller.offered()
    except (BranchMissing, DeniedError):
        # The base went, or is not for this agent to read. Who reads other branches has other tools.
        if not caller.graph.branches():
            raise
        return {}


def tool_name(query: str, queries: Container[str], taken: Container[str]) -> str:
    """The query's own name, unless a tool of ours has it: then one that no other query has."""
    name = query
    while name in taken or (name != query and name in queries):
        name = f"stored_{name}"
    return name


def stored_tools(
    caller: Caller,
    taken: Container[str],
    reading: Mapping[str, Schema],
    writing: Mapping[str, Schema],
) -> dict[str, Tool]:
    """A tool for each stored query. Beside the parameters a query that reads takes the arguments
    `reading`, and one that changes the graph those of `writing`."""
    there = offered_queries(caller)
    tools = (
        _tool(
            query,
            tool_name(name, there, taken),
            writing if query.signature.is_mutation else reading,
        )
        for name, query in there.items()
    )
    return {tool.name: tool for tool in tools}


def _tool(query: OfferedQuery, name: str, beside: Mapping[str, Schema]) -> Tool:
    signature = query.signature
    parameters = schemas_of_parameters(signature)
    # Where a parameter has the name of an argument of ours, ours gives way.
    ours = {_free(given, parameters): given for given in beside}

    def run(caller: Caller, arguments: Arguments) -> Answer:
        return _run(caller, query, name, arguments, ours)

    return Tool(
        name=name,
        title=signature.name.replace("_", " "),
        description=_description(signature),
        handler=run,
        arguments={**parameters, **{given: beside[is_] for given, is_ in ours.items()}},
        required=required_parameters(signature),
        action=Action.CHANGE if signature.is_mutation else Action.READ,
        is_destructive=signature.is_mutation,
    )


def _free(name: str, taken: Container[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name


def _description(signature: QuerySignature) -> str:
    kind = "Changes the graph." if signature.is_mutation else "Reads the graph."
    said = (signature.description, signature.instruction, f"Stored query. {kind}")
    return "\n".join(each for each in said if each)


def _run(
    caller: Caller, query: OfferedQuery, tool: str, arguments: Arguments, ours: Mapping[str, str]
) -> Answer:
    beside = {is_: arguments[given] for given, is_ in ours.items() if given in arguments}
    params: Any = {name: each for name, each in arguments.items() if name not in ours}
    try:
        return _answer(caller, query, tool, beside, params)
    except QueryMissing as missing:
        raise QueryMissing(missing.name, tuple(offered_queries(caller))) from None


def _answer(
    caller: Caller, query: OfferedQuery, tool: str, beside: Arguments, params: Any
) -> Answer:
    branch, moment = beside.get("branch"), beside.get("snapshot")
    is_new = branch is not None and caller.writing is not None and caller.writing.may_write(branch)
    ready = query.readied(params, branch=branch, moment=moment, is_new=is_new)
    if query.signature.is_mutation:

        def change(branch: str) -> MutationResult:
            return query.change(
                ready,
                branch=branch,
                message=beside.get("message"),
                if_commit=beside.get("if_commit"),
                request_id=beside.get("request_id"),
            )

        return run_mutation(caller, beside, change)
    asked = {**beside, "params": ready}
    return run_query(caller, tool, asked, lambda moment: query.ask(ready, moment))
