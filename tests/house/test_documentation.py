"""What must be documented is documented."""

import re
import shlex
from pathlib import Path
from typing import Any

import typer
import typer.main

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.picture.drawing import schema_svg
from omnigraph.surfaces.cli.app import command_tree
from tests.house.reading import FENCE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The page about the configuration makes this alias.
ALIASES = {"recent"}


def test_the_picture_of_the_sample_schema_is_the_one_that_is_drawn_today() -> None:
    sample = ROOT / "src/omnigraph/surfaces/cli/sample/schema.pg"
    drawn = schema_svg(compile_schema(SourceText(sample.read_text())))
    assert (ROOT / "docs/images/sample-schema.svg").read_text() == drawn


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_first_page_leads_to_every_page_of_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    pages = set(re.findall(r"[\w./-]+\.md", nav))
    index = (ROOT / "docs/index.md").read_text()
    # Decisions are linked from the pages that they explain.
    listed = {page for page in pages if not page.startswith("decisions/")} - {"index.md"}
    assert len(listed) > 40
    assert listed - set(re.findall(r"\]\(([^)#]+\.md)", index)) == set()


def test_every_command_that_a_page_mentions_is_one_of_the_program() -> None:
    """What stands in a block is run. In a sentence a command may be a part of one."""
    root: Any = typer.main.get_command(command_tree())
    mentions = [
        (page, mention.replace("\\|", "|"))
        for page in PAGES
        for mention in re.findall(r"`omnigraph (\w[^`…]*)`", FENCE.sub("", page.read_text()))
    ]
    assert len(mentions) > 50
    for page, mention in mentions:
        words, command = shlex.split(mention), root
        if words[0] in ALIASES:
            continue
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, f"{page.name}: omnigraph {mention}"
            command = command.commands[words.pop(0)]
        try:
            command.make_context("omnigraph", words)
        except typer.BadParameter as error:
            is_a_part = type(error).__name__ == "MissingParameter"
            assert is_a_part and page.name != "cli.md", f"{page.name}: omnigraph {mention}"
