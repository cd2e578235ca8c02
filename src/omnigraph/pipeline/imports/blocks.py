"""Blocks of nodes and of edges, as readers of all formats give them.

The rows of a block are alike: of one file, with one set of labels, with the same columns. Cells are
text, as a load of CSV reads it. A block without rows says that there is such a thing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.base.frozen import frozen
from omnigraph.base.types import Scalar, ValueType
from omnigraph.pipeline.imports.values import (
    ANY_LIST,
    FoundType,
    cell_of,
    text_array,
    type_of,
    widest,
)

__all__ = [
    "BLOCK_ROWS",
    "Columns",
    "EdgeBlock",
    "End",
    "Labels",
    "NodeBlock",
    "Reader",
    "columns_of_rows",
    "place",
]

# Rows that are read one by one are gathered up to here: enough for work on whole columns to pay.
BLOCK_ROWS = 20_000

Labels = tuple[str, ...]
"""What a node is called, sorted; none is possible."""


@frozen(eq=False)
class Columns:
    """What the rows of a block have beside ids and ends."""

    cells: Mapping[str, pa.Array]
    types: Mapping[str, FoundType]
    is_optional: bool = False
    """True if rows that nobody has looked at yet may lack values."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """What a new row gets, as a cell."""
    mixed: Mapping[str, Set[str]] = field(default_factory=dict)
    """Columns with values of several types, and these."""


@frozen(eq=False)
class NodeBlock:
    file: str
    lines: np.ndarray
    """Where each row stands in the file: its line, or its row in a table."""
    space: str
    """Ids are unique within a space."""
    labels: Labels
    ids: pa.Array
    columns: Columns
    id_name: str | None = None
    """The property that the ids are values of; None if they have no name."""
    id_type: ValueType = Scalar.STRING


@frozen(eq=False)
class End:
    """One end of the edges of a block."""

    ids: pa.Array
    space: str
    labels: Labels | None = None
    """What the nodes are called, where the edges themselves say it."""


@frozen(eq=False)
class EdgeBlock:
    file: str
    lines: np.ndarray
    label: str
    source: End
    target: End
    columns: Columns
    is_to_one: bool = False
    """True if a node has at most one such edge."""


class Reader(Protocol):
    """A format, as far as the rest is concerned."""

    def survey_nodes(self) -> Iterator[NodeBlock]:
        """Enough blocks to know all nodes by their labels and columns."""

    def survey_edges(self) -> Iterator[EdgeBlock]: ...

    def nodes(self) -> Iterator[NodeBlock]: ...

    def edges(self) -> Iterator[EdgeBlock]: ...

    def notes(self) -> list[str]:
        """What a person should know of the source, once it was surveyed."""


def columns_of_rows(
    rows: list[dict[str, object]],
    *,
    types: Mapping[str, FoundType] | None = None,
) -> Columns:
    """Rows of values by name as columns. Without `types` the values tell theirs."""
    found: dict[str, FoundType] = dict(types or {})
    words: dict[str, set[str]] = defaultdict(set)
    if types is None:
        for row in rows:
            for name, value in row.items():
                if (type_ := type_of(value)) is not None:
                    found[name] = widest(found[name], type_) if name in found else type_
                    if type_ != ANY_LIST:
                        words[name].add(str(type_))
    cells = {
        name: text_array(cell_of(row.get(name), type_) for row in rows)
        for name, type_ in found.items()
    }
    mixed = {name: of_name for name, of_name in words.items() if len(of_name) > 1}
    return Columns(cells, found, mixed=mixed)


def place(file: str | Path, line: int, column: int | None = None) -> str:
    return f"{file}:{line}" if column is None else f"{file}:{line}:{column}"
