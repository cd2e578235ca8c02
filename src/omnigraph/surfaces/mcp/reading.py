"""Tools that read: a query, the schema, branches, commits, what differs between two moments."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import ArgumentInvalid, LimitExceeded
from omnigraph.base.span import SourceText
from omnigraph.engine.change_values import json_ready, property_changes
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.language import guide
from omnigraph.surfaces.mcp.offered import Asked
from omnigraph.surfaces.mcp.pages import Cursor, page_of, read_cursor
from omnigraph.surfaces.mcp.tool import Answer, Arguments
from omnigraph.surfaces.wire import commit_json

if TYPE_CHECKING:
    from omnigraph.engine.change_results import Diff, EntityChanges
    from omnigraph.engine.results import QueryResult
    from omnigraph.engine.schema import Schema

__all__ = [
    "branch_at",
    "branches",
    "changed_entities",
    "commits",
    "diff",
    "moment_of",
    "query",
    "rows_answer",
    "run_query",
    "schema",
    "schema_answer",
]

COMMITS_SHOWN = 20
CHANGES_SHOWN = 50


def query(caller: Caller, arguments: Arguments) -> Answer:
    def ask(asked: Asked) -> "QueryResult":
        return caller.graph.query(
            SourceText(arguments["query"], "<query>"),
            arguments.get("name"),
            arguments.get("params") or {},
            branch=asked.branch,
            snapshot=asked.moment,
            timeout_s=asked.timeout_s,
            memory_bytes=asked.memory_bytes,
            cancel=asked.cancel,
        )

    return run_query(caller, "query", arguments, ask)


def run_query(
    caller: Caller, tool: str, arguments: Arguments, ask: "Callable[[Asked], QueryResult]"
) -> Answer:
    """A page of the rows of a query, stored or not."""
    cursor = read_cursor(tool, arguments, moments=1)
    branch, moment = moment_of(caller, arguments)
    if cursor.moments:
        branch, moment = None, cursor.moments[0]
    asked = Asked(
        branch=branch,
        moment=moment,
        timeout_s=caller.timeout_s,
        memory_bytes=caller.memory_bytes,
        cancel=caller.cancel,
    )
    if cursor.moments and (head := branch_at(caller, cursor, 0)) is not None:
        result = ask(replace(asked, branch=head, moment=None))
        # It may have moved meanwhile.
        if result.graph_commit_id == cursor.moments[0]:
            return rows_answer(caller, arguments, cursor, result, head, is_head=True)
    return rows_answer(caller, arguments, cursor, ask(asked), branch, is_head=moment is None)


def branch_at(caller: Caller, cursor: Cursor, side: int) -> str | None:
    """The branch that was read at a commit of the cursor, while this is still its head. What is
    seen there goes by the rules of that branch, and of an older commit by those of its own."""
    branch = cursor.branches[side]
    if branch is not None and caller.head(branch) == cursor.moments[side]:
        return branch
    return None


def rows_answer(
    caller: Caller,
    arguments: Arguments,
    cursor: Cursor,
    result: "QueryResult",
    branch: str | None,
    *,
    is_head: bool,
) -> Answer:
    """A page of a result. `is_head` tells that the head of the branch was read."""
    limit = _limit(caller, arguments, caller.limits.page_rows)
    shown = replace(result, table=result.table.slice(cursor.offset, limit)).readable()
    page = page_of(
        shown.to_pylist(),
        cursor,
        (result.graph_commit_id,),
        (branch if is_head else None,),
        found=len(result),
        limit_rows=limit,
        limit_bytes=caller.limits.page_bytes,
    )
    return Answer(
        {
            "query_name": result.query_name,
            "branch": branch,
            "graph_commit_id": result.graph_commit_id,
            "columns": result.columns,
            "row_count": len(result),
            "first_row": cursor.offset,
            "rows": page.rows,
            **page.members("rows"),
        }
    )


def moment_of(caller: Caller, arguments: Arguments) -> tuple[str | None, str | None]:
    """The branch and the moment that a call names, or the branch that it reads otherwise."""
    branch, moment = arguments.get("branch"), arguments.get("snapshot")
    if moment is None:
        return caller.branch_to_read(branch), None
    if branch is not None and is_ulid(moment):
        rule = "a commit is of no branch: give a branch or a snapshot, not both"
        raise ArgumentInvalid("snapshot", moment, rule)
    return branch, moment


def schema(caller: Caller, arguments: Arguments) -> Answer:
    branch, moment = moment_of(caller, arguments)
    answer = schema_answer(caller, caller.graph.schema(branch, snapshot=moment), branch)
    # A model that has read this has all that it needs to write a query.
    language = guide(caller)
    return Answer({**answer.value, "language": language}, f"{answer.text}\n{language}")


def schema_answer(caller: Caller, found: "Schema", branch: str | None) -> Answer:
    """The text of a schema, and how many entities of each type there are."""
    text = found.text.strip("\n")
    if len(text.encode()) > caller.limits.max_answer_bytes:
        limit = caller.limits.max_answer_bytes
        raise LimitExceeded(what="the schema in bytes", limit=limit, found=len(text))
    # With the branch: its rules may show what those of the branch hide where the commit was made.
    tables = caller.graph.tables(branch, snapshot=found.graph_commit_id)
    types = [
        {"name": table.type_name, "kind": table.entity_kind, "count": table.entity_count}
        for table in tables.datasets
    ]
    counts = "\n".join(f"# {each['kind']} {each['name']}: {each['count']:,}" for each in types)
    value = {
        "schema": text,
        "branch": branch,
        "graph_commit_id": found.graph_commit_id,
        "types": types,
    }
    return Answer(value, f"{text}\n\n# How many there are\n{counts}\n" if types else text)


def branches(caller: Caller, arguments: Arguments) -> Answer:
    names = [str(name) for name in caller.graph.branches()]
    writing = caller.writing
    return Answer(
        {
            "branches": names,
            "base": caller.base,
            "reads_see": caller.branch_to_read(None),
            "writes_go_to": writing.own if writing is not None else None,
        }
    )


def commits(caller: Caller, arguments: Arguments) -> Answer:
    cursor = read_cursor("commits", arguments, moments=1)
    branch = caller.branch_to_read(arguments.get("branch"))
    limit = _limit(caller, arguments, COMMITS_SHOWN)
    wanted = cursor.offset + limit + 1
    by = arguments.get("actor")
    found = caller.graph.commits(branch, limit=wanted, actor=by)
    head = cursor.moments[0] if cursor.moments else None
    if head is not None and (not found or found[0].graph_commit_id != head):
        # Newer ones have come: pages go on from the head that the first one saw.
        all_ = caller.graph.commits(branch, actor=by)
        at = next((i for i, each in enumerate(all_) if each.graph_commit_id == head), None)
        if at is None:
            rule = f"{branch} does not have the commits that it goes on with"
            advice = "name the branch of the first page, or begin without the cursor"
            raise ArgumentInvalid("cursor", None, rule, advice)
        found = type(found)(all_[at : at + wanted])
    page = page_of(
        [commit_json(commit) for commit in found[cursor.offset :]],
        cursor,
        (found[0].graph_commit_id if found else "",),
        found=len(found),
        is_counted=False,
        limit_rows=limit,
        limit_bytes=caller.limits.page_bytes,
    )
    return Answer({"branch": branch, "commits": page.rows, **page.members("commits")})


def diff(caller: Caller, arguments: Arguments) -> Answer:
    cursor = read_cursor("diff", arguments, moments=2)
    limit = _limit(caller, arguments, CHANGES_SHOWN)
    heads: tuple[str | None, ...] = (None, None)
    if cursor.moments:
        heads = tuple(branch_at(caller, cursor, side) for side in (0, 1))
        from_, to = (h or m for h, m in zip(heads, cursor.moments, strict=True))
        since_base = False
    else:
        from_ = arguments.get("from") or caller.base
        to = arguments.get("to") or caller.branch_to_read(None)
        # Without a word, it is what the agent has changed.
        is_own = "from" not in arguments and "to" not in arguments
        since_base = arguments.get("since_base", is_own)

    def compare(from_: str, to: str) -> "Diff":
        return caller.graph.diff(
            from_,
            to,
            since_base=since_base,
            types=arguments.get("types"),
            kinds=arguments.get("kinds"),
            ops=arguments.get("ops"),
            timeout_s=caller.timeout_s,
            cancel=caller.cancel,
        )

    found = compare(from_, to)
    moments = (found.from_commit_id, found.to_commit_id)
    if cursor.moments and moments != cursor.moments:
        # A head has moved meanwhile.
        heads, found = (None, None), compare(*cursor.moments)
    elif not cursor.moments:
        heads = (None if since_base else from_, to)
    page = page_of(
        changed_entities(found, cursor.offset, limit),
        cursor,
        (found.from_commit_id, found.to_commit_id),
        heads,
        found=len(found),
        limit_rows=limit,
        limit_bytes=caller.limits.page_bytes,
    )
    return Answer(
        {
            "from_commit_id": found.from_commit_id,
            "to_commit_id": found.to_commit_id,
            "summary": found.summary,
            "change_count": len(found),
            "first_change": cursor.offset,
            "changes": page.rows,
            **page.members("changes"),
        }
    )


def changed_entities(found: "EntityChanges", offset: int, limit: int) -> Iterator[dict[str, Any]]:
    """Entity by entity: of one that is new or gone all properties, else those that differ."""
    for change in islice(found, offset, offset + limit):
        told = {"type": change["type"]["name"], "id": change["id"], "op": change["op"]}
        differs = list(property_changes(change))
        if change["op"] == "insert":
            yield {**told, "after": {name: json_ready(now) for name, _, now in differs}}
        elif change["op"] == "delete":
            yield {**told, "before": {name: json_ready(was) for name, was, _ in differs}}
        else:
            changed = {
                name: {"before": json_ready(was), "after": json_ready(now)}
                for name, was, now in differs
            }
            yield {**told, "changed": changed}


def _limit(caller: Caller, arguments: Arguments, usual: int) -> int:
    limit: int = arguments.get("limit", usual)
    return min(limit, caller.limits.max_page_rows)
