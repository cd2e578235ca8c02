"""Random schemas: types that share names, and names that an engine may use itself."""

from dataclasses import dataclass

from hypothesis import strategies as st

from omnigraph.lang.schema.catalog import Catalog
from tests.reference.naive import PlainGraph
from tests.reference.random_plans import RandomQuery, graphs, queries
from tests.reference.small_graph import catalog_of

# Some differ only in case, or are names of columns that a reader makes for itself.
NAMES = ["ab", "aB", "id", "iD", "p0", "k", "_src", "order", "one", "v_v1", "unit", "type"]
ON_EDGES = [name for name in NAMES if name != "id"]
KINDS = [
    "String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "enum(a, b-c)",
    "[String]", "[I64]", "[F64]", "[DateTime]", "[U64]", "Vector(2)", "Blob",
]  # fmt: skip
KEYS = ["", "", "String", "I64", "U32"]


@dataclass(frozen=True)
class RandomCase:
    """A graph of some schema, and a question about it."""

    schema: str
    graph: PlainGraph
    query: RandomQuery


@st.composite
def schemas(draw: st.DrawFn) -> str:
    """One to three types of nodes, one to four of edges. A name has one type wherever it is."""
    kinds = {name: draw(st.sampled_from(KINDS)) for name in NAMES}
    kinds["id"] = "String"
    nodes = [f"N{'abc'[at]}" for at in range(draw(st.integers(1, 3)))]
    lines = [_node(draw, name, kinds) for name in nodes]
    ends = st.sampled_from(nodes)
    for at in range(draw(st.integers(1, 4))):
        own = _properties(
            draw, draw(st.lists(st.sampled_from(ON_EDGES), max_size=2, unique=True)), kinds
        )
        lines.append(f"edge E{at}: {draw(ends)} -> {draw(ends)} {{ {own} }}")
    return "\n".join(lines)


def _node(draw: st.DrawFn, name: str, kinds: dict[str, str]) -> str:
    key = draw(st.sampled_from(KEYS))
    own = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    keyed = f"key{key}: {key} @key  " if key else ""
    return f"node {name} {{ {keyed}{_properties(draw, own, kinds)} }}"


def _properties(draw: st.DrawFn, names: list[str], kinds: dict[str, str]) -> str:
    return "  ".join(
        f"{name}: {kinds[name]}{draw(st.sampled_from(['?', '?', '']))}" for name in names
    )


@st.composite
def cases(draw: st.DrawFn) -> RandomCase:
    schema = draw(schemas())
    catalog: Catalog = catalog_of(schema)
    return RandomCase(schema, draw(graphs(catalog)), draw(queries(catalog)))
