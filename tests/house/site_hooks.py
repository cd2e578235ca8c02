"""What mkdocs is to do besides: say nothing unless something is wrong, and fetch nothing.

`mkdocs.yml` names this file, and `--strict` makes an error of every warning.
"""

import logging
import re
from typing import Any

__all__ = ["on_page_content", "on_post_page", "on_startup"]

log = logging.getLogger("mkdocs.omnigraph")

# A reader's browser would fetch these by itself; a link is only followed by a person.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>\s]*"
    r"|<link\b[^>]*\brel=[\"']?(?:stylesheet|preconnect|icon)[^>]*\bhref=[\"']?(?:https?:)?//[^>\s]*"
)
CODE_IN_A_TABLE = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)


def on_startup(*, command: str, **_: Any) -> None:
    """`--quiet` would not count warnings either."""
    if command == "build":
        logging.getLogger("mkdocs").setLevel(logging.WARNING)


def on_page_content(html: str, **_: Any) -> str:
    r"""Within code of a table Markdown writes a bar as `\|`, and Python's Markdown keeps both."""
    return CODE_IN_A_TABLE.sub(lambda cell: cell[0].replace("\\|", "|"), html)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    for found in FETCHED.findall(output):
        log.warning("%s fetches %s", page.file.src_uri, found)
    if re.search(r"<p>```", output):
        log.warning("%s: a fence is not understood as one", page.file.src_uri)
    return output
