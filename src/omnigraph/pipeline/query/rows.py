"""The rows that flow between operators on Spark: a column of ids for each variable.

A variable that ranges over one type has plain ids; one that ranges over several has `Type:id`,
since equal ids of different types are different entities. Properties are attached by a join with
their table when an expression asks for them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from pyspark.sql import functions as sql

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName, VariableName

__all__ = ["Rows", "Types", "id_of", "key_of", "tagged", "type_of"]

Types = tuple[TypeName, ...]

CAPITAL = re.compile("[A-Z]")


@frozen(slots=False)
class Rows:
    frame: Any
    most: int
    """There are no more rows than these: what tells which side of a join is small."""
    types: Mapping[VariableName, Types] = field(default_factory=dict)
    optional: frozenset[VariableName] = frozenset()
    """Variables that may be null."""
    attached: Mapping[tuple[VariableName, str], str] = field(default_factory=dict)
    """Columns that hold properties."""
    weight: str | None = None
    """The column that says how many rows a row stands for."""
    held: frozenset[VariableName] = frozenset()
    """Variables that a sub-pattern began with: it is joined back by them."""
    joins: int = 0
    """About how many joins it takes to make them."""
    whole: VariableName | None = None
    """The variable of which they are all entities there are, a row for each, and nothing else."""

    def over(self, frame: Any, **more: Any) -> "Rows":
        return replace(self, frame=frame, **{"whole": None, **more})

    def bind(
        self, frame: Any, bound: Mapping[VariableName, Types], *, most: int, **more: Any
    ) -> "Rows":
        return self.over(frame, types={**self.types, **bound}, most=most, **more)

    def nulls_in(self, variables: Iterable[VariableName]) -> frozenset[str]:
        """The columns of these variables that may be null."""
        return frozenset(key_of(v) for v in variables if v in self.optional)


def key_of(variable: VariableName) -> str:
    """The column that says which entity a variable is bound to.

    Spark takes `v_p` and `v_P` for one column; `$p` and `$P` are two variables.
    """
    return "v_" + CAPITAL.sub(lambda letter: f"^{letter[0].lower()}", variable)


def tagged(column: Any, type_: TypeName) -> Any:
    return sql.concat(sql.lit(f"{type_}:"), column)


def id_of(column: str, types: Types) -> Any:
    """The id in a column of a variable."""
    if len(types) == 1:
        return sql.col(column)
    return sql.expr(f"substring(`{column}`, instr(`{column}`, ':') + 1)")


def type_of(column: str) -> Any:
    """The type in a column of a variable that ranges over several."""
    return sql.substring_index(sql.col(column), ":", 1)
