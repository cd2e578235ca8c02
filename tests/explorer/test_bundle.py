"""The built page lies beside its sources, is made of them, and is small."""

import gzip
import hashlib
from pathlib import Path

from omnigraph.surfaces.explorer.files import BUNDLE

WEB = Path(__file__).parents[2] / "web"
SINGLE = ("index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json")
MAX_PACKED_BYTES = 300_000
STALE = "the built page is not made of web/ as it is: run make web, and check in what it builds"


def digest_of_sources() -> str:
    """As web/vite.config.ts notes it."""
    files = [*(WEB / name for name in SINGLE), *(WEB / "src").rglob("*")]
    paths = sorted(file.relative_to(WEB).as_posix() for file in files if file.is_file())
    found = hashlib.sha256()
    for path in paths:
        found.update(path.encode() + b"\0" + (WEB / path).read_bytes() + b"\0")
    return found.hexdigest()


def test_the_built_page_is_that_of_the_sources() -> None:
    assert (BUNDLE / "sources.sha256").read_text().strip() == digest_of_sources(), STALE


def test_the_built_page_is_small_and_asks_nobody_else() -> None:
    files = [file for file in BUNDLE.rglob("*") if file.suffix in (".html", ".js", ".css", ".svg")]
    packed = sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)
    assert 0 < packed <= MAX_PACKED_BYTES, f"{packed:,} bytes"
    page = (BUNDLE / "index.html").read_text()
    assert "://" not in page.replace("http://www.w3.org/", ""), "a page loads nothing of others"
