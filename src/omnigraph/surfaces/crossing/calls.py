"""The table of calls: every use case that a server carries out for our client, by name.

Most of them are sent as they are: the request's fields, and back comes the result. Rows, lines and
bytes travel in forms of their own, with what else they need in the values at the end.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, get_type_hints

from omnigraph.base.choices import LoadModeName
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.engine.analytics import analyze
from omnigraph.engine.analytics_write import analyze_into
from omnigraph.engine.answers import answer
from omnigraph.engine.diff import commit_changes, diff
from omnigraph.engine.editing import complete, lint
from omnigraph.engine.entity import entity
from omnigraph.engine.entity_history import entity_history
from omnigraph.engine.feed import changes
from omnigraph.engine.find import find
from omnigraph.engine.history import branch, branch_create, branch_delete, branches, commit, commits
from omnigraph.engine.loads import loads
from omnigraph.engine.log import log
from omnigraph.engine.merge import merge, revert
from omnigraph.engine.mutate import mutate
from omnigraph.engine.neighborhood import neighborhood
from omnigraph.engine.query import explain
from omnigraph.engine.requests import Export, Load, Moment
from omnigraph.engine.review import compare, review
from omnigraph.engine.schema import schema
from omnigraph.engine.schema_apply import schema_apply, schema_plan
from omnigraph.engine.signatures import QuerySignature
from omnigraph.engine.stats import indexes, stats
from omnigraph.engine.tables import tables
from omnigraph.engine.travel import hold
from omnigraph.pipeline.export.files import Sink
from omnigraph.read.changes.filter import EVERYTHING, ChangeFilter

__all__ = [
    "BASELINE",
    "BLOB",
    "BODY_BYTES",
    "CALLS",
    "EXPORT",
    "LOAD",
    "NOT_SENT",
    "OUR_CLIENT",
    "QUERY",
    "QUERY_NAME",
    "STORED",
    "BaselineLines",
    "BlobFound",
    "ExportLines",
    "LoadLines",
    "RemoteCall",
    "StoredFound",
    "StoredRead",
]

UseCase = Callable[..., Any]

NOT_SENT = frozenset({"actor", "cancel"})
"""Fields of requests: a server knows who asks by the token, and that nobody waits any more by the
connection."""

OUR_CLIENT = "Omnigraph-Client"
"""The header of our own client, with its version: it is told errors as they were raised."""
BODY_BYTES = "the body in bytes"
"""What a server calls a request that is too large. Of a load, our client makes a job then."""

QUERY, LOAD, EXPORT, BASELINE, BLOB = "query", "load", "export", "changes_baseline", "blob"
STORED = "stored_queries"
QUERY_NAME = "Omnigraph-Query-Name"
"""The header of an answer in Arrow that has the name of the query."""


@frozen
class RemoteCall:
    name: str
    summary: str
    use_case: UseCase
    request: Any = field(init=False)
    result: Any = field(init=False)

    def __post_init__(self) -> None:
        hints = get_type_hints(self.use_case)
        object.__setattr__(self, "request", hints["request"])
        object.__setattr__(self, "result", hints["return"])


CALLS = (
    RemoteCall("mutate", "Run a query that changes the graph, as one commit.", mutate),
    RemoteCall("explain", "Show the plan of a query, and run it if that is wanted.", explain),
    RemoteCall("schema", "Show the schema, with its types.", schema),
    RemoteCall("schema_plan", "Show the steps to another schema.", schema_plan),
    RemoteCall("schema_apply", "Give main another schema, and its rows with it.", schema_apply),
    RemoteCall("stats", "Show the size of every table.", stats),
    RemoteCall("tables", "Show the version of every table.", tables),
    RemoteCall("neighborhood", "Show a node and what is around it.", neighborhood),
    RemoteCall("analytics", "Run an algorithm over the edges of a moment.", analyze),
    RemoteCall("analytics_into", "Run an algorithm, and write what it finds.", analyze_into),
    RemoteCall("indexes", "List the indexes, and what they answer for.", indexes),
    RemoteCall("branch", "Tell whether a branch is there.", branch),
    RemoteCall("branches", "List the branches.", branches),
    RemoteCall("branch_create", "Make a branch at a moment of the graph.", branch_create),
    RemoteCall("branch_delete", "Remove a branch.", branch_delete),
    RemoteCall("branch_merge", "Merge a branch, or show what that would do.", merge),
    RemoteCall("revert", "Undo what a commit changed, or show what that would do.", revert),
    RemoteCall("commits", "List the commits of a branch.", commits),
    RemoteCall("commit", "Show a commit.", commit),
    RemoteCall("log", "List the commits of all branches, and their heads.", log),
    RemoteCall("at", "Find the commit of a moment.", hold),
    RemoteCall("diff", "Show what differs between two moments.", diff),
    RemoteCall("commit_changes", "Show what a commit changed, a page at a time.", commit_changes),
    RemoteCall("changes", "Show what was published to a branch since a cursor.", changes),
    RemoteCall("lint", "Show what is wrong with a text of queries.", lint),
    RemoteCall("complete", "Show what may be typed at a place of a text.", complete),
    RemoteCall("answer", "Run a query, and show its first rows and its graph.", answer),
    RemoteCall("find", "Find nodes by a key, a name or words.", find),
    RemoteCall("entity", "Show one entity, with all its properties.", entity),
    RemoteCall("entity_history", "Show what commits made of an entity.", entity_history),
    RemoteCall("compare", "Show what differs, property by property.", compare),
    RemoteCall("review", "Show what a merge of a branch would come to.", review),
    RemoteCall("loads", "List the loads that a branch has taken.", loads),
)


# What travels in a form of its own ----------------------------------------------------------------


@frozen(kw_only=True)
class LoadLines:
    """The first line of a load; the rows are the lines after it."""

    mode: LoadModeName
    source_name: str
    """What the rows come from, as messages call it."""
    branch: BranchName = MAIN
    message: str | None = None
    from_: BranchName | None = None
    dry_run: bool = False
    load_id: str | None = None
    embed: bool = False

    def load(self, source: object, *, actor: str | None) -> Load:
        """The load of these lines, in the process that has them."""
        return Load(
            source=source,
            mode=self.mode,
            branch=self.branch,
            message=self.message,
            from_=self.from_,
            dry_run=self.dry_run,
            load_id=self.load_id,
            embed=self.embed,
            engine="local",
            actor=actor,
        )


@frozen(kw_only=True)
class ExportLines:
    """What to export. The last line of the answer is the result."""

    branch: BranchName = MAIN
    is_branch_named: bool = False
    moment: Moment | None = None
    types: frozenset[str] | None = None

    def export(self, sink: Sink, *, actor: str | None) -> Export:
        return Export(
            target=sink,
            branch=self.branch,
            is_branch_named=self.is_branch_named,
            moment=self.moment,
            types=self.types,
            actor=actor,
        )


@frozen(kw_only=True)
class BaselineLines:
    """Which rows to start from. The last line of the answer is the result."""

    branch: BranchName = MAIN
    filter: ChangeFilter = EVERYTHING


@frozen(kw_only=True)
class BlobFound:
    """A blob without its bytes: those are read from the route `/blob`, at this commit."""

    type_name: str
    entity_id: str
    property: str
    size: int
    etag: str
    graph_commit_id: CommitId


@frozen(kw_only=True)
class StoredRead:
    """Which stored queries to list: those that fit the schema of a branch."""

    branch: BranchName = MAIN


@frozen
class StoredFound:
    """A stored query. Its types are those of the language: `GET queries` tells every kind of whole
    number in one word, and no value of an enum."""

    signature: QuerySignature
    text: str
    """The query by itself."""
