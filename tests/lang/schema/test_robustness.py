import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.base.errors import LanguageError, LimitExceeded, OmnigraphError, ParseFailed
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.codes import MAX_FINDINGS
from omnigraph.lang.schema.text.format import format_schema
from omnigraph.lang.source import MAX_SOURCE_BYTES, check_size, decode_source

HOSTILE = {
    "deep brackets": "node A { a: " + "[" * 20_000,
    "deep braces": "node A " + "{" * 20_000 + "}" * 20_000,
    "deep parentheses": "node A { @x(" + "(" * 20_000,
    "declarations in each other": "node A {" * 5_000,
    "a line of a megabyte": "node A { a: String " + "@x " * 20_000 + " " * 1_000_000 + "}}",
    "a name of a megabyte": f"node {'A' * 1_000_000} {{ b: Nope }}",
    "NUL bytes": "\0" * 100_000,
    "open comments": "/*" * 20_000,
    "open texts": '"abc\n' * 20_000,
    "quotes": '"' * 20_001,
    "a deep pattern": f'node A {{ a: String @check("{"(" * 50_000}") }}',
    "unknown names": "".join(
        f"edge E{i}: Nod{i} -> Nod{i}\nnode Node{i} {{}}\n" for i in range(1_000)
    ),
    "a lone surrogate": 'node A { a: String @default("\ud800") } // \udfff',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_is_refused_in_a_few_short_findings(text: str) -> None:
    with pytest.raises(LanguageError) as caught:
        compile_schema(SourceText(text))
    assert 1 <= len(caught.value.diagnostics) <= MAX_FINDINGS
    assert len(caught.value.render()) < 100_000
    caught.value.render().encode()


def test_thousands_of_declarations_compile() -> None:
    text = "".join(
        f"node N{i} {{ k: String @key }}\nedge E{i}: N{i} -> N0 {{ since: Date? }}\n"
        for i in range(1_000)
    )
    assert len(compile_schema(SourceText(text)).entities) == 2_000
    assert format_schema(SourceText(text)).count("since") == 1_000


def test_an_error_crosses_a_process_boundary() -> None:
    with pytest.raises(OmnigraphError) as caught:
        compile_schema(SourceText("node a {", "x.pg"))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.render() == caught.value.render()


def test_bytes_that_are_no_utf8_are_pointed_at() -> None:
    with pytest.raises(ParseFailed) as caught:
        decode_source("node Ä {}\nnode B { ".encode() + b"\xff }", "bad.pg", code="S000")
    (finding,) = caught.value.diagnostics
    assert (finding.code, finding.span.line, finding.span.column) == ("S000", 2, 10)
    assert "byte 20" in finding.message


def test_another_encoding_is_recognised() -> None:
    with pytest.raises(ParseFailed) as caught:
        decode_source("node A {}".encode("utf-16"), "wide.gq", code="Q000")
    assert "UTF-16" in str(caught.value.hint)


def test_a_byte_order_mark_moves_no_column() -> None:
    for source in (
        decode_source(b"\xef\xbb\xbfnode A { x: Nope }", "a.pg", code="S000"),
        SourceText("\ufeffnode A { x: Nope }"),
    ):
        with pytest.raises(LanguageError) as caught:
            compile_schema(source)
        assert caught.value.diagnostics[0].span.column == 13


def test_a_text_of_many_megabytes_is_refused_unread() -> None:
    data = b" " * (MAX_SOURCE_BYTES + 1)
    with pytest.raises(LimitExceeded):
        decode_source(data, "big.pg", code="S000")
    with pytest.raises(LimitExceeded):
        check_size(SourceText(data.decode()))


def test_importing_the_compiler_builds_no_grammar() -> None:
    code = (
        "import sys, omnigraph.lang.schema.check.check, omnigraph.lang.schema.text.format;"
        "sys.exit(any(name in sys.modules for name in ('lark', 'pyarrow', 'lance', 'pyspark')))"
    )
    source = Path(compile_schema.__code__.co_filename).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == 0
