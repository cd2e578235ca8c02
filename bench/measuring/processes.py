"""What a process and all that it started take: processor time, and memory at the worst moment."""

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

EVERY_S = 0.1
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Looks at the tree of processes under `root` while the block runs."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.cpu_s = 0.0
        self.peak_bytes = 0

    def __enter__(self) -> "Watch":
        self._before = sum(ticks for ticks, _ in tree_of(self._root))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        after = sum(ticks for ticks, _ in tree_of(self._root))
        self.cpu_s = (after - self._before) / TICKS_A_SECOND

    def _look(self) -> None:
        while not self._done.wait(EVERY_S):
            self.peak_bytes = max(self.peak_bytes, sum(size for _, size in tree_of(self._root)))


def tree_of(root: int) -> Iterator[tuple[int, int]]:
    """Processor ticks, those of children that have ended included, and bytes of each process."""
    children = defaultdict(list)
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                pages = int((entry / "statm").read_text().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children[int(words[1])].append(int(entry.name))
            found[int(entry.name)] = sum(map(int, words[11:15])), pages * PAGE_BYTES
    waiting = [root]
    while waiting:
        process = waiting.pop()
        if process in found:
            yield found[process]
        waiting += children[process]
