"""Branches, commits, and what they changed."""

from omnigraph.base.errors import RequestMalformed
from omnigraph.surfaces.server.access import Where
from omnigraph.surfaces.server.calls import Call, Reply, json_reply
from omnigraph.surfaces.server.handlers.moments import or_main
from omnigraph.surfaces.server.models.answers import (
    BranchCreateOutput,
    BranchDeleteOutput,
    BranchListOutput,
    BranchMergeOutcome,
    BranchMergeOutput,
    ChangeBlockOutput,
    ChangeCauseOutput,
    ChangeFeedOutput,
    CommitChangesOutput,
    CommitListOutput,
    CommitOutput,
    changes_of,
)
from omnigraph.surfaces.server.models.requests import BranchCreateRequest, BranchMergeRequest

__all__ = [
    "commit",
    "commit_changes",
    "create_branch",
    "delete_branch",
    "list_branches",
    "list_commits",
    "merge_branches",
    "of_creation",
    "of_deletion",
    "of_merge",
    "poll_changes",
]


def list_branches(call: Call) -> Reply:
    return json_reply(BranchListOutput(branches=call.graph.branches()))


def create_branch(call: Call) -> Reply:
    asked = call.request(BranchCreateRequest)
    from_ = or_main(asked.from_)
    call.graph.branch_create(asked.name, from_=from_)
    return json_reply(
        BranchCreateOutput(uri=call.of.address, from_=from_, name=asked.name, actor_id=call.actor)
    )


def delete_branch(call: Call) -> Reply:
    name = call.path["branch"]
    call.graph.branch_delete(name)
    return json_reply(BranchDeleteOutput(uri=call.of.address, name=name, actor_id=call.actor))


def merge_branches(call: Call) -> Reply:
    asked = call.request(BranchMergeRequest)
    result = call.graph.branch_merge(
        asked.source, into=or_main(asked.target), delete=asked.delete_branch
    )
    return json_reply(
        BranchMergeOutput(
            source=result.source,
            target=result.target,
            outcome=BranchMergeOutcome(result.outcome),
            actor_id=call.actor,
            branch_deleted=result.branch_deleted,
            branch_delete_error=result.branch_delete_error,
            commit=CommitOutput.of_any(result.commit),
        )
    )


def of_creation(call: Call) -> Where:
    asked = call.request(BranchCreateRequest)
    return Where(branch=or_main(asked.from_), target=asked.name)


def of_merge(call: Call) -> Where:
    asked = call.request(BranchMergeRequest)
    return Where(branch=asked.source, target=or_main(asked.target))


def of_deletion(call: Call) -> Where:
    return Where(branch=call.path["branch"])


def list_commits(call: Call) -> Reply:
    asked = call.params
    found = call.graph.commits(or_main(asked.branch), limit=asked.limit, actor=asked.actor)
    return json_reply(CommitListOutput(commits=[CommitOutput.of(commit) for commit in found]))


def commit(call: Call) -> Reply:
    return json_reply(CommitOutput.of(call.graph.commit(call.path["commit_id"])))


def commit_changes(call: Call) -> Reply:
    asked = call.params
    page = call.graph.commit_changes(
        call.path["commit_id"],
        types=asked.type or None,
        kinds=[kind.value for kind in asked.kind] or None,
        ops=[op.value for op in asked.op] or None,
        limit=asked.limit,
        page_token=asked.page_token,
        timeout_s=call.timeout_s,
        cancel=call.cancel,
    )
    return json_reply(
        CommitChangesOutput(
            cause=ChangeCauseOutput.of(page.cause),
            changes=changes_of(page.changes),
            next_page_token=page.next_page_token,
        )
    )


def poll_changes(call: Call) -> Reply:
    """A page of the feed. A cursor is given where a page ends with a commit; between pages of one
    commit a page token leads on. Either is a place in the feed, as text."""
    asked = call.params
    given = [name for name in ("cursor", "page_token", "start") if getattr(asked, name) is not None]
    if len(given) > 1:
        raise RequestMalformed("query", f"give one of {' and '.join(given)}, not both")
    page = call.graph.changes(
        asked.page_token if asked.cursor is None else asked.cursor,
        start="now" if asked.start is None else asked.start,
        branch=or_main(asked.branch),
        types=asked.type or None,
        kinds=[kind.value for kind in asked.kind] or None,
        ops=[op.value for op in asked.op] or None,
        limit=asked.limit,
        timeout_s=call.timeout_s,
        cancel=call.cancel,
    )
    return json_reply(
        ChangeFeedOutput(
            blocks=[
                ChangeBlockOutput(
                    cause=ChangeCauseOutput.of(block.cause), changes=changes_of(block.changes)
                )
                for block in page.blocks
            ],
            caught_up=page.caught_up,
            cursor=None if page.is_within_commit else page.cursor,
            next_page_token=None if page.caught_up else page.cursor,
        )
    )
