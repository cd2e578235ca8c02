"""Errors in data and arguments: fix them and try again."""

from dataclasses import dataclass
from typing import Any, ClassVar

from omnigraph.base.errors.tree import InputError
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.violations import Violations
from omnigraph.base.words import amount

__all__ = [
    "ArgumentInvalid",
    "ConstraintViolated",
    "DependencyMissing",
    "ForkedProcess",
    "InputUnreadable",
    "JsonInvalid",
    "MappingInvalid",
    "MigrationRefused",
    "NotOnSpark",
    "RangeOutside",
    "RejectedTooMany",
    "SchemasApart",
    "SourceInvalid",
    "Unsupported",
    "UsageInvalid",
    "WorkerDiffers",
]


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
            f"nothing was written: more than {amount(self.max_errors, 'row')} would be rejected; "
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
    """A mapping of columns names columns or types that are not there, or can't be read."""

    code: ClassVar[str] = "invalid_argument"
    position: str
    """The file and line of the rule, or its pattern."""
    reason: str

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}"


@dataclass(eq=False)
class ArgumentInvalid(InputError):
    """A call has a wrong argument: a bad branch name, an unknown mode."""

    code: ClassVar[str] = "invalid_argument"
    argument: str
    """As the caller types it: `mode`, `--params`, `OMNIGRAPH_LOAD_ENGINE`."""
    value: str | None
    """None where the sentence needs no value."""
    rule: str
    """A sentence of its own: subject, verb, and how it must be."""
    advice: str | None = None

    def __str__(self) -> str:
        shown = "" if self.value is None else f" {self.value!r}"
        return f"{self.argument}{shown}: {self.rule}"

    @property
    def hint(self) -> str | None:
        return self.advice


@dataclass(eq=False)
class JsonInvalid(ArgumentInvalid):
    """An argument should be JSON and is not; the character is pointed at."""

    excerpt: str | None = None
    """The line, and a caret below the character."""
    line: int | None = None
    column: int | None = None

    def render(self) -> str:
        pointed = f"\n{self.excerpt}" if self.excerpt is not None else ""
        return f"error: {self.message}{pointed}" + (f"\n  hint: {self.hint}" if self.hint else "")


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
class NotOnSpark(InputError):
    """A query asks for something that only this process can do."""

    code: ClassVar[str] = "not_on_spark"
    what: str

    def __str__(self) -> str:
        return f"Spark can't answer this query: {self.what}"

    @property
    def hint(self) -> str | None:
        return "leave out the engine, and this process answers it"


@dataclass(eq=False)
class WorkerDiffers(InputError):
    """A Spark worker has another version of this package than its driver, or none. It did
    nothing."""

    code: ClassVar[str] = "worker_version"
    host: str
    found: str | None
    wanted: str

    def __str__(self) -> str:
        found = "no omnigraph" if self.found is None else f"omnigraph {self.found}"
        return f"the Spark worker on {self.host} has {found}, and its driver has {self.wanted}"

    @property
    def hint(self) -> str | None:
        return (
            f'on every worker: pip install "omnigraph[spark]=={self.wanted}", in the Python that '
            "PYSPARK_PYTHON names"
        )


@dataclass(eq=False)
class RangeOutside(InputError):
    """Bytes were asked for that a blob does not have."""

    code: ClassVar[str] = "range_not_satisfiable"
    start: int
    end: int
    size: int

    def __str__(self) -> str:
        return (
            f"bytes {self.start} to {self.end} are not within a blob of {amount(self.size, 'byte')}"
        )

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


@dataclass(eq=False)
class SchemasApart(InputError):
    """The source of a merge has a schema that the target never had: main took it later."""

    code: ClassVar[str] = "schema_error"
    source: str
    target: BranchName
    commit: CommitId
    """The commit whose schema the target does not have."""

    def __str__(self) -> str:
        return (
            f"{self.source} has the schema of commit {self.commit}, "
            f"and branch {self.target} has never had that schema"
        )

    @property
    def hint(self) -> str | None:
        return (
            "nothing was written: a branch keeps the schema that it was made with. Merge "
            f"{self.target} into {self.source} instead, or make a new branch from {self.source}"
        )


@dataclass(eq=False)
class ForkedProcess(InputError):
    """A graph was used in a process that was forked from one that had used a graph."""

    code: ClassVar[str] = "forked_process"
    parent: int
    child: int

    def __str__(self) -> str:
        return (
            f"process {self.child} was forked from process {self.parent}, which had used a graph: "
            "its storage can't be used in a forked child"
        )

    @property
    def hint(self) -> str | None:
        return 'start processes by spawn: multiprocessing.get_context("spawn")'


@dataclass(eq=False)
class DependencyMissing(InputError):
    """A program or package that this use needs is not installed."""

    code: ClassVar[str] = "dependency_missing"
    what: str
    install: str

    def __str__(self) -> str:
        return f"{self.what} is not installed"

    @property
    def hint(self) -> str | None:
        return self.install


@dataclass(eq=False)
class UsageInvalid(InputError):
    """A command line says what the command does not understand, or leaves out what it needs."""

    code: ClassVar[str] = "wrong_usage"
    command: str
    """As it is typed: `omnigraph branch merge`."""
    rule: str
    """A sentence of its own: what is wrong, or what to pass."""
    advice: str | None = None

    def __str__(self) -> str:
        return self.rule

    @property
    def hint(self) -> str | None:
        return self.advice or f"{self.command} --help shows what it takes"
