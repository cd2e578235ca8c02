import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.lang.schema.check.regex import pattern_error

PIECES = (
    *(
        "a",
        "é",
        " ",
        "-",
        "0",
        ".",
        "^",
        "$",
        "|",
        "(",
        ")",
        "(?:",
        "(?i)",
        "(?i:",
        "(?P<n>",
        "(?<m>",
    ),
    *("[", "]", "[^", "[a-z]", "[]a]", "[[:alpha:]]", "[\\]]", "[\\d-]", "[z-a]"),
    *("*", "+", "?", "{", "}", "{2}", "{2,}", "{2,3}", "{3,2}", "{1001}", "{,3}", "??", "*?"),
    *("\\d", "\\pL", "\\p{Greek}", "\\z", "\\Z", "\\b", "\\1", "\\x41", "\\x{1F600}"),
    *("\\Qa(b\\E", "\\.", "\\-", "\\_", "\\C", "\\", "\\07", "\\8", "\\k<n>", "\\h", "\\e"),
    *("(?=", "(?!", "(?<=", "(?<!", "(?>", "(?#", "(?P=n)", "(?P>n)", "(?)", "(?-s)", "(?i-U:a)"),
)


def refused_by_re2(pattern: str) -> bool:
    try:
        pc.match_substring_regex(pa.array(["a"]), pattern=pattern)
    except pa.ArrowInvalid:
        return True
    return False


@pytest.mark.parametrize("piece", PIECES)
def test_each_piece_is_judged_as_re2_judges_it(piece: str) -> None:
    assert bool(pattern_error(piece)) == refused_by_re2(piece)


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
@example("(a|b)*c{2,3}?")
def test_no_pattern_of_re2_is_refused(pattern: str) -> None:
    if not refused_by_re2(pattern):
        assert pattern_error(pattern) is None
