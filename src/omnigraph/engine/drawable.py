"""What a picture of an answer is drawn from; `engine/notebook/answer.py` draws it."""

from typing import TYPE_CHECKING

from omnigraph.base.frozen import frozen
from omnigraph.lang.plan.links import Link, links

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.lang.plan.ir import ReadQuery
    from omnigraph.lang.schema.catalog import Catalog
    from omnigraph.read.answer import Answer

__all__ = ["Drawable", "drawable_of"]


@frozen
class Drawable:
    """Beside the rows of an answer: what its whole nodes are, and how they are joined."""

    links: tuple[Link, ...]
    entities: "pa.Table"
    """By the name of a column of whole nodes: the type of each row's node; see
    `read/answer.py:identified`."""


def drawable_of(query: "ReadQuery", answer: "Answer", catalog: "Catalog") -> Drawable | None:
    """None where no column holds whole nodes: most answers cost nothing here."""
    if not answer.entities.num_columns:
        return None
    return Drawable(links(query.plan, catalog), answer.entities)
