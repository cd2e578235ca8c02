"""How a person asks on the page: addresses with a query in them, and what is typed."""

from urllib.parse import urlencode

from playwright.sync_api import Locator, Page

from tests.explorer.world import GRAPH

__all__ = ["AFFECTED", "JUDGED", "NEEDED", "asked", "counting", "editor", "write"]

AFFECTED = "query affected() { match { $a: Advisory  $a affects $p } return { $a, $p } }"
JUDGED = "query q() { match { $a: Advisory } return { $a.severity as judged } }"
NEEDED = """query needed() {
    match {
        $a: Package
        $a dependsOn $b
    }
    return { $a, $b }
    limit 40
}
"""


def asked(query: str, *, view: str = "query", **params: str) -> str:
    """The path of a link to a query that was run."""
    return f"/{GRAPH}/{view}#{urlencode({'run': '1', 'q': query, **params})}"


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Query", exact=True)


def write(page: Page, text: str) -> None:
    """Types into the editor, in place of what is there."""
    editor(page).focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def counting(page: Page, call: str) -> list[str]:
    """Grows by one with each request of a call."""
    seen: list[str] = []
    page.on(
        "request", lambda request: seen.append(call) if f"/calls/{call}" in request.url else None
    )
    return seen
