import re
from pathlib import Path

import pytest

from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.codes import SCHEMA_CODES, SCHEMA_WARNINGS
from omnigraph.lang.schema.migrate.steps import MIGRATION_CODES
from tests.lang.schema.cases import FOLDER, outcome, read_case

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


@pytest.mark.parametrize("code", [*SCHEMA_CODES, *SCHEMA_WARNINGS, *MIGRATION_CODES])
def test_every_code_has_a_case(code: str) -> None:
    assert any(
        line.startswith(f"{code} ") or f"{code}]" in line
        for path in PATHS
        for line in read_case(path).sections["expect"].splitlines()
    )


@pytest.mark.parametrize(
    ("page", "codes"),
    [("schema-language.md", SCHEMA_CODES | SCHEMA_WARNINGS), ("migrations.md", MIGRATION_CODES)],
)
def test_the_page_shows_every_code_with_its_meaning(page: str, codes: dict[str, str]) -> None:
    text = (DOCS / page).read_text("utf-8")
    missing = [code for code, meaning in codes.items() if f"| `{code}` | {meaning} |" not in text]
    assert not missing


@pytest.mark.parametrize("page", ["schema-language.md", "migrations.md"])
def test_every_example_of_a_page_compiles(page: str) -> None:
    examples = re.findall(r"```pg\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        compile_schema(SourceText(example, page))
