"""Real deaths: a process killed while it writes or recovers, and what the next one finds."""

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL

import pytest

from omnigraph.base.failpoints import NEVER, Failpoint
from omnigraph.store.layout import RECOVERY
from omnigraph.write.recover import recover_all
from tests.crash.dying import SCENARIOS, die_for_real, die_in_recovery, graph_of
from tests.crash.test_crash import assert_settled, assert_writable
from tests.store_contract.builders import changes, contents, open_store, people, put

WHOLE = [(scenario, point) for scenario in SCENARIOS for point in Failpoint]
# Every scenario at least once, each next one at another point; every pair of them with --deep, and
# always in `test_crash`, where nobody is killed for real.
SAMPLE = WHOLE[:: len(Failpoint) - 1]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"scenario", "point"} <= set(metafunc.fixturenames):
        is_deep = metafunc.config.getoption("--deep")
        metafunc.parametrize(("scenario", "point"), WHOLE if is_deep else SAMPLE)


def killed(target: Callable[..., None], *arguments: object, **options: object) -> bool:
    """Run something in a process of its own; True if it was killed."""
    child = get_context("spawn").Process(target=target, args=arguments, kwargs=options)
    child.start()
    child.join()
    assert child.exitcode in (0, -SIGKILL)
    return child.exitcode == -SIGKILL


def test_a_killed_process_leaves_the_old_commit_or_the_new_one(
    tmp_path: Path, scenario: str, point: Failpoint
) -> None:
    expected = SCENARIOS[scenario]
    live = expected.graph(tmp_path)
    assert killed(die_for_real, str(tmp_path), scenario, point)
    # Nobody opens it anew: a process that was here all along heals it by its next write.
    graph_of(live, NEVER).mutate(
        'query q() { delete Person where name = "nobody" }', branch=expected.branch
    )
    assert_settled(live, expected, point)
    assert contents(open_store(tmp_path), expected.branch) == contents(live, expected.branch)
    assert_writable(open_store(tmp_path), expected.branch)


@pytest.mark.parametrize("steps", [2, 4])
def test_a_recovery_killed_as_well_is_finished_by_the_next(tmp_path: Path, steps: int) -> None:
    expected = SCENARIOS["an edit of main"]
    expected.graph(tmp_path)
    assert killed(die_for_real, str(tmp_path), "an edit of main", Failpoint.AFTER_LAND_1)
    assert killed(die_in_recovery, str(tmp_path), steps, is_after=True)
    store = open_store(tmp_path)
    assert contents(store) in (expected.old, expected.new)
    recover_all(store)
    assert contents(store) == expected.new
    assert store.objects.list(RECOVERY) == []
    assert len(store.audit.records()) == 1
    put(store, changes(people=people(zoe=1)))
