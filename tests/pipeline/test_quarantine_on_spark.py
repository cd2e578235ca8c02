"""Every kind of violation, on Spark and in this process, in every mode: the same rows are rejected.

The rows of the graph and the rules are those of `damage`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import ConstraintViolated, InputUnreadable
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline import load as load_module
from omnigraph.pipeline.session import Spark
from tests.pipeline import damage
from tests.pipeline.conftest import ON_SPARK
from tests.pipeline.test_quarantine import Held, rejected

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
    return Held(tmp_path)


@pytest.fixture(params=["local", pytest.param("spark", marks=ON_SPARK)])
def options(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(load_module, "SMALL_BYTES", -1)
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
    with pytest.raises(InputUnreadable) as caught:
        world.load(INPUT, "append", **options)
    kinds = {violation.kind for violation in caught.value.violations.examples}
    # Of rules over many rows, those that a broken line could not have satisfied.
    assert kinds == {"json", "type", "required", "envelope", "key", "unique", "cardinality"}


@pytest.mark.parametrize("mode", ["merge", "overwrite"])
def test_other_modes_reject_what_their_image_of_the_graph_does_not_allow(
    world: Held, options: dict[str, Any], mode: str
) -> None:
    lines = [line for line in INPUT if "york" not in line] if mode == "overwrite" else INPUT
    lines = [*lines, *(damage.HELD if mode == "overwrite" else [])]
    model = damage.expected(lines, damage.HELD, mode)
    done = world.quarantined(lines, mode, **options)
    assert not model.is_hopeless
    assert {row["line"] for row in rejected(done)} == model.rejected
    assert done.superseded == model.superseded


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_rows_that_the_graph_holds_are_never_rejected(
    world: Held, options: dict[str, Any], mode: str
) -> None:
    """A merge that moves the last edge of a source leaves nobody incoming to blame."""
    moved = '{"edge": "Owns", "id": "o1", "from": "bob", "to": "york"}'
    if mode == "append":
        done = world.quarantined([moved], mode, **options)
        assert [row["reasons"][0]["kind"] for row in rejected(done)] == ["key"]
        return
    with pytest.raises(ConstraintViolated, match="ada"):
        world.quarantined([moved.replace("bob", "cyd"), *CYD], mode, **options)


CYD = ['{"type": "Person", "data": {"name": "cyd"}}']


def read_report(done: LoadResult) -> Any:
    assert done.quarantine is not None
    return json.loads((Path(done.quarantine) / "report.json").read_text())
