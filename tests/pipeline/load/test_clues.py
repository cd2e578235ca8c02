"""Keys that can't break a rule do not travel, and that changes no answer."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import ConstraintViolated, KeyTaken
from omnigraph.pipeline.load.clues import hashed
from omnigraph.pipeline.local import InProcess
from tests.pipeline.limits import LARGE
from tests.pipeline.loads import World
from tests.pipeline.world import edge, node, write

# Thresholds that no load reaches, and that any load does: with and without each kind of clue.
ALL, NONE = 10**9, -1
WAYS = [(NONE, NONE), (NONE, ALL), (ALL, ALL)]
PLAIN = (ALL, NONE)

HELD = [
    node("City", code=1),
    node("Person", name="ada", phone="1"),
    edge("Owns", "ada", 1),
    node("Person", name="bob", phone="2"),
    edge("Owns", "bob", 1),
]

names = st.sampled_from(["ada", "bob", "cy", "dee", "eve"])
phones = st.sampled_from([None, "1", "2", "3"])
lines = st.one_of(
    st.builds(lambda name, phone: node("Person", name=name, phone=phone), names, phones),
    st.builds(lambda from_, to: edge("Knows", from_, to), names, names),
    st.builds(lambda from_, to: edge("Owns", from_, to), names, st.integers(1, 2)),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    # Held rows are judged in another way.
    world = World(tmp_path_factory.mktemp("clues"), InProcess(), limits=LARGE)
    world.load(*HELD)
    return world


# Each example is two whole loads.
@settings(max_examples=max(20, settings().max_examples // 10))
@given(
    rows=st.lists(lines, max_size=12),
    mode=st.sampled_from(["append", "overwrite"]),
    way=st.sampled_from(WAYS),
)
def test_a_load_is_judged_the_same_whichever_clues_are_used(
    world: World, rows: list[dict[str, Any]], mode: str, way: tuple[int, int]
) -> None:
    source = write(world.place / "in.jsonl", *rows)
    found, plain = (judged(world, source, mode, few=few, ids=ids) for few, ids in (way, PLAIN))
    assert found == plain


def judged(world: World, source: str, mode: str, *, few: int, ids: int, **limits: Any) -> object:
    world.limits = replace(LARGE, max_plain_claims=few, max_worker_ids=ids, **limits)
    try:
        world.end(world.resolve(source, mode=mode), is_published=False)
    except (ConstraintViolated, KeyTaken) as error:
        return error.to_json()
    return None


def test_when_too_much_is_repeated_every_claim_is_sent(world: World, tmp_path: Path) -> None:
    rows = [node("Person", name=f"p{n % 10}") for n in range(20)]
    source = write(tmp_path / "in.jsonl", *rows)
    found = judged(world, source, "append", few=NONE, ids=NONE, max_repeated_claims=2)
    assert found == judged(world, source, "append", few=ALL, ids=NONE)


def test_terms_of_different_rules_do_not_meet() -> None:
    terms = pa.array([f"t{n}" for n in range(1000)])
    both = np.concatenate([hashed(terms, rule=1), hashed(terms, rule=2)])
    assert len(np.unique(both)) == 2000
    assert np.array_equal(hashed(terms, rule=1), hashed(pa.chunked_array([terms]), rule=1))
