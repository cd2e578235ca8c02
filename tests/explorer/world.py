"""The demo's graph on a server, as a browser meets it: for anyone, for one person, by a policy."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.engine.stored_queries import read_queries
from omnigraph.policy.policy import Policy
from omnigraph.surfaces.explorer.files import BUNDLE, Bundle
from omnigraph.surfaces.server.access import Access, DefaultDeny, Open, Personal, UnderPolicy
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.callers import Callers
from omnigraph.surfaces.server.jobs.spool import Spool
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.registry import Registry, ServedGraph, Serving
from omnigraph.surfaces.server.tokens import Tokens
from tests.surfaces.client.served import served

__all__ = ["ADVISORY", "BRANCH", "GRAPH", "TOKENS", "Explorer", "make_demo", "serve_demo"]

SAMPLE = resources.files("omnigraph.surfaces.cli") / "sample"
FILES = ("schema.pg", "queries.gq", "packages.jsonl.gz", "late.jsonl", "policy.yaml")
GRAPH, BRANCH, ADVISORY = "packages", "second-opinion", "DEMO-2026-0001"
PACKAGE = "python3-pkg-resources"
TOKENS = {"ada": "token-of-ada", "bo": "token-of-bo", "me": "token-of-this-run"}

State = Literal["open", "personal", "default_deny", "policy"]


def make_demo(folder: Path) -> Path:
    """The graph of `omnigraph demo`, but for its last merge: a branch is left to review, and main
    and the branch have judged one advisory, each in another way."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_bytes((SAMPLE / name).read_bytes())
    queries = folder / "queries.gq"
    with Graph.init(folder / "packages.omni", folder / "schema.pg", settings=Settings()) as graph:
        load = {"engine": "local"}
        message = "Debian's Python packages"
        graph.load(folder / "packages.jsonl.gz", mode="overwrite", message=message, **load)  # type: ignore[arg-type]
        graph.load(
            folder / "late.jsonl",
            mode="append",
            message="A late delivery",
            on_error="quarantine",
            quarantine=folder / "rejected",
            **load,  # type: ignore[arg-type]
        )
        graph.branch_create("triage/setuptools")
        report = {
            "code": ADVISORY,
            "title": "A crafted wheel name escapes the target directory",
            "severity": "unknown",
            "package": PACKAGE,
        }
        on: Any = {"branch": "triage/setuptools", "actor": "demo"}
        graph.mutate(queries, "report_advisory", report, **on)
        judged = {"code": ADVISORY, "severity": "high"}
        graph.mutate(queries, "reclassify", judged, **on)
        graph.branch_merge("triage/setuptools", actor="demo")
        graph.branch_create(BRANCH)
        for branch, severity in ((BRANCH, "low"), ("main", "critical")):
            judged = {"code": ADVISORY, "severity": severity}
            graph.mutate(queries, "reclassify", judged, branch=branch, actor="demo")
        note = {"package": PACKAGE, "note": "see the advisory"}
        graph.mutate(queries, "annotate", note, branch=BRANCH, actor="demo")
    return folder


@dataclass(frozen=True)
class Explorer:
    """A server that runs, and the graph that it serves."""

    url: str
    graph: Graph
    app: App
    folder: Path

    def address(self, path: str = "", actor: str | None = None, branch: str | None = None) -> str:
        """Where a browser goes, as `omnigraph explore` prints it: a token is in the fragment."""
        token = None if actor is None else TOKENS[actor]
        members = {"token": token, "graph": GRAPH, "branch": branch}
        given = urlencode({name: value for name, value in members.items() if value is not None})
        return f"{self.url}/explore{path}#{given}"

    def load_late_delivery(self) -> str:
        """A load job that sets rows aside, run to its end; its id."""
        self.app.jobs.begin()
        order = {"upload": {"name": "late.jsonl"}, "mode": "merge", "on_error": "quarantine"}
        job = self._ask("load/jobs", {**order, "engine": "local"})["id"]
        part = (self.folder / "late.jsonl").read_bytes()
        self._send("PUT", f"load/jobs/{job}/parts/1", part, "application/octet-stream")
        self._ask(f"load/jobs/{job}/start", {"part_count": 1})
        while self._send("GET", f"load/jobs/{job}")["state"] in ("queued", "running"):
            pass
        return str(job)

    def begin_upload(self) -> str:
        """A load job that waits for its upload; its id."""
        self.app.jobs.begin()
        return str(
            self._ask("load/jobs", {"upload": {"name": "late.jsonl"}, "mode": "merge"})["id"]
        )

    def _ask(self, path: str, body: object) -> dict[str, object]:
        return self._send("POST", path, json.dumps(body).encode(), "application/json")

    def _send(
        self, method: str, path: str, body: bytes | None = None, kind: str = ""
    ) -> dict[str, object]:
        headers = {"Content-Type": kind} if kind else {}
        url = f"{self.url}/graphs/{GRAPH}/{path}"
        with urlopen(Request(url, body, headers, method=method)) as answer:
            found: dict[str, object] = json.load(answer)
            return found


@contextmanager
def serve_demo(
    template: Path,
    folder: Path,
    *,
    state: State = "open",
    is_read_only: bool = False,
    bundle: Path = BUNDLE,
    policy: Path | None = None,
    beside: Mapping[str, ServedGraph] | None = None,
) -> Iterator[Explorer]:
    """A server over a copy of the graph, so that a test may change it, and over graphs `beside`."""
    shutil.copytree(template, folder)
    with ExitStack() as stack:
        graph = stack.enter_context(
            Graph.open(folder / "packages.omni", read_only=is_read_only, settings=Settings())
        )
        access, guarded = _access(state, graph, policy or folder / "policy.yaml")
        queries = read_queries([folder / "queries.gq"])
        registry = Registry({GRAPH: ServedGraph(GRAPH, graph, guarded, queries), **(beside or {})})
        app = App(
            Serving(registry, access),
            ServerLimits(),
            spool=Spool.open(folder / "spool"),
            bundle=Bundle(bundle),
            callers=Callers.of(bound="127.0.0.1", allowed=(), is_open=state == "open"),
        )
        url = stack.enter_context(served(app))
        yield Explorer(url, graph, app, folder)
        app.jobs.close(10)


def _access(state: State, graph: Graph, policy: Path) -> tuple[Access, Graph]:
    tokens = Tokens.of(TOKENS)
    match state:
        case "open":
            return Open(), graph
        case "personal":
            return Personal(tokens, "me"), graph
        case "default_deny":
            return DefaultDeny(tokens), graph
        case "policy":
            read, schema = Policy.read(policy), graph.schema()
            fitted = read.fitted(schema.catalog, schema.text)
            return UnderPolicy(tokens, fitted), graph.under_policy(read)
