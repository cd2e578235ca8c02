"""A person finds something by a few letters, and sees what it is and how it came to be so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.explorer.browser import serious_findings, until
from tests.explorer.world import ADVISORY, GRAPH, Explorer

pytestmark = pytest.mark.xdist_group("explorer")


def test_something_is_found_by_keys_alone_and_shown_with_its_neighbours(page: Page) -> None:
    expect(page.get_by_role("heading", name="Ask the graph something")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("pkg-res")
    hit = page.get_by_role("link", name="python3-pkg-resources")
    expect(hit).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(hit).to_be_focused()
    page.keyboard.press("Enter")
    entity = page.get_by_role("article", name="Package python3-pkg-resources")
    expect(entity).to_contain_text("Package Discovery and Resource Access")
    kind = entity.get_by_role("button", name="Affects from Advisory: 1")
    kind.focus()
    page.keyboard.press("Enter")
    expect(entity.get_by_role("link", name=ADVISORY)).to_be_visible()
    assert serious_findings(page) == []


def test_the_history_of_an_entity_says_what_each_commit_made_of_it(
    explorer: Explorer, open_page: Callable[..., Page], shot: Callable[[Page, str], Path]
) -> None:
    place = f"/{GRAPH}/find#type=Advisory&id={ADVISORY}"
    page = open_page(f"{explorer.url}/explore{place}", scheme="dark", expected=("404",))
    line = page.locator("ol.timeline > li")
    expect(line).to_have_count(2)
    expect(line.first).to_contain_text("severity: high → critical")
    shot(page, "entity-dark")
    line.last.get_by_role("link").click()
    expect(page.get_by_role("region", name="Travel in time")).to_contain_text(
        "You see main as it was"
    )
    expect(page.get_by_role("definition").filter(has_text="high")).to_be_visible()
    shot(page, "past-dark")
    page.keyboard.press("[")
    expect(page.get_by_text("It is not there at this moment")).to_be_visible()
    assert serious_findings(page) == []


def test_what_is_typed_while_the_page_looks_already_is_kept(page: Page) -> None:
    page.keyboard.press("/")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    # The address follows after a pause. Somebody types on at just that moment.
    page.evaluate(
        """() => {
          const write = history.replaceState;
          history.replaceState = function (...given) {
            history.replaceState = write;
            write.apply(history, given);
            const box = document.querySelector("[data-find]");
            box.value += "res";
            box.dispatchEvent(new Event("input", { bubbles: true }));
          };
        }"""
    )
    page.keyboard.type("pkg-")
    expect(page.get_by_role("link", name="python3-pkg-resources")).to_be_visible()
    until(page, "location.hash.includes('find=pkg-res')")
    expect(box).to_have_value("pkg-res")


def test_words_that_nothing_has_are_told_and_what_is_found_can_be_drawn(page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("f")
    box = page.get_by_role("searchbox")
    box.fill("no such thing anywhere")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    box.fill(ADVISORY)
    expect(page.get_by_role("link", name=ADVISORY)).to_be_visible()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Draw it").click()
    expect(page.get_by_text("1 node, 0 edges.")).to_be_visible()
    # One node lies in the middle.
    expect(page.locator(".graph-canvas canvas").first).to_be_attached()
    page.get_by_role("application").dblclick()
    expect(page.get_by_text("2 nodes, 1 edge.")).to_be_visible()
