"""An answer of thousands of nodes stays usable: as a table, and as a picture."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.explorer.asking import asked
from tests.explorer.world import Explorer

pytestmark = pytest.mark.xdist_group("explorer")

BUILT = "query built() { match { $p: Package  $p builtFrom $s } return { $p, $s } }"
FRAME = (
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
)


def test_five_thousand_nodes_scroll_as_a_table_and_are_drawn_when_somebody_wants_them(
    explorer: Explorer, open_page: Callable[..., Page]
) -> None:
    # Here nodes move while they are laid out, in a worker, and the page must answer meanwhile.
    link = f"{explorer.url}/explore{asked(BUILT)}"
    page = open_page(link, reduced_motion="no-preference")
    table = page.get_by_role("table", name="Rows")
    expect(table).to_have_attribute("aria-rowcount", "3345")
    table.focus()
    page.keyboard.press("End")
    expect(table.get_by_role("row").filter(has_text="3344")).to_be_visible()
    assert table.get_by_role("row").count() < 100
    page.keyboard.press("2")
    expect(
        page.get_by_text("1,000 of 5,636 nodes are drawn, so that it stays quick.")
    ).to_be_visible()
    assert page.evaluate(FRAME)
    page.get_by_role("button", name="Draw all 5,000").click()
    drawn = page.get_by_text("5,000 of 5,636 nodes are drawn: the most that a picture takes.")
    expect(drawn).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.keyboard.press("1")
    expect(table).to_be_visible()
    page.keyboard.press("2")
    expect(drawn).to_be_visible()
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("complementary", name="Chosen entity")).to_be_visible()
    assert page.evaluate(FRAME)
