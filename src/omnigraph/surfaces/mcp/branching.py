"""Tools about branches: make, delete, merge, and `propose`, which says what a merge would bring."""

import shlex
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import is_ulid
from omnigraph.base.errors import ArgumentInvalid, MergeConflicts, PolicyDenied
from omnigraph.base.words import amount, clipped
from omnigraph.engine.gate import Action
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.pages import Cursor, json_bytes, json_text, page_of, shortened
from omnigraph.surfaces.mcp.reading import changed_entities
from omnigraph.surfaces.mcp.tool import Answer, Arguments
from omnigraph.surfaces.wire import commit_json

if TYPE_CHECKING:
    from omnigraph.engine.change_results import EntityChanges
    from omnigraph.engine.merge_results import MergeResult

__all__ = ["branch_create", "branch_delete", "branch_merge", "propose"]

CHANGES_SHOWN = 50
CONFLICTS_SHOWN = 20
VALUE_CHARACTERS = 200
"""Of a value, in the text of a proposal; programs get all of it."""


def branch_create(caller: Caller, arguments: Arguments) -> Answer:
    writing = caller.must_write()
    name, from_ = arguments["name"], arguments.get("from") or caller.base
    # Of which branch a commit is, the engine finds out, and asks again.
    caller.allow(Action.BRANCH_CREATE, None if is_ulid(from_) else from_, name)
    caller.graph.branch_create(name, from_, message=arguments.get("message"))
    writing.made.add(name)
    told = f"pass branch: {name!r} to read it and to write it"
    return Answer({"branch": name, "from": from_, "next": told})


def branch_delete(caller: Caller, arguments: Arguments) -> Answer:
    writing = caller.must_write()
    name = arguments["name"]
    if name == caller.base or not writing.may_delete(name):
        rule = f"you may delete branches that you made, and those below {writing.prefix}"
        raise ArgumentInvalid("name", name, rule, "ask a person to delete it")
    caller.allow(Action.BRANCH_DELETE, name, None)
    caller.graph.branch_delete(name)
    writing.made.discard(name)
    return Answer({"branch": name, "deleted": True, "reads_see": caller.branch_to_read(None)})


def branch_merge(caller: Caller, arguments: Arguments) -> Answer:
    writing = caller.must_write()
    source, into = _source(caller, arguments), arguments.get("into") or caller.base
    is_preview = arguments.get("preview", False)
    caller.allow(Action.BRANCH_MERGE, source, into)
    is_to_go = arguments.get("delete", False)
    if is_to_go and not writing.may_delete(source):
        rule = f"you may delete branches that you made, and {source} is none of them"
        raise ArgumentInvalid("delete", None, rule, "leave out `delete`")
    if is_to_go:
        caller.allow(Action.BRANCH_DELETE, source, None)
    result = caller.graph.branch_merge(
        source,
        into,
        preview=is_preview,
        resolve=arguments.get("resolve"),
        delete=is_to_go,
        message=arguments.get("message"),
        if_commit=arguments.get("if_commit"),
        if_source_commit=arguments.get("if_source_commit"),
    )
    value: dict[str, Any] = {
        "source": result.source,
        "into": result.target,
        "outcome": result.outcome,
        "preview": is_preview,
        "types": _counts(result),
    }
    if is_preview:
        value |= _conflicts(caller, result)
    else:
        value["commit"] = commit_json(result.commit) if result.commit is not None else None
        value["branch_deleted"] = result.branch_deleted
        value["branch_delete_error"] = result.branch_delete_error
    return Answer(value)


def propose(caller: Caller, arguments: Arguments) -> Answer:
    """What a branch would change, whether it can be merged, and how. It changes nothing."""
    source, into = _source(caller, arguments), arguments.get("into") or caller.base
    if source == into:
        rule = f"there is nothing to propose: it is {into} itself"
        raise ArgumentInvalid("branch", source, rule, "name the branch that you wrote")
    found = caller.graph.diff(
        into, source, since_base=True, timeout_s=caller.timeout_s, cancel=caller.cancel
    )
    limit = min(arguments.get("limit", CHANGES_SHOWN), caller.limits.max_page_rows)
    # The same changes, page by page, are a diff of these two commits.
    page = page_of(
        changed_entities(found, 0, limit),
        Cursor("", 0, ()),
        (),
        found=len(found),
        limit_rows=limit,
        limit_bytes=caller.limits.page_bytes,
    )
    value: dict[str, Any] = {
        "source": source,
        "into": into,
        "summary": found.summary,
        "change_count": len(found),
        "changes": page.rows,
        "more_changes": len(found) - len(page.rows),
        "merge": _preview(caller, source, into),
        "how_to_merge": _how(caller, source, into),
    }
    if value["more_changes"]:
        rest = {"from": found.from_commit_id, "to": found.to_commit_id}
        value["all_changes"] = {"tool": "diff", "arguments": rest}
    return Answer(value, _proposal(value, found))


def _source(caller: Caller, arguments: Arguments) -> str:
    """The branch that a call names, or the agent's own, which must be there."""
    if (named := arguments.get("source") or arguments.get("branch")) is not None:
        return str(named)
    own = caller.writing.own if caller.writing is not None else None
    if own is None:
        rule = "say which branch: this agent only reads, so it has none of its own"
        raise ArgumentInvalid("branch", None, rule, "`branches` lists them")
    if not caller.has_branch(own):
        rule = f"there is nothing of yours: your branch would be {own}, and is not there"
        raise ArgumentInvalid("branch", None, rule, "write first, or name a branch")
    return own


def _preview(caller: Caller, source: str, into: str) -> dict[str, Any]:
    """What a merge would come to. To look at it takes no right to merge."""
    try:
        result = caller.graph.branch_merge(source, into, preview=True)
    except PolicyDenied:
        return {"outcome": None, "why": "you may not see what a merge would do: ask who may"}
    except MergeConflicts as conflicts:
        return {"outcome": None, "conflict_count": len(conflicts.conflicts)}
    return {"outcome": result.outcome, **_conflicts(caller, result)}


def _conflicts(caller: Caller, result: "MergeResult") -> dict[str, Any]:
    told: list[Any] = [each.to_json() for each in result.conflicts[:CONFLICTS_SHOWN]]
    if json_bytes(told) > caller.limits.page_bytes:
        told = shortened(told, caller.limits.page_bytes)
    return {
        "source_commit_id": result.source_commit_id,
        "target_commit_id": result.target_commit_id,
        "refusal": result.refusal,
        "conflict_count": result.conflict_count,
        "conflicts": told,
    }


def _counts(result: "MergeResult") -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "inserted": counts.inserted,
            "updated": counts.updated,
            "deleted": counts.deleted,
        }
        for name, counts in result.counts.items()
    ]


def _how(caller: Caller, source: str, into: str) -> dict[str, Any]:
    words = ["omnigraph", "branch", "merge", source, "--into", into, *caller.place.words]
    how: dict[str, Any] = {"command_line": shlex.join(words)}
    if caller.writing is not None and caller.may(Action.BRANCH_MERGE, source, into):
        arguments = {"source": source, "into": into}
        how["tool"] = {"name": "branch_merge", "arguments": arguments}
    return how


def _proposal(value: dict[str, Any], found: "EntityChanges") -> str:
    """The same as a page of text."""
    lines = [f"{value['source']} would bring into {value['into']}: {found.summary}", ""]
    for row in value["changes"]:
        lines += _entity(row)
    if value["more_changes"]:
        lines.append(f"… and {amount(value['more_changes'], 'change')} more: call `diff`")
    merge = value["merge"]
    lines += ["", f"merge: {merge['outcome'] or merge.get('why', 'not known')}"]
    if refusal := merge.get("refusal"):
        lines.append(f"you may not merge it: {refusal}")
    if count := merge.get("conflict_count"):
        by = "with `resolve` of branch_merge" if "tool" in value["how_to_merge"] else "by a person"
        lines.append(f"{amount(count, 'conflict')} must be settled, {by}:")
        lines += [f"  {each['message']}" for each in merge.get("conflicts", ())]
    lines += ["", f"on a command line: {value['how_to_merge']['command_line']}"]
    if "tool" in value["how_to_merge"]:
        lines.append(f'as a tool: branch_merge(source="{value["source"]}", into="{value["into"]}")')
    return "\n".join(lines)


SIGNS = {"insert": "+", "update": "~", "delete": "-"}


def _entity(row: dict[str, Any]) -> list[str]:
    head = f"{SIGNS[row['op']]} {row['type']} {row['id']}"
    if "changed" in row:
        changed = row["changed"].items()
        return [
            head,
            *(f"    {n}: {_value(v['before'])} → {_value(v['after'])}" for n, v in changed),
        ]
    values = row.get("after") or row.get("before") or {}
    return [f"{head}  {', '.join(f'{n}: {_value(v)}' for n, v in values.items())}"]


def _value(value: Any) -> str:
    return clipped(json_text(value), VALUE_CHARACTERS)
