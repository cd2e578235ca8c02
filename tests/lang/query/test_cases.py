from pathlib import Path

import pytest

from omnigraph.lang.query.codes import CODES
from tests.lang.query.cases import FOLDER, outcome
from tests.lang.schema.cases import read_case

PATHS = sorted(FOLDER.glob("*.case"))
DOCS = Path(__file__).parents[3] / "docs" / "user"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_case_comes_out_as_it_is_written(path: Path, is_blessing: bool) -> None:
    case = read_case(path)
    got = outcome(case)
    if is_blessing:
        case.sections["expect"] = got
        path.write_text(case.text, "utf-8")
    assert got == case.sections["expect"]


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_case(code: str) -> None:
    expected = [read_case(path).sections["expect"] for path in PATHS]
    assert any(
        line.startswith((f"{code} ", f"{code}:")) for text in expected for line in text.splitlines()
    )


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_documented_with_its_meaning(code: str) -> None:
    page = "lint.md" if code.startswith("L") else "query-language.md"
    text = (DOCS / page).read_text("utf-8")
    assert f"| `{code}` | {CODES[code]} |" in text
