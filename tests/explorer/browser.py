"""Chromium as Debian brings it, and what a test wants to know of a page in it."""

import base64
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.processes import PATIENCE_S

__all__ = ["as_webp", "chromium", "find_chromium", "serious_findings", "until"]

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "the tests of the Explorer need Chromium: apt-get install chromium"
# A container has no place for a sandbox, and little shared memory. Fonts and colours of the machine
# would make pictures differ. A key scrolls at once: on a busy machine
# Chromium sometimes ends a smooth scroll before it has moved.
FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--disable-smooth-scrolling",
)
SERIOUS = ("serious", "critical")


def find_chromium() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found is not None, MISSING
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def until(page: Page, expression: str) -> Any:
    """The value of an expression once it is true. `wait_for_function` needs `eval`, which the
    policy of the page forbids."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := page.evaluate(expression)):
        assert time.monotonic() < deadline_s, f"never true: {expression}"
        page.wait_for_timeout(25)
    return found


PACK = """async (png) => {
  const bytes = Uint8Array.from(atob(png), (each) => each.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = Object.assign(document.createElement("canvas"), {
    width: picture.width, height: picture.height });
  canvas.getContext("2d").drawImage(picture, 0, 0);
  return canvas.toDataURL("image/webp", 0.9).split(",")[1];
}"""


def as_webp(page: Page, png: bytes) -> bytes:
    """A picture in a third of its bytes; the browser has the encoder that we lack."""
    return base64.b64decode(page.evaluate(PACK, base64.b64encode(png).decode()))


def serious_findings(page: Page) -> list[str]:
    """What axe says that would keep people out: the rule, and the elements that break it."""
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {rule['help']}: {', '.join(str(n['target']) for n in rule['nodes'][:5])}"
        for rule in found
        if rule["impact"] in SERIOUS
    ]
