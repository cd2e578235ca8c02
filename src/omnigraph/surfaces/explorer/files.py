"""The built files of the Explorer's page, as a server sends them.

Files below `assets/` have a digest of themselves in their names, so a browser may keep them for
ever. Every other path is one of the page's own: the page is sent, and reads it.
"""

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from omnigraph.base.frozen import frozen

__all__ = ["BUNDLE", "Bundle", "BundleFile"]

BUNDLE = Path(__file__).with_name("bundle")
PAGE = "index.html"
ASSETS = "assets/"
# The types of what vite writes; the machine's own table may lack one, or say another.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
OTHER = "application/octet-stream"
PACKED = frozenset({".png", ".woff2", ".ico"})
"""They are packed already."""


@frozen
class BundleFile:
    body: bytes
    media_type: str
    etag: str
    is_immutable: bool
    """True if another version of it has another name."""
    may_be_packed: bool


class Bundle:
    """The files of a directory, read once, when the first of them is asked for."""

    def __init__(self, directory: Path = BUNDLE) -> None:
        self._directory = directory
        self._files: Mapping[str, BundleFile] | None = None
        self._lock = threading.Lock()

    def file(self, path: str) -> BundleFile | None:
        """The file at a path below `/explore/`, the page for a path of its own; None: there is no
        such asset, or nothing was built."""
        found = self._all().get(path)
        if found is None and not path.startswith(ASSETS):
            found = self._all().get(PAGE)
        return found

    @property
    def is_built(self) -> bool:
        return PAGE in self._all()

    def _all(self) -> Mapping[str, BundleFile]:
        with self._lock:
            if self._files is None:
                self._files = {
                    path.relative_to(self._directory).as_posix(): _read(path, self._directory)
                    for path in sorted(self._directory.rglob("*"))
                    if path.is_file()
                }
            return self._files


def _read(path: Path, directory: Path) -> BundleFile:
    body, name = path.read_bytes(), PurePosixPath(path.relative_to(directory).as_posix())
    return BundleFile(
        body=body,
        media_type=TYPES.get(name.suffix, OTHER),
        etag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        is_immutable=str(name).startswith(ASSETS),
        may_be_packed=name.suffix not in PACKED,
    )
