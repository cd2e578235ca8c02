"""Large loads with every kind of violation, on Spark and in this process: the same is rejected.

The rows of the graph and the rules are those of `damage`.
"""

from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import ConstraintViolated, InputUnreadable
from omnigraph.pipeline.spark.session import Spark
from tests.pipeline import damage
from tests.pipeline.conftest import DEEP_ON_SPARK
from tests.pipeline.limits import LARGE
from tests.pipeline.load.test_quarantine import Held, rejected

INPUT = [
    '{"type": "Person", "data": {"name": "cyd", "phone": "2"}}',
    '{"edge": "Owns", "from": "cyd", "to": "york"}',
    "{",
    '{"type": "Person", "data": {"name": "dan", "phone": 7}}',
    '{"type": "Person", "data": {}}',
    '{"type": "Note", "id": "n1", "data": {"text": "taken"}}',
    '{"type": "Note", "id": "n2", "data": {"text": "first"}}',
    '{"type": "Note", "id": "n2", "data": {"text": "second"}}',
    '{"type": "Person", "data": {"name": "eve", "phone": "2"}}',
    '{"edge": "Owns", "from": "eve", "to": "york"}',
    '{"edge": "Knows", "from": "cyd", "to": "eve"}',
    '{"edge": "Knows", "from": "cyd", "to": "ada"}',
    '{"edge": "Knows", "from": "cyd", "to": "ada"}',
    '{"edge": "LivesIn", "from": "cyd", "to": "oslo"}',
    '{"edge": "LivesIn", "from": "cyd", "to": "york"}',
    '{"edge": "LivesIn", "from": "cyd", "to": "rome"}',
    '{"type": "Person", "data": {"name": "fay"}}',
    '{"type": "Town", "data": {}}',
]

KINDS = {
    3: "json",
    4: "type",
    5: "required",
    6: "key",
    8: "key",
    9: "unique",
    10: "endpoint",
    11: "endpoint",
    13: "unique",
    14: "endpoint",
    16: "cardinality",
    17: "cardinality",
    18: "envelope",
}


@pytest.fixture
def world(tmp_path: Path) -> Held:
    return Held(tmp_path, LARGE)


@pytest.fixture(params=["local", pytest.param("spark", marks=DEEP_ON_SPARK)])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "local":
        return {"engine": "local"}
    spark: Spark = request.getfixturevalue("spark")
    return {"engine": "spark", "spark": spark.session}


def test_every_kind_of_violation_is_found_wherever_a_load_runs(
    world: Held, options: dict[str, Any]
) -> None:
    done = world.quarantined(INPUT, "append", **options)
    found = {row["line"]: row["reasons"][0]["kind"] for row in rejected(done)}
    assert found == KINDS
    assert set(found) == damage.expected(INPUT, damage.HELD, "append").rejected
    assert done.read == len(INPUT) == done.total_entities + done.rejected


def test_a_large_merge_rejects_what_breaks_a_rule_wherever_it_runs(
    world: Held, options: dict[str, Any]
) -> None:
    lines = [INPUT[number - 1] for number in (1, 2, 6, 7, 8, 9)]
    lines += ['{"type": "Person", "data": {"name": "ada", "phone": "2"}}', lines[0]]
    model = damage.expected(lines, damage.HELD, "merge")
    done = world.quarantined(lines, "merge", **options)
    assert {row["line"] for row in rejected(done)} == model.rejected != set()
    assert done.superseded == model.superseded > 0


def test_a_report_leaves_out_what_a_broken_line_might_have_put_right(world: Held) -> None:
    with pytest.raises(InputUnreadable) as caught:
        world.load(INPUT, "append")
    kinds = {violation.kind for violation in caught.value.violations.examples}
    assert kinds == {"json", "type", "required", "envelope", "key", "unique", "cardinality"}


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_rows_that_the_graph_holds_are_never_rejected(world: Held, mode: LoadModeName) -> None:
    """A merge that moves the last edge of a source leaves nobody incoming to blame."""
    lines = [
        '{"type": "Person", "data": {"name": "cyd"}}',
        '{"edge": "Owns", "id": "o1", "from": "cyd", "to": "york"}',
    ]
    if mode == "merge":
        with pytest.raises(ConstraintViolated, match="'ada' would have 0 Owns edges"):
            world.quarantined(lines, mode)
    else:
        done = world.quarantined(lines, mode)
        assert [row["reasons"][0]["kind"] for row in rejected(done)] == ["cardinality", "key"]
