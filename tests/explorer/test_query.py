"""A person asks the graph something, and sees one answer in many shapes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.explorer.asking import AFFECTED, JUDGED, NEEDED, asked, counting, editor, write
from tests.explorer.browser import serious_findings
from tests.explorer.world import ADVISORY, Explorer

pytestmark = pytest.mark.xdist_group("explorer")

Open = Callable[..., Page]
Shot = Callable[[Page, str], Path]


@pytest.fixture
def ask(explorer: Explorer, open_page: Open) -> Callable[..., Page]:
    """Opens a link to a query that was run."""

    def open_(query: str, **params: str) -> Page:
        return open_page(f"{explorer.url}/explore{asked(query, **params)}")

    return open_


def test_an_answer_is_a_table_a_picture_and_json_and_is_asked_for_once(page: Page) -> None:
    answers = counting(page, "answer")
    write(page, AFFECTED)
    page.keyboard.press("ControlOrMeta+Enter")
    table = page.get_by_role("table", name="Rows")
    expect(table.get_by_role("button", name=ADVISORY)).to_be_visible()
    page.get_by_role("tab", name="Graph").click()
    expect(page.get_by_text("2 nodes, 1 edge.")).to_be_visible()
    page.get_by_role("tab", name="JSON").click()
    expect(page.get_by_role("region", name="Rows as JSON")).to_contain_text(f'"code": "{ADVISORY}"')
    assert answers == ["answer"]


def test_what_is_typed_takes_the_place_of_a_sample_that_comes_late(page: Page) -> None:
    expect(editor(page)).to_contain_text("query pairs()")
    held: list[Route] = []
    waits = True
    page.route("**/calls/schema", lambda route: held.append(route) if waits else route.continue_())
    page.evaluate("sessionStorage.clear()")
    page.reload()
    editor(page).focus()
    expect(page.locator(".cm-placeholder")).to_be_visible()
    waits = False
    for route in held:
        route.continue_()
    expect(editor(page)).to_contain_text("query pairs()")
    page.keyboard.insert_text("query mine() {")
    expect(editor(page)).to_have_text("query mine() {")


def test_mistakes_are_marked_while_somebody_types_and_words_are_offered(page: Page) -> None:
    write(page, "query q() { match { $a: Advisry } return { $a } }")
    expect(page.locator(".cm-lintRange-error")).to_have_text("Advisry")
    expect(page.get_by_text("1 mistake is marked in the text.")).to_be_visible()
    page.locator(".cm-lintRange-error").hover()
    expect(page.locator(".cm-diagnostic")).to_contain_text("did you mean Advisory?")
    write(page, "query q() { match { $a: ")
    page.keyboard.type("Adv")
    offered = page.get_by_role("option", name="Advisory")
    # Enter takes it too, but not within the blink of an eye: it may have been meant for the text.
    offered.click()
    expect(editor(page)).to_contain_text("$a: Advisory")


def test_a_query_with_parameters_has_a_field_for_each_and_says_what_is_missing(page: Page) -> None:
    write(
        page,
        "query q($package: String, $from: I64) { match { $p: Package { name: $package }"
        "  $p.size_kib >= $from } return { $p.name } }",
    )
    page.get_by_role("textbox", name="package String").fill("python3-pkg-resources")
    page.get_by_role("textbox", name="from I64").fill("many")
    page.get_by_role("button", name="Run").first.click()
    expect(page.get_by_role("status")).to_contain_text(["from must be I64: “many” is not."])
    page.get_by_role("textbox", name="from I64").fill("100")
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name="python3-pkg-resources")).to_be_visible()


def test_a_stored_query_asks_for_its_parameters_and_has_the_same_shapes(page: Page) -> None:
    page.get_by_role("button", name="needs", exact=True).click()
    page.get_by_role("textbox", name="package String").fill("acl")
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name="libacl1")).to_be_visible()
    page.get_by_role("tab", name="JSON").click()
    expect(page.get_by_role("region", name="Rows as JSON")).to_contain_text("libacl1")
    page.get_by_role("button", name="Back to the editor").click()
    expect(editor(page)).to_be_visible()


def test_a_link_shows_the_same_to_somebody_else(ask: Callable[..., Page], open_page: Open) -> None:
    page = ask(NEEDED, **{"as": "json"})
    expect(page.get_by_text("40 rows in")).to_be_visible()
    page.get_by_role("tab", name="Table").click()
    page.get_by_role("button", name="b", exact=True).click()
    other = open_page(page.url)
    expect(other.get_by_role("tab", name="Table")).to_have_attribute("aria-selected", "true")
    expect(other.get_by_text("40 rows in")).to_be_visible()
    assert "query needed()" in editor(other).inner_text()
    # A tab that shows the page already follows a link too, and back leads to the query before.
    link = page.url.split("#")[0]
    other.goto(f"{link}#{asked(AFFECTED).split('#')[1]}")
    expect(other.get_by_text("1 row in")).to_be_visible()
    other.go_back()
    expect(other.get_by_text("40 rows in")).to_be_visible()
    expect(editor(other)).to_contain_text("query needed()")


def test_a_link_runs_the_query_of_several_that_was_run(
    page: Page, explorer: Explorer, open_page: Open
) -> None:
    write(page, f"{JUDGED}\nquery named() {{ match {{ $a: Advisory }} return {{ $a.code as c }} }}")
    page.get_by_role("button", name="Run named").click()
    expect(page.get_by_role("cell", name=ADVISORY)).to_be_visible()
    other = open_page(page.url)
    expect(other.get_by_role("cell", name=ADVISORY)).to_be_visible()
    expect(other.get_by_role("button", name="Run named")).to_be_visible()
    # The cursor stands where it should.
    editor(other).focus()
    other.keyboard.press("End")
    expect(other.get_by_role("button", name="Run named")).to_be_visible()


def test_what_is_saved_is_text_to_a_spreadsheet(
    explorer: Explorer, ask: Callable[..., Page]
) -> None:
    title = "-2+3+cmd|' /C calc'!A0"
    change = f'query q() {{ update Advisory set {{ title: "{title}" }} where code = "{ADVISORY}" }}'
    explorer.graph.mutate(change)
    page = ask("query q() { match { $a: Advisory } return { $a.title as t, -2 as n } }")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.path().read_text() == f"t,n\n'{title},-2"


def test_a_table_is_sorted_by_a_column(ask: Callable[..., Page]) -> None:
    page = ask(
        "query q() { match { $p: Package }"
        " return { $p.name as name, $p.size_kib as size } limit 30 }"
    )
    size = page.get_by_role("button", name="size")
    size.click()
    size.click()
    expect(page.get_by_role("columnheader", name="size")).to_have_attribute(
        "aria-sort", "descending"
    )
    shown = page.locator(".table-rows .table-row > span:last-child").all_inner_texts()
    sizes = [int(text) for text in shown]
    assert len(sizes) > 10
    assert sizes == sorted(sizes, reverse=True)


def test_a_picture_grows_by_keys_alone_and_every_step_can_be_undone(
    ask: Callable[..., Page], shot: Shot
) -> None:
    page = ask(AFFECTED, **{"as": "graph", "wide": "1"})
    picture = page.get_by_role("application")
    picture.focus()
    page.keyboard.press("ArrowRight")
    panel = page.get_by_role("complementary", name="Chosen entity")
    expect(panel.get_by_role("heading", level=2)).to_be_visible()
    # Whichever of the two was chosen first: the other one lies to its left or its right.
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        if "python3-pkg-resources" in panel.inner_text().splitlines()[1]:
            break
        page.keyboard.press(key)
    expect(panel).to_contain_text("DependsOn")
    page.keyboard.press("Enter")
    expect(page.get_by_text("27 nodes", exact=False)).to_be_visible()
    # Some of the new ones need each other: those edges are there too.
    expect(page.get_by_text("27 nodes, 26 edges.")).to_have_count(0)
    # A message goes away by itself.
    page.evaluate("document.querySelector('.toast button')?.click()")
    picture.focus()
    shot(page, "graph-light")
    page.keyboard.press("p")
    expect(panel.get_by_role("button", name="Unpin")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_text("26 nodes", exact=False)).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("27 nodes", exact=False)).to_be_visible()
    page.keyboard.press("u")
    page.keyboard.press("u")
    expect(page.get_by_text("2 nodes, 1 edge.")).to_be_visible()


def test_neighbours_come_by_type_and_direction_with_their_numbers(ask: Callable[..., Page]) -> None:
    page = ask(AFFECTED, **{"as": "graph"})
    page.get_by_role("button", name="List").click()
    page.get_by_role("region", name="Nodes of the picture").get_by_role(
        "button", name="python3-pkg-resources"
    ).click()
    page.get_by_role("button", name="Add to the graph: BuiltFrom to Source: 1").click()
    expect(page.get_by_text("3 nodes, 2 edges.")).to_be_visible()
    expect(page.get_by_role("region", name="Legend")).to_contain_text("Source")


def test_the_plan_of_a_query_has_rows_and_times(ask: Callable[..., Page]) -> None:
    page = ask(NEEDED, **{"as": "plan"})
    plan = page.get_by_role("region", name="Plan")
    expect(plan.get_by_role("row", name="Expand")).to_contain_text("ms")
    page.get_by_label("Measure it (runs the query)").uncheck()
    expect(plan.get_by_role("columnheader", name="Time")).to_have_count(0)
    expect(plan.get_by_role("row", name="Expand")).to_be_visible()


def test_an_answer_follows_the_slider_into_the_past(ask: Callable[..., Page]) -> None:
    page = ask(JUDGED)
    expect(page.get_by_role("cell", name="critical")).to_be_visible()
    page.get_by_role("button", name="travel in time").click()
    slider = page.get_by_role("slider", name="Moment of main")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("cell", name="high")).to_be_visible()
    expect(page.get_by_role("region", name="Travel in time")).to_contain_text(
        "You see main as it was"
    )
    # The keys of the page hold while the slider has the focus.
    page.keyboard.press("[")
    expect(page.get_by_role("heading", name="No rows")).to_be_visible()
    page.keyboard.press("]")
    expect(page.get_by_role("cell", name="high")).to_be_visible()
    page.keyboard.press("Home")
    expect(page.get_by_role("heading", name="No rows")).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_role("cell", name="critical")).to_be_visible()


def test_a_change_asks_first_and_is_one_commit(page: Page, explorer: Explorer) -> None:
    write(
        page,
        f'query judge() {{ update Advisory set {{ severity: "low" }} where code = "{ADVISORY}" }}',
    )
    page.get_by_role("button", name="Change main").click()
    before = explorer.graph.commits()[0].graph_commit_id
    dialog = page.get_by_role("dialog", name="This changes main")
    dialog.get_by_role("textbox").fill("It is not so bad")
    assert explorer.graph.commits()[0].graph_commit_id == before
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Changed")).to_be_visible()
    assert explorer.graph.commits()[0].message == "It is not so bad"


@pytest.mark.parametrize(
    ("scheme", "shapes"),
    [("light", ("Graph", "Plan")), ("dark", ("Graph",))],
    ids=["light", "dark"],
)
def test_nothing_of_it_keeps_people_out(
    explorer: Explorer, open_page: Open, shot: Shot, scheme: str, shapes: tuple[str, ...]
) -> None:
    page = open_page(f"{explorer.url}/explore{asked(NEEDED)}", scheme=scheme)
    expect(page.get_by_text("40 rows in")).to_be_visible()
    page.get_by_role("button", name="apt", exact=True).first.click()
    page.get_by_role("button", name="History", exact=True).click()
    expect(page.locator("ol.timeline")).to_be_visible()
    found = []
    if scheme == "light":
        shot(page, "query-light")
        found = serious_findings(page)
    else:
        page.get_by_role("button", name="Close the panel").click()
    for shape in shapes:
        page.get_by_role("tab", name=shape).click()
        expect(page.get_by_role("tabpanel").locator(".results-foot, .plan")).to_be_visible()
        found += serious_findings(page)
        if scheme == "dark":
            shot(page, f"{shape.lower()}-{scheme}")
    assert found == []


def test_columns_stand_below_their_names_also_where_they_need_more_than_the_screen(
    ask: Callable[..., Page],
) -> None:
    page = ask(
        "query q() { match { $p: Package  $p dependsOn $q } return { $p, $q,"
        " $p.summary as a, $q.summary as b, $p.version as c } limit 30 }"
    )
    head, rows = page.locator(".table-head > span"), page.locator(".table-rows .table-row")
    expect(rows.first).to_be_visible()
    edges = "all => all.map(each => Math.round(each.getBoundingClientRect().left))"
    expected = head.evaluate_all(edges)
    for index in (0, 7):
        assert rows.nth(index).locator("> span").evaluate_all(edges) == expected
