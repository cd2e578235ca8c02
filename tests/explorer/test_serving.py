"""The page reaches a real browser whole, and may do there what it needs and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.explorer.browser import serious_findings, until
from tests.explorer.world import Explorer

pytestmark = pytest.mark.xdist_group("explorer")

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="icon" href="data:,"><script type="module" src="/explore/assets/main-1.js"></script>
</head><body><main><h1>Graph</h1></main><script>window.isInline = true</script></body></html>"""
SCRIPT = """
const asked = await fetch("/graphs/packages/calls/branches", {
  method: "POST", body: "{}", headers: { "Content-Type": "application/json" } });
const branches = await asked.json();
let isEvalRefused = false;
try { eval("1") } catch { isEvalRefused = true }
const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(42)"])));
worker.onmessage = (said) => { window.told = { branches, isEvalRefused, worker: said.data,
  fragment: location.hash.includes("graph=packages"), isInline: !!window.isInline } };
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A page of a few lines, built as vite builds the real one."""
    folder = tmp_path / "small"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "assets/main-1.js").write_text(SCRIPT)
    return folder


def test_a_page_runs_its_own_scripts_and_workers_and_no_others(
    served_demo: Callable[..., Explorer], open_page: Callable[..., Page], small: Path
) -> None:
    explorer = served_demo(bundle=small)
    refused = ("Content Security Policy",)
    page = open_page(explorer.address("/packages/schema"), expected=refused)
    told = until(page, "window.told")
    assert told == {
        "branches": ["main", "second-opinion", "triage/setuptools"],
        "isEvalRefused": True,
        "worker": 42,
        "fragment": True,
        "isInline": False,
    }
    assert serious_findings(page) == []
