"""How many of the nearest vectors `nearest` finds, and how long it looks, beside a look at all.

    python -m bench.recall --rows 1000000

Vectors lie in a thousand clusters that overlap, each spread along 32 directions of its own, with
noise on top: harder than what models make of texts. Figures are medians of processor time. The
vectors of this process are those that a graph's runtime cache holds; reading them is not measured.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.read.limits import ReadLimits
from omnigraph.read.search.ivf import ListedVectors
from omnigraph.read.search.ivf_codebook import sample_rows, trained
from omnigraph.read.search.ranked import Ranked
from omnigraph.read.search.vectors import Vectors

CLUSTERS = 1_000
RANK = 32
QUERIES = 200


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--width", type=int, default=128)
    options.add_argument("--overlap", type=float, default=1.5, help="2 is harder, 1 easier")
    given = options.parse_args()
    numbers = clustered(given.rows + QUERIES, given.width, given.overlap)
    queries, numbers = numbers[given.rows :].copy(), numbers[: given.rows]
    exact = Vectors.of_column(pa.FixedSizeListArray.from_arrays(numbers.reshape(-1), given.width))
    listed = in_lists(exact)
    limit = ReadLimits().max_exact_floats
    print(f"{given.rows:,} vectors of {given.width}: ", end="")
    print("in lists" if numbers.size > limit else "exact by default; in lists if they had to be")
    some = {
        "all rows": None,
        "half of the rows": np.arange(given.rows) % 2 == 0,
        "a tenth of the rows": np.arange(given.rows) % 10 == 0,
    }
    print(f"{'nearest among':24}{'k':>5}{'recall':>10}{'in lists':>12}{'exact':>12}")
    for name, among in some.items():
        for k in (10, 100):
            recalls, quick, slow = [], [], []
            for query in queries:
                found, spent = timed(partial(listed.best, query, k, among, exact=False))
                truth, spent_on_all = timed(partial(exact.best, query, k, among, exact=True))
                recalls.append(len(np.intersect1d(found.rows[:k], truth.rows[:k])) / k)
                quick.append(spent)
                slow.append(spent_on_all)
            figures = f"{statistics.mean(recalls):10.3f}{statistics.median(quick):9.2f} ms"
            print(f"{name:24}{k:5}{figures}{statistics.median(slow):9.2f} ms")


def clustered(count: int, width: int, overlap: float) -> NDArray[np.float32]:
    random = np.random.default_rng(0)
    members = random.integers(0, CLUSTERS, count)
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(CLUSTERS + 1))
    found = np.empty((count, width), dtype=np.float32)
    for cluster in range(CLUSTERS):
        own = order[starts[cluster] : starts[cluster + 1]]
        spread = random.standard_normal((RANK, width), dtype=np.float32) / math.sqrt(RANK)
        found[own] = random.standard_normal(width, dtype=np.float32) / overlap
        found[own] += random.standard_normal((len(own), RANK), dtype=np.float32) @ spread
        found[own] += 0.2 * random.standard_normal((len(own), width), dtype=np.float32)
    return found


def in_lists(exact: Vectors) -> ListedVectors:
    """As a table of that many rows has them, with the half of the rows that came first sampled."""
    began = time.process_time()
    rows = exact.row_count // 2
    lists = 2 * math.isqrt(rows)
    sample = exact.base[: rows : max(1, rows // sample_rows(lists))]
    codebook = trained(sample, lists=lists, stands_for_rows=rows, origin="")
    found = ListedVectors.of(exact, codebook, 0)
    spent = time.process_time() - began
    shares = ", ".join(f"{share:.3f}" for share in codebook.shares)
    print(f"{len(codebook.centroids):,} lists made in {spent:.1f} s; shares to look at: {shares}")
    return found


def timed(search: Callable[[], Ranked]) -> tuple[Ranked, float]:
    began = time.process_time()
    found = search()
    return found, (time.process_time() - began) * 1e3


if __name__ == "__main__":
    main()
