"""A schema and the size of a graph for questions about plans."""

from omnigraph.base.ids import TypeName
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.explain import explain
from omnigraph.lang.plan.optimise import optimise
from omnigraph.lang.plan.stats import PlannerStatistics
from omnigraph.lang.schema.check.check import compile_schema

CATALOG = compile_schema(
    SourceText(
        """
        node Person { number: I64 @key  gender: String  age: I32? }
        node Interest { name: String @key }
        node City { name: String }
        edge Follows: Person -> Person
        edge Likes: Person -> Interest
        edge Lives: Person -> City
        """
    )
)
ROWS = {
    "Person": 100_000,
    "Interest": 40,
    "City": 1_000,
    "Follows": 2_400_000,
    "Likes": 300_000,
    "Lives": 100_000,
}
LARGE = PlannerStatistics({TypeName(name): count for name, count in ROWS.items()})


def plan_of(
    match: str,
    answer: str = "{ count($p) as n }",
    *,
    known: PlannerStatistics = LARGE,
    given: str = "",
) -> list[str]:
    """The lines of the plan for a graph of this size."""
    text = f"query q({given}) {{ match {{ {match} }} return {answer} }}"
    query = compile_query(SourceText(text), CATALOG)
    return explain(optimise(query, CATALOG, known)).splitlines()
