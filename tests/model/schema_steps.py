"""Steps that give main another schema."""

from dataclasses import dataclass
from typing import Any

from omnigraph import Graph
from omnigraph.base.errors import BranchesInTheWay
from tests.model.lineage import MAIN, Foretold, Model, Refusal, Spelling
from tests.model.shapes import ADDITIVE, CHANGES, Shape


@dataclass(frozen=True)
class Evolve:
    change: str
    """One of `CHANGES`."""

    @property
    def branch(self) -> str:
        return MAIN

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        shape = model.world(MAIN).shape
        is_alone = len(model.lines) == 1
        is_nothing = self._after(shape) == shape
        return () if is_nothing or is_alone or self.change in ADDITIVE else (BranchesInTheWay,)

    def foretell(self, model: Model) -> Foretold:
        world = model.world(MAIN)
        shape = self._after(world.shape)
        if shape == world.shape:
            return Foretold(world)
        return Foretold(world.lifted(shape), "schema")

    def take(self, graph: Graph, spelling: Spelling) -> Any:
        return graph.schema_apply(self._after(spelling.shape(MAIN)).text)

    def _after(self, shape: Shape) -> Shape:
        return CHANGES[self.change](shape)
