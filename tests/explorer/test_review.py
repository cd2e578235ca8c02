"""A person sees what a branch would change, settles what is disputed, and merges it in the page."""

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.explorer.browser import serious_findings
from tests.explorer.story import (
    AGENT,
    DISPUTED,
    OTHER,
    change_schema,
    dispute,
    judge,
    tell_story,
)
from tests.explorer.world import ADVISORY, BRANCH, GRAPH, TOKENS, Explorer
from tests.surfaces.client.served import served

pytestmark = pytest.mark.xdist_group("explorer")

Open = Callable[..., Page]
Serve = Callable[..., Explorer]
Shot = Callable[..., object]
REFUSED = ("Failed to load resource",)


def review(explorer: Explorer, source: str, **params: str) -> str:
    """A link to a review, as a person would send it."""
    return f"{explorer.url}/explore/{GRAPH}/review#{urlencode({'source': source, **params})}"


def merge_button(page: Page) -> Locator:
    return page.get_by_role("button", name="Merge ", exact=False)


def side(page: Page, entity: str, take: str) -> Locator:
    """The choice of a side in the conflict about an entity."""
    return page.get_by_role("listitem").filter(has_text=entity).locator(f"input[value={take}]")


def section(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


def severity(explorer: Explorer) -> object:
    query = (
        "query q($a: String) { match { $x: Advisory { code: $a } } return { $x.severity as s } }"
    )
    return explorer.graph.query(query, params={"a": ADVISORY}).to_pylist()[0]["s"]


def test_the_work_of_an_agent_is_reviewed_and_merged(
    explorer: Explorer, open_page: Open, shot: Shot
) -> None:
    tell_story(explorer.graph)
    page = open_page(f"{explorer.url}/explore/{GRAPH}/review")
    branches = page.get_by_role("listitem").filter(has_text=AGENT)
    expect(branches).to_contain_text("5 commits that main does not have")
    branches.get_by_role("link", name="Review").click()

    # The summary first, then everything, entity by entity.
    expect(section(page, "Summary")).to_contain_text("5 commits by agent")
    expect(section(page, "Summary")).to_contain_text("7 entities of 3 types: 4 new, 3 changed")
    changes = section(page, "What it changed")
    expect(changes.get_by_role("listitem")).to_have_count(7)
    renamed = changes.get_by_role("listitem").filter(has_text=OTHER)
    expect(renamed).to_contain_text(
        "A cache is readable by everybody → A cache is readable by its group"
    )
    expect(page.locator("#review-reason")).to_have_text("2 conflicts are not settled")
    shot(page, "review-light")
    section(page, "Summary").get_by_role("button", name="2 new of Advisory").click()
    expect(changes.get_by_role("listitem")).to_have_count(2)
    assert "type=Advisory&op=insert" in page.url
    changes.get_by_role("button", name="Show all").click()
    expect(section(page, "Commits of the branch").get_by_role("listitem")).to_have_count(5)

    # Two conflicts keep it from being merged.
    expect(merge_button(page)).to_be_disabled()
    expect(page.locator("#review-reason")).to_have_text("2 conflicts are not settled")
    side(page, ADVISORY, "theirs").check()
    expect(page.locator("#review-reason")).to_have_text("1 conflict is not settled")
    side(page, OTHER, "ours").check()
    expect(page.get_by_text("All conflicts are settled")).to_be_visible()
    page.get_by_label("Comment").fill("The agent is right.\nI asked upstream.")
    assert serious_findings(page) == []
    merge_button(page).click()

    done = page.get_by_role("status").filter(has_text="main has the work of agent/triage")
    expect(done).to_be_visible()
    # The choices stay as they were made, and can't be made again.
    conflicts = section(page, "Conflicts")
    expect(conflicts).to_contain_text("2 of 2 conflicts settled")
    expect(conflicts.locator("[data-conflict=open]")).to_have_count(0)
    expect(side(page, ADVISORY, "theirs")).to_be_checked()
    expect(side(page, OTHER, "ours")).to_be_disabled()
    assert severity(explorer) == "low"
    merged = explorer.graph.commits(limit=1)[0]
    assert merged.message == "The agent is right.\nI asked upstream."
    done.get_by_role("button", name=f"Delete the branch {AGENT}").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete it").click()
    expect(done).to_contain_text("is deleted")
    assert AGENT not in explorer.graph.branches()
    done.get_by_role("link", name="See the commit in the history").click()
    panel = section(page, "Commit").last
    expect(panel.get_by_role("heading", name="The agent is right.")).to_be_visible()
    expect(panel).to_contain_text("I asked upstream.")
    expect(panel).to_contain_text("DEMO-2026-0003")


def test_a_review_is_done_with_the_keyboard_alone(explorer: Explorer, open_page: Open) -> None:
    page = open_page(review(explorer, BRANCH))
    expect(page.get_by_text("1 conflict is not settled").first).to_be_visible()
    page.keyboard.press("n")
    page.keyboard.press("1")
    expect(merge_button(page)).to_be_enabled()
    page.keyboard.press("m")
    page.keyboard.type("By hand")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_role("status").filter(has_text="main has the work of")).to_be_visible()
    assert severity(explorer) == "critical"
    assert explorer.graph.commits(limit=1)[0].message == "By hand"


def test_a_branch_that_moves_under_a_review_is_told_and_choices_are_kept(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(review(explorer, BRANCH), expected=REFUSED)
    side(page, ADVISORY, "theirs").check()
    page.get_by_label("Comment").fill("Checked twice")
    expect(merge_button(page)).to_be_enabled()
    # The page has looked at the branches a while ago, and does not soon again.
    with page.expect_response("**/calls/log"):
        page.evaluate("dispatchEvent(new Event('focus'))")
    page.route("**/calls/log", lambda _: None)
    judge(explorer.graph, "main", "ada", "medium", "On second thoughts")
    merge_button(page).click()
    moved = page.get_by_role("alert").filter(has_text="moved since you opened this review")
    expect(moved).to_be_visible()
    expect(merge_button(page)).to_be_disabled()
    assert severity(explorer) == "medium"
    moved.get_by_role("button", name="Reload the review").click()
    expect(moved).to_have_count(0)
    expect(section(page, "Conflicts")).to_contain_text("medium")
    expect(side(page, ADVISORY, "theirs")).to_be_checked()
    expect(page.get_by_label("Comment")).to_have_value("Checked twice")
    expect(merge_button(page)).to_be_enabled()
    page.unroute_all()
    # The page also looks by itself, when somebody comes back to it.
    judge(explorer.graph, BRANCH, "demo", "unknown", "I don't know")
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(moved).to_contain_text(BRANCH)
    page.reload()
    expect(side(page, ADVISORY, "theirs")).to_be_checked()
    merge_button(page).click()
    expect(page.get_by_role("status").filter(has_text="main has the work of")).to_be_visible()
    assert severity(explorer) == "unknown"


def test_a_branch_that_is_deleted_under_a_review_is_told(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(review(explorer, BRANCH), expected=REFUSED)
    side(page, ADVISORY, "theirs").check()
    expect(merge_button(page)).to_be_enabled()
    explorer.graph.branch_delete(BRANCH)
    page.evaluate("dispatchEvent(new Event('focus'))")
    told = page.get_by_role("alert").filter(has_text=f"{BRANCH} was deleted")
    expect(merge_button(page)).to_be_disabled()
    told.get_by_role("link", name="All branches").click()
    expect(page.get_by_role("heading", name="Branches to review")).to_be_visible()
    expect(page.get_by_role("link", name=BRANCH)).to_have_count(0)


def test_a_choice_that_brought_up_a_conflict_can_be_taken_back(
    explorer: Explorer, open_page: Open
) -> None:
    dispute(explorer.graph)
    page = open_page(review(explorer, DISPUTED))
    conflicts, merge = section(page, "Conflicts"), merge_button(page)
    # A number that a float can't hold, and a line break at the end of a text.
    package = conflicts.get_by_role("listitem").filter(has_text="size_kib")
    expect(package).to_contain_text(f"{2**53 + 5}")
    note = section(page, "What it changed").get_by_label("Lines of note before and after")
    expect(note).to_contain_text("added:")
    for conflict in ("size_kib", "note"):
        side(page, conflict, "theirs").check()
    deleted, claimed = "One deleted this row", "Two entities claim one value"
    side(page, deleted, "theirs").check()
    expect(conflicts).to_contain_text("Your choices brought this up.")
    expect(conflicts).to_contain_text(f"'{OTHER}' and '{ADVISORY}' have the same title")
    expect(conflicts).to_contain_text("3 of 4 conflicts settled.")

    # A choice that takes back the other one settles nothing, and says so.
    side(page, claimed, "ours").check()
    expect(conflicts).to_contain_text("This choice goes against another of yours.")
    expect(merge).to_be_disabled()
    side(page, claimed, "theirs").check()
    expect(merge).to_be_enabled()
    side(page, deleted, "ours").check()
    expect(conflicts).to_contain_text("3 of 3 conflicts settled.")
    expect(merge).to_be_enabled()
    merge.click()
    expect(page.get_by_text("See the commit in the history")).to_be_visible()
    entity = explorer.graph.entity("node", "Package", "python3-yaml")
    assert entity.properties["size_kib"] == 2**53 + 5
    assert entity.properties["note"] == "one\ntwo\n"
    titles = explorer.graph.query("query q() { match { $a: Advisory } return { $a.code as c } }")
    assert [row["c"] for row in titles.to_pylist()] == [OTHER]


def test_who_may_not_merge_is_told_so_and_sees_only_what_is_theirs(
    served_demo: Serve, open_page: Open
) -> None:
    explorer = served_demo(state="policy")
    page = open_page(f"{review(explorer, BRANCH)}&token={TOKENS['ada']}", expected=REFUSED)
    expect(merge_button(page)).to_be_disabled()
    expect(page.locator("#review-reason")).to_contain_text("the policy denies branch_merge")
    expect(section(page, "What it changed")).to_contain_text(ADVISORY)
    # Who does not see all rows can't judge a merge; they see the changes of those that they see.
    other = open_page(f"{review(explorer, BRANCH)}&token={TOKENS['bo']}", expected=REFUSED)
    expect(section(other, "What it changed")).to_contain_text("see the advisory")
    expect(other.get_by_role("alert")).to_contain_text("not all of its rows may be written")
    expect(merge_button(other)).to_have_count(0)
    assert "low" not in other.locator("main").inner_text()


def test_a_busy_server_and_one_that_goes_away_lose_nothing(
    explorer: Explorer, open_page: Open
) -> None:
    with served(explorer.app) as url:
        page = open_page(
            review(explorer, BRANCH).replace(explorer.url, url),
            expected=(*REFUSED, "ERR_", "Failed to fetch"),
        )
        side(page, ADVISORY, "theirs").check()
        page.get_by_label("Comment").fill("Patience")
        expect(merge_button(page)).to_be_enabled()
    merge_button(page).click()
    expect(page.get_by_text("The server can't be reached").first).to_be_visible()
    expect(page.get_by_label("Comment")).to_have_value("Patience")
    asked: list[int] = []

    def busy(route: Route) -> None:
        asked.append(1)
        if len(asked) == 1:
            route.fulfill(status=429, headers={"Retry-After": "0"}, body="{}")
        else:
            route.continue_()

    page.route("**/calls/branch_merge", busy)
    # What is read stands still, though the server has something newer to say when it is back.
    judge(explorer.graph, "main", "ada", "medium", "While nobody looked")
    with served(explorer.app, urlsplit(url).port or 0):
        moved = page.get_by_role("alert").filter(has_text="moved since you opened this review")
        expect(moved).to_be_visible()
        expect(section(page, "Conflicts")).not_to_contain_text("medium")
        moved.get_by_role("button", name="Reload the review").click()
        expect(section(page, "Conflicts")).to_contain_text("medium")
        expect(merge_button(page)).to_be_enabled()
        merge_button(page).click()
        expect(page.get_by_role("status").filter(has_text="main has the work of")).to_be_visible()
    assert len(asked) == 2
    assert severity(explorer) == "low"


def test_another_schema_is_shown_apart(explorer: Explorer, open_page: Open, shot: Shot) -> None:
    tell_story(explorer.graph)
    change_schema(explorer.graph)
    page = open_page(review(explorer, AGENT), scheme="dark")
    expect(section(page, "Schema")).to_contain_text("added: ")
    expect(section(page, "Schema")).to_contain_text("score: F64?")
    side(page, ADVISORY, "theirs").check()
    expect(page.locator("#review-reason")).to_have_text("1 conflict is not settled")
    page.get_by_label("Comment").fill("The agent is right about the first one.")
    assert serious_findings(page) == []
    shot(page, "review-dark")


def test_branches_are_made_and_deleted_in_the_page(explorer: Explorer, open_page: Open) -> None:
    page = open_page(f"{explorer.url}/explore/{GRAPH}/review", expected=REFUSED)
    page.get_by_role("button", name="New branch").click()
    dialog = page.get_by_role("dialog", name="A new branch")
    dialog.get_by_label("Name").fill("notes/summer")
    explorer.graph.branch_create("notes/summer")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("notes/summer")
    dialog.get_by_label("Name").fill("notes/autumn")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    assert "notes/autumn" in explorer.graph.branches()
    page.get_by_role("button", name="Delete notes/autumn").click()
    expect(page.get_by_role("dialog")).to_contain_text("nothing is lost")
    page.get_by_role("dialog").get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("button", name="Delete notes/autumn")).to_have_count(0)
    assert "notes/autumn" not in explorer.graph.branches()
    page.get_by_role("button", name=f"Delete {BRANCH}").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 commits of it are on no other branch")
    page.get_by_role("dialog").get_by_role("button", name="Keep it").click()
    assert BRANCH in explorer.graph.branches()
