"""The page on changing a graph is true: what it shows happens."""

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/user/mutations.md"


def test_the_examples_of_the_page_do_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 3
    page = doctest.DocTestParser().get_doctest("".join(blocks), {}, PAGE.name, str(PAGE), 0)
    told: list[str] = []
    outcome = doctest.DocTestRunner().run(page, out=told.append)
    assert outcome.failed == 0, "".join(told)
