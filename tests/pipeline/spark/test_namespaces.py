"""Hosts for tests go when they are not needed any more, also those of a run that was killed."""

import subprocess

from tests.pipeline.spark.namespaces import NAMESPACES, PREFIX, network

# No process has a number so large.
LEFT = f"{PREFIX}999999999-left"


def test_hosts_of_a_run_that_is_dead_are_removed_by_the_next_one() -> None:
    with network("one"):
        subprocess.run(["ip", "netns", "add", LEFT], check=True)
    with network("one", "two") as made:
        assert not (NAMESPACES / LEFT).exists()
        hosts = [NAMESPACES / made.namespace(name) for name in ("one", "two")]
        assert all(host.exists() for host in hosts)
    assert not any(host.exists() for host in hosts)
