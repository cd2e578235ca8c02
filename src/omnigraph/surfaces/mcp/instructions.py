"""What an agent is told before its first call."""

from omnigraph.surfaces.mcp.caller import Caller, Writing

__all__ = ["instructions"]

READING = """\
This is an OmniGraph database: a typed property graph with branches and commits.
1. Read the schema first: call `schema`, or read the resource omnigraph://schema. Every query is \
checked against it, and an error says where a query is wrong and what would be right.
2. Find where to begin with `search`, or with a tool that is named after a stored query; go on \
with `query`.
3. Answers come in pages. While there is a next_cursor, repeat the call with it to get the next \
page of the same moment.
4. Every answer has a graph_commit_id: pass it as `snapshot` to read that moment again."""

OWN_BRANCH = """\
5. Writes (`mutate`, `load`, stored queries that change) go to a branch of your own below agent/, \
which the first of them makes from {base}. You then read that branch; {base} stays as it is.
6. When you are done, call `propose`, and show what it says to a person. `branch_merge` brings it \
into {base}."""
ON_A_BRANCH = """\
5. Writes (`mutate`, `load`, stored queries that change) go to the branch {own}, at once."""
READ_ONLY = """\
5. You can read, and change nothing."""


def instructions(caller: Caller) -> str:
    return f"{READING}\n{_writing(caller, caller.writing)}"


def _writing(caller: Caller, writing: Writing | None) -> str:
    if writing is None:
        return READ_ONLY
    text = ON_A_BRANCH if writing.on is not None else OWN_BRANCH
    return text.format(own=writing.own, base=caller.base)
