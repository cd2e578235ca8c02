"""What a merge looks at: as much as the two branches changed, however large the graph is."""

from pathlib import Path

import pytest

from tests.cost.metering import metered_graph
from tests.cost.test_rows_read import grow

SIZES = (1_000, 50_000)

OURS = [
    'update Person set { age: 70 } where name = "p7"',
    'insert Person { name: "ours", nick: -100, age: 1 } insert Knows { from: "ours", to: "p9" }',
]
THEIRS = [
    'update Person set { age: 80 } where name = "p8"',
    'insert Person { name: "theirs", nick: -200, age: 1 } insert Knows { from: "p9", to: "p7" }',
    'delete Person where name = "p11"',
]


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], int]:
    """Rows looked at by a merge, by its revert and by a preview, in graphs of two sizes."""
    found: dict[tuple[str, int], int] = {}
    for size in SIZES:
        place: Path = tmp_path_factory.mktemp("merge") / str(size)
        grow(place, size)
        graph, _ = metered_graph(place)
        graph.branch_create("feature")
        for branch, texts in (("main", OURS), ("feature", THEIRS)):
            for text in texts:
                graph.mutate(f"query q() {{ {text} }}", branch=branch)
        for what in ("a preview", "a merge", "a revert"):
            cold, meter = metered_graph(place)
            if what == "a revert":
                cold.revert(cold.commits(limit=1)[0])
            else:
                result = cold.branch_merge("feature", preview=what == "a preview")
                assert result.outcome == "merged" and not result.conflicts
            found[what, size] = meter.rows
    return found


@pytest.mark.parametrize("what", ["a preview", "a merge", "a revert"])
def test_a_merge_looks_at_no_more_rows_in_a_larger_graph(
    looked_at: dict[tuple[str, int], int], what: str
) -> None:
    small, large = (looked_at[what, size] for size in SIZES)
    assert large <= small + 10 and large <= 200
