"""The tables below a plan on Spark: scans of nodes and edges, properties by id, joins by size."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql

from omnigraph.base.ids import TypeName, VariableName
from omnigraph.base.types import Value
from omnigraph.lang.plan.ir import (
    Compare,
    Expression,
    Literal,
    Membership,
    NullTest,
    Predicate,
    PropertyOf,
    TextMatch,
)
from omnigraph.lang.schema.catalog import DST, ID, SRC, EdgeType, EntityType
from omnigraph.pipeline.frames.frames import joined, rows_frame
from omnigraph.pipeline.frames.tables import Wanted
from omnigraph.pipeline.query.rows import Rows, Types, key_of, tagged
from omnigraph.pipeline.spark.session import MAX_BROADCAST_ROWS, Spark
from omnigraph.read.entities import shown_kinds
from omnigraph.read.view import View
from omnigraph.read.where.key_lookup import ids_to_look_up
from omnigraph.read.where.where import Where
from omnigraph.store.arrow import arrow_type

__all__ = ["Tables", "united"]

# So many joins are rather planned twice than their rows kept on the workers.
MAX_REPEATED_JOINS = 3

KEY, ORIGIN, TARGET, EDGE = "k", "o", "t", "e"


@dataclass
class Tables:
    spark: Spark
    view: View
    parameters: Mapping[str, Value]
    now_ms: int
    max_broadcast_rows: int = MAX_BROADCAST_ROWS
    needed: Mapping[VariableName, tuple[PropertyOf, ...]] = field(default_factory=dict)
    """Properties of variables that some expression of the plan will ask for."""
    check: Callable[[], None] = lambda: None
    """Asked while Spark works; it raises to end that."""
    _scans: dict[Hashable, Any] = field(default_factory=dict)
    _names: int = 0

    def fresh(self, prefix: str) -> str:
        """A name that no other column has."""
        self._names += 1
        return f"{prefix}{self._names}"

    def entity(self, name: TypeName) -> EntityType:
        catalog = self.view.catalog
        return catalog.node_by_name.get(name) or catalog.edge_by_name[name]

    def entities(self, types: Types) -> list[EntityType]:
        return [self.entity(name) for name in types]

    def row_count(self, types: Iterable[TypeName]) -> int:
        return sum(self.view.snapshot.dataset(self.entity(name)).row_count for name in types)

    def unit(self) -> Rows:
        """One row that binds nothing."""
        return Rows(self.spark.session.range(0, 1, 1, 1).toDF("unit"), most=1)

    # Joins ----------------------------------------------------------------------------------------

    def is_small(self, rows: int) -> bool:
        return rows <= self.max_broadcast_rows

    def join(
        self,
        left: Rows,
        right: Any,
        pairs: Sequence[tuple[str, str]],
        how: str,
        *,
        most: int,
        with_nulls: frozenset[str] = frozenset(),
    ) -> Any:
        """A frame of both; `most` bounds the rows of the right side."""
        return joined(
            left.frame,
            right,
            pairs,
            how,
            is_small=self.is_small(most),
            is_left_small=self.is_small(left.most),
            with_nulls=with_nulls,
        )

    def shared(self, rows: Rows) -> Rows:
        """The rows, for one who uses them twice: what takes many joins to make is made once.

        Otherwise Spark plans all that is below for each use, and each use of a use: the plan of a
        query with a few blocks would have thousands of joins.
        """
        if rows.joins <= MAX_REPEATED_JOINS:
            return rows
        kept = self.spark.kept(
            rows.frame, doing="preparing a query", on_progress=lambda _: self.check()
        )
        self.check()
        return rows.over(kept, joins=0, whole=rows.whole)

    # Entities -------------------------------------------------------------------------------------

    def bound(
        self, variable: VariableName, types: Types, predicates: tuple[Predicate, ...] = ()
    ) -> Rows:
        """Every entity of the types for which the predicates hold, with properties needed later."""
        wanted = self.needed.get(variable, ())
        names = [self.fresh("p") for _ in wanted]
        frame = self.scan(
            types, key_of(variable), predicates, dict(zip(names, wanted, strict=True))
        )
        attached = {(variable, p.name): name for name, p in zip(names, wanted, strict=True)}
        most = sum(self._most(name, predicates) for name in types)
        return Rows(frame, most, {variable: types}, attached=attached)

    def _most(self, type_: TypeName, predicates: tuple[Predicate, ...]) -> int:
        """There are no more rows of the type for which the predicates hold: keys tell."""
        fitted = _fitted(predicates, self.entity(type_))
        if fitted is None:
            return 0
        ids = ids_to_look_up(self.entity(type_), fitted, self.parameters)
        rows = self.row_count((type_,))
        return rows if ids is None else min(rows, len(ids))

    def scan(
        self,
        types: Types,
        key: str,
        predicates: tuple[Predicate, ...] = (),
        properties: Mapping[str, PropertyOf] | None = None,
    ) -> Any:
        """Entities of the types: `key` says which, and the columns beside it hold properties."""
        properties = properties or {}
        frames = []
        for name in types:
            entity = self.entity(name)
            fitted = _fitted(predicates, entity)
            if fitted is None:
                continue
            found = self._rows(entity, fitted, {ID: KEY}, tuple(properties.values()))
            frames.append(self._keyed(found, name, types, key, list(properties)))
        if not frames:
            # The columns are those of any type; no row is.
            entity = self.entity(types[0])
            found = self._rows(entity, (), {ID: KEY}, tuple(properties.values())).limit(0)
            return self._keyed(found, types[0], types, key, list(properties))
        return united(frames)

    def _keyed(self, found: Any, name: TypeName, types: Types, key: str, columns: list[str]) -> Any:
        own = sql.col(KEY) if len(types) == 1 else tagged(sql.col(KEY), name)
        renamed = [sql.col(f"p{at}").alias(column) for at, column in enumerate(columns)]
        return found.select(own.alias(key), *renamed)

    def attach(self, rows: Rows, wanted: Iterable[PropertyOf]) -> Rows:
        """The rows with columns for these properties."""
        missing: dict[VariableName, dict[str, PropertyOf]] = {}
        for each in wanted:
            if (each.variable, each.name) not in rows.attached:
                missing.setdefault(each.variable, {})[each.name] = each
        for variable, properties in missing.items():
            names = {self.fresh("p"): each for each in properties.values()}
            key, types = self.fresh("k"), rows.types[variable]
            table = self.scan(types, key, (), names)
            pairs = [(key_of(variable), key)]
            frame = self.join(rows, table, pairs, "left", most=self.row_count(types)).drop(key)
            attached = {(variable, each.name): name for name, each in names.items()}
            rows = rows.over(frame, attached={**rows.attached, **attached})
        return rows

    def shown(self, variable: VariableName, types: Types) -> list[PropertyOf]:
        """What an entity of these types is shown with, beside its id."""
        entities = self.entities(types)
        kinds = shown_kinds(entities)
        if not all(ID in entity.by_name for entity in entities):
            kinds.pop(ID, None)
        by_name = {p.name: p for entity in entities for p in entity.properties}
        return [PropertyOf(variable, name, by_name[name].type, is_nullable=True) for name in kinds]

    # Edges ----------------------------------------------------------------------------------------

    def ends(self, edge: EdgeType, *, origin: str, target: str, edge_id: str | None) -> Any:
        """The ends of every edge, and its id if that has a name."""
        columns = {SRC: ORIGIN, DST: TARGET} | ({ID: EDGE} if edge_id is not None else {})
        found = self._rows(edge, (), columns, ())
        renamed = [sql.col(ORIGIN).alias(origin), sql.col(TARGET).alias(target)]
        if edge_id is not None:
            renamed.append(sql.col(EDGE).alias(edge_id))
        return found.select(*renamed)

    # One table ------------------------------------------------------------------------------------

    def _rows(
        self,
        entity: EntityType,
        predicates: tuple[Predicate, ...],
        system: Mapping[str, str],
        properties: tuple[PropertyOf, ...],
    ) -> Any:
        """A frame of one table: system columns under these names, properties as p0, p1, …

        Equal ones are the same frame: Spark then may read it once.
        """
        ends = {end: f"_{end}" for _, end, _ in self.view.judged_ends(entity)}
        wanted = [Wanted(name, pa.string(), column) for column, name in system.items()]
        wanted += [Wanted(name, pa.string(), column) for column, name in ends.items()]
        for at, each in enumerate(properties):
            own = entity.by_name.get(each.name)
            column = None if own is None else own.column
            wanted.append(Wanted(f"p{at}", arrow_type(each.type), column))
        key = (entity.name, predicates, tuple(wanted))
        if key not in self._scans:
            where = Where(entity, predicates, self.parameters, self.now_ms)
            frame = rows_frame(
                self.spark,
                self.view,
                where,
                tuple(wanted),
                own_ends=ends,
                max_broadcast_rows=self.max_broadcast_rows,
            )
            self._scans[key] = frame.drop(*ends.values()) if ends else frame
        return self._scans[key]


def united(frames: list[Any]) -> Any:
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return whole


def _fitted(predicates: tuple[Predicate, ...], entity: EntityType) -> tuple[Predicate, ...] | None:
    """The predicates for one type of several: a property that it lacks is null on its rows.

    None: no row of the type can satisfy them.
    """

    def side(expression: Expression) -> Expression:
        if isinstance(expression, PropertyOf) and expression.name not in entity.by_name:
            return Literal(None, expression.type)
        return expression

    fitted: list[Predicate] = []
    for predicate in predicates:
        match predicate:
            case Compare(left=left, right=right):
                fitted.append(replace(predicate, left=side(left), right=side(right)))
            case Membership(left=left):
                fitted.append(replace(predicate, left=side(left)))
            case NullTest(operand=operand):
                fitted.append(replace(predicate, operand=side(operand)))
            case TextMatch(field=field):
                if field.name not in entity.by_name:
                    return None
                fitted.append(predicate)
    return tuple(fitted)
