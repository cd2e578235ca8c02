"""Rows that satisfy a predicate.

A condition on the id, or on the key it is made from, finds its rows without looking at the others:
`_by_id` gives the same rows as the predicate would, or None where it has no short way. So does
`_by_index`, for a table of which nobody has read the column yet.
"""

from functools import partial

import numpy as np

from omnigraph.lang.plan.ir import Filter, Predicate
from omnigraph.read.context import Context
from omnigraph.read.demand import Demand, variables_in
from omnigraph.read.expressions import satisfied
from omnigraph.read.frame import Frame
from omnigraph.read.topology.csr import Ordinals
from omnigraph.read.values.rows import matching
from omnigraph.read.where.key_lookup import ids_named, key_values
from omnigraph.read.where.served import served_by

__all__ = ["keep"]


def keep(frame: Frame, op: Filter, demand: Demand, context: Context) -> Frame:
    """The rows that hold, with the columns still wanted."""
    rows = _by_id(frame, op.predicate, context)
    if rows is None:
        rows = _by_index(frame, op.predicate, context)
    if rows is not None:
        return frame.only(demand.live).take(rows)
    mask = satisfied(op.predicate, frame, context)
    return frame.only(demand.live).filter(mask)


def _by_id(frame: Frame, predicate: Predicate, context: Context) -> Ordinals | None:
    asked = key_values(predicate, context.parameters)
    if asked is None or asked.field.variable not in frame.bindings:
        return None
    binding = frame.bindings[asked.field.variable]
    if not binding.is_whole:
        return None
    found = []
    for part in binding.space.parts:
        ids = ids_named(part.entity, [asked])
        if ids is None:
            return None
        rows = context.columns.find(part.entity, ids)
        rows = rows[rows >= 0]
        found.append((rows if len(rows) < 2 else np.unique(rows)) + part.start)
    return found[0] if len(found) == 1 else np.concatenate(found)


def _by_index(frame: Frame, predicate: Predicate, context: Context) -> Ordinals | None:
    variables = tuple(variables_in(predicate))
    if len(variables) != 1 or not frame.bindings[variables[0]].is_whole:
        return None
    parameters, now_ms = context.parameters, context.now_ms
    found = []
    for part in frame.bindings[variables[0]].space.parts:
        entity = part.entity
        question = served_by(predicate, entity, parameters=parameters, now_ms=now_ms)
        if question is None:
            return None
        holds = partial(
            matching, predicates=[predicate], entity=entity, parameters=parameters, now_ms=now_ms
        )
        rows = context.columns.served(entity, question, holds)
        if rows is None:
            return None
        found.append(rows + part.start)
        if context.profile is not None and context.columns.shows_all(entity):
            context.profile.note(f"{entity.name}: by the index {question.index.name}")
    return found[0] if len(found) == 1 else np.concatenate(found)
