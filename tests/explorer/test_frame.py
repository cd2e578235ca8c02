"""What is the same around every view: keys, colours, the branch, and the width of a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.explorer.asking import JUDGED, NEEDED, asked
from tests.explorer.browser import serious_findings
from tests.explorer.world import BRANCH, Explorer

pytestmark = pytest.mark.xdist_group("explorer")


def test_keys_open_every_view_and_say_what_they_are(page: Page) -> None:
    expect(page.get_by_role("heading", name="Ask the graph something")).to_be_visible()
    for key, name in (("s", "Schema"), ("h", "History"), ("m", "Me"), ("q", "Query")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard")
    expect(keys).to_contain_text("Go to Review")
    assert serious_findings(page) == []
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    # Who opened a dialog goes on where they were.
    button = page.get_by_role("button", name="Keyboard")
    button.click()
    keys.get_by_role("button", name="Close").click()
    expect(button).to_be_focused()


def test_colours_are_those_of_the_system_until_somebody_chooses(page: Page) -> None:
    colours = page.locator("html")
    expect(colours).to_have_attribute("data-theme", "light")
    page.keyboard.press("t")
    expect(colours).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(colours).to_have_attribute("data-theme", "dark")


def test_an_answer_follows_the_branch_and_a_branch_that_is_not_there_is_told(
    explorer: Explorer, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{explorer.url}/explore{asked(JUDGED)}", expected=("404",))
    expect(page.get_by_role("cell", name="critical")).to_be_visible()
    page.get_by_label("Branch").select_option(BRANCH)
    expect(page.get_by_role("cell", name="low")).to_be_visible()
    assert f"branch={BRANCH}" in page.url
    page.go_back()
    expect(page.get_by_role("cell", name="critical")).to_be_visible()
    page.goto(f"{explorer.url}/explore/packages/find#branch=nowhere")
    page.get_by_role("link", name="Go to main").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_address_that_leads_nowhere_says_so(
    explorer: Explorer, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{explorer.url}/explore/packages/schema#at=nothing", expected=("404",))
    main = page.get_by_role("main", name="Schema")
    expect(main.get_by_role("alert")).to_contain_text("nothing")
    # There is no step from a commit that is not there, not even to now.
    page.keyboard.press("[")
    expect(page.get_by_text("there is no step from it")).to_be_visible()
    assert page.url.endswith("#at=nothing")
    page.get_by_role("button", name="Back to now").click()
    expect(main).to_contain_text("Advisory")
    page.goto(f"{explorer.url}/explore/%E0%A4%A/schema")
    expect(main.get_by_role("alert").first).to_be_visible()


def test_the_page_fits_a_phone(explorer: Explorer, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{explorer.url}/explore{asked(NEEDED)}", scheme="dark")
    page.set_viewport_size({"width": 390, "height": 780})
    expect(page.get_by_role("button", name="acl", exact=True).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.get_by_role("link", name="Me", exact=True)).to_be_in_viewport()
    assert serious_findings(page) == []
