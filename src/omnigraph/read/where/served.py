"""Which index finds the rows of a predicate, and what it is asked.

An index may give rows that the predicate does not hold for, never fewer: whoever asks it looks at
each row that comes. So Lance's idea of a comparison needs to be no narrower than ours, not equal.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.frozen import frozen
from omnigraph.base.types import Value
from omnigraph.lang.plan.ir import (
    Compare,
    CompareOp,
    IdentityOf,
    Literal,
    Membership,
    Now,
    Parameter,
    Predicate,
    PropertyOf,
    TextMatch,
    TextMatchKind,
)
from omnigraph.lang.schema.catalog import EntityType
from omnigraph.read.values.predicates import constant_of
from omnigraph.read.values.rows import column_of
from omnigraph.read.where.pushdown import pushed
from omnigraph.store.arrow import table_schema
from omnigraph.store.indexes import IndexKind, WantedIndex
from omnigraph.store.row_filters import HasMember, HasText, HasWords, RowFilter, StartsWith

__all__ = ["Served", "served_by"]

# An n-gram has so many letters.
MIN_NGRAM_LETTERS = 3

# A text of more words is no question any more.
MAX_WORDS = 64

# Members that Lance's text can name by a literal of the list's own type.
NAMED_MEMBERS = (pa.types.is_string, pa.types.is_boolean, pa.types.is_date32, pa.types.is_int64)


@frozen
class Served:
    """A question to an index."""

    index: WantedIndex
    filter: RowFilter


def served_by(
    predicate: Predicate, entity: EntityType, *, parameters: Mapping[str, Value], now_ms: int
) -> Served | None:
    """What to ask which index for the rows of a predicate; None: no index could know."""
    match predicate:
        case Compare(
            op=CompareOp.CONTAINS | CompareOp.STARTS_WITH as op,
            left=PropertyOf() as field,
            right=Literal() | Parameter() as right,
        ):
            value = constant_of(right, parameters, now_ms)
            return _part(op, _known(field, entity), value, entity)
        case (
            Compare(left=PropertyOf() as field, right=Literal() | Parameter() | Now())
            | Compare(left=Literal() | Parameter() | Now(), right=PropertyOf() as field)
        ) if predicate.op is not CompareOp.NE:
            pass
        case Membership(left=PropertyOf() as field):
            pass
        case TextMatch(kind=TextMatchKind.SEARCH | TextMatchKind.PHRASE as kind, field=field):
            text = constant_of(predicate.query, parameters, now_ms).as_py()
            is_phrase = kind is TextMatchKind.PHRASE
            return _words(_known(field, entity), text, is_phrase=is_phrase)
        case _:
            return None
    column = _known(field, entity)
    tested = pushed([predicate], entity, parameters=parameters, now_ms=now_ms)
    if column is None or tested is None:
        return None
    return Served(WantedIndex(column, IndexKind.BTREE), tested)


def _words(column: str | None, text: str | None, *, is_phrase: bool) -> Served | None:
    # Words are seldom asked for.
    from omnigraph.read.search.analysis import terms_of

    if column is None or text is None or not 0 < len(terms_of(text)) <= MAX_WORDS:
        return None
    normal = pc.utf8_normalize(text, form="NFC").as_py()
    return Served(
        WantedIndex(column, IndexKind.INVERTED), HasWords(column, normal, is_phrase=is_phrase)
    )


def _known(field: PropertyOf | IdentityOf, entity: EntityType) -> str | None:
    """The column of a property that the type has; of several types not all need have it."""
    if isinstance(field, PropertyOf) and field.name not in entity.by_name:
        return None
    return column_of(field, entity)


def _part(op: CompareOp, column: str | None, value: pa.Scalar, entity: EntityType) -> Served | None:
    """What finds a part of a value: a beginning or a piece of a text, a member of a list."""
    if column is None or not value.is_valid:
        return None
    type_ = table_schema(entity).field(column).type
    if pa.types.is_list(type_):
        is_named = value.type == type_.value_type and any(is_(value.type) for is_ in NAMED_MEMBERS)
        member = WantedIndex(column, IndexKind.LABEL_LIST)
        return Served(member, HasMember(column, value)) if is_named else None
    if not pa.types.is_string(type_) or not pa.types.is_string(value.type):
        return None
    text = value.as_py()
    if op is CompareOp.STARTS_WITH and text:
        return Served(WantedIndex(column, IndexKind.BTREE), StartsWith(column, text))
    if op is CompareOp.CONTAINS and len(text) >= MIN_NGRAM_LETTERS:
        return Served(WantedIndex(column, IndexKind.NGRAM), HasText(column, text))
    return None
