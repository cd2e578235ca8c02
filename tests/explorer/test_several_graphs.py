"""A server with two graphs: a person goes from one to the other, and sees one at a time."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect

from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.engine.stored_queries import read_queries
from omnigraph.surfaces.server.registry import ServedGraph
from tests.explorer.asking import AFFECTED, asked, editor, write
from tests.explorer.browser import serious_findings
from tests.explorer.world import ADVISORY, BRANCH, GRAPH, Explorer

pytestmark = pytest.mark.xdist_group("explorer")

Open = Callable[..., Page]

STAFF = "staff"
SCHEMA = """
node Person { name: String @key  role: String }
edge Leads: Person -> Person
"""
ROWS = """{"type": "Person", "data": {"name": "Ada", "role": "head"}}
{"type": "Person", "data": {"name": "Bo", "role": "clerk"}}
{"edge": "Leads", "from": "Ada", "to": "Bo"}
"""
HIRE = 'query hire() { insert Person { name: "Zoe", role: "clerk" } }'
STORED = "query everybody() { match { $p: Person } return { $p.name } }"
LED = "query led() { match { $p: Person  $p leads $q } return { $p, $q } }"


@pytest.fixture
def both(served_demo: Callable[..., Explorer], tmp_path: Path) -> Iterator[Explorer]:
    """The demo's graph and another one, which has a branch of the same name."""
    (tmp_path / "staff.gq").write_text(STORED)
    with Graph.init(tmp_path / "staff.omni", SCHEMA, settings=Settings()) as graph:
        graph.load(ROWS.encode(), mode="append", engine="local", message="The first two")
        graph.branch_create(BRANCH)
        graph.mutate(HIRE, branch=BRANCH, actor="ada", message="We hire Zoe")
        queries = read_queries([tmp_path / "staff.gq"])
        yield served_demo(beside={STAFF: ServedGraph(STAFF, graph, graph, queries)})


def choose(page: Page, graph: str) -> None:
    page.get_by_label("Graph", exact=True).select_option(graph)
    expect(page).to_have_title(f"Query · {graph}")


def view(page: Page, name: str) -> Locator:
    """Goes to a view; all that it shows."""
    page.get_by_role("navigation", name="Views").get_by_role("link", name=name, exact=True).click()
    return page.get_by_role("main")


def table(page: Page) -> Locator:
    return page.get_by_role("table", name="Rows")


def review(explorer: Explorer, graph: str) -> str:
    """A link to the review of the branch that both graphs have."""
    return f"{explorer.url}/explore/{graph}/review#{urlencode({'source': BRANCH})}"


def test_every_view_is_of_the_graph_that_was_chosen(both: Explorer, open_page: Open) -> None:
    page = open_page(both.address())
    write(page, AFFECTED)
    page.keyboard.press("ControlOrMeta+Enter")
    table(page).get_by_role("button", name=ADVISORY).click()
    expect(page.get_by_role("complementary", name="Chosen entity")).to_be_visible()

    choose(page, STAFF)
    main = page.get_by_role("main")
    expect(main).to_contain_text("Person leads Person")
    expect(editor(page)).to_contain_text("$a leads $b")
    for other in (ADVISORY, "Advisory", "Package", "report_advisory"):
        expect(main).not_to_contain_text(other)
    write(page, LED)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(table(page).get_by_role("button", name="Bo")).to_be_visible()
    expect(page.get_by_role("complementary", name="Chosen entity")).to_have_count(0)
    page.get_by_role("button", name="everybody").click()
    expect(table(page)).to_contain_text("Ada")
    expect(view(page, "Schema")).to_contain_text("Person")
    expect(main).not_to_contain_text("Package")
    expect(view(page, "History")).to_contain_text("We hire Zoe")
    expect(main).not_to_contain_text("Debian's Python packages")
    expect(view(page, "Review")).to_contain_text("We hire Zoe")
    expect(main).not_to_contain_text("commits that main does not have")
    assert serious_findings(page) == []

    # And back: all is as it was left.
    choose(page, GRAPH)
    expect(editor(page)).to_contain_text("$a affects $p")
    for other in ("Person", "everybody", "Zoe"):
        expect(main).not_to_contain_text(other)
    expect(view(page, "Schema")).to_contain_text("Advisory")
    expect(main).not_to_contain_text("Person")
    expect(view(page, "History")).to_contain_text("Debian's Python packages")
    expect(main).not_to_contain_text("Zoe")
    expect(view(page, "Review")).to_contain_text("2 commits that main does not have")
    expect(main).not_to_contain_text("Zoe")


def test_a_link_opens_the_review_of_its_graph_and_steps_back_the_one_before(
    both: Explorer, open_page: Open
) -> None:
    page = open_page(review(both, STAFF))
    chosen, main = page.get_by_label("Graph", exact=True), page.get_by_role("main")
    expect(chosen).to_have_value(STAFF)
    expect(main).to_contain_text("1 commit by ada")
    expect(main.get_by_role("listitem").filter(has_text="Zoe").first).to_be_visible()
    expect(main).not_to_contain_text("Advisory")

    # A link to the other one, followed in the page.
    page.evaluate(
        "(to) => { const link = Object.assign(document.createElement('a'), { href: to });"
        " document.body.append(link); link.click(); link.remove(); }",
        review(both, GRAPH),
    )
    expect(chosen).to_have_value(GRAPH)
    expect(page).to_have_title(f"Review · {GRAPH}")
    expect(main).to_contain_text("2 commits by demo")
    expect(main).to_contain_text(ADVISORY)
    expect(main).not_to_contain_text("Zoe")
    page.go_back()
    expect(chosen).to_have_value(STAFF)
    expect(main).to_contain_text("1 commit by ada")
    expect(main).not_to_contain_text(ADVISORY)


def test_an_answer_that_is_late_is_not_shown_in_another_graph(
    both: Explorer, open_page: Open
) -> None:
    page = open_page(both.address())
    held: list[Route] = []
    ended: list[Request] = []
    for event in ("requestfailed", "requestfinished"):
        page.on(event, lambda request: ended.append(request))
    page.route("**/graphs/packages/calls/answer", lambda route: held.append(route))
    write(page, AFFECTED)
    page.keyboard.press("ControlOrMeta+Enter")
    while not held:
        page.wait_for_timeout(25)
    choose(page, STAFF)
    expect(page.get_by_role("main")).to_contain_text("Person leads Person")
    # The page may have given it up already.
    held[0].continue_()
    page.unroute("**/graphs/packages/calls/answer")
    while held[0].request not in ended:
        page.wait_for_timeout(25)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    expect(page.get_by_role("heading", name="Ask the graph something")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_a_step_back_to_another_graph_shows_its_answer(both: Explorer, open_page: Open) -> None:
    page = open_page(f"{both.url}/explore{asked(AFFECTED)}")
    expect(table(page)).to_contain_text(ADVISORY)
    choose(page, STAFF)
    expect(page.get_by_role("heading", name="Ask the graph something")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Graph", exact=True)).to_have_value(GRAPH)
    expect(table(page)).to_contain_text(ADVISORY)
