"""Resources: texts that a client can put before a model without a call of a tool."""

from omnigraph.base.errors import NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.words import clipped
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.language import guide
from omnigraph.surfaces.mcp.pages import json_text
from omnigraph.surfaces.mcp.parameters import required_parameters, schemas_of_parameters
from omnigraph.surfaces.mcp.reading import schema_answer
from omnigraph.surfaces.mcp.stored import offered_queries, tool_name
from omnigraph.surfaces.mcp.tools import TOOLS

__all__ = ["QUERY_TEMPLATE", "Resource", "list_resources", "read_resource"]

SCHEMA, QUERIES = "omnigraph://schema", "omnigraph://queries"
LANGUAGE = "omnigraph://language"
QUERY_TEMPLATE = f"{QUERIES}/{{name}}"
PLAIN, JSON = "text/plain", "application/json"


@frozen
class Resource:
    uri: str
    name: str
    description: str
    mime_type: str


def list_resources(caller: Caller) -> list[Resource]:
    fixed = [
        Resource(SCHEMA, "schema", "The schema of the graph.", PLAIN),
        Resource(LANGUAGE, "language", "How queries are written, by examples.", PLAIN),
        Resource(QUERIES, "queries", "The stored queries, with their parameters.", JSON),
    ]
    return fixed + [
        Resource(f"{QUERIES}/{name}", name, each.signature.description or "A stored query.", PLAIN)
        for name, each in offered_queries(caller).items()
    ]


def read_resource(caller: Caller, uri: str) -> tuple[str, str]:
    """The type and the text of a resource; raises NameMissing."""
    if uri == SCHEMA:
        branch = caller.branch_to_read(None)
        answer = schema_answer(caller, caller.graph.schema(branch), branch)
        return PLAIN, answer.text or ""
    if uri == LANGUAGE:
        return PLAIN, guide(caller)
    if uri == QUERIES:
        return JSON, _queries(caller)
    name = uri.removeprefix(f"{QUERIES}/")
    if name != uri and (query := offered_queries(caller).get(name)) is not None:
        return PLAIN, query.text
    known = tuple(each.uri for each in list_resources(caller))
    raise NameMissing(what="resource", name=clipped(uri), known=known)


def _queries(caller: Caller) -> str:
    there = offered_queries(caller)
    listed = [
        {
            "name": name,
            "tool": tool_name(name, there, TOOLS),
            "changes_the_graph": signature.is_mutation,
            "description": signature.description,
            "instruction": signature.instruction,
            "parameters": schemas_of_parameters(signature),
            "required": required_parameters(signature),
        }
        for name, signature in ((name, each.signature) for name, each in there.items())
    ]
    return json_text({"queries": listed})
