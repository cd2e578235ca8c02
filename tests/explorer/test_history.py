"""The history of all branches: what each commit changed, and what can be done from there."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.explorer.browser import serious_findings
from tests.explorer.story import AGENT, change_schema, tell_story
from tests.explorer.world import ADVISORY, GRAPH, Explorer

pytestmark = pytest.mark.xdist_group("explorer")

Open = Callable[..., Page]


def history(explorer: Explorer) -> str:
    return f"{explorer.url}/explore/{GRAPH}/history"


def row(page: Page, text: str) -> Locator:
    return page.get_by_role("region", name="Commits").get_by_role("link").filter(has_text=text)


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Commit", exact=True)


def test_each_commit_says_what_it_changed_and_is_a_moment_to_look_at(
    explorer: Explorer, open_page: Open, shot: Callable[..., object]
) -> None:
    tell_story(explorer.graph)
    change_schema(explorer.graph)
    page = open_page(history(explorer))
    expect(row(page, "A workaround is known")).to_be_visible()
    expect(row(page, AGENT)).to_contain_text("A note for the maintainers")
    row(page, "A workaround is known").click()
    expect(panel(page)).to_contain_text("ada on main")
    expect(panel(page).get_by_role("listitem").filter(has_text=ADVISORY)).to_contain_text(
        "critical → high"
    )
    assert serious_findings(page) == []
    shot(page, "history")
    page.keyboard.press("k")
    expect(panel(page).get_by_role("heading", name="It was a duplicate")).to_be_visible()
    page.keyboard.press("k")
    expect(panel(page)).to_contain_text("score: F64?")
    expect(panel(page).get_by_role("button", name="Revert")).to_be_disabled()
    page.keyboard.press("j")
    page.keyboard.press("j")
    panel(page).get_by_role("link", name="Look at this moment").click()
    expect(page.get_by_role("region", name="Travel in time")).to_contain_text(
        "A workaround is known"
    )


def test_a_commit_is_reverted_once_one_has_seen_what_that_changes(
    explorer: Explorer, open_page: Open
) -> None:
    tell_story(explorer.graph)
    page = open_page(history(explorer))
    row(page, "A workaround is known").click()
    panel(page).get_by_role("button", name="Revert").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("row").filter(has_text="Advisory")).to_contain_text("~1")
    before = len(explorer.graph.commits())
    dialog.get_by_label("Message").fill("It was a false alarm")
    assert len(explorer.graph.commits()) == before
    dialog.get_by_role("button", name="Revert it").click()
    expect(panel(page).get_by_role("heading", name="It was a false alarm")).to_be_visible()
    newest = explorer.graph.commits(limit=1)[0]
    assert (newest.kind, newest.message) == ("revert", "It was a false alarm")
    # What others have undone already is not done again.
    page.keyboard.press("x")
    row(page, "Report DEMO-2026-0002").click()
    panel(page).get_by_role("button", name="Revert").click()
    expect(dialog).to_contain_text("Nothing of it is left")
    expect(dialog.get_by_role("button", name="Revert it")).to_be_disabled()


def test_a_branch_begins_at_any_commit(explorer: Explorer, open_page: Open) -> None:
    page = open_page(history(explorer))
    row(page, "A late delivery").click()
    panel(page).get_by_role("button", name="Branch here").click()
    page.get_by_role("dialog").get_by_label("Name").fill("try/again")
    page.keyboard.press("Enter")
    expect(row(page, "try/again")).to_contain_text("A late delivery")
    assert explorer.graph.commits(branch="try/again", limit=1)[0].message == "A late delivery"


def test_thousands_of_commits_are_a_few_rows_of_the_page(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(f"{explorer.url}/explore/{GRAPH}/schema")
    commits = [
        {
            "graph_commit_id": f"C{number:05}",
            "graph_branch": "main" if number % 3 else f"b{number % 7}",
            "graph_manifest_version": number,
            "parent_commit_id": f"C{number - 1:05}" if number else None,
            "merged_parent_commit_id": f"C{number - 5:05}" if number % 9 == 8 else None,
            "actor_id": "ada",
            "created_at": "2026-11-18T02:00:00+00:00",
            "kind": "mutation",
            "message": f"Change {number}",
            "load_id": None,
        }
        for number in reversed(range(5_000))
    ]
    page.route(
        "**/calls/log",
        lambda route: route.fulfill(json={"commits": commits, "heads": {"main": "C04999"}}),
    )
    page.get_by_role("link", name="History").click()
    expect(row(page, "Change 4999")).to_be_visible()
    rows = page.get_by_role("region", name="Commits").get_by_role("listitem")
    assert rows.count() < 100
    page.get_by_role("region", name="Commits").focus()
    page.keyboard.press("End")
    expect(row(page, "Change 0")).to_be_visible()
    assert rows.count() < 100
