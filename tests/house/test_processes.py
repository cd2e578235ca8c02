"""What tests start ends with them, however they end, and no test hears what another asked."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from omnigraph.base.errors import SparkFailed
from tests.pipeline.spark.clusters import Driver
from tests.processes import wait_until

SERVED = """
import os, subprocess, sys
from pathlib import Path
from tests.processes import under_a_warden
# A server that has started another process.
script = 'sleep 1000 & echo $$ $! >"$0"; wait'
with open(os.devnull, "wb") as nowhere:
    command = ["sh", "-c", script, sys.argv[1]]
    under_a_warden(command, environment=os.environ, output=nowhere).wait()
"""

DRIVEN = """
import sys
from tests.house.test_processes import sleep_and_tell
from tests.pipeline.spark.clusters import Driver
if __name__ == "__main__":
    Driver({}).run(sleep_and_tell, sys.argv[1])
"""


def sleep_and_tell(place: str) -> None:
    Path(place).write_text(str(os.getpid()))
    time.sleep(1000)


@pytest.mark.parametrize("program", [SERVED, DRIVEN], ids=["a server", "a driver"])
def test_a_run_that_is_killed_leaves_no_process(tmp_path: Path, program: str) -> None:
    (tmp_path / "program.py").write_text(program)
    told = tmp_path / "told"
    run = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", told],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        wait_until(lambda: told.exists() and told.read_text().strip() != "", "nothing began")
    finally:
        run.kill()
        run.wait()
    for pid in told.read_text().split():
        wait_until(lambda pid=pid: not is_alive(int(pid)), f"process {pid} lives on")  # type: ignore[misc]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    # Where it ends between the opening and the reading, the second says so.
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_driver_that_nobody_listened_to_starts_afresh(tmp_path: Path) -> None:
    driver = Driver({})
    try:
        first = driver.run(os.getpid)
        assert driver.run(os.getpid) == first
        driver.start(sleep_and_tell, str(tmp_path / "told"))
        second = driver.run(abs, -2)
        assert second == 2
        assert driver.run(os.getpid) != first
    finally:
        driver.stop()


@pytest.mark.parametrize("how", ["Spark failed", "it died at work", "it died at rest"])
def test_a_driver_that_is_of_no_use_any_more_starts_afresh(how: str) -> None:
    driver = Driver({})
    try:
        first = driver.run(os.getpid)
        if how == "Spark failed":
            with pytest.raises(SparkFailed):
                driver.run(fail)
        elif how == "it died at work":
            with pytest.raises(EOFError):
                driver.run(os._exit, 9)
        else:
            os.kill(first, signal.SIGKILL)
            wait_until(lambda: first not in {child.pid for child in active_children()}, "it lives")
        assert driver.run(os.getpid) != first
    finally:
        driver.stop()


def fail() -> None:
    raise SparkFailed(doing="testing", reason="as asked")
