"""`Graph` as callers know it: a graph that is opened here, or one on a server."""

from typing import Self

from omnigraph.engine.handles.graph import Graph as LocalGraph

__all__ = ["Graph"]


class Graph(LocalGraph):
    """One graph: made with `Graph.init`, opened with `Graph.open`, or reached with `Graph.connect`.

    The handle is the same in each case, with the same methods, results and errors.
    """

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        graph: str | None = None,
        token: str | None = None,
        timeout_s: float | None = None,
    ) -> Self:
        """A graph on a server: `Graph.connect("https://host/graphs/people", token=…)`.

        The URL may also be that of the server, with the name of the `graph` beside it. Nothing is
        sent before something is asked. Whoever holds the `token` acts, so no call takes an `actor`.
        The next byte of an answer is waited for `timeout_s`: if left out, longer than servers let a
        query run.

        A read that is not answered is sent again, a write never is: it may have been carried out,
        and `OutcomeUnknown` says so. What needs the storage itself raises `LocalOnly`: `optimize`,
        `cleanup`, `repair`, `embed`, `stream`, loads of frames and of many files.
        """
        from omnigraph.surfaces.client.connection import connect

        return cls(connect(url, graph=graph, token=token, timeout_s=timeout_s))
