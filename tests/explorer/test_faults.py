"""What the page does when the server is away, is busy, refuses, or wants to know who asks."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.explorer.asking import AFFECTED, JUDGED, asked, counting, editor, write
from tests.explorer.browser import serious_findings
from tests.explorer.world import ADVISORY, BRANCH, TOKENS, Explorer
from tests.surfaces.client.served import served

pytestmark = pytest.mark.xdist_group("explorer")

Open = Callable[..., Page]
Serve = Callable[..., Explorer]
CHANGE = f'query judge() {{ update Advisory set {{ severity: "low" }} where code = "{ADVISORY}" }}'


def test_a_server_may_go_away_and_come_back_and_nothing_typed_is_lost(
    explorer: Explorer, open_page: Open
) -> None:
    with served(explorer.app) as url:
        page = open_page(f"{url}/explore{asked(AFFECTED)}", expected=("ERR_", "Failed to fetch"))
        row = page.get_by_role("button", name=ADVISORY)
        expect(row).to_be_visible()
    text = "query late() { match { $a: Advisory } return { $a.title as title } }"
    write(page, text)
    page.keyboard.press("ControlOrMeta+Enter")
    banner = page.get_by_role("alert").filter(has_text="The server can't be reached")
    expect(banner.first).to_be_visible()
    # What was shown is still there to read.
    expect(row).to_be_visible()
    assert serious_findings(page) == []
    with served(explorer.app, urlsplit(url).port or 0):
        expect(page.get_by_role("cell", name="A crafted wheel name")).to_be_visible()
        expect(banner).to_have_count(0)
        assert editor(page).inner_text().strip() == text
        page.reload()
        expect(editor(page)).to_contain_text("query late()")


def test_a_view_that_was_never_opened_waits_for_a_server_that_is_away(
    explorer: Explorer, open_page: Open
) -> None:
    with served(explorer.app) as url:
        page = open_page(f"{url}/explore{asked(AFFECTED)}", expected=("ERR_", "Failed to fetch"))
        expect(page.get_by_role("button", name=ADVISORY)).to_be_visible()
    places: list[str] = []
    page.on("framenavigated", lambda frame: places.append(frame.url))
    page.keyboard.press("ControlOrMeta+Enter")
    banner = page.get_by_role("alert").filter(has_text="The server can't be reached")
    expect(banner.first).to_be_visible()
    # The page knows already that the server is away when the files of the view don't come.
    with page.expect_event("requestfailed", lambda request: "/assets/" in request.url):
        page.get_by_role("link", name="Schema").click()
    expect(page.get_by_role("main", name="Schema")).to_contain_text("Loading")
    expect(banner.first).to_be_visible()
    with served(explorer.app, urlsplit(url).port or 0):
        expect(page.get_by_role("link", name="Package, 3,345 of them: show some")).to_be_visible()
    assert [place for place in places if not place.startswith(url)] == []


def test_rows_of_now_are_not_shown_as_those_of_an_earlier_moment(
    explorer: Explorer, open_page: Open
) -> None:
    link = f"{explorer.url}/explore{asked(JUDGED)}"
    page = open_page(link, expected=("ERR_", "Failed to fetch"))
    expect(page.get_by_role("cell", name="critical")).to_be_visible()
    for call in ("answer", "schema"):
        page.route(f"**/calls/{call}", lambda route: route.abort())
    page.keyboard.press("[")
    expect(page.get_by_role("region", name="Travel in time")).to_contain_text("as it was")
    expect(page.get_by_role("cell", name="critical")).to_have_count(0)
    expect(page.get_by_role("main")).to_contain_text("The server can't be reached")
    page.unroute_all()
    expect(page.get_by_role("cell", name="high")).to_be_visible()
    # What was asked for in vain is there too: types have their colours, and the editor its words.
    page.get_by_role("link", name="Schema").click()
    expect(page.get_by_role("main", name="Schema")).to_contain_text("Advisory")


def test_who_tries_again_after_a_fault_of_the_server_is_answered(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(explorer.address(), expected=("500",))
    fault = '{"error": "the server has a fault"}'
    page.route("**/calls/answer", lambda route: route.fulfill(status=500, body=fault), times=1)
    write(page, AFFECTED)
    page.keyboard.press("ControlOrMeta+Enter")
    trouble = page.get_by_role("alert").filter(has_text="the server has a fault")
    trouble.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name=ADVISORY)).to_be_visible()
    # A change is not made again by one click: it asks again.
    page.route("**/calls/mutate", lambda route: route.fulfill(status=500, body=fault))
    write(page, CHANGE)
    page.get_by_role("button", name="Change main").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Change main").click()
    trouble.get_by_role("button", name="Try again").click()
    expect(dialog).to_contain_text("as one commit on main")


def test_a_change_that_waits_for_a_word_is_about_one_branch(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(explorer.address())
    changes = counting(page, "mutate")
    write(page, CHANGE)
    expect(page.get_by_role("button", name="Change main")).to_be_visible()
    page.get_by_label("Branch").select_option(BRANCH)
    page.get_by_role("button", name=f"Change {BRANCH}").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"one commit on {BRANCH}")
    page.go_back()
    expect(page.get_by_role("button", name="Change main")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert changes == []


def test_a_change_whose_answer_got_lost_is_not_made_again(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(explorer.address(), expected=("ERR_", "Failed to fetch"))
    asked_for: list[str] = []

    def lose(route: Route) -> None:
        asked_for.append(route.request.url)
        route.abort()

    page.route("**/calls/mutate", lose)
    write(page, CHANGE)
    page.get_by_role("button", name="Change main").click()
    page.get_by_role("dialog").get_by_role("button", name="Change main").click()
    trouble = page.get_by_role("alert").filter(has_text="may have been made or not")
    expect(trouble).to_be_visible()
    # The server answers again at once, and everything that reads is read anew.
    expect(page.get_by_role("alert").filter(has_text="What you typed is kept")).to_have_count(0)
    expect(trouble).to_be_visible()
    assert len(asked_for) == 1


def test_a_server_that_wants_a_token_is_given_one_that_stays_out_of_the_address(
    served_demo: Serve, open_page: Open
) -> None:
    explorer = served_demo(state="policy")
    page = open_page(f"{explorer.url}/explore{asked(AFFECTED)}", expected=("401",))
    dialog = page.get_by_role("dialog", name="Who are you?")
    dialog.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("does not take the token")
    dialog.get_by_label("Token").fill(TOKENS["ada"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="ada")).to_be_visible()
    expect(dialog).to_have_count(0)
    other = open_page(explorer.address(actor="bo"))
    expect(other.get_by_role("link", name="bo")).to_be_visible()
    assert "token" not in other.url


def test_who_takes_over_a_page_sees_nothing_of_who_had_it_before(
    served_demo: Serve, open_page: Open
) -> None:
    explorer = served_demo(state="policy")
    link = f"{explorer.url}/explore{asked(JUDGED, branch=BRANCH)}"
    page = open_page(f"{link}&token={TOKENS['ada']}", expected=("401",))
    low = page.get_by_role("cell", name="low")
    expect(low).to_be_visible()
    page.get_by_role("link", name="ada").click()
    page.get_by_role("button", name="Forget it").click()
    page.get_by_label("Token").fill(TOKENS["bo"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You are bo")).to_be_visible()
    # Advisories that are not serious are hidden from bo.
    page.get_by_role("link", name="Query").click()
    expect(page.get_by_role("heading", name="No rows")).to_be_visible()
    expect(low).to_have_count(0)


def test_a_late_answer_to_an_earlier_token_asks_for_none(
    served_demo: Serve, open_page: Open
) -> None:
    explorer = served_demo(state="policy")
    page = open_page(f"{explorer.url}/explore{asked(AFFECTED)}", expected=("401",))
    dialog = page.get_by_role("dialog", name="Who are you?")
    expect(dialog).to_be_visible()
    late: list[Route] = []
    page.route("**/calls/branches", lambda route: late.append(route), times=1)
    for given in ("wrong", TOKENS["ada"]):
        dialog.get_by_label("Token").fill(given)
        page.keyboard.press("Enter")
        expect(page.get_by_text("does not take the token")).to_have_count(int(given == "wrong"))
    expect(page.get_by_role("link", name="ada")).to_be_visible()
    late[0].continue_()
    # The page asks again by itself, so any other answer to this call may come meanwhile.
    answer = late[0].request.response()
    assert answer is not None and answer.status == 401
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    expect(dialog).to_have_count(0)


def test_who_may_not_change_a_branch_is_told_so(served_demo: Serve, open_page: Open) -> None:
    explorer = served_demo(state="default_deny")
    page = open_page(explorer.address(actor="ada"), expected=("403", "404"))
    write(page, CHANGE)
    expect(page.get_by_role("button", name="Change main")).to_be_disabled()
    expect(page.get_by_text("You may not change main.")).to_be_visible()
    editor(page).press("ControlOrMeta+Enter")
    expect(page.get_by_text("You may not change main.")).to_have_count(2)
    expect(page.get_by_role("dialog")).to_have_count(0)
    # A page that does not know its rights hears it from the server.
    page.route("**/graphs/packages/me", lambda route: route.fulfill(status=404))
    page.reload()
    page.get_by_role("button", name="Change main").click()
    page.get_by_role("dialog").get_by_role("button", name="Change main").click()
    trouble = page.get_by_role("alert").filter(has_text="You may not do this")
    expect(trouble).to_be_visible()
    expect(editor(page)).to_contain_text("query judge()")


def test_a_busy_server_is_waited_for_and_the_page_says_so(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(explorer.address(), expected=("429",))
    busy = {"isOver": False}

    def first(route: Route) -> None:
        if busy["isOver"]:
            return route.continue_()
        busy["isOver"] = True
        return route.fulfill(status=429, headers={"Retry-After": "1"}, body="{}")

    page.route("**/calls/answer", first)
    # It says so for a second: too short for one who looks now and then.
    page.evaluate(
        "(told) => new MutationObserver(() => { window.isTold ||="
        " document.body.textContent.includes(told) })"
        ".observe(document.body, { childList: true, subtree: true })",
        "The server is busy and asked to wait.",
    )
    write(page, AFFECTED)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_role("button", name=ADVISORY)).to_be_visible()
    assert page.evaluate("window.isTold")
    expect(page.get_by_text("The server is busy")).to_have_count(0)


def test_a_change_that_somebody_else_was_faster_with_offers_to_reload(
    explorer: Explorer, open_page: Open
) -> None:
    page = open_page(explorer.address(), expected=("409",))
    body = '{"error": "somebody changed it", "details": {"code": "write_conflict"}}'
    page.route("**/calls/mutate", lambda route: route.fulfill(status=409, body=body))
    write(page, CHANGE)
    page.get_by_role("button", name="Change main").click()
    page.get_by_role("dialog").get_by_role("button", name="Change main").click()
    trouble = page.get_by_role("alert").filter(has_text="Something changed in the meantime")
    expect(trouble).to_contain_text("somebody changed it")
    expect(trouble.get_by_role("button", name="Reload")).to_be_visible()
    expect(editor(page)).to_contain_text("query judge()")
