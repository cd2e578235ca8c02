"""What the page does when the server is away, is busy, refuses, or wants to know who asks."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.explorer.asking import AFFECTED, asked, editor, write
from tests.explorer.browser import serious_findings
from tests.explorer.world import ADVISORY, TOKENS, Explorer
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
    write(page, AFFECTED)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_text("The server is busy and asked to wait.")).to_be_visible()
    expect(page.get_by_role("button", name=ADVISORY)).to_be_visible()
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
