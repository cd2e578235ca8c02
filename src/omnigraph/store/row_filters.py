"""What Lance is asked to test of each row: typed expressions, and tests that have none in Arrow.

They are values. Only `store/datasets` writes them as Lance's text, with every literal quoted there.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen

__all__ = ["HasMember", "HasText", "HasWords", "RowFilter", "StartsWith"]


@frozen
class StartsWith:
    column: str
    text: str


@frozen
class HasText:
    """The text of a column has this one in it, letter for letter."""

    column: str
    text: str


@frozen
class HasMember:
    """The list of a column has this value, which is of the list's own type."""

    column: str
    value: pa.Scalar


@frozen
class HasWords:
    """The text of a column has any of these words, or all of them side by side in this order.

    Only where an index of words covers all rows: Lance takes other texts apart by other rules.
    """

    column: str
    text: str
    is_phrase: bool


RowFilter = pc.Expression | StartsWith | HasText | HasMember | HasWords
