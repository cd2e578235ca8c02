"""The other views: the schema, loads and what they set aside, indexes, and who one is."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.explorer.browser import serious_findings
from tests.explorer.world import BRANCH, GRAPH, TOKENS, Explorer

pytestmark = pytest.mark.xdist_group("explorer")

Open = Callable[..., Page]
Serve = Callable[..., Explorer]
Shot = Callable[..., object]
SIZE = "['Width', 'Height'].map((side) => document.documentElement[`scroll${side}`])"


def view(explorer: Explorer, name: str, given: str = "") -> str:
    return f"{explorer.url}/explore/{GRAPH}/{name}{given}"


def test_the_schema_is_a_diagram_a_list_and_a_text(
    explorer: Explorer, open_page: Open, shot: Shot
) -> None:
    page = open_page(view(explorer, "schema"))
    diagram = page.get_by_role("group", name="Diagram of the schema")
    card = diagram.get_by_role("link", name="Package, 3,345 of them: show some")
    expect(card).to_contain_text("keyname")
    expect(diagram.get_by_role("link", name="Affects from Advisory to Package")).to_be_visible()
    assert serious_findings(page) == []
    shot(page, "schema")
    width = card.bounding_box()["width"]  # type: ignore[index]
    page.keyboard.press("+")
    assert card.bounding_box()["width"] > width  # type: ignore[index]
    page.keyboard.press("v")
    listed = page.get_by_role("article", name="Section", exact=True)
    expect(listed).to_contain_text("Vector(384)?")
    expect(listed).to_contain_text("In: Package → InSection")
    page.get_by_role("tab", name="Text").click()
    expect(page.get_by_label("Text of the schema")).to_contain_text("node Package {")
    page.get_by_role("tab", name="List").click()
    listed.get_by_role("link", name="Show some of type Section").click()
    expect(page.get_by_text("37 rows").or_(page.get_by_text("37 nodes")).first).to_be_visible()


def test_a_load_shows_its_rows_and_those_that_were_set_aside(
    explorer: Explorer, open_page: Open, shot: Shot
) -> None:
    job = explorer.load_late_delivery()
    page = open_page(view(explorer, "loads"))
    card = page.get_by_role("listitem", name=f"Load job {job}")
    expect(card).to_contain_text("4 rows were loaded of 10 read, 6 set aside")
    card.get_by_role("button", name="Show the 6 rows").click()
    expect(card.get_by_role("row").filter(has_text="line 5")).to_contain_text(
        "Package.version is required"
    )
    card.get_by_label("Reason").select_option("endpoint")
    expect(card.get_by_role("row").filter(has_text="late.jsonl")).to_have_count(2)
    assert f"job={job}" in page.url
    past = page.get_by_role("region", name="What was loaded into main")
    expect(
        past.get_by_role("listitem").filter(has_text="Debian's Python packages")
    ).to_contain_text("3,344")
    assert serious_findings(page) == []
    shot(page, "loads")


def test_a_load_that_runs_says_how_far_it_is_and_can_be_ended(
    explorer: Explorer, open_page: Open
) -> None:
    # A job whose upload never comes stands for one that takes long.
    job = explorer.begin_upload()
    page = open_page(view(explorer, "loads"))
    card = page.get_by_role("listitem", name=f"Load job {job}")
    expect(card).to_contain_text("waits for its upload")
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_contain_text("cancelled")
    expect(card.get_by_role("button", name="Cancel")).to_have_count(0)


def test_indexes_say_what_they_answer_and_what_is_missing(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(view(explorer, "indexes"))
    indexes = page.get_by_role("region", name="Indexes")
    key = indexes.get_by_role("row").filter(has_text="Package.id")
    expect(key).to_contain_text("an entity by its key")
    expect(key).to_contain_text("not built")
    expect(page.get_by_role("region", name="Tables").last).to_contain_text("DependsOn")
    explorer.graph.optimize()
    page.reload()
    expect(key).to_contain_text("up to date")
    page.get_by_label("only what is not up to date").check()
    expect(key).to_have_count(0)


def test_who_one_is_and_what_one_may_do(served_demo: Serve, open_page: Open, shot: Shot) -> None:
    explorer = served_demo(state="policy")
    page = open_page(view(explorer, "me", f"#token={TOKENS['bo']}"), expected=("401",))
    expect(page.get_by_role("heading", name="You are bo")).to_be_visible()
    rights = page.get_by_role("region", name="Rights by branch")
    marks = rights.get_by_role("row").filter(has_text="main").first.get_by_role("cell")
    expect(marks.nth(0)).to_contain_text("yes")
    expect(marks.nth(2)).to_contain_text("no")
    expect(page.get_by_text("Under a policy")).to_be_visible()
    shot(page, "me")
    page.get_by_role("button", name="Use another token").click()
    page.get_by_label("Token").last.fill(TOKENS["ada"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You are ada")).to_be_visible()


def test_every_view_fits_a_phone(explorer: Explorer, open_page: Open) -> None:
    page = open_page(view(explorer, "schema"), scheme="dark")
    page.set_viewport_size({"width": 390, "height": 800})
    names = ("Schema", "History", "Review", "Loads", "Indexes", "Me")
    for name in names:
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        main = page.get_by_role("main", name=name)
        expect(main.get_by_role("heading", level=1)).to_be_visible()
        expect(main.get_by_text("Loading …")).to_have_count(0)
        assert page.evaluate(SIZE) == [390, 800], name
        assert serious_findings(page) == [], name
    # A review is the longest of them: its own part scrolls, and the frame stays.
    page.goto(view(explorer, "review", f"#source={BRANCH}"))
    expect(page.get_by_role("button", name="Merge ", exact=False)).to_be_visible()
    assert page.evaluate(SIZE) == [390, 800]
