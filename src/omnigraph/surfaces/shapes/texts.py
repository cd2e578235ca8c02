"""What commands print about schemas, queries and plans."""

from typing import Literal, TypedDict

from omnigraph.base.choices import DiagramFormat
from omnigraph.lang.query.lint.descriptors import Operation
from omnigraph.surfaces.shapes.data import Violations
from omnigraph.surfaces.shapes.said import Commit

__all__ = [
    "Diagram",
    "Explanation",
    "Finding",
    "Formatted",
    "Lint",
    "LintedFile",
    "LintedQuery",
    "PlanStep",
    "Refusal",
    "Schema",
    "SchemaChange",
    "SchemaPlan",
    "Step",
]


class Step(TypedDict):
    """A change of schema. `mode` and `code` are of drops."""

    kind: str
    name: str
    mode: str | None
    code: str | None
    tier: str
    message: str


class Refusal(TypedDict):
    """A change that can't be made, and what to do instead."""

    code: str
    name: str
    message: str
    hint: str


class SchemaPlan(TypedDict):
    """The steps that lead to another schema, and what stands in their way."""

    supported: bool
    applied: bool
    steps: list[Step]
    refusals: list[Refusal]
    can_be_applied: bool
    violations: Violations | None
    branches_in_the_way: list[str]
    rules_in_the_way: list[str]


class SchemaChange(SchemaPlan):
    """The steps that were taken, and their commit."""

    commit: Commit | None


class Schema(TypedDict):
    """The text of a schema."""

    schema: str
    graph_commit_id: str


class Diagram(TypedDict):
    """A picture of a schema, as text; `path` is where it was written, too."""

    format: DiagramFormat
    path: str | None
    diagram: str


class Finding(TypedDict):
    """Something wrong, or probably wrong, in a text."""

    code: str
    message: str
    line: int
    column: int
    length: int
    hint: str | None
    severity: Literal["error", "warning"]


class LintedQuery(TypedDict):
    """A query; `operation` is null if it has errors."""

    name: str
    kind: Literal["read", "mutation"]
    status: str
    findings: list[Finding]
    operation: Operation | None


class LintedFile(TypedDict):
    """A file, with its queries."""

    source: str
    status: str
    findings: list[Finding]
    queries: list[LintedQuery]


class Lint(TypedDict):
    """What was found in files."""

    files: list[LintedFile]


class Formatted(TypedDict):
    """Files that changed, or with --check would change."""

    changed: list[str]


class PlanStep(TypedDict):
    """One line of a plan; rows, bytes and milliseconds are of a query that was run."""

    depth: int
    operator: str
    text: str
    rows_expected: float | None
    rows: int | None
    rows_of_pattern: int | None
    bytes: int | None
    ms: float | None
    notes: list[str]


class Explanation(TypedDict):
    """A plan; it has no commit where it was made for a schema."""

    query_name: str
    graph_commit_id: str | None
    is_analyzed: bool
    plan: str
    steps: list[PlanStep]
