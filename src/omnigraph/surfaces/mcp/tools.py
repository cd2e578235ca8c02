"""The table of tools, and how one is found: by its name, by a stored query, by an older name.

The names of the table and of its arguments are contracts: agents are told of them in prompts.
"""

from typing import Any

from omnigraph.base.errors import NameMissing
from omnigraph.base.ids import MAIN
from omnigraph.base.words import clipped
from omnigraph.engine.gate import Action
from omnigraph.surfaces.mcp import branching, reading, searching, writing
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.older import OLDER_NAMES, OLDER_TOOLS
from omnigraph.surfaces.mcp.stored import stored_tools
from omnigraph.surfaces.mcp.tool import Schema, Tool

__all__ = ["TOOLS", "find_tool", "listed_tools"]


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": description, **more}


BRANCH = _text("The branch to read; if left out, your own once you wrote, before that main.")
SNAPSHOT = _text("A commit id, or a time in ISO 8601, to read the past.")
WRITE_BRANCH = _text("The branch to write; if left out, one of your own, made at the first write.")
PARAMS: Schema = {
    "type": "object",
    "description": 'Parameters by name, without $: {"name": "Ada"}.',
}
LIMIT: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": 1000,
    "description": "At most so many on a page.",
}
CURSOR = _text("next_cursor of the page before; repeat the other arguments beside it.")
MESSAGE = _text("Why: it stands in the commit.")
IF_COMMIT = _text("Write only if the branch is at this commit.")
REQUEST_ID = _text("Write once: a second call with this id, unchanged, writes nothing.")
NAMES: Schema = {"type": "array", "items": {"type": "string"}}

OF_QUERIES: dict[str, Schema] = {
    "query": _text("The text of one or more queries."),
    "name": _text("Which of them, where there are several."),
    "params": PARAMS,
}
PAGES: dict[str, Schema] = {"limit": LIMIT, "cursor": CURSOR}
OF_READS: dict[str, Schema] = {"branch": BRANCH, "snapshot": SNAPSHOT, **PAGES}
OF_WRITES: dict[str, Schema] = {
    "branch": WRITE_BRANCH,
    "message": MESSAGE,
    "if_commit": IF_COMMIT,
    "request_id": REQUEST_ID,
}
OLDER_ARGUMENTS = {
    "query_source": "query",
    "source": "query",
    "query_name": "name",
    "if_graph_commit": "if_commit",
}

_TOOLS = (
    Tool(
        name="schema",
        title="Schema",
        description="The schema of the graph: its node and edge types, their properties, and how "
        "many of each there are; and how queries are written. Read it before you write one.",
        handler=reading.schema,
        arguments={"branch": BRANCH, "snapshot": SNAPSHOT},
    ),
    Tool(
        name="query",
        title="Query",
        description="Run a query that reads, written in the query language: query find($name: "
        "String) { match { $p: Person { name: $name }  $p knows $f } return { $f.name, $f.age } "
        "order { $f.name } limit 10 }. `schema` has more examples. It answers a page of rows; "
        "next_cursor asks for the next page of the same moment.",
        handler=reading.query,
        arguments={
            **OF_QUERIES,
            **OF_READS,
        },
        required=("query",),
        other_names=OLDER_ARGUMENTS,
    ),
    Tool(
        name="search",
        title="Search",
        description="Find nodes by words: in all texts of all types, or of one. Mode text ranks "
        "by words, vector by meaning (needs @embed in the schema), hybrid by both. Use the type "
        "and id of a hit in a query to go on from there.",
        handler=searching.search,
        arguments={
            "text": _text("What to look for."),
            "type": _text("Only nodes of this type."),
            "property": _text("Only this property."),
            "mode": {"enum": ["text", "vector", "hybrid"], "description": "text if left out."},
            **OF_READS,
        },
        required=("text",),
        other_names={"query": "text", "q": "text"},
    ),
    Tool(
        name="branches",
        title="Branches",
        description="The branches, which of them you read, and where your writes go.",
        handler=reading.branches,
    ),
    Tool(
        name="commits",
        title="Commits",
        description="The commits of a branch, newest first: when, who, why.",
        handler=reading.commits,
        arguments={"branch": BRANCH, "actor": _text("Only those of this actor."), **PAGES},
    ),
    Tool(
        name="diff",
        title="Diff",
        description="What turns one moment into another, entity by entity, with values before and "
        "after. A moment is a branch, a commit id, or a time.",
        handler=reading.diff,
        arguments={
            "from": _text("The earlier moment; if left out, the base branch."),
            "to": _text("The later moment; if left out, the branch that you read."),
            "since_base": {
                "type": "boolean",
                "description": "Only what `to` changed since the two parted.",
            },
            "types": {**NAMES, "description": "Only these types."},
            "kinds": {"type": "array", "items": {"enum": ["node", "edge"]}},
            "ops": {"type": "array", "items": {"enum": ["insert", "update", "delete"]}},
            **PAGES,
        },
        other_names={"from_": "from", "type": "types", "kind": "kinds", "op": "ops"},
    ),
    Tool(
        name="propose",
        title="Propose",
        description="What your branch would change if it were merged: entity by entity, whether "
        "there are conflicts, and how to merge it. Show it to a person. It changes nothing.",
        handler=branching.propose,
        arguments={
            "branch": _text("The branch; if left out, your own."),
            "into": _text("Where it would go; if left out, the base branch."),
            "limit": LIMIT,
        },
        other_names={"source": "branch", "target": "into"},
    ),
    Tool(
        name="mutate",
        title="Mutate",
        description="Change the graph with a query, as one commit on your own branch: query "
        "add($name: String) { insert Person { name: $name } }, query older() { update Person set "
        '{ age: 37 } where name = "Ada" }, query gone() { delete Person where name = "Bob" }, '
        'query meet() { insert Knows { from: "Ada", to: "Cleo" } }. An insert with a key that '
        "exists replaces the whole row: properties that it does not name become null or their "
        "default. Use update to change some properties of a row.",
        handler=writing.mutate,
        arguments={
            **OF_QUERIES,
            **OF_WRITES,
        },
        required=("query",),
        other_names=OLDER_ARGUMENTS,
        action=Action.CHANGE,
        is_destructive=True,
    ),
    Tool(
        name="load",
        title="Load",
        description='Load rows as one commit on your own branch: {"type": "Person", "data": '
        '{"name": "Ada"}} is a node, {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {}} an '
        "edge. All of them are loaded, or none.",
        handler=writing.load,
        arguments={
            "data": {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "object"}, "minItems": 1},
                ],
                "description": "Rows: a list of objects, or text with one JSON object a line.",
            },
            "mode": {
                "enum": ["merge", "append", "overwrite"],
                "description": "merge replaces whole rows with the same id (usual), append refuses "
                "them, overwrite removes all others of the same types.",
            },
            "branch": WRITE_BRANCH,
            "from": _text("Make the branch at this one first, if it is missing."),
            "dry_run": {"type": "boolean", "description": "Check all, and write nothing."},
            "load_id": _text("A name by which the load is done once, however often it is sent."),
            "message": MESSAGE,
        },
        required=("data",),
        other_names={"rows": "data", "from_": "from"},
        action=Action.CHANGE,
        is_destructive=True,
    ),
    Tool(
        name="branch_create",
        title="Create branch",
        description="Make a branch: instant, whatever the size of the graph. You need none for "
        "your first write, which makes one by itself.",
        handler=branching.branch_create,
        arguments={
            "name": _text("Its name, such as fix/ages."),
            "from": _text("A branch or a commit id to begin at; if left out, the base branch."),
            "message": MESSAGE,
        },
        required=("name",),
        other_names={"from_": "from", "branch": "name"},
        action=Action.BRANCH_CREATE,
    ),
    Tool(
        name="branch_delete",
        title="Delete branch",
        description="Remove a branch that you made, with all that is on it alone.",
        handler=branching.branch_delete,
        arguments={"name": _text("Its name.")},
        required=("name",),
        other_names={"branch": "name"},
        action=Action.BRANCH_DELETE,
        is_destructive=True,
    ),
    Tool(
        name="branch_merge",
        title="Merge branch",
        description="Bring what a branch changed into another, as one commit. With preview nothing "
        "moves, and conflicts are told. Call `propose` first, and ask a person.",
        handler=branching.branch_merge,
        arguments={
            "source": _text("The branch with the changes; if left out, your own."),
            "into": _text(f"The branch that takes them; if left out, the base ({MAIN})."),
            "preview": {"type": "boolean", "description": "Only say what would happen."},
            "resolve": {
                "anyOf": [
                    {"enum": ["ours", "theirs"]},
                    {"type": "array", "items": {"type": "object"}},
                ],
                "description": "Of conflicts, the side to take: ours (into), theirs (source), or "
                'a list of {"type", "id", "property", "take"}.',
            },
            "delete": {"type": "boolean", "description": "Delete the source afterwards."},
            "message": MESSAGE,
            "if_commit": _text("Merge only if `into` is at this commit."),
            "if_source_commit": _text("Merge only if `source` is at this commit."),
        },
        other_names={"target": "into", "branch": "source", "delete_branch": "delete"},
        action=Action.BRANCH_MERGE,
        is_destructive=True,
    ),
)

TOOLS = {tool.name: tool for tool in _TOOLS}


def listed_tools(caller: Caller) -> list[Tool]:
    """The tools that there are for an agent: none that it may not use in any case."""
    every = [*TOOLS.values(), *_stored(caller).values()]
    return [tool for tool in every if caller.may_use(tool.action)]


def find_tool(caller: Caller, name: str) -> Tool:
    """A tool by one of its names; raises NameMissing. A tool that the agent may not use is found,
    and says so by itself; a stored query that is hidden from it is not."""
    if (known := TOOLS.get(name)) is not None:
        return known
    stored = _stored(caller)
    if (known := stored.get(name)) is not None:
        return known
    if name in OLDER_TOOLS:
        return OLDER_TOOLS[name]
    if name in OLDER_NAMES:
        return TOOLS[OLDER_NAMES[name]]
    listed = tuple(tool.name for tool in listed_tools(caller))
    raise NameMissing(what="tool", name=clipped(name), known=listed)


def _stored(caller: Caller) -> dict[str, Tool]:
    return stored_tools(caller, TOOLS, OF_READS, OF_WRITES)
