"""`omnigraph demo`: the main job end to end, each step said before it is done.

Everything here is what a person could type; the demo holds no logic of its own.
"""

import sys
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.base.span import SourceText
from omnigraph.base.words import amount
from omnigraph.surfaces.cli.load_report import print_rejected
from omnigraph.surfaces.cli.output import print_table
from omnigraph.surfaces.cli.progress import load_progress

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph

__all__ = ["run_demo"]

ADVISORY = "DEMO-2026-0001"
BRANCH = "triage/setuptools"
PACKAGE = "python3-pkg-resources"


def run_demo(directory: str | None) -> None:
    """Run the tour in `directory`, or in a temporary one that is removed at the end."""
    if directory is not None:
        _Tour(Path(directory)).run()
        return
    with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as scratch:
        _Tour(Path(scratch) / "packages.omni").run()


class _Tour:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._step = 0
        self._sample = resources.files(__package__) / "sample"
        self._queries = SourceText(self._read("queries.gq"), "queries.gq")

    def run(self) -> None:
        from omnigraph.engine.graph import Graph

        self._say("A schema becomes an empty graph", "init --schema schema.pg packages.omni")
        schema = SourceText(self._read("schema.pg"), "schema.pg")
        with Graph.init(str(self._place), schema) as graph:
            _note(f"{len(graph.catalog.nodes)} node types, {len(graph.catalog.edges)} edge types")
            self._load(graph)
            self._load_with_bad_rows(graph)
            self._ask(graph)
            loaded = graph.commits(limit=1)[0].graph_commit_id
            self._branch(graph)
            self._merge(graph)
            self._travel(graph, loaded)

    def _load(self, graph: "Graph") -> None:
        self._say(
            "Spark reads, checks and writes 27,000 lines, which become one commit",
            "load --data packages.jsonl.gz --mode overwrite packages.omni",
        )
        began = time.monotonic()
        with (
            resources.as_file(self._sample / "packages.jsonl.gz") as data,
            load_progress(as_json=False, is_silent=False) as progress,
        ):
            result = graph.load(
                str(data), mode="overwrite", message="Debian's Python packages", progress=progress
            )
        for name, count in (*result.nodes.items(), *result.edges.items()):
            _note(f"{count:>7,}  {name}")
        seconds = time.monotonic() - began
        _note(
            f"{amount(result.total_entities, 'entity')} by {amount(result.tasks, 'Spark task')} in "
            f"{seconds:.1f} s, most of it starting Spark"
        )

    def _load_with_bad_rows(self, graph: "Graph") -> None:
        self._say(
            "A late delivery has broken rows: the good ones load, the others are set aside",
            "load --data late.jsonl --mode append --on-error quarantine packages.omni",
        )
        with (
            resources.as_file(self._sample / "late.jsonl") as data,
            tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as scratch,
        ):
            result = graph.load(
                data,
                mode="append",
                message="A late delivery",
                on_error="quarantine",
                quarantine=Path(scratch) / "rejected",
            )
            assert result.violations is not None and result.quarantine is not None
            print_rejected(result.violations, short=True)
            _note(f"{result.total_entities} of {amount(result.read, 'row')} loaded, as one commit")
            _note("each rejected row is kept as it came, with file, line and reasons:")
            line = (Path(result.quarantine) / "rejected-00000.jsonl").read_text().splitlines()[1]
            _note(line.replace(str(data.parent) + "/", "")[:150] + "…")

    def _ask(self, graph: "Graph") -> None:
        self._say("What does everything stand on?", "query most_needed --query queries.gq")
        self._show(graph, "most_needed")
        self._say(
            "How far would a weakness in one package reach, within two hops?",
            f'query reach --params \'{{"package": "{PACKAGE}"}}\'',
        )
        self._show(graph, "reach", package=PACKAGE)

    def _branch(self, graph: "Graph") -> None:
        self._say("A branch costs nothing, whatever the graph's size", f"branch create {BRANCH}")
        graph.branch_create(BRANCH)
        self._say(
            "On the branch, report an advisory: a node and an edge, one commit; then judge it anew",
            f"mutate report_advisory --branch {BRANCH} …",
        )
        report = {
            "code": ADVISORY,
            "title": "A crafted wheel name escapes the target directory",
            "severity": "unknown",
            "package": PACKAGE,
        }
        for name, params in (
            ("report_advisory", report),
            ("reclassify", {"code": ADVISORY, "severity": "high"}),
        ):
            done = graph.mutate(
                self._queries, name=name, params=params, branch=BRANCH, actor="demo"
            )
            nodes, edges = (done.affected_nodes, done.affected_edges)
            _note(f"{name}: {amount(nodes, 'node')}, {amount(edges, 'edge')}")
        self._show(graph, "exposed_per_section", branch=BRANCH, limit_rows=5, code=ADVISORY)
        self._say("main knows nothing of it yet", "query advisories --query queries.gq")
        self._show(graph, "advisories")

    def _merge(self, graph: "Graph") -> None:
        self._say("Merge: both changes arrive on main at once", f"branch merge {BRANCH}")
        result = graph.branch_merge(BRANCH, into="main", actor="demo")
        _note(f"{result.outcome}")
        self._show(graph, "advisories")
        self._say("Every step is in the history", "commit list")
        print_table(
            ["commit", "kind", "actor", "message"],
            ([c.graph_commit_id, c.kind, c.actor_id, c.message] for c in graph.commits()),
        )

    def _travel(self, graph: "Graph", commit: Any) -> None:
        self._say("The graph as it was before, for ever", f"query advisories --snapshot {commit}")
        self._show(graph, "advisories", snapshot=commit)
        sys.stdout.write("\nThat was the whole tour. Next: omnigraph --help\n")

    def _show(
        self,
        graph: "Graph",
        name: str,
        *,
        branch: str = "main",
        snapshot: Any = None,
        limit_rows: int | None = None,
        **params: Any,
    ) -> None:
        began = time.monotonic()
        result = graph.query(
            self._queries, name=name, params=params, branch=branch, snapshot=snapshot
        )
        spent_ms = (time.monotonic() - began) * 1000
        if len(result):
            rows = result.readable().to_arrow().slice(0, limit_rows).to_pylist()
            print_table(result.columns, (row.values() for row in rows))
        _note(f"{amount(len(result), 'row')} in {spent_ms:.0f} ms")

    def _say(self, what: str, command: str) -> None:
        self._step += 1
        sys.stdout.write(f"\n{self._step}. {what}\n   $ omnigraph {command}\n")
        sys.stdout.flush()

    def _read(self, name: str) -> str:
        return (self._sample / name).read_text(encoding="utf-8")


def _note(text: str) -> None:
    sys.stdout.write(f"   {text}\n")
