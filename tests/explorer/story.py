"""An agent at work on the demo's graph: it proposes on a branch of its own, and people disagree."""

from omnigraph import Graph
from tests.explorer.world import ADVISORY

__all__ = ["AGENT", "DISPUTED", "OTHER", "change_schema", "dispute", "judge", "tell_story"]

AGENT = "agent/triage"
"""A branch of five commits. It disagrees with main about two advisories."""
OTHER = "DEMO-2026-0002"
DISPUTED = "a-dispute"
"""A branch on which a choice about an advisory brings up another conflict."""

REPORT = """query report($code: String, $title: String, $package: String) {
    insert Advisory { code: $code, title: $title, severity: "medium" }
    insert Affects { from: $code, to: $package }
}"""
JUDGE = """query judge($code: String, $severity: String) {
    update Advisory set { severity: $severity } where code = $code
}"""
RENAME = """query rename($code: String, $title: String) {
    update Advisory set { title: $title } where code = $code
}"""
NOTE = """query note() {
    update Package set { note: "Ask for a release" } where name = "python3-yaml"
}"""


def tell_story(graph: Graph) -> None:
    _report(graph, "main", "ada", OTHER, "A cache is readable by everybody", "python3-requests")
    graph.branch_create(AGENT)
    told = (("0003", "python3-yaml"), ("0004", "python3-jinja2"))
    for number, package in told:
        title = f"Input of {package} is not checked"
        _report(graph, AGENT, "agent", f"DEMO-2026-{number}", title, package)
    judge(graph, AGENT, "agent", "low", "Not reachable from outside")
    graph.mutate(
        RENAME,
        params={"code": OTHER, "title": "A cache is readable by its group"},
        branch=AGENT,
        actor="agent",
        message="The title said too much",
    )
    graph.mutate(NOTE, branch=AGENT, actor="agent", message="A note for the maintainers")
    judge(graph, "main", "ada", "high", "A workaround is known")
    gone = f'query gone() {{ delete Advisory where code = "{OTHER}" }}'
    graph.mutate(gone, actor="bo", message="It was a duplicate")


def judge(graph: Graph, branch: str, actor: str, severity: str, why: str) -> None:
    graph.mutate(
        JUDGE,
        params={"code": ADVISORY, "severity": severity},
        branch=branch,
        actor=actor,
        message=why,
    )


def dispute(graph: Graph) -> None:
    """Titles are unique. Main gives the title of an advisory to another one; the branch keeps the
    first. Both make a package larger than a float can tell, and the branch ends a note."""
    for branch in set(graph.branches()) - {"main"}:
        graph.branch_delete(branch)  # a rule for all rows has to wait for them
    text = graph.schema().text
    graph.schema_apply(
        text.replace("    title: String\n", "    title: String @unique\n"), actor="ada"
    )
    size = 'update Package set {{ size_kib: {}, note: "{}" }} where name = "python3-yaml"'
    _change(graph, "main", size.format(2**53 + 1, r"one\ntwo"))
    graph.branch_create(DISPUTED)
    _change(graph, "main", size.format(2**53 + 3, r"one\ntwo"))
    _change(graph, DISPUTED, size.format(2**53 + 5, r"one\ntwo\n"))
    title = "A crafted wheel name escapes the target directory"
    _change(graph, "main", f'delete Advisory where code = "{ADVISORY}"')
    insert = f'insert Advisory {{ code: "{OTHER}", title: "{title}", severity: "low" }}'
    _change(graph, "main", insert)
    judge(graph, DISPUTED, "bo", "medium", "It is worse")


def _change(graph: Graph, branch: str, change: str) -> None:
    graph.mutate(f"query q() {{ {change} }}", branch=branch, actor="ada")


def change_schema(graph: Graph) -> None:
    """Main gets a property that the branches don't have."""
    text = graph.schema().text
    graph.schema_apply(
        text.replace("    severity: String\n", "    severity: String\n    score: F64?\n"),
        actor="ada",
    )


def _report(graph: Graph, branch: str, actor: str, code: str, title: str, package: str) -> None:
    graph.mutate(
        REPORT,
        params={"code": code, "title": title, "package": package},
        branch=branch,
        actor=actor,
        message=f"Report {code}",
    )
