"""Stored queries as tools: each under its name, with its parameters as arguments."""

from collections.abc import Container, Mapping
from typing import Any

from omnigraph.base.errors import BranchMissing, DeniedError, OmnigraphError, QueryMissing
from omnigraph.engine.gate import Action
from omnigraph.engine.signatures import QuerySignature
from omnigraph.engine.stored_queries import with_bigints
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.parameters import required_parameters, schemas_of_parameters
from omnigraph.surfaces.mcp.reading import run_query
from omnigraph.surfaces.mcp.tool import Answer, Arguments, Schema, Tool
from omnigraph.surfaces.mcp.writing import run_mutation

__all__ = ["signatures", "stored_tools", "tool_name"]


def signatures(caller: Caller) -> dict[str, QuerySignature]:
    """The stored queries that there are for the agent, by name; those that don't fit the schema
    that it sees are none of them."""
    if not caller.queries.sources:
        return {}
    try:
        schema = caller.graph.schema(caller.base)
    except (BranchMissing, DeniedError):
        # The base went, or is not for this agent to read. Who reads other branches has other tools.
        if not caller.graph.branches():
            raise
        return {}
    catalog = caller.queries.catalog(schema)
    return {name: catalog[name] for name in sorted(catalog) if caller.may_invoke(name)}


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
    there = signatures(caller)
    tools = (
        _tool(
            signature, tool_name(name, there, taken), writing if signature.is_mutation else reading
        )
        for name, signature in there.items()
    )
    return {tool.name: tool for tool in tools}


def _tool(signature: QuerySignature, name: str, beside: Mapping[str, Schema]) -> Tool:
    parameters = schemas_of_parameters(signature)
    # Where a parameter has the name of an argument of ours, ours gives way.
    ours = {_free(given, parameters): given for given in beside}

    def run(caller: Caller, arguments: Arguments) -> Answer:
        return _run(caller, signature.name, name, arguments, ours)

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
    caller: Caller, query: str, tool: str, arguments: Arguments, ours: Mapping[str, str]
) -> Answer:
    beside = {is_: arguments[given] for given, is_ in ours.items() if given in arguments}
    params: Any = {name: each for name, each in arguments.items() if name not in ours}
    signature = _signature(caller, query, beside)
    params = with_bigints(signature, params)
    source = caller.queries.source(query)
    if signature.is_mutation:
        return run_mutation(caller, beside, source, query, params)
    asked = {**beside, "params": params}
    return run_query(caller, tool, asked, source, query, params)


def _signature(caller: Caller, query: str, beside: Arguments) -> QuerySignature:
    """The signature by the schema of the branch and the moment that are asked.

    Where something is hidden from the agent, a query that does not fit is one that is not there.
    """
    moment = beside.get("snapshot")
    branch = beside.get("branch")
    if branch is None and moment is None:
        branch = caller.base
    try:
        schema = caller.graph.schema(branch, snapshot=moment)
    except OmnigraphError:
        if branch is None or caller.writing is None or not caller.writing.may_write(branch):
            raise
        # The branch is made by this write.
        schema = caller.graph.schema(caller.base)
    try:
        return caller.queries.signature(query, schema, is_told=caller.is_told)
    except QueryMissing:
        raise QueryMissing(query, tuple(signatures(caller))) from None
