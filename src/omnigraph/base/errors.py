"""The one error tree. Its branches are named by what the caller can do.

    OmnigraphError
    ├── InputError      fix it          parse_error type_error param_error schema_error
    │                                   constraint_violation invalid_argument migration_unsupported
    │                                   range_not_satisfiable
    ├── MissingError    check the name  not_found
    ├── DeniedError     ask             policy_denied unauthorized
    ├── ConflictError   re-read, retry  version_conflict read_set_conflict precondition_failed
    │                                   key_conflict branch_exists branch_in_use already_initialized
    │                                   merge_conflicts target_exists
    ├── StorageError    look before you retry: the outcome may be unknown   storage_error
    │                                   store_unfit
    ├── LimitError      ask for less    resource_limit
    └── RecoveryError   an operator decides   recovery_required schema_version_unsupported

A leaf has a stable `code`, typed fields and a sentence. Match the type or the code, never the
text. A bug of ours is an `AssertionError`, not one of these.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.nearest import nearest
from omnigraph.base.span import SourceText, Span
from omnigraph.base.violations import Violations

__all__ = [
    "AlreadyInitialized",
    "ArgumentInvalid",
    "BlobMissing",
    "BranchBusy",
    "BranchExists",
    "BranchHasChildren",
    "BranchMissing",
    "CommitMissing",
    "ConflictError",
    "ConstraintViolated",
    "DeniedError",
    "DependencyMissing",
    "Diagnostic",
    "EntityMissing",
    "FenceLost",
    "FileMissing",
    "GraphMissing",
    "HeadMoved",
    "InputError",
    "InputUnreadable",
    "KeyTaken",
    "LanguageError",
    "LimitError",
    "LimitExceeded",
    "LoadUnderWay",
    "MappingInvalid",
    "MergeConflicts",
    "MigrationRefused",
    "MissingError",
    "MomentMissing",
    "NameMissing",
    "OmnigraphError",
    "ParameterInvalid",
    "ParseFailed",
    "PreconditionFailed",
    "QueryCancelled",
    "QueryMissing",
    "RangeOutside",
    "ReadSetMoved",
    "RecoveryError",
    "RecoveryRequired",
    "RejectedTooMany",
    "SchemaInvalid",
    "SchemaVersionUnsupported",
    "SourceInvalid",
    "SparkFailed",
    "StagedLoadMissing",
    "StorageError",
    "StorageFailed",
    "StoreUnfit",
    "TargetTaken",
    "TypeCheckFailed",
    "Unsupported",
]


@dataclass(eq=False)
class OmnigraphError(Exception):
    """Anything that can go wrong and that a caller can do something about."""

    code: ClassVar[str] = "internal"

    @property
    def message(self) -> str:
        """One sentence: what was wrong, and where."""
        return str(self)

    @property
    def hint(self) -> str | None:
        """What to do next."""
        return None

    @property
    def details(self) -> dict[str, Any]:
        """The fields, as values that JSON can carry."""
        return {f.name: _json_safe(getattr(self, f.name)) for f in fields(self)}

    def render(self) -> str:
        """The error as a person reads it in a terminal."""
        return f"error: {self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")

    def to_json(self) -> dict[str, Any]:
        return {
            "error": self.message,
            "code": self.code,
            "details": self.details,
            "hint": self.hint,
        }

    # An exception made with keywords does not unpickle by itself, and errors cross from Spark's
    # workers to the driver.
    def __reduce__(self) -> tuple[Callable[..., "OmnigraphError"], tuple[Any, ...]]:
        return _rebuild, (type(self), {f.name: getattr(self, f.name) for f in fields(self)})


class InputError(OmnigraphError):
    """Fix what was given."""


class MissingError(OmnigraphError):
    """Check the name."""

    code: ClassVar[str] = "not_found"


class DeniedError(OmnigraphError):
    """Ask for the right."""


class ConflictError(OmnigraphError):
    """Read again, then retry."""


class StorageError(OmnigraphError):
    """The outcome may be unknown: look before you retry."""


class LimitError(OmnigraphError):
    """Ask for less."""


class RecoveryError(OmnigraphError):
    """An operator decides."""


# Language ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding in a source text. `code` is the language's own: T5, Q000, S012, L203, …"""

    code: str
    message: str
    span: Span
    hint: str | None = None
    is_warning: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "line": self.span.line,
            "column": self.span.column,
            "length": self.span.length,
            "hint": self.hint,
            "severity": "warning" if self.is_warning else "error",
        }


@dataclass(eq=False)
class LanguageError(InputError):
    """A text is wrong, in one or more places; all that were found arrive together."""

    source: SourceText
    diagnostics: tuple[Diagnostic, ...]

    def __str__(self) -> str:
        first = self.diagnostics[0]
        more = len(self.diagnostics) - 1
        place = f"{self.source.name}:{first.span.line}:{first.span.column}"
        return f"{place}: {first.code}: {first.message}" + (f" (and {more} more)" if more else "")

    @property
    def hint(self) -> str | None:
        return self.diagnostics[0].hint

    @property
    def details(self) -> dict[str, Any]:
        return {
            "source": self.source.name,
            **self.diagnostics[0].to_json(),
            "diagnostics": [d.to_json() for d in self.diagnostics],
        }

    def render(self) -> str:
        return "\n".join(
            f"error[{d.code}]: {d.message}\n{self.source.point_at(d.span)}"
            + (f"\n  hint: {d.hint}" if d.hint else "")
            for d in self.diagnostics
        )


class ParseFailed(LanguageError):
    code: ClassVar[str] = "parse_error"


class TypeCheckFailed(LanguageError):
    code: ClassVar[str] = "type_error"


class SchemaInvalid(LanguageError):
    code: ClassVar[str] = "schema_error"


@dataclass(eq=False)
class ParameterInvalid(InputError):
    """A query's parameter is missing (P001), of the wrong type (P002) or unknown (P003)."""

    code: ClassVar[str] = "param_error"
    reason: str
    query: str
    parameter: str
    sentence: str
    advice: str | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.sentence}"

    @property
    def hint(self) -> str | None:
        return self.advice

    @property
    def details(self) -> dict[str, Any]:
        return {"code": self.reason, "query": self.query, "parameter": self.parameter}


# Input data -------------------------------------------------------------------------------------


@dataclass(eq=False)
class ConstraintViolated(InputError):
    """Rows break rules of the schema. Nothing was written."""

    code: ClassVar[str] = "constraint_violation"
    violations: Violations

    def __str__(self) -> str:
        return self.violations.sentence

    @property
    def hint(self) -> str | None:
        return "nothing was written: correct the rows listed and try again"

    @property
    def details(self) -> dict[str, Any]:
        return self.violations.to_json()

    def render(self) -> str:
        return f"error: {self.violations.report}\n  hint: {self.hint}"


@dataclass(eq=False)
class RejectedTooMany(ConstraintViolated):
    """A load would set aside more rows than it was allowed to. Nothing was written."""

    max_errors: int

    @property
    def hint(self) -> str | None:
        return (
            f"nothing was written: more than {self.max_errors:,} rows would be rejected; "
            "correct the rows, or allow more with max_errors"
        )


class InputUnreadable(ConstraintViolated):
    """Lines of the input are not what a load can read (broken JSON, no known envelope)."""

    code: ClassVar[str] = "parse_error"


@dataclass(eq=False)
class SourceInvalid(InputError):
    """A file or frame can't be loaded as a whole: it is damaged, or its columns don't fit."""

    code: ClassVar[str] = "parse_error"
    file: str
    reason: str
    column: str | None = None
    advice: str | None = None

    def __str__(self) -> str:
        where = f"{self.file}, column {self.column}" if self.column is not None else self.file
        return f"{where}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return self.advice


@dataclass(eq=False)
class MappingInvalid(InputError):
    """A mapping of columns can't be used: it names what is not there, or can't be read."""

    code: ClassVar[str] = "invalid_argument"
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(eq=False)
class ArgumentInvalid(InputError):
    """A call's argument can't be used: a bad branch name, an unknown mode."""

    code: ClassVar[str] = "invalid_argument"
    argument: str
    value: str
    rule: str

    def __str__(self) -> str:
        return f"{self.argument} {self.value!r} can't be used: {self.rule}"


@dataclass(eq=False)
class Unsupported(InputError):
    """A thing the language or an option can say, and this version can't do."""

    code: ClassVar[str] = "invalid_argument"
    what: str
    instead: str | None = None

    def __str__(self) -> str:
        return f"{self.what} is not supported by this version"

    @property
    def hint(self) -> str | None:
        return self.instead


@dataclass(eq=False)
class RangeOutside(InputError):
    """Bytes were asked for that a blob does not have."""

    code: ClassVar[str] = "range_not_satisfiable"
    start: int
    end: int
    size: int

    def __str__(self) -> str:
        return f"bytes {self.start} to {self.end} are not within a blob of {self.size} bytes"

    @property
    def hint(self) -> str | None:
        return "a range begins at 0 or later and ends at the size or before"


@dataclass(eq=False)
class MigrationRefused(InputError):
    """A schema can't follow the accepted one. Nothing was touched.

    `refusals` holds `code` (OG-…), `name`, `message` and `hint` of each reason.
    """

    code: ClassVar[str] = "migration_unsupported"
    refusals: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        first, more = self.refusals[0], len(self.refusals) - 1
        return f"{first['code']}: {first['message']}" + (f" (and {more} more)" if more else "")

    @property
    def hint(self) -> str | None:
        return self.refusals[0]["hint"]

    @property
    def details(self) -> dict[str, Any]:
        return {"code": self.refusals[0]["code"], "refusals": list(self.refusals)}

    def render(self) -> str:
        return "\n".join(
            f"error[{r['code']}]: {r['message']}\n  hint: {r['hint']}" for r in self.refusals
        )


# Names ------------------------------------------------------------------------------------------


@dataclass(eq=False)
class GraphMissing(MissingError):
    uri: str

    def __str__(self) -> str:
        return f"no graph at {self.uri}"

    @property
    def hint(self) -> str | None:
        return f"check the path, or make one: omnigraph init --schema schema.pg {self.uri}"


@dataclass(eq=False)
class FileMissing(MissingError):
    path: str

    def __str__(self) -> str:
        return f"no file at {self.path}"


@dataclass(eq=False)
class StagedLoadMissing(MissingError):
    """There is nothing to resume: the load ended, well or not, or never began to stage."""

    code: ClassVar[str] = "not_found"
    load_id: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"no load {self.load_id} waits to be resumed"

    @property
    def hint(self) -> str | None:
        waiting = f"there is {', '.join(self.known)}; or " if self.known else ""
        return f"{waiting}load again without resuming"


@dataclass(eq=False)
class DependencyMissing(MissingError):
    """A program or package that this use needs is not installed."""

    what: str
    install: str

    def __str__(self) -> str:
        return f"{self.what} is not installed"

    @property
    def hint(self) -> str | None:
        return self.install


@dataclass(eq=False)
class BranchMissing(MissingError):
    branch: BranchName
    known: tuple[BranchName, ...] = ()

    def __str__(self) -> str:
        return f"no branch named {self.branch}"

    @property
    def hint(self) -> str | None:
        return f"branches here: {', '.join(self.known[:8])}" if self.known else None


@dataclass(eq=False)
class CommitMissing(MissingError):
    commit: str

    def __str__(self) -> str:
        return f"no commit {self.commit} in this graph"

    @property
    def hint(self) -> str | None:
        return "list them: omnigraph commit list"


@dataclass(eq=False)
class MomentMissing(MissingError):
    """A branch has no commit as old as that."""

    moment: str
    branch: BranchName

    def __str__(self) -> str:
        return f"branch {self.branch} had no commit at {self.moment}"

    @property
    def hint(self) -> str | None:
        return f"list them: omnigraph commit list --branch {self.branch}"


@dataclass(eq=False)
class QueryMissing(MissingError):
    """`name` is None where a file holds several queries and none was asked for."""

    name: str | None
    known: tuple[str, ...]

    def __str__(self) -> str:
        if self.name is None:
            return f"the source holds {len(self.known)} queries and none was named"
        return f"no query named {self.name}"

    @property
    def hint(self) -> str | None:
        return f"queries here: {', '.join(self.known[:12])}" if self.known else None


@dataclass(eq=False)
class NameMissing(MissingError):
    """The schema has no such thing. `what` says which: "node type", "property of Person"."""

    what: str
    name: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"no {self.what} named {self.name}"

    @property
    def hint(self) -> str | None:
        if near := nearest(self.name, self.known):
            return f"did you mean {near}?"
        return f"there are {', '.join(self.known[:12])}" if self.known else None


@dataclass(eq=False)
class EntityMissing(MissingError):
    type_name: str
    entity_id: str

    def __str__(self) -> str:
        return f"no {self.type_name} has the id {self.entity_id}"


@dataclass(eq=False)
class BlobMissing(MissingError):
    """The entity is there and its blob is null: not even empty."""

    type_name: str
    entity_id: str
    property: str

    def __str__(self) -> str:
        return f"{self.type_name} {self.entity_id} has no {self.property}: it is null"


# Conflicts --------------------------------------------------------------------------------------


@dataclass(eq=False)
class AlreadyInitialized(ConflictError):
    code: ClassVar[str] = "already_initialized"
    uri: str

    def __str__(self) -> str:
        return f"{self.uri} already holds a graph or other files"

    @property
    def hint(self) -> str | None:
        return "open it, or choose an empty place"


@dataclass(eq=False)
class TargetTaken(ConflictError):
    """Something is already where an export would write."""

    code: ClassVar[str] = "target_exists"
    path: str

    def __str__(self) -> str:
        return f"{self.path} is already there"

    @property
    def hint(self) -> str | None:
        return "choose another place; --force (overwrite=True) replaces a file or an earlier export"


@dataclass(eq=False)
class BranchExists(ConflictError):
    code: ClassVar[str] = "branch_exists"
    branch: BranchName
    existing: BranchName

    def __str__(self) -> str:
        if self.branch == self.existing:
            return f"branch {self.branch} already exists"
        return f"branch {self.branch} overlaps {self.existing}: one is a path-prefix of the other"


@dataclass(eq=False)
class BranchBusy(ConflictError):
    """Another writer held the branch for as long as this one was willing to wait."""

    code: ClassVar[str] = "branch_in_use"
    branch: str
    holder: str
    waited_s: float

    def __str__(self) -> str:
        return f"branch {self.branch} is held by {self.holder}; waited {self.waited_s:g} s"

    @property
    def hint(self) -> str | None:
        return "nothing was written: retry when that writer is done"


@dataclass(eq=False)
class LoadUnderWay(ConflictError):
    """A driver that seems to live is at work on the load."""

    code: ClassVar[str] = "load_in_progress"
    load_id: str
    host: str
    pid: int

    def __str__(self) -> str:
        return f"load {self.load_id} is under way in process {self.pid} on {self.host}"

    @property
    def hint(self) -> str | None:
        return "wait until it is done; a driver that died is known as such after a minute"


@dataclass(eq=False)
class FenceLost(ConflictError):
    """This writer stood still for so long that another one took its branch over."""

    code: ClassVar[str] = "branch_in_use"
    branch: str
    holder: str

    def __str__(self) -> str:
        return f"branch {self.branch} was taken over by {self.holder} while this write stood still"

    @property
    def hint(self) -> str | None:
        return "nothing was written: read again and retry"


@dataclass(eq=False)
class BranchHasChildren(ConflictError):
    """Branches were made from this one, and read what it wrote."""

    code: ClassVar[str] = "branch_in_use"
    branch: BranchName
    children: tuple[BranchName, ...]

    def __str__(self) -> str:
        return (
            f"branch {self.branch} can't go before those made from it: {', '.join(self.children)}"
        )

    @property
    def hint(self) -> str | None:
        return "delete those first"


@dataclass(eq=False)
class HeadMoved(ConflictError):
    """Another writer published to this branch between our read and our swap."""

    code: ClassVar[str] = "version_conflict"
    branch: BranchName
    expected: CommitId | None
    actual: CommitId | None

    def __str__(self) -> str:
        return f"branch {self.branch} moved: expected {self.expected}, found {self.actual}"

    @property
    def hint(self) -> str | None:
        return "nothing was written: read again and retry"


@dataclass(eq=False)
class ReadSetMoved(ConflictError):
    """Another writer changed a table this write had read, before it could arm."""

    code: ClassVar[str] = "read_set_conflict"
    branch: BranchName
    tables: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.tables)} changed on branch {self.branch} while this write ran"

    @property
    def hint(self) -> str | None:
        return "nothing was written: read again and retry"


@dataclass(eq=False)
class PreconditionFailed(ConflictError):
    code: ClassVar[str] = "precondition_failed"
    branch: BranchName
    expected: CommitId
    actual: CommitId

    def __str__(self) -> str:
        return f"branch {self.branch} is at {self.actual}, not at {self.expected} as asked"


@dataclass(eq=False)
class KeyTaken(ConflictError):
    """A strict insert met rows that are already there."""

    code: ClassVar[str] = "key_conflict"
    violations: Violations

    def __str__(self) -> str:
        return self.violations.sentence

    @property
    def hint(self) -> str | None:
        return "nothing was written: load with mode merge to replace rows, or drop them"

    @property
    def details(self) -> dict[str, Any]:
        return self.violations.to_json()


@dataclass(eq=False)
class MergeConflicts(ConflictError):
    """Both sides changed the same things. Nothing was merged."""

    code: ClassVar[str] = "merge_conflicts"
    source: BranchName
    target: BranchName
    conflicts: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        count = len(self.conflicts)
        return f"{count} conflict{'s' * (count != 1)} between {self.source} and {self.target}"


# Storage, limits, recovery ----------------------------------------------------------------------


@dataclass(eq=False)
class StorageFailed(StorageError):
    code: ClassVar[str] = "storage_error"
    doing: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.doing} {self.path} failed: {self.reason}"


@dataclass(eq=False)
class StoreUnfit(StorageError):
    """The place can't keep writers apart, so nothing is written there at all."""

    code: ClassVar[str] = "store_unfit"
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place} can't be written safely: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "nothing was written: use another store; reading works"


@dataclass(eq=False)
class SparkFailed(StorageError):
    """Spark itself failed: it could not start, or lost a worker. No work of ours was at fault."""

    code: ClassVar[str] = "storage_error"
    doing: str
    reason: str

    def __str__(self) -> str:
        return f"Spark failed while {self.doing}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "Spark's own log says more: name a file for it in OMNIGRAPH_SPARK_LOG"


@dataclass(eq=False)
class LimitExceeded(LimitError):
    code: ClassVar[str] = "resource_limit"
    what: str
    limit: int
    found: int | None = None

    def __str__(self) -> str:
        found = f" ({self.found:,})" if self.found is not None else ""
        return f"{self.what}{found} exceeds the limit of {self.limit:,}"


@dataclass(eq=False)
class QueryCancelled(LimitError):
    """Whoever asked took the question back."""

    code: ClassVar[str] = "cancelled"
    step: str

    def __str__(self) -> str:
        return f"the query was cancelled at `{self.step}`"


@dataclass(eq=False)
class RecoveryRequired(RecoveryError):
    code: ClassVar[str] = "recovery_required"
    sidecar: str
    reason: str

    def __str__(self) -> str:
        return f"an unfinished write can't be healed by itself: {self.reason} ({self.sidecar})"

    @property
    def hint(self) -> str | None:
        return "reads still work; keep a copy of the graph before anything is removed by hand"


@dataclass(eq=False)
class SchemaVersionUnsupported(RecoveryError):
    code: ClassVar[str] = "schema_version_unsupported"
    found: int
    supported: int

    def __str__(self) -> str:
        return f"this graph has storage version {self.found}; this omnigraph knows {self.supported}"

    @property
    def hint(self) -> str | None:
        return "upgrade omnigraph first"


def _rebuild(cls: type[OmnigraphError], values: dict[str, Any]) -> OmnigraphError:
    return cls(**values)


def _json_safe(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(k): _json_safe(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_safe(v) for v in value]
    return str(value)
