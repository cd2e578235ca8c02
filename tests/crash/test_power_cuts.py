"""Every kind of write while the disk fails and the power is cut: the old commit or the new one.

The kinds are those of `dying.py`, so a new one is swept unasked, and some that make no commit.
Each call that Lance or we make to change a file is one point: it fails with ENOSPC, with EIO, or it
and all later ones fail, which is to the disk the death of the writer. Then another writer comes. In
`make test` some points of each kind are tried, in `make deep` all of them.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.power import environment
from tests.crash.sweeping import KINDS, Report

# Of the points of each kind, one in so many; a prime, so that each fault meets calls of all kinds.
ONE_IN = 211

# Of a thousand points.
PATIENCE_OF_DEEP_RUNS_S = 1700.0


def swept(folder: Path, kind: str, *, first: int, step: int) -> Report:
    graphs = folder / "graphs"
    graphs.mkdir()
    program = [sys.executable, "-m", "tests.crash.sweeping"]
    command = [*program, str(graphs), kind, str(first), str(step)]
    done = subprocess.run(
        command,
        env=environment(graphs / "graph", folder),
        capture_output=True,
        text=True,
        timeout=PATIENCE_OF_DEEP_RUNS_S,
    )
    assert done.returncode == 0, done.stderr
    return Report(**json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_disk_and_a_power_cut_leave_the_old_commit_or_the_new_one(
    tmp_path: Path, kind: str, pytestconfig: pytest.Config
) -> None:
    is_deep = pytestconfig.getoption("--deep")
    first, step = (0, 1) if is_deep else (KINDS.index(kind), ONE_IN)
    report = swept(tmp_path, kind, first=first, step=step)
    assert report.points > 0
    assert report.is_clean, report
