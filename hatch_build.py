"""The README as a package index shows it: without what leads to files that are not there.

An index renders the text alone, so a picture or a page of this repository would be a broken link.
Pictures go, and links to our own files become their words; links to other places stay.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)]*\)\n+", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?://|#)[^)]*\)")


class Readme(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": LINK.sub(r"\1", PICTURE.sub("", text)),
        }
