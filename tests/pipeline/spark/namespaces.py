"""Hosts that are network namespaces of this machine, and a switch between them.

Each has an address of its own, and its link can be cut. The switch is a namespace too: nothing of
the machine's own network is touched, and two test runs never meet. Names carry the process that
made them, so that the next run removes what a killed one has left.

They are no machines: they share one kernel, one clock, one disk and one installation.
"""

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.pipeline.spark.clusters import Host

NAMESPACES = Path("/run/netns")
PREFIX = "omnitest"
SWITCH = "switch"
NETWORK = "10.77.0"
CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Network:
    """Hosts by their names, on one switch."""

    mark: str
    names: tuple[str, ...]

    def host(self, name: str) -> Host:
        return Host(self.address(name), ("ip", "netns", "exec", self.namespace(name)))

    def address(self, name: str) -> str:
        return f"{NETWORK}.{self.names.index(name) + 1}"

    def namespace(self, name: str) -> str:
        return f"{self.mark}-{name}"

    def enter(self, name: str) -> "partial[None]":
        """What a new process calls to be on that host, with all that it starts from then on."""
        return partial(_enter, str(NAMESPACES / self.namespace(name)))

    def cut(self, name: str) -> None:
        """Nothing reaches the host any more, nor leaves it. Nobody is told."""
        _ip("-n", self.namespace(SWITCH), "link", "set", f"to-{name}", "down")

    def hide(self, name: str, *, from_: str) -> None:
        """Answers of a host no longer reach another one. All others go on as before."""
        _ip("-n", self.namespace(name), "route", "add", "blackhole", self.address(from_))

    def heal(self) -> None:
        """Everybody reaches everybody again."""
        for name in self.names:
            _ip("-n", self.namespace(SWITCH), "link", "set", f"to-{name}", "up")
            _ip("-n", self.namespace(name), "route", "flush", "type", "blackhole")

    def _join(self, name: str) -> None:
        namespace, switch = self.namespace(name), self.namespace(SWITCH)
        _ip("netns", "add", namespace)
        pair = ["type", "veth", "peer", "name", "eth0", "netns", namespace]
        _ip("-n", switch, "link", "add", "name", f"to-{name}", *pair)
        _ip("-n", switch, "link", "set", f"to-{name}", "master", "br0", "up")
        _ip("-n", namespace, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        for link in ("eth0", "lo"):
            _ip("-n", namespace, "link", "set", link, "up")


@contextmanager
def network(*names: str) -> Iterator[Network]:
    """Skips the test where namespaces can't be made."""
    if why_not := _why_not():
        pytest.skip(why_not)
    made = Network(f"{PREFIX}{os.getpid()}", names)
    _sweep()
    switch = made.namespace(SWITCH)
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "name", "br0", "type", "bridge")
        _ip("-n", switch, "link", "set", "br0", "up")
        for name in names:
            made._join(name)
        yield made
    finally:
        _remove(namespace for namespace in _namespaces() if namespace.startswith(f"{made.mark}-"))


def _why_not() -> str | None:
    if shutil.which("ip") is None:
        return "there is no `ip` to make network namespaces with: install iproute2"
    probe = f"{PREFIX}{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode != 0:
        return f"network namespaces can't be made here: {made.stderr.strip()}"
    _remove([probe])
    return None


def _sweep() -> None:
    """Remove what runs have left that are dead, or had our own number."""
    _remove(name for name in _namespaces() if not _is_of_another(name))


def _is_of_another(name: str) -> bool:
    """True if another process that lives has made it."""
    owner = re.match(rf"{PREFIX}(\d+)-", name)
    return owner is None or (owner[1] != str(os.getpid()) and Path("/proc", owner[1]).exists())


def _namespaces() -> list[str]:
    return [path.name for path in NAMESPACES.iterdir()] if NAMESPACES.exists() else []


def _remove(names: Sequence[str] | Iterator[str]) -> None:
    for name in list(names):
        # Links go with it. Another run may sweep at the same time.
        with suppress(subprocess.CalledProcessError):
            _ip("netns", "delete", name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _enter(namespace: str) -> None:
    """Only the calling thread enters, and threads and processes that it starts afterwards."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(namespace).open("rb") as opened:
        if libc.setns(opened.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), namespace)
