"""OmniGraph: a typed property graph over Lance, with branches, commits and Spark-sized loads.

    from omnigraph import Graph
    from omnigraph.errors import ConstraintViolated
    from omnigraph.results import LoadResult

`Graph`, `AsyncGraph`, `ImportPlan`, `Policy`, `Settings` and `results` are imported on first use,
so that `import omnigraph` (and the command line's help) loads neither Arrow nor Lance.
"""

from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.base.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph import results
    from omnigraph.async_graph import AsyncGraph
    from omnigraph.engine.import_plan import ImportPlan
    from omnigraph.engine.settings import Settings
    from omnigraph.graph import Graph
    from omnigraph.policy.policy import Policy

__all__ = [
    "AsyncGraph",
    "Graph",
    "ImportPlan",
    "OmnigraphError",
    "Policy",
    "Settings",
    "__version__",
    "errors",
    "results",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    match name:
        case "AsyncGraph":
            from omnigraph.async_graph import AsyncGraph

            return AsyncGraph
        case "Graph":
            from omnigraph.graph import Graph

            return Graph
        case "ImportPlan":
            from omnigraph.engine.import_plan import ImportPlan

            return ImportPlan
        case "Policy":
            from omnigraph.policy.policy import Policy

            return Policy
        case "Settings":
            from omnigraph.engine.settings import Settings

            return Settings
        case "results":
            from importlib import import_module

            return import_module("omnigraph.results")
        case _:
            raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    # What is not imported yet is there too, for completion and for help().
    return sorted({*globals(), *__all__})
