"""A failure becomes an answer: what is wrong, where, and what an agent should do next."""

import logging
import re
from typing import Any

from omnigraph.base.errors import OmnigraphError
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.pages import json_bytes, shortened
from omnigraph.surfaces.mcp.tool import Answer
from omnigraph.surfaces.mcp.tools import TOOLS
from omnigraph.surfaces.wire import error_json

__all__ = ["NEXT", "defect_answer", "error_answer", "next_step"]

log = logging.getLogger(__name__)

MAX_TEXT_CHARACTERS = 8000

NOT_OFFERED = "no tool for this is offered to you: ask a person to do it"
NEXT = {
    "parse_error": "mend it there and call again; `schema` shows how queries are written",
    "type_error": "call `schema` to see the types and their properties, then call again",
    "param_error": "give every parameter of the query a value of the type that it declares",
    "constraint_violation": "mend these rows and call again; nothing was written",
    "key_conflict": "use mode merge, or an update, for what is there already",
    "merge_conflicts": "call branch_merge with preview: true to see both sides, then again with "
    "resolve: ours, theirs, or a list of choices",
    "version_conflict": "nothing was written: read again, then call again",
    "read_set_conflict": "nothing was written: read again, then call again",
    "precondition_failed": "nothing was written: the branch has moved; read again, then decide",
    "branch_in_use": "nothing was done: try again in a moment",
    "policy_denied": "you may not do this: ask a person who may, or work on another branch",
    "resource_limit": "ask for less: fewer rows, fewer hops, a limit, or a narrower condition",
    "too_many_requests": "wait a second, then call again",
    "server_unreachable": "the server is away: nothing was written; try again later",
    "outcome_pending": "call it again with `request_id` set to the `commit_id` of the details",
    "outcome_unknown": "look at `commits` before you try again: it may have been carried out",
    "not_found": "call `branches`, `schema` or `commits` to see what there is",
    "change_feed_gap": "these rows are not stored any more: compare later ones of `commits`",
    "unauthorized": "ask a person for another token: that of this agent is not taken",
    "cancelled": "call again if you still need it",
}
"""What to do about a code, where the error itself has no hint, or one for people."""
FOR_PEOPLE = re.compile(r"\bomnigraph [a-z]|--[a-z]|Authorization")
"""In hints: a command, an option, a header. An agent has tools."""


def next_step(error: OmnigraphError, caller: Caller) -> str | None:
    """What the agent should do next, by tools that it is offered."""
    if error.code == "read_only":
        return _only_reads(caller)
    hint = _hint(error)
    if hint is None or not _names_a_tool_that_is_missing(hint, caller):
        return hint
    return _only_reads(caller) if caller.writing is None else NOT_OFFERED


def _only_reads(caller: Caller) -> str:
    return f"only reads are possible here: to let agents write, {caller.how_to_write}"


def _names_a_tool_that_is_missing(hint: str, caller: Caller) -> bool:
    missing = [tool.name for tool in TOOLS.values() if not caller.may_use(tool.action)]
    # `load` is an ordinary word, too: it is a tool where it is written or used as one.
    return any(
        re.search(rf"`{name}`|\b(call|with) {name}\b" if name == "load" else rf"\b{name}\b", hint)
        for name in missing
    )


def _hint(error: OmnigraphError) -> str | None:
    if error.code == "policy_denied":
        # Its own hint is for people who can read policies.
        return NEXT[error.code]
    hint = error.hint
    if hint is None or FOR_PEOPLE.search(hint):
        return NEXT.get(error.code, hint)
    return hint


def error_answer(error: OmnigraphError, caller: Caller) -> Answer:
    told: dict[str, Any] = {**error_json(error), "hint": next_step(error, caller)}
    if "advice" in told["details"]:
        told["details"] = {**told["details"], "advice": told["hint"]}
    # It begins with `error: ` or, where a language has a code for it, with `error[T5]: `.
    text = error.render().removeprefix("error")
    if error.hint:
        text = text.removesuffix(f"\n  hint: {error.hint}")
    if len(text) > MAX_TEXT_CHARACTERS:
        text = f"{text[:MAX_TEXT_CHARACTERS]}…"
    if json_bytes(told) > caller.limits.page_bytes:
        # It tells a thousand conflicts, or says again what it was given.
        told = shortened(told, caller.limits.page_bytes)
    lines = [f"{error.code}{text}"]
    if told["hint"]:
        lines.append(f"next: {told['hint']}")
    return Answer(told, "\n".join(lines))


def defect_answer(defect: Exception) -> Answer:
    """A defect of ours: the log has it whole, and the agent no word of it."""
    log.error("a call failed", exc_info=defect)
    told = "this could not be carried out, by a fault of the server; its log says why"
    hint = "look at `commits` before you write again; another call may work"
    value = {"error": told, "code": "internal", "details": {}, "hint": hint}
    return Answer(value, f"internal: {told}\nnext: {hint}")
