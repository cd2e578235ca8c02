import re
from pathlib import Path

import pytest

from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.query.text.format import format_source
from omnigraph.lang.query.text.parser import parse
from omnigraph.lang.schema.check.check import compile_schema
from tests.lang.query.cases import FOLDER

PAGE = Path(__file__).parents[3] / "docs" / "user" / "query-language.md"
# The second may be laid out in another way than the formatter's.
EXAMPLES, LOOSE = (
    re.findall(rf"^```{fence}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for fence in ("gq", 'gq title="as you like"')
)
CATALOG = compile_schema(SourceText((FOLDER / "schema.pg").read_text("utf-8")))


@pytest.mark.parametrize("example", EXAMPLES + LOOSE, ids=lambda text: text.split("(")[0])
def test_an_example_of_the_page_compiles_and_is_well_written(example: str) -> None:
    source = SourceText(example)
    for query in parse(source).queries:
        compile_query(source, CATALOG, query.header.name.text)
    assert (format_source(source) == example) is (example in EXAMPLES)
