"""What must be documented is documented."""

import re
from pathlib import Path

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.picture.drawing import schema_svg

ROOT = Path(__file__).parents[2]


def test_the_picture_of_the_sample_schema_is_the_one_that_is_drawn_today() -> None:
    sample = ROOT / "src/omnigraph/surfaces/cli/sample/schema.pg"
    drawn = schema_svg(compile_schema(SourceText(sample.read_text())))
    assert (ROOT / "docs/images/sample-schema.svg").read_text() == drawn


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"
