"""`omnigraph demo`: the main job end to end, each step said before it is done.

Everything here is what a person could type; the demo holds no logic of its own.
"""

import json
import secrets
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import ArgumentInvalid, DependencyMissing
from omnigraph.base.words import amount
from omnigraph.embed.provider import EmbedConfig, ProviderName
from omnigraph.surfaces.cli.demo_server import SERVE, TOKENS, demo_server
from omnigraph.surfaces.cli.load_report import print_rejected
from omnigraph.surfaces.cli.merge import print_conflicts
from omnigraph.surfaces.cli.output import print_table
from omnigraph.surfaces.cli.progress import load_progress
from omnigraph.surfaces.cli.serve import require_server

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph

__all__ = ["Tour", "run_demo"]

ADVISORY = "DEMO-2026-0001"
BRANCH = "triage/setuptools"
SECOND_OPINION = "second-opinion"
FOR_REVIEW = "for-review"
PACKAGE = "python3-pkg-resources"
TOPIC = "talking to other computers"
LOCAL: ProviderName = "local"
FILES = ("schema.pg", "queries.gq", "packages.jsonl.gz", "late.jsonl", "policy.yaml")


def run_demo(directory: str | None) -> None:
    """Run the tour in `directory`, or in a temporary one that is removed at the end."""
    if directory is None:
        with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as scratch:
            Tour(Path(scratch)).run()
        _tell("\nThat was the whole tour. Next: omnigraph demo FOLDER, which keeps its graph")
        return
    folder = Path(directory)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        rule = "the folder must be new or empty"
        raise ArgumentInvalid(argument="directory", value=directory, rule=rule)
    Tour(folder).run()
    _tell(
        f"\nThat was the whole tour. The graph and its files are in {directory}: the queries above"
    )
    _tell(f"work there as they stand, and queries.gq has more. The branch {FOR_REVIEW} waits for")
    _tell("you in the browser:\n")
    place, queries = (shlex.quote(str(folder / name)) for name in ("packages.omni", "queries.gq"))
    _tell(f"omnigraph explore {place} --queries {queries}")


class Tour:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._step = 0
        sample = resources.files(__package__) / "sample"
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).write_bytes((sample / name).read_bytes())

    def run(self) -> None:
        from omnigraph.engine.handles.graph import Graph
        from omnigraph.engine.settings import Settings

        settings = replace(Settings.from_environment(), embed=EmbedConfig(LOCAL))
        self._say("A schema becomes an empty graph", "init --schema schema.pg packages.omni")
        place, schema = self._folder / "packages.omni", self._folder / "schema.pg"
        with Graph.init(place, schema, settings=settings) as graph:
            catalog = graph.schema().catalog
            _note(f"{len(catalog.nodes)} node types, {len(catalog.edges)} edge types")
            self._load(graph)
            self._load_with_bad_rows(graph)
            self._ask(graph)
            self._search(graph)
            loaded = graph.commits(limit=1)[0].graph_commit_id
            self._branch(graph)
            self._merge(graph)
            self._conflict(graph)
            self._travel(graph, loaded)
            self._leave_a_branch(graph)
            self._two_actors(graph)
        self.two_tokens()

    def _load(self, graph: "Graph") -> None:
        self._say(
            "Spark reads, checks and writes 27,000 lines, which become one commit",
            "load --data packages.jsonl.gz --mode overwrite --engine spark packages.omni",
        )
        began = time.monotonic()
        with load_progress(as_json=False, is_silent=False) as progress:
            result = graph.load(
                self._folder / "packages.jsonl.gz",
                mode="overwrite",
                engine="spark",
                message="Debian's Python packages",
                progress=progress,
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
            "load --data late.jsonl --mode append --engine spark --on-error quarantine "
            "--quarantine rejected packages.omni",
        )
        result = graph.load(
            self._folder / "late.jsonl",
            mode="append",
            engine="spark",
            message="A late delivery",
            on_error="quarantine",
            quarantine=self._folder / "rejected",
        )
        assert result.violations is not None and result.quarantine is not None
        print_rejected(result.violations, short=True)
        _note(f"{result.total_entities} of {amount(result.read, 'row')} loaded, as one commit")
        _note("each rejected row is kept as it came, with file, line and reasons:")
        line = (Path(result.quarantine) / "rejected-00000.jsonl").read_text().splitlines()[1]
        _note(line.replace(f"{self._folder}/", "")[:150] + "…")

    def _ask(self, graph: "Graph") -> None:
        self._say("What does everything stand on?", _query("most_needed"))
        self._show(graph, "most_needed")
        self._say(
            "How far would a weakness in one package reach, within two hops?",
            _query("reach", package=PACKAGE),
        )
        self._show(graph, "reach", package=PACKAGE)

    def _search(self, graph: "Graph") -> None:
        self._say(
            "A model in this process gives each shelf's name a vector: no network, no key",
            "embed packages.omni",
            before=f"export OMNIGRAPH_EMBED_PROVIDER={LOCAL}",
        )
        try:
            result = graph.embed(engine="local", message="What the shelves are about")
        except DependencyMissing as missing:
            _note(f"left out, since {missing.message}: {missing.hint}")
            return
        _note(f"{amount(result.total_embedded, 'vector')} by {result.model}, as one commit")
        self._say(
            "Search by meaning, then walk from what was found, in one query",
            _query("about", topic=TOPIC),
        )
        self._show(graph, "about", topic=TOPIC)

    def _branch(self, graph: "Graph") -> None:
        self._say(
            "A branch costs nothing, whatever the graph's size",
            f"branch create {BRANCH} --store packages.omni",
        )
        graph.branch_create(BRANCH)
        report = {
            "code": ADVISORY,
            "title": "A crafted wheel name escapes the target directory",
            "severity": "unknown",
            "package": PACKAGE,
        }
        for what, name, params in (
            ("On the branch, report an advisory: a node and an edge", "report_advisory", report),
            ("Judge it anew", "reclassify", {"code": ADVISORY, "severity": "high"}),
        ):
            self._say(what, _command("mutate", name, params, f"--branch {BRANCH} --as demo"))
            done = graph.mutate(
                self._queries, name=name, params=params, branch=BRANCH, actor="demo"
            )
            nodes, edges = (done.affected_nodes, done.affected_edges)
            _note(f"{name}: {amount(nodes, 'node')}, {amount(edges, 'edge')}")
        self._say(
            "Where is the work?",
            _command("query", "exposed_per_section", {"code": ADVISORY}, f"--branch {BRANCH}"),
        )
        self._show(graph, "exposed_per_section", branch=BRANCH, code=ADVISORY)
        self._say("main knows nothing of it yet", _query("advisories"))
        self._show(graph, "advisories")

    def _merge(self, graph: "Graph") -> None:
        self._say(
            "Merge: both changes arrive on main at once",
            f"branch merge {BRANCH} --as demo --store packages.omni",
        )
        result = graph.branch_merge(BRANCH, into="main", actor="demo")
        _note(f"{result.outcome}")
        self._show(graph, "advisories")
        self._say(
            "The merge is one commit of main; the branch has its own",
            "commit list --store packages.omni",
        )
        print_table(
            ["commit", "kind", "actor", "message"],
            ([c.graph_commit_id, c.kind, c.actor_id, c.message] for c in graph.commits()),
        )

    def _conflict(self, graph: "Graph") -> None:
        """Both branches change one property: a conflict, looked at and resolved."""
        self._say(
            "Two people judge it, each on a branch of their own",
            f"branch create {SECOND_OPINION} --store packages.omni",
        )
        graph.branch_create(SECOND_OPINION)
        for branch, severity in ((SECOND_OPINION, "low"), ("main", "critical")):
            params = {"code": ADVISORY, "severity": severity}
            on = f"--branch {branch} --as demo"
            self._say(f"Judged again, on {branch}", _command("mutate", "reclassify", params, on))
            graph.mutate(
                self._queries, name="reclassify", params=params, branch=branch, actor="demo"
            )
        merge = f"branch merge {SECOND_OPINION}"
        self._say(
            "Both have changed it: look before you merge",
            f"{merge} --preview --store packages.omni",
        )
        preview = graph.branch_merge(SECOND_OPINION, preview=True)
        print_conflicts(preview.conflicts)
        self._say(
            "Nothing has moved. Take the branch's side of it, if main is still where it was",
            f"{merge} --resolve theirs --if-commit {preview.target_commit_id} "
            "--delete-branch --store packages.omni",
        )
        choices = [
            {"type": c.type_name, "id": c.entity_id, "property": c.property, "take": "theirs"}
            for c in preview.conflicts
        ]
        merged = graph.branch_merge(
            SECOND_OPINION,
            resolve=choices,
            if_commit=preview.target_commit_id,
            delete=True,
            actor="demo",
        )
        _note(merged.outcome)
        self._show(graph, "advisories")

    def _travel(self, graph: "Graph", commit: Any) -> None:
        self._say(
            "The graph as it was before",
            _command("query", "advisories", {}, f"--snapshot {commit}"),
        )
        self._show(graph, "advisories", snapshot=commit)

    def _leave_a_branch(self, graph: "Graph") -> None:
        """Something to look at, and to merge, in the explorer."""
        self._say(
            "Somebody else works on: their branch is not merged yet",
            f"branch create {FOR_REVIEW} --store packages.omni",
        )
        graph.branch_create(FOR_REVIEW)
        for name, params in (
            ("annotate", {"package": PACKAGE, "note": f"see {ADVISORY}"}),
            ("reclassify", {"code": ADVISORY, "severity": "medium"}),
        ):
            self._say(
                "A change on the branch",
                _command("mutate", name, params, f"--branch {FOR_REVIEW} --as demo"),
            )
            graph.mutate(self._queries, name=name, params=params, branch=FOR_REVIEW, actor="demo")
        self._say(
            "What it would bring",
            f"branch diff {FOR_REVIEW} --store packages.omni",
        )
        _note(graph.diff("main", FOR_REVIEW, since_base=True).summary)

    def _two_actors(self, graph: "Graph") -> None:
        """The same question, asked by two: what a policy hides from one of them is not there."""
        guarded = graph.under_policy(self._folder / "policy.yaml")
        opened = "g = Graph.open('packages.omni', policy='policy.yaml')"
        for actor, what in (
            ("ada", "A policy says who sees what. One of the security team asks"),
            ("bo", "Somebody else asks the same: for them there is no such advisory"),
        ):
            asked = f"g.as_actor('{actor}').query('queries.gq', 'advisories')"
            self._step += 1
            _tell(f"\n{self._step}. {what}\n   >>> {opened}\n   >>> {asked}")
            self._show(guarded.as_actor(actor), "advisories")

    def two_tokens(self) -> None:
        """The same again over HTTP, where who asks is known from a token."""
        tokens = {actor: secrets.token_urlsafe(9) for actor in ("ada", "bo")}
        given = f"export {TOKENS}='{json.dumps(tokens)}'"
        self._say("A server minds the policy too. Each actor has a token", SERVE, before=given)
        try:
            require_server()
        except DependencyMissing as missing:
            _note(f"left out, since {missing.message}: {missing.hint}")
            return
        path = "/graphs/packages/queries/advisories"
        with demo_server(self._folder, tokens) as server:
            _note(f"it listens on {server.address}")
            for actor, what in (
                ("ada", "The question over HTTP, with the token of one of the security team"),
                ("bo", "And with the token of somebody else"),
            ):
                self._step += 1
                header = f"-H 'Authorization: Bearer {tokens[actor]}'"
                _tell(f"\n{self._step}. {what}")
                _tell(f"   $ curl -X POST http://{server.address}{path} {header}")
                rows = server.ask(path, tokens[actor])
                if rows:
                    print_table(list(rows[0]), (row.values() for row in rows))
                _note(f"{amount(len(rows), 'row')} for {actor}")
        _note("the server has stopped")

    def _show(
        self,
        graph: "Graph",
        name: str,
        *,
        branch: str = "main",
        snapshot: Any = None,
        **params: Any,
    ) -> None:
        began = time.monotonic()
        result = graph.query(
            self._queries, name=name, params=params, branch=branch, snapshot=snapshot
        )
        spent_ms = (time.monotonic() - began) * 1000
        if len(result):
            rows = result.readable().to_pylist()
            print_table(result.columns, (row.values() for row in rows))
        _note(f"{amount(len(result), 'row')} in {spent_ms:.0f} ms")

    def _say(self, what: str, command: str, *, before: str | None = None) -> None:
        self._step += 1
        first = f"\n   $ {before}" if before is not None else ""
        _tell(f"\n{self._step}. {what}{first}\n   $ omnigraph {command}")
        sys.stdout.flush()

    @property
    def _queries(self) -> Path:
        return self._folder / "queries.gq"


def _query(name: str, **params: str) -> str:
    return _command("query", name, params)


def _command(command: str, name: str, params: Mapping[str, str], options: str = "") -> str:
    """A command as it can be typed in the folder of the tour."""
    given = f"--params '{json.dumps(dict(params))}'" if params else ""
    words = (command, name, "--query queries.gq", given, options, "--store packages.omni")
    return " ".join(filter(None, words))


def _note(text: str) -> None:
    _tell(f"   {text}")


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
