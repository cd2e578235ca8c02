"""What a condition means, in plain Python."""

import re
from dataclasses import replace

from omnigraph.lang.plan.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Field,
    HoldsAll,
    HoldsAny,
    IsEmpty,
    Like,
    Not,
)
from omnigraph.lang.plan.ir import ROW
from tests.reference.naive import Entity, Naive, Row


def meets(naive: Naive, condition: Condition, entity: Entity) -> bool:
    # The ends of an edge are properties of the row here.
    ends = {"src": entity.src, "dst": entity.dst} if entity.src else {}
    whole = replace(entity, values={**entity.values, **ends})
    row: Row = {"row": whole, ROW: whole}

    def value(field: Field) -> object:
        return naive.value(field, row, {})

    match condition:
        case AllOf(parts=parts):
            return all(meets(naive, part, entity) for part in parts)
        case AnyOf(parts=parts):
            return any(meets(naive, part, entity) for part in parts)
        case Not(part=part):
            return not meets(naive, part, entity)
        case Like(field=field, parts=parts):
            text = value(field)
            pattern = ".*".join(re.escape(part) for part in parts)
            return isinstance(text, str) and bool(re.fullmatch(pattern, text, re.DOTALL))
        case HoldsAll(field=field, options=options):
            items, wanted = value(field), options.value
            assert isinstance(wanted, tuple)
            return isinstance(items, list | tuple) and all(option in items for option in wanted)
        case HoldsAny(field=field, options=options):
            items, wanted = value(field), options.value
            assert isinstance(wanted, tuple)
            return isinstance(items, list | tuple) and any(option in items for option in wanted)
        case IsEmpty(field=field):
            items = value(field)
            return isinstance(items, list | tuple) and not items
        case _:
            return naive.holds(condition, row)
