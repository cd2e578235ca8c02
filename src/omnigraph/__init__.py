"""OmniGraph: a typed property graph over Lance, with branches, commits and Spark-sized loads.

`Graph` is imported on first use, so that `import omnigraph` (and the command line's help) loads
neither Arrow nor Lance.
"""

from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph

__all__ = ["Graph", "OmnigraphError", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Graph":
        from omnigraph.engine.handles.graph import Graph

        return Graph
    raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    # What is not imported yet is there too, for completion and for help().
    return sorted({*globals(), *__all__})
