"""Requests: what a caller wants, as one frozen value. Every door builds them, every use case takes
one.

A request is checked where it is made, as far as it can be without the graph: texts are read, and
words are among those that there are.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from omnigraph.base.choices import (
    EmbedOnly,
    EntityKind,
    ExportFormat,
    ImportFormat,
    LoadEngine,
    LoadModeName,
    OnError,
    OutputMode,
    SourceFormat,
    check_choice,
)
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.base.span import SourceText
from omnigraph.engine.arguments import (
    check_cancel,
    check_limit,
    check_request_id,
    check_text,
    names_in,
)
from omnigraph.engine.gate import Action, Where
from omnigraph.engine.results import CommitInfo, LoadResult
from omnigraph.engine.text import QUERY, Text, as_source, named
from omnigraph.merge.choices import choices_of
from omnigraph.pipeline.export.files import Sink
from omnigraph.store.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.pipeline.sources.mapping import MappingArgument

__all__ = [
    "Ask",
    "BlobRead",
    "BranchCreate",
    "BranchDelete",
    "BranchRead",
    "BranchesRead",
    "CommitRead",
    "CommitsRead",
    "Embed",
    "Explain",
    "Export",
    "Import",
    "Load",
    "LogRead",
    "Merge",
    "Moment",
    "Mutation",
    "NeighborhoodRead",
    "OfCommits",
    "OneQuery",
    "Optimize",
    "Read",
    "Resolve",
    "Revert",
    "SchemaApply",
    "SchemaPlan",
    "SchemaRead",
    "SparkAsk",
    "SparkTable",
    "StatsRead",
    "StreamLoad",
    "Target",
    "Write",
]

Moment = CommitId | str | int | date | CommitInfo
"""A commit or its id, a manifest version, or a time; text is an id or a time in ISO 8601."""

Resolve = str | Iterable[Mapping[str, Any]]
"""`"ours"` or `"theirs"` for all conflicts, or a choice for each: its `type`, `id`, `property` (or
none) and `take`."""

Target = str | os.PathLike[str] | Sink
"""A path, or anything with a `write` that takes bytes."""


MAX_NEIGHBOR_HOPS = 4
"""Further away nearly everything is."""
MAX_PAGE_NEIGHBORS = 10_000

# Reads -------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Read:
    """What every read says: of which branch, at which moment, and for whom."""

    action: ClassVar[Action] = Action.READ

    branch: BranchName = MAIN
    is_branch_named: bool = False
    """True if the caller has said the branch: a commit must then be on it."""
    moment: Moment | Snapshot | None = None
    """None is the head of the branch; a snapshot was held before and is read as it is."""
    actor: str | None = None

    @property
    def where(self) -> Where | None:
        is_known = self.moment is None or self.is_branch_named
        return Where(self.branch) if is_known else None


@frozen(kw_only=True)
class OfCommits(Read):
    """A read of commits wherever they were made, or of many branches."""

    @property
    def where(self) -> Where | None:
        return None


# Without slots: a class can take the slots of one base only.
@frozen(slots=False, kw_only=True)
class OneQuery:
    """One query of a text, with its parameters."""

    source: SourceText
    name: str | None = None
    """Which query of the source; None where it holds one."""
    params: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """The request as a caller says it: a path for a text, parameters in the name's place."""
        name, params = named(name, params)
        return cls(source=as_source(source, QUERY), name=name, params=params, **more)


@frozen(kw_only=True)
class Ask(OneQuery, Read):
    timeout_s: float | None = None
    memory_bytes: int | None = None
    """None: what the settings say."""
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_limit("memory_bytes", self.memory_bytes)
        check_cancel(self.cancel)


@frozen(kw_only=True)
class Explain(OneQuery, Read):
    analyze: bool = False
    timeout_s: float | None = None
    memory_bytes: int | None = None
    cancel: threading.Event | None = None
    """Limits as those of a query, for `analyze` runs it."""

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_limit("memory_bytes", self.memory_bytes)
        check_cancel(self.cancel)


@frozen(kw_only=True)
class SparkAsk(OneQuery, Read):
    """A query that Spark answers: with rows, or as a frame."""

    timeout_s: float | None = None
    cancel: threading.Event | None = None
    spark: Any = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)


@frozen(kw_only=True)
class SparkTable(Read):
    """The rows of a type, as a frame of Spark's."""

    type_name: str
    columns: tuple[str, ...] | None = None
    tests: str | None = None
    """What rows must satisfy, as text."""
    spark: Any = None

    def __post_init__(self) -> None:
        tests: object = self.tests
        if self.columns is not None and not self.columns:
            # Spark counts no rows where there are no columns.
            rule = "it must name one column or more"
            raise ArgumentInvalid("columns", None, rule, "leave it out for all columns")
        if not (tests is None or isinstance(tests, str)):
            rule = "it must be text: tests of properties, joined by and"
            raise ArgumentInvalid("where", str(tests), rule, 'such as "age > 30"')


@frozen(kw_only=True)
class BlobRead(Read):
    kind: EntityKind
    type_name: str
    entity_id: str
    property: str

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, EntityKind)


@frozen(kw_only=True)
class NeighborhoodRead(Read):
    """What is around a node."""

    type_name: str
    entity_id: str
    depth: int = 1
    limit: int = 100
    edges: tuple[str, ...] | None = None
    """Walk these edge types only; None: all of them."""
    direction: Literal["out", "in"] | None = None
    """Walk edges one way only; None: both ways."""
    page_token: str | None = None
    timeout_s: float | None = None
    cancel: threading.Event | None = None

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        if self.direction is not None:
            check_choice("direction", self.direction, Literal["out", "in"])
        for argument, value, most in (
            ("depth", self.depth, MAX_NEIGHBOR_HOPS),
            ("limit", self.limit, MAX_PAGE_NEIGHBORS),
        ):
            is_count = isinstance(value, int) and not isinstance(value, bool)
            if not (is_count and 1 <= value <= most):
                rule = f"it must be a number from 1 to {most:,}"
                raise ArgumentInvalid(argument=argument, value=str(value), rule=rule)


@frozen(kw_only=True)
class Export(Read):
    action: ClassVar[Action] = Action.EXPORT

    target: Target
    types: frozenset[str] | None = None
    """None: all of them."""
    format: ExportFormat = "jsonl"
    overwrite: bool = False
    engine: LoadEngine = "auto"
    spark: Any = None

    @classmethod
    def of(cls, target: Target, types: Iterable[str] | None = None, **more: Any) -> Self:
        """The request as a caller says it: one type may stand for a list of one."""
        names = names_in("types", types)
        wanted = None if names is None else frozenset(names)
        if wanted is not None and not wanted:
            rule = "it must name one type or more"
            raise ArgumentInvalid("types", None, rule, "leave it out for all types")
        return cls(target=target, types=wanted, **more)

    def __post_init__(self) -> None:
        check_choice("format", self.format, ExportFormat)
        _check_engine(self)


@frozen(kw_only=True)
class SchemaRead(Read):
    pass


@frozen(kw_only=True)
class SchemaPlan(Read):
    """The steps to another schema."""

    source: SourceText
    allow_data_loss: bool = False


@frozen(kw_only=True)
class StatsRead(Read):
    """Sizes of tables, and what their indexes cover."""


@frozen(kw_only=True)
class BranchesRead(OfCommits):
    """The names of all branches."""


@frozen(kw_only=True)
class BranchRead(Read):
    """Whether a branch is there."""


@frozen(kw_only=True)
class CommitsRead(Read):
    limit: int | None = None
    by: str | None = None
    """Only commits of this actor."""

    def __post_init__(self) -> None:
        check_limit("limit", self.limit)


@frozen(kw_only=True)
class LogRead(Read):
    is_whole: bool = True
    """Of all branches, not only of the one that is named."""
    limit: int | None = None

    @property
    def where(self) -> Where | None:
        return None if self.is_whole else Where(self.branch)

    def __post_init__(self) -> None:
        check_limit("limit", self.limit)


@frozen(kw_only=True)
class CommitRead(OfCommits):
    id: CommitId


# Writes ------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Write:
    """What every write says: to which branch, by whom, and why."""

    action: ClassVar[Action] = Action.CHANGE

    branch: BranchName = MAIN
    actor: str | None = None
    message: str | None = None

    @property
    def where(self) -> Where | None:
        return Where(self.branch)


@frozen(kw_only=True)
class Mutation(OneQuery, Write):
    if_commit: CommitId | None = None
    """Only if the branch is at this commit."""
    timeout_s: float | None = None
    """How long the statements may run. Waiting for other writers and the commit do not count."""
    cancel: threading.Event | None = None
    request_id: str | None = None
    """The caller's name for this request: a second one of this name writes nothing."""

    def __post_init__(self) -> None:
        check_limit("timeout_s", self.timeout_s)
        check_cancel(self.cancel)
        check_request_id(self.request_id)


@frozen(kw_only=True)
class Load(Write):
    """What `Graph.load` says of each of these."""

    source: object
    mode: LoadModeName
    from_: BranchName | None = None
    mapping: "MappingArgument" = None
    format: SourceFormat | None = None
    on_error: OnError = "fail"
    quarantine: str | os.PathLike[str] | None = None
    max_errors: int | None = None
    dry_run: bool = False
    load_id: str | None = None
    is_own_name: bool = False
    """True if loads of other actors with this `load_id` are other loads."""
    resume: bool = False
    embed: bool = False
    engine: LoadEngine | None = None
    spark: Any = None

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, LoadModeName)
        _check_bad_rows(self)
        if self.format is not None:
            check_choice("format", self.format, SourceFormat)
        _check_engine(self)
        check_text("load_id", self.load_id)
        if self.resume and (self.load_id is None or self.dry_run):
            rule = "it needs load_id, and can't be combined with dry_run"
            raise ArgumentInvalid(argument="resume", value=None, rule=rule)


@frozen(kw_only=True)
class Import(Load):
    """What `Graph.import_` says of each of these: a load of what another system has written."""

    import_format: ImportFormat | None = None

    def __post_init__(self) -> None:
        Load.__post_init__(self)  # a class with slots is another one than `super` knows
        if self.import_format is not None:
            check_choice("format", self.import_format, ImportFormat)


@frozen(kw_only=True)
class StreamLoad(Write):
    """What `Graph.stream` says of each of these."""

    source: object
    mode: LoadModeName
    checkpoint: str | os.PathLike[str]
    mapping: "MappingArgument" = None
    on_error: OnError = "fail"
    quarantine: str | os.PathLike[str] | None = None
    max_errors: int | None = None
    trigger: Mapping[str, Any] = field(default_factory=dict)
    output_mode: OutputMode = "append"
    on_batch: Callable[[LoadResult], None] | None = None

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, LoadModeName)
        _check_bad_rows(self)
        check_choice("output_mode", self.output_mode, OutputMode)


@frozen(kw_only=True)
class Merge(Write):
    """`branch` takes the changes of `source`."""

    action: ClassVar[Action] = Action.BRANCH_MERGE

    source: BranchName
    preview: bool = False
    """Tell what would happen, and change nothing."""
    resolve: "Resolve | None" = None
    delete: bool = False
    """Delete the source after the merge."""
    if_commit: CommitId | None = None
    """Only if the branch is at this commit."""
    if_source_commit: CommitId | None = None
    """Only if the source is at this commit."""

    def __post_init__(self) -> None:
        choices_of(self.resolve)

    @property
    def where(self) -> Where | None:
        return Where(self.source, self.branch)


@frozen(kw_only=True)
class Revert(Write):
    """`branch` undoes what `commit` changed."""

    commit: CommitId
    preview: bool = False
    resolve: "Resolve | None" = None
    if_commit: CommitId | None = None

    def __post_init__(self) -> None:
        choices_of(self.resolve)


@frozen(kw_only=True)
class SchemaApply(Write):
    """Another schema for main."""

    action: ClassVar[Action] = Action.SCHEMA_APPLY

    source: SourceText
    allow_data_loss: bool = False
    if_commit: CommitId | None = None
    """Only if main is at this commit."""

    def __post_init__(self) -> None:
        if self.branch != MAIN:
            rule = "a schema is changed on main only; other branches take it by a merge of main"
            raise ArgumentInvalid("branch", self.branch, rule, "leave out the branch")


@frozen(kw_only=True)
class BranchCreate(Write):
    action: ClassVar[Action] = Action.BRANCH_CREATE

    from_: Moment = MAIN
    """A branch, whose head it is; or a moment: a time or a manifest version is one of main."""

    @property
    def where(self) -> Where | None:
        return None


@frozen(kw_only=True)
class BranchDelete(Write):
    action: ClassVar[Action] = Action.BRANCH_DELETE

    if_commit: CommitId | None = None
    """Only if the branch still shows the rows of this commit."""

    def __post_init__(self) -> None:
        if self.branch == MAIN:
            raise ArgumentInvalid(
                argument="branch",
                value=self.branch,
                rule="the branch main can't be deleted",
                advice="delete the rows with a mutation, or make a new graph at another place",
            )


@frozen(kw_only=True)
class Embed(Write):
    """What `Graph.embed` says of each of these."""

    types: frozenset[str] | None = None
    only: EmbedOnly = "missing"
    engine: LoadEngine | None = None
    spark: Any = None

    @classmethod
    def of(cls, types: Iterable[str] | None, **more: Any) -> Self:
        """The request as a caller says it: one type may stand for a list of one."""
        wanted = names_in("types", types)
        return cls(types=None if wanted is None else frozenset(wanted), **more)

    def __post_init__(self) -> None:
        check_choice("only", self.only, EmbedOnly)
        _check_engine(self)


@frozen(kw_only=True)
class Optimize(Write):
    action: ClassVar[Action] = Action.ADMIN


def _check_bad_rows(request: Load | StreamLoad) -> None:
    """Refuse what can't be done with rows that break a rule."""
    check_choice("on_error", request.on_error, OnError)
    if request.on_error == "fail":
        for argument in ("quarantine", "max_errors"):
            if (value := getattr(request, argument)) is not None:
                rule = "it has a meaning only where on_error is quarantine"
                raise ArgumentInvalid(argument=argument, value=str(value), rule=rule)
    if request.max_errors is not None and request.max_errors < 0:
        rule = "it must be 0 or more"
        raise ArgumentInvalid(argument="max_errors", value=str(request.max_errors), rule=rule)


def _check_engine(request: Load | Embed | Export) -> None:
    """Refuse an engine that there is not, or that can't use the session that was passed."""
    if request.engine is not None:
        check_choice("engine", request.engine, LoadEngine)
    if request.engine == "local" and request.spark is not None:
        raise ArgumentInvalid(
            argument="engine",
            value=request.engine,
            rule="work in this process can't use the Spark session that was passed",
            advice="leave out engine or spark",
        )
