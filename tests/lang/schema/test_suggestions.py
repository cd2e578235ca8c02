import pytest

from omnigraph.base.nearest import nearest

KNOWN = ("Person", "Company", "Paper", "knows")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Persn", "Person"),
        ("Persson", "Person"),
        ("Parson", "Person"),
        ("Presno", None),
        ("Pesron", "Person"),
        ("person", "Person"),
        ("Knows", "knows"),
        ("know", "knows"),
        ("Person", None),
        ("Compnay", "Company"),
        ("Companies", None),
        ("Dog", None),
        ("", None),
    ],
)
def test_a_slip_is_recognised_and_another_word_is_not(written: str, meant: str | None) -> None:
    assert nearest(written, KNOWN) == meant


def test_of_two_equally_near_names_the_first_is_suggested() -> None:
    assert nearest("cat", ("hat", "bat")) == "bat"
