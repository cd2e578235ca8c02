"""What the engine hands back: values that know their commit, and Arrow under the rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import DependencyMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId, TableKey
from omnigraph.base.row_counts import RowCounts
from omnigraph.base.violations import Violations
from omnigraph.base.words import amount

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from omnigraph.engine.drawable import Drawable
    from omnigraph.engine.notebook.drawing import Drawing
    from omnigraph.engine.notebook.history import ShownCommit
    from omnigraph.store.commits import Commit
    from omnigraph.store.snapshot import Snapshot

__all__ = [
    "ChangeCounts",
    "CommitInfo",
    "CommitList",
    "EmbedResult",
    "ExportResult",
    "ExportedFile",
    "IndexInfo",
    "LoadResult",
    "MutationResult",
    "OptimizeResult",
    "QueryResult",
    "shown_commit",
]


# A notebook page is for looking; `to_pandas` and its kin give all rows.
ROWS_SHOWN = 20
# More nodes than this are hard to tell apart on a page.
NODES_DRAWN = 150


@frozen
class CommitInfo:
    """A commit as callers see it; clients rely on these names."""

    graph_commit_id: CommitId
    graph_branch: BranchName
    graph_manifest_version: int
    parent_commit_id: CommitId | None
    merged_parent_commit_id: CommitId | None
    actor_id: str | None
    created_at: datetime
    kind: str
    message: str | None
    load_id: str | None
    drops: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What a change of schema dropped, `Person` or `Person.age`, and how: `soft` or `hard`."""

    @classmethod
    def of(cls, commit: "Commit") -> "CommitInfo":
        return cls(
            graph_commit_id=commit.id,
            graph_branch=commit.branch,
            graph_manifest_version=commit.manifest_version,
            parent_commit_id=commit.parent,
            merged_parent_commit_id=commit.merged_parent,
            actor_id=commit.actor,
            created_at=datetime.fromtimestamp(commit.created_at_ms / 1000, UTC),
            kind=commit.kind.value,
            message=commit.message,
            load_id=commit.load_id,
            drops=commit.drops,
        )

    def _repr_html_(self) -> str:
        """All that is known of it, for a notebook."""
        from omnigraph.engine.notebook.page import html_table

        known = [
            {"commit": f.name, self.graph_commit_id: getattr(self, f.name)}
            for f in fields(self)
            if f.name != "graph_commit_id"
        ]
        return html_table(("commit", self.graph_commit_id), known)


class CommitList(list[CommitInfo]):
    """Commits of one branch, newest first: a list that a notebook shows as a picture."""

    def _repr_html_(self) -> str:
        from omnigraph.engine.notebook.history import COMMITS_SHOWN, history_svg
        from omnigraph.engine.notebook.page import in_page

        shown = self[:COMMITS_SHOWN]
        drawn = [
            shown_commit(
                commit,
                # A line of commits, of which some may be left out: the next is the parent, or one
                # further back.
                parents=(older.graph_commit_id if older else commit.parent_commit_id,),
                has_gap=older is not None and older.graph_commit_id != commit.parent_commit_id,
            )
            for commit, older in zip(shown, [*shown[1:], None], strict=False)
        ]
        return in_page(history_svg(drawn, len(self)))


def shown_commit(
    commit: CommitInfo,
    *,
    parents: Iterable[str | None],
    names: tuple[str, ...] = (),
    has_gap: bool = False,
) -> "ShownCommit":
    """A commit as a picture shows it; for this package's own use."""
    from omnigraph.engine.notebook.history import ShownCommit

    why = ": ".join(said for said in (commit.actor_id, commit.message or commit.kind) if said)
    return ShownCommit(
        id=commit.graph_commit_id,
        parents=tuple(parent for parent in parents if parent is not None),
        names=names,
        time=f"{commit.created_at:%Y-%m-%d %H:%M:%S}",
        said=why,
        is_merge=commit.merged_parent_commit_id is not None,
        has_gap=has_gap,
    )


@frozen(repr=False)
class QueryResult:
    """Rows of one query at one commit. Iterating gives dicts; `to_arrow` gives the columns."""

    query_name: str
    graph_commit_id: CommitId
    table: "pa.Table"
    drawable: "Drawable | None" = None
    """What `graph` needs beside the rows; for this package's own use."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.table.column_names)

    def to_arrow(self) -> "pa.Table":
        """The rows as an Arrow table, without a copy."""
        return self.table

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as a list of dicts."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def readable(self) -> "QueryResult":
        """The rows as text shows them: an F32 becomes the F64 of as few digits as it takes."""
        from omnigraph.store.arrays import with_short_floats

        return replace(self, table=with_short_floats(self.table))

    def __repr__(self) -> str:
        columns = ", ".join(self.columns)
        rows = amount(len(self), "row")
        return f"<QueryResult of {self.query_name}: {rows} ({columns}) at {self.graph_commit_id}>"

    def to_pandas(self) -> "pandas.DataFrame":
        """A frame whose columns have the types that the query gives them, with nulls or without.

        Integers and booleans are pandas' nullable ones (`Int64`, `boolean`): 64 bits stay exact
        beside a null. A `Date` is `datetime64[ms]` and a `DateTime` `datetime64[ms, UTC]`, with
        `NaT` for null; a float has `NaN` for null, which no stored value is.
        """
        try:
            import pandas
        except ImportError:
            raise DependencyMissing(what="pandas", install="pip install pandas") from None
        import pyarrow as pa

        nullable = {
            pa.int32(): pandas.Int32Dtype(),
            pa.int64(): pandas.Int64Dtype(),
            pa.uint32(): pandas.UInt32Dtype(),
            pa.uint64(): pandas.UInt64Dtype(),
            pa.bool_(): pandas.BooleanDtype(),
        }
        return self.table.to_pandas(types_mapper=nullable.get, date_as_object=False)

    def to_polars(self) -> "polars.DataFrame":
        """The rows as a Polars frame. Polars must be installed."""
        try:
            import polars
        except ImportError:
            raise DependencyMissing(what="Polars", install="pip install polars") from None
        frame = polars.from_arrow(self.table)
        assert isinstance(frame, polars.DataFrame), "a table becomes a frame"
        return frame

    def batches(self, rows: int = 10_000) -> Iterator["pa.RecordBatch"]:
        """The rows in Arrow batches of at most so many."""
        return iter(self.table.to_batches(max_chunksize=rows))

    def __len__(self) -> int:
        count: int = self.table.num_rows
        return count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.batches():
            yield from batch.to_pylist()

    def graph(self, *, label: str | None = None, limit: int = NODES_DRAWN) -> "Drawing":
        """A picture of the nodes and edges of the answer, for a notebook.

        Nodes are those of variables that `return` names alone: `return { $p, $f }`. Edges are those
        that the pattern walks between two of them, such as `$p knows $f`; a way of several hops is
        dashed. `label` is the property that nodes are called by: if left out, `name`, `title` or
        `label`, else the id. The first `limit` nodes are drawn, at most 300.
        """
        from omnigraph.engine.notebook.answer import drawing_of

        return drawing_of(self.table, self.drawable, label=label, limit=limit)

    def _repr_html_(self) -> str:
        """A table of the first rows, for a notebook."""
        from omnigraph.engine.notebook.page import html_table

        shown = replace(self, table=self.table.slice(0, ROWS_SHOWN)).readable()
        return html_table(self.columns, shown.to_pylist(), len(self))


@frozen
class MutationResult:
    """`commit` is None where nothing matched or nothing changed."""

    query_name: str
    branch: BranchName
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: CommitInfo | None
    is_repeat: bool = False
    """An earlier request of this `request_id` did it, and nothing was written now."""


@frozen(repr=False)
class LoadResult:
    """What a load came to. `commit` is None where nothing changed.

    With `is_repeat` an earlier load of this `load_id` has done it: `commit` is that one's, and
    nothing was loaded now.
    """

    branch: BranchName
    base_branch: BranchName | None
    mode: LoadModeName
    load_id: str | None
    is_repeat: bool
    engine: Literal["local", "spark"] | None
    """Who ran it; None where there was nothing to run."""
    engine_reason: str | None
    """Why it ran there, as a clause; None where there was nothing to run."""
    dry_run: bool
    """Nothing was published: this is what would have been."""
    read: int
    """Rows of the input: loaded, rejected, or superseded."""
    rejected: int
    """Rows in the quarantine."""
    violations: Violations | None
    """The rules that the rejected rows break."""
    quarantine: str | None
    """The directory of the rejected rows, if there are any; of a repeat, if it got its name now."""
    nodes: Mapping[str, int]
    """Nodes loaded, by type: new, replaced, or equal to what was there."""
    edges: Mapping[str, int]
    rows: Mapping[str, RowCounts]
    """By type, nodes and edges: how many rows were inserted, updated and unchanged."""
    hints: tuple[str, ...]
    """What its caller may want to do otherwise next time."""
    input_bytes: int
    seconds: Mapping[str, float]
    """Where the time went: `start` (Spark), `parse`, `write`, `check`, `publish`.

    Tasks parse and write by turns, many at once: the clock of both together is split in the
    proportion of the seconds that the tasks spent. What a merge changes is written later, in
    `check` if it is large and in `publish` if it is small.
    """
    tasks: int
    resumed_tasks: int
    """Those that were done before: by a driver that died, or by an executor that did."""
    commit: CommitInfo | None

    @property
    def total_entities(self) -> int:
        """How many rows were loaded, of all types."""
        return sum(self.nodes.values()) + sum(self.edges.values())

    def __repr__(self) -> str:
        done = amount(self.total_entities, "entity")
        rejected = f", {amount(self.rejected, 'row')} rejected" if self.rejected else ""
        outcome = f"commit {self.commit.graph_commit_id}" if self.commit else "no commit"
        how = "a dry run" if self.dry_run else "loaded before" if self.is_repeat else None
        said = f"{done}{rejected}, {outcome}{f', {how}' if how else ''}"
        return f"<LoadResult of {self.mode} into {self.branch}: {said}>"

    @property
    def inserted(self) -> int:
        """How many rows are new."""
        return sum(counts.inserted for counts in self.rows.values())

    @property
    def updated(self) -> int:
        """How many rows replaced another."""
        return sum(counts.updated for counts in self.rows.values())

    @property
    def unchanged(self) -> int:
        """How many rows were there already, just like that."""
        return sum(counts.unchanged for counts in self.rows.values())

    @property
    def removed(self) -> int:
        """How many rows an overwrite took away."""
        return sum(counts.removed for counts in self.rows.values())

    @property
    def superseded(self) -> int:
        """In a merge, rows that a later one with their id took the place of."""
        return sum(counts.superseded for counts in self.rows.values())


@frozen
class ExportedFile:
    """`path` is None for a stream; in a Parquet export it is relative to the directory."""

    path: str | None
    rows: int
    bytes: int
    sha256: str


@frozen
class ExportResult:
    """Entities written per type, and the commit that they are of."""

    format: Literal["jsonl", "parquet"]
    path: str | None
    graph_commit_id: CommitId
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    files: tuple[ExportedFile, ...]

    @classmethod
    def of(
        cls,
        snapshot: "Snapshot",
        format_: Literal["jsonl", "parquet"],
        path: str | None,
        counts: Mapping[str, int],
        files: tuple[ExportedFile, ...],
    ) -> "ExportResult":
        catalog = snapshot.catalog
        return cls(
            format=format_,
            path=path,
            graph_commit_id=snapshot.commit.id,
            nodes={name: n for name, n in counts.items() if name in catalog.node_by_name},
            edges={name: n for name, n in counts.items() if name in catalog.edge_by_name},
            files=files,
        )

    @property
    def total_entities(self) -> int:
        """How many rows were written."""
        return sum(self.nodes.values()) + sum(self.edges.values())

    @property
    def bytes(self) -> int:
        """How many bytes were written."""
        return sum(file.bytes for file in self.files)


@frozen
class ChangeCounts:
    """How many rows of one type a merge or a revert changes, or differ between two moments."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        """How many rows differ, each once."""
        return self.inserted + self.updated + self.deleted


@frozen
class OptimizeResult:
    """The tables that were tidied (`node:Person`). Without a commit there was nothing to do."""

    branch: BranchName
    compacted: tuple[TableKey, ...]
    indexed: tuple[TableKey, ...]
    commit: CommitInfo | None
    history_files: int = 0
    """Files of the branch's history that were written together as one."""


@frozen
class EmbedResult:
    """The vectors that were made. Without a commit there was nothing to do."""

    branch: BranchName
    model: str
    embedded: Mapping[str, Mapping[str, int]]
    """Rows that got another vector, by type and property."""
    emptied: int
    """Rows that lost their vector, since they have no text any more."""
    commit: CommitInfo | None

    @property
    def total_embedded(self) -> int:
        """How many vectors were made."""
        return sum(count for of_type in self.embedded.values() for count in of_type.values())


@frozen
class IndexInfo:
    """An index that is built or declared, and how many of the table's rows it answers for."""

    table: TableKey
    column: str
    kind: Literal["btree", "inverted", "ngram", "label_list", "vector"]
    declared: bool
    """True if the schema asks for it; those of ids and of the ends of edges need no asking."""
    built: bool
    rows: int
    rows_indexed: int
    pending: str | None = None
    """What is to be done about it, and why; None: nothing."""

    @property
    def coverage(self) -> float:
        """The share of the rows that it answers for."""
        return self.rows_indexed / self.rows if self.rows else 1.0
