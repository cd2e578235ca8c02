"""Walks under a policy: after every kind of write, each actor has the graph without the hidden.

`--deep` takes more and longer walks, and asks all questions after each step.
"""

from contextlib import closing
from pathlib import Path

import pytest

from tests.model.test_walks import seeds
from tests.policy.walks.walk import Walk

STEPS, MORE_STEPS = 8, 16
SHARE = 0.15
"""Of what can be asked after each step; with `--deep`, all of it."""


@pytest.mark.parametrize("seed", seeds(3, 40, 400))
def test_whatever_is_written_an_actor_has_the_graph_without_what_is_hidden(
    tmp_path: Path, seed: int, request: pytest.FixtureRequest
) -> None:
    is_deep = bool(request.config.getoption("--deep"))
    with closing(Walk(tmp_path, seed)) as walk:
        for _ in range(MORE_STEPS if is_deep else STEPS):
            try:
                walk.step()
                walk.compare(share=1 if is_deep else SHARE)
            except AssertionError as failed:
                raise AssertionError(walk.told()) from failed
