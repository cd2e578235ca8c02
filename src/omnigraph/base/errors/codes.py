"""Every code that an error can have, and what it means.

A code never changes its meaning and is never used again for another: programs match it. The page
docs/errors.md is made from this table and from the classes.
"""

from typing import Final

__all__ = ["ERROR_CODES"]

ERROR_CODES: Final[dict[str, str]] = {
    "parse_error": (
        "The text of a schema, query or data line, or a whole input file, can't be read; the "
        "place is given."
    ),
    "type_error": (
        "A query names or compares things the schema does not allow; `details.code` is the rule "
        "(`T5`, …)."
    ),
    "schema_error": (
        "A schema breaks a rule of its language, `details.code` is the rule; or two branches to "
        "merge have different schemas."
    ),
    "param_error": (
        "A parameter is missing (`P001`), of the wrong type (`P002`) or unknown (`P003`)."
    ),
    "constraint_violation": (
        "Rows break the schema's rules; `details.examples` name file and line. With a "
        "quarantine, more rows than `max_errors` would be rejected, or rows that stay in the "
        "graph are at fault."
    ),
    "migration_unsupported": (
        "A schema can't follow the accepted one; `details.code` is the reason (`OG-…`)."
    ),
    "invalid_argument": "An argument is wrong, or names something this version does not do.",
    "wrong_usage": (
        "A command line has an option that is not known or does not apply, or lacks something; "
        "it exits with 2."
    ),
    "not_on_spark": (
        "A query asks for what Spark is not asked to do (a ranking, more than 12 hops): leave out "
        "the engine."
    ),
    "worker_version": (
        "A Spark worker has another version of the package than its driver, or none; it did "
        "nothing."
    ),
    "range_not_satisfiable": "Bytes were asked for that a blob does not have.",
    "forked_process": (
        "A graph was used in a child that was forked from a process that had used one: start "
        "processes by spawn."
    ),
    "dependency_missing": (
        "A program or package that this use needs is not installed (Java, pandas, …)."
    ),
    "change_cursor_rejected": (
        "A cursor or page token is torn, or of another graph, branch, incarnation of the "
        "branch, filter or state; `details.reason` says which."
    ),
    "change_diff_refused": (
        "Rows can't be compared: another schema lies between (`schema_boundary`, and the commit "
        "that brought it), or a commit has no parent (`parentless_commit`)."
    ),
    "embed_provider_missing": (
        "A text is to become a vector and no provider is configured, or its key is missing."
    ),
    "embed_model_mismatch": (
        "`@embed` names another model than the provider has: their vectors can't be compared."
    ),
    "embed_width_mismatch": "The model makes vectors of another width than the property's.",
    "embed_refused": (
        "The provider refused for good (a wrong key, an unknown model, the text of a query too "
        "long); its reason is given."
    ),
    "embed_text_refused": (
        "The provider refuses the texts of some rows, most often since they are too long; "
        "`details.rows` lists them with id, property and the provider's reason."
    ),
    "policy_invalid": (
        "Files of a policy can't be used, or name what the schema lacks; each finding has its "
        "file, line, column, code and what to do."
    ),
    "bad_request": (
        "A request over HTTP can't be read: no JSON, a member twice or unknown, a value of "
        "another type."
    ),
    "unsupported_media_type": (
        "A request over HTTP has a body of another kind, or packed in another way, than the "
        "route takes."
    ),
    "method_not_allowed": "The path is served and does not take this method.",
    "local_only": (
        "A connection to a server was asked for what needs the storage of the graph, such as "
        "`optimize` or a Spark frame: run it where the storage is."
    ),
    "invalid_configuration": (
        "A file of your configuration can't be used: the message says where, and how it must be."
    ),
    "cluster_invalid": (
        "The folder of a cluster can't be used; each finding has its file, line, column, code and "
        "what to do."
    ),
    "part_damaged": "A part of an upload has another checksum than its header says: send it again.",
    "not_found": (
        "No such graph, load job, branch, commit (or its rows went with its branch or by a "
        "cleanup), query, file, type, property or entity, a blob that is null, or no load to "
        "resume."
    ),
    "graph_replaced": (
        "Another graph, or an older state of this one, was put in its place while it was open: "
        "open it again."
    ),
    "read_only": "A write was asked of a handle that was opened with `read_only`.",
    "policy_denied": (
        "The policy does not let this actor do this, or no actor is named; what the actor may "
        "not see is not told either."
    ),
    "unauthorized": "A request over HTTP has no token, or one that nobody has.",
    "page_not_allowed": (
        "A browser sent a request on behalf of a page of another site to a server that asks for "
        "no token."
    ),
    "spark_not_allowed": "A server was asked for work on Spark, and lets no caller start it.",
    "file_not_allowed": (
        "A load job names a file outside the places that the server loads from; whether it is "
        "there is not told."
    ),
    "approval_needed": (
        "A plan of a cluster deletes a graph or loses data, and nobody approved of just that: "
        "`details.addresses`."
    ),
    "key_conflict": "A strict insert met an id that is already there.",
    "version_conflict": "Another writer published first.",
    "earlier_write_published": (
        "The caller's last write to the branch ended in an error and was published after all; "
        "this one was refused, once, so that a second try does not write twice."
    ),
    "request_id_reused": "A request id came with another request than the one it belongs to.",
    "read_set_conflict": (
        "Another writer changed what an overwriting load was decided on; mutations, merges and "
        "other loads are done again instead."
    ),
    "precondition_failed": (
        "The branch is not at the commit that was asked for, or that a file of choices was made "
        "for."
    ),
    "change_feed_gap": (
        "The rows of a commit, or those before it, were cleaned up; the commit and the last "
        "cursor that works are given."
    ),
    "blob_changed": "The bytes have another tag than `If-Match` asks for.",
    "already_initialized": "The place already holds a graph or other files.",
    "branch_exists": "The branch is there, or overlaps one that is.",
    "branch_in_use": (
        "Another process holds the branch, or other branches were made from it; the message "
        "names them."
    ),
    "policy_in_use": (
        "A rule of the policy names what a new schema calls otherwise or drops; the message has "
        "the rule with its file and line."
    ),
    "load_in_progress": "Another process drives the load of this name.",
    "job_not_open": "A load job was started or is over, and takes no more parts.",
    "parts_missing": (
        "An upload was started and not all of its parts are there; `details.missing` lists "
        "their numbers."
    ),
    "target_exists": "Something is already where an export would write.",
    "merge_conflicts": (
        "Two branches changed what only one of them can have, or a commit to revert was changed "
        "since; nothing was written and `details.conflicts` lists all of it."
    ),
    "cluster_locked": (
        "Another process is at work on the cluster, or died at it; the lock's id, owner and time "
        "are given."
    ),
    "lock_lost": (
        "The lock of a cluster was taken away from a process that was at work: it left off there, "
        "and the next apply goes on."
    ),
    "plan_changed": "The plan of a cluster is another one than the one that `--plan` names.",
    "plan_blocked": (
        "Something stands in the way of a plan of a cluster, and none of it was done; "
        "`details.reasons` has all."
    ),
    "policy_needs_tokens": (
        "A policy was applied to a cluster whose server was started without tokens: what it "
        "guards is not served."
    ),
    "schema_declared": (
        "A schema was to be changed over HTTP, and a cluster declares it: change it in its folder."
    ),
    "storage_error": "The disk refused; the message says what was tried.",
    "spark_error": (
        "Spark could not start, lost a worker, or ran something of the caller's that failed."
    ),
    "embed_unreachable": (
        "The provider of embeddings can't be reached, or fails, after several tries."
    ),
    "embed_answer_invalid": "The provider's answer is not one finite vector for each text.",
    "store_unfit": (
        "The store can't keep two writers apart (no conditional puts, no file locks): it is "
        "read, never written."
    ),
    "server_unreachable": (
        "No connection to the server came about, or a read was not answered; nothing was written."
    ),
    "outcome_pending": (
        "A write failed when it was nearly done, and could be neither finished nor undone. "
        "`details.commit_id` names the commit that may yet appear."
    ),
    "outcome_unknown": (
        "A write was sent to a server and its answer was lost: look at the newest commits "
        "before you retry."
    ),
    "answer_unreadable": "What came is no answer of an OmniGraph server, or only a part of one.",
    "server_failed": (
        "The server could not carry out a request; its log says why, under the request id that "
        "is given."
    ),
    "resource_limit": "A query would need more memory or time than its budget; the step is named.",
    "cancelled": "The caller cancelled the query, or someone a load job.",
    "too_many_requests": (
        "An actor of a server has as many writes under way as one actor may; "
        "`details.retry_after_s` says when to try again."
    ),
    "spool_full": "A server has no room for more uploads: try again when other loads have ended.",
    "request_timeout": "The body of a request did not come in time.",
    "embed_timeout": "The provider took longer than `OMNIGRAPH_EMBED_TIMEOUT_S`.",
    "embed_rate_limited": (
        "The provider takes no more requests for now; `details.retry_after_s` says when it does "
        "again, if it is known."
    ),
    "embed_quota_spent": "The account at the provider has nothing left; waiting does not help.",
    "recovery_required": "An unfinished write can't be healed by itself; reads still work.",
    "graph_moved": (
        "The graph was moved or copied and not opened with write access since: its branches "
        "can't be used yet."
    ),
    "ledger_damaged": (
        "The ledger of a cluster was changed by hand, or is torn; the message says which copy to "
        "put back."
    ),
    "schema_version_unsupported": "The graph was written by a newer OmniGraph.",
    "internal": "A defect of ours; `OMNIGRAPH_DEBUG=1` shows where.",
}
