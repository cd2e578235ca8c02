"""What a diff and the change feed hand back: changed rows with both images, in a stable order.

Nodes come before edges, then types by name, then ids. The same rows can be had as dicts, as Arrow,
as a frame, and as a table to look at, which shows only what is different.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import DependencyMissing, NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.words import amount
from omnigraph.engine.change_values import (
    change_dicts,
    json_text,
    named_image,
    property_changes,
    value_text,
)
from omnigraph.engine.results import ChangeCounts, ExportResult
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.changes.compare import Comparison
from omnigraph.read.changes.places import Places
from omnigraph.store.changes import DELETE, INSERT, UPDATE, RowChanges
from omnigraph.store.commits import Commit

if TYPE_CHECKING:
    import pandas

__all__ = [
    "SHOWN_COLUMNS",
    "ChangeBaseline",
    "ChangeBlock",
    "ChangeCause",
    "ChangePage",
    "CommitChangePage",
    "Diff",
    "EntityChanges",
    "ReadChanges",
    "shown_cells",
]

CHANGES_SHOWN = 20
"""A table to look at shows so many; `to_pylist` and its kin give all."""
BLOCKS_SHOWN = 10
"""A page of a notebook shows the changes of so many commits."""
SHOWN_COLUMNS = ("type", "id", "op", "property", "before", "after")
NO_ROW = "–"


class EntityChanges(ABC):
    """Changed rows of several types. Iterating gives dicts, `len` says how many there are."""

    @property
    @abstractmethod
    def counts(self) -> Mapping[str, ChangeCounts]:
        """How many rows of each type were inserted, updated and deleted; of changed types only."""

    @abstractmethod
    def tables(self) -> Iterator[tuple[EntityType, RowChanges]]:
        """The rows in order, a part at a time; for this package's own use."""

    def __len__(self) -> int:
        return sum(counts.total for counts in self.counts.values())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """`{kind, type: {id, name}, id, op, before, after}`; an image is
        `{properties, endpoints: {from, to}}`, and None where there is no row."""
        for entity, changes in self.tables():
            yield from change_dicts(entity, changes)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The changes as a list of dicts."""
        return list(self)

    def to_arrow(self, type: str | None = None) -> pa.Table:
        """All changes, with the images as JSON; of one type, with images as structs of its columns.

        Blobs are bytes in a struct and `base64:…` in JSON, as in an export.
        """
        if type is not None:
            return self._of_type(type)
        rows = [
            {**c, "type": c["type"]["name"], **{i: _json(c[i]) for i in ("before", "after")}}
            for c in self
        ]
        names = ("kind", "type", "id", "op", "before", "after")
        return pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))

    def to_pandas(self, type: str | None = None) -> "pandas.DataFrame":
        """A frame: `kind, type, id, op` and both images as dicts; of one type only, without the
        first two."""
        try:
            import pandas
        except ImportError:
            raise DependencyMissing(what="pandas", install="pip install pandas") from None
        if type is not None:
            return self._of_type(type).to_pandas()
        rows = ({**change, "type": change["type"]["name"]} for change in self)
        return pandas.DataFrame(rows, columns=["kind", "type", "id", "op", "before", "after"])

    def property_changes(self, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """What is different, a property at a time, of the first so many changes:
        `{type, id, op, property, before, after}`."""
        for change in islice(self, limit):
            same = {"type": change["type"]["name"], "id": change["id"], "op": change["op"]}
            different: list[tuple[str | None, Any, Any]] = [*property_changes(change)]
            for name, before, after in different or [(None, None, None)]:
                yield {**same, "property": name, "before": before, "after": after}

    def __str__(self) -> str:
        """A table of the first changes: before and after, of each property that is different."""
        if not len(self):
            return "no changes"
        rows = [SHOWN_COLUMNS, *(shown_cells(row) for row in self.property_changes(CHANGES_SHOWN))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )
        return "\n".join([*lines, self.summary])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary}>"

    @property
    def summary(self) -> str:
        """In one line: how many changes there are, by type."""
        parts = "; ".join(f"{name} {_signed(counts)}" for name, counts in self.counts.items())
        return amount(len(self), "change") + (f" ({parts})" if parts else "")

    def _repr_html_(self) -> str:
        """The same table, for a notebook."""
        from omnigraph.engine.notebook.page import html_table

        shown = self.property_changes(CHANGES_SHOWN)
        rows = [dict(zip(SHOWN_COLUMNS, shown_cells(row), strict=True)) for row in shown]
        return html_table(SHOWN_COLUMNS, rows, below=self.summary)

    def _of_type(self, name: str) -> pa.Table:
        parts = [
            pa.table(
                [c.id, c.op, named_image(entity, c.before), named_image(entity, c.after)],
                ["id", "op", "before", "after"],
            )
            for entity, c in self.tables()
            if entity.name == name
        ]
        if not parts:
            raise NameMissing(what="changed type", name=name, known=tuple(self.counts))
        return pa.concat_tables(parts)


@frozen(repr=False, eq=False)
class ReadChanges(EntityChanges):
    """Changes that are in memory: those of a page."""

    parts: tuple[tuple[EntityType, RowChanges], ...] = ()

    @property
    def counts(self) -> Mapping[str, ChangeCounts]:
        found: dict[str, list[pa.Array]] = {}
        for entity, changes in self.parts:
            found.setdefault(str(entity.name), []).append(changes.op)
        return {name: _counted(pa.chunked_array(ops)) for name, ops in found.items()}

    def tables(self) -> Iterator[tuple[EntityType, RowChanges]]:
        return iter(self.parts)


@frozen(repr=False, eq=False)
class Diff(EntityChanges):
    """What differs from one commit to another.

    It knows which rows differ. Their images are read when they are asked for, a part at a time: so
    a diff of any size can be held, counted and looked at. `to_pylist`, `to_arrow` and `to_pandas`
    read all of it; iterating does not keep what was read.
    """

    from_commit_id: CommitId
    to_commit_id: CommitId
    parts: tuple[tuple[EntityType, Places | RowChanges], ...]
    """For this package's own use, as is the comparison."""
    comparison: Comparison | None = None
    """What reads rows that are known by their places; None: there are none."""

    @classmethod
    def of(cls, comparison: Comparison) -> "Diff":
        found = ((entity, comparison.differing(entity)) for entity in comparison.entities)
        return cls(
            from_commit_id=comparison.before.commit.id,
            to_commit_id=comparison.after.commit.id,
            parts=tuple((entity, part) for entity, part in found if len(part)),
            comparison=comparison,
        )

    @property
    def counts(self) -> Mapping[str, ChangeCounts]:
        """How many rows of each type were inserted, updated and deleted."""
        return {str(entity.name): _counted(part.op) for entity, part in self.parts}

    def tables(self) -> Iterator[tuple[EntityType, RowChanges]]:
        for entity, part in self.parts:
            if isinstance(part, RowChanges):
                yield entity, part
            else:
                assert self.comparison is not None, "places are of a comparison"
                yield from ((entity, rows) for rows in self.comparison.changes_at(entity, part))


@frozen
class ChangeCause:
    """The commit that made changes; clients rely on these names."""

    graph_commit_id: CommitId
    authored_branch: BranchName
    authored_at: datetime
    actor_id: str | None
    parent_commit_id: CommitId | None
    merged_parent_commit_id: CommitId | None
    message: str | None

    @classmethod
    def of(cls, commit: Commit, message: str | None) -> "ChangeCause":
        """`message` is the commit's as the caller may read it."""
        return cls(
            graph_commit_id=commit.id,
            authored_branch=commit.branch,
            authored_at=datetime.fromtimestamp(commit.created_at_ms / 1000, UTC),
            actor_id=commit.actor,
            parent_commit_id=commit.parent,
            merged_parent_commit_id=commit.merged_parent,
            message=message,
        )

    def _sentence(self) -> str:
        """The commit in one line, for a page."""
        why = ": ".join(said for said in (self.actor_id, self.message) if said)
        at = f"{self.authored_at:%Y-%m-%d %H:%M:%S}"
        line = f"commit {self.graph_commit_id} on {self.authored_branch}, {at}"
        return f"{line}, {why}" if why else line


@frozen(eq=False)
class ChangeBlock:
    """What one commit changed, or a part of it where a page ended within."""

    cause: ChangeCause
    changes: EntityChanges

    def _repr_html_(self) -> str:
        return _block_html(self.cause, self.changes)


@frozen(eq=False)
class CommitChangePage:
    """Changes of one commit against its first parent."""

    cause: ChangeCause
    changes: EntityChanges
    next_page_token: str | None
    """For the changes after these; None: there are no more."""

    def _repr_html_(self) -> str:
        return _block_html(self.cause, self.changes)


@frozen(eq=False)
class ChangePage:
    """What was published since a cursor, oldest commit first. Ask again with `cursor`."""

    blocks: tuple[ChangeBlock, ...]
    cursor: str
    caught_up: bool
    """True if there was nothing after this page when it was read."""
    is_within_commit: bool = False
    """True if the page ends before the changes of its last commit do."""

    def __len__(self) -> int:
        return sum(len(block.changes) for block in self.blocks)

    def __repr__(self) -> str:
        commits = amount(len(self.blocks), "commit")
        rest = "caught up" if self.caught_up else "more to come"
        return f"<ChangePage: {amount(len(self), 'change')} of {commits}, {rest}>"

    def _repr_html_(self) -> str:
        """The changes of the first commits, for a notebook."""
        from omnigraph.engine.notebook.page import paragraph

        shown = "".join(block._repr_html_() for block in self.blocks[:BLOCKS_SHOWN])
        return shown + paragraph(repr(self).removeprefix("<ChangePage: ").removesuffix(">"))


@frozen
class ChangeBaseline:
    """Rows to start from, and the cursor that goes on where they end."""

    snapshot_commit_id: CommitId
    resume_cursor: str
    export: ExportResult


def _block_html(cause: ChangeCause, changes: EntityChanges) -> str:
    from omnigraph.engine.notebook.page import paragraph

    return paragraph(cause._sentence()) + changes._repr_html_()


def _counted(op: pa.Array | pa.ChunkedArray) -> ChangeCounts:
    return ChangeCounts(*(pc.sum(pc.equal(op, o)).as_py() or 0 for o in (INSERT, UPDATE, DELETE)))


def _signed(counts: ChangeCounts) -> str:
    signs = (("+", counts.inserted), ("~", counts.updated), ("-", counts.deleted))
    return " ".join(f"{sign}{count:,}" for sign, count in signs if count)


def shown_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """One row of `property_changes` as text, under `SHOWN_COLUMNS`."""
    if row["property"] is None:
        return (row["type"], row["id"], row["op"], "", "", "")
    was = NO_ROW if row["op"] == INSERT else value_text(row["before"])
    now = NO_ROW if row["op"] == DELETE else value_text(row["after"])
    return (row["type"], value_text(row["id"]), row["op"], row["property"], was, now)


def _json(image: dict[str, Any] | None) -> str | None:
    return None if image is None else json_text(image)
