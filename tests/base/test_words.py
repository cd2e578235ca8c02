import pytest

from omnigraph.base.words import amount


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "node", "0 nodes"),
        (1, "node", "1 node"),
        (2, "Knows edge", "2 Knows edges"),
        (1, "entity", "1 entity"),
        (2_000, "entity", "2,000 entities"),
    ],
)
def test_a_number_and_its_noun_agree(count: int, noun: str, text: str) -> None:
    assert amount(count, noun) == text
