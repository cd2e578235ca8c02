"""One browser for each worker, and for each test a server with a graph of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.explorer.browser import as_webp, chromium
from tests.explorer.world import Explorer, make_demo, serve_demo

IMAGES = Path(__file__).parents[2] / "docs/images"
SIZE: ViewportSize = {"width": 1280, "height": 800}
Scheme = Literal["light", "dark"]
OpenPage = Callable[..., Page]

# A machine that is busy with other tests is slow, not wrong.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each module, not for the run: while it is there, this thread has a running loop of
    events, and tests of others could begin none."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the demo's graph; tests get copies."""
    return make_demo(tmp_path_factory.mktemp("explored") / "demo")


@pytest.fixture
def served_demo(demo: Path, tmp_path: Path) -> Iterator[Callable[..., Explorer]]:
    """Makes a server of a state: `served_demo(state="policy")`; see `serve_demo`."""
    with ExitStack() as stack:

        def make(**how: Any) -> Explorer:
            folder = tmp_path / f"server-{len(list(tmp_path.iterdir()))}"
            return stack.enter_context(serve_demo(demo, folder, **how))

        yield make


@pytest.fixture
def explorer(served_demo: Callable[..., Explorer]) -> Explorer:
    """A server for anyone."""
    return served_demo()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens an address in a window of its own: `open_page(explorer.address(), scheme="dark")`.

    What the page says of failures in its console fails the test, but for those that contain one of
    `expected`.
    """
    said: list[str] = []
    with ExitStack() as stack:

        def open_(
            url: str,
            *,
            scheme: Scheme = "light",
            expected: tuple[str, ...] = (),
            reduced_motion: Literal["reduce", "no-preference"] = "reduce",
        ) -> Page:
            context = browser.new_context(
                color_scheme=scheme, viewport=SIZE, reduced_motion=reduced_motion
            )
            stack.callback(context.close)
            page = context.new_page()

            def tell(text: str) -> None:
                if not any(each in text for each in expected):
                    said.append(text)

            page.on("pageerror", lambda error: tell(str(error)))
            page.on("console", lambda line: tell(line.text) if line.type == "error" else None)
            page.goto(url)
            return page

        yield open_
    assert said == []


@pytest.fixture
def page(explorer: Explorer, open_page: OpenPage) -> Page:
    """The Explorer on the demo's graph, in light colours."""
    return open_page(explorer.address())


@pytest.fixture
def shot(is_blessing: bool, tmp_path: Path) -> Callable[[Page, str], Path]:
    """Takes a picture; with `--bless` it is the one of the documentation."""

    def take(page: Page, name: str) -> Path:
        path = (IMAGES if is_blessing else tmp_path) / f"explorer-{name}.webp"
        path.write_bytes(as_webp(page, page.screenshot()))
        return path

    return take
