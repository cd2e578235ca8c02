"""The graph of the shapes, made from a seed: accounts that pay and trust each other.

Degrees follow power laws on both ends. Transfers have parallel edges, loops and edges back; no pair
trusts twice, and nobody trusts themselves. Every system reads the same Parquet files.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 24
COUNTRIES = [f"country {number:02}" for number in range(40)]
KINDS = ["person", "shop", "bank", "fund"]
CURRENCIES = ["EUR", "USD", "NOK", "GHS", "CLP", "JPY", "GBP", "CHF", "SEK", "DKK", "PLN", "CZK"]
DAYS = 365

NODES = ("Account",)
EDGES = ("Transfer", "Trusts")


@dataclass(frozen=True, slots=True)
class Size:
    accounts: int
    transfers: int
    trusts: int


SIZES = {
    "XS": Size(2_500, 30_000, 10_000),
    "S": Size(10_000, 140_000, 40_000),
    "M": Size(100_000, 1_400_000, 400_000),
}


def make(size: str, directory: Path) -> Path:
    """Where the files of a size lie, made once and kept."""
    place = directory / f"payments-{size}-{SEED}"
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        for name, table in _tables(SIZES[size]).items():
            pq.write_table(table, place / f"{name}.parquet")
        (place / "done").touch()
    return place


def hub(files: Path) -> int:
    """The account with the most transfers."""
    table = pq.read_table(files / "Transfer.parquet", columns=["src", "dst"])
    ends = np.concatenate([column.to_numpy() for column in table.columns])
    return int(np.bincount(ends).argmax())


def _tables(size: Size) -> dict[str, pa.Table]:
    rng = np.random.default_rng(SEED)
    crowd = (np.arange(len(COUNTRIES)) + 2.0) ** -0.8
    source, target = _pairs(rng, size.accounts, size.transfers)
    days = rng.integers(0, DAYS, size.transfers)
    trusting, trusted = _pairs(rng, size.accounts, size.trusts * 2)
    unique = np.unique(trusting * size.accounts + trusted)
    unique = unique[unique // size.accounts != unique % size.accounts]
    unique = rng.permutation(unique)[: size.trusts]
    return {
        "Account": pa.table(
            {
                "number": np.arange(size.accounts),
                "name": [f"account {number}" for number in range(size.accounts)],
                "country": pa.array(COUNTRIES).take(
                    pa.array(rng.choice(len(COUNTRIES), size.accounts, p=crowd / crowd.sum()))
                ),
                "kind": pa.array(KINDS).take(
                    pa.array(rng.choice(len(KINDS), size.accounts, p=[0.8, 0.15, 0.03, 0.02]))
                ),
            }
        ),
        "Transfer": pa.table(
            {
                "src": source,
                "dst": target,
                "amount": (np.exp(rng.normal(8.0, 1.5, size.transfers))).astype(np.int64) + 1,
                "fee": rng.integers(0, 2**20, size.transfers) / 2.0**10,
                "currency": pa.array(CURRENCIES).take(
                    pa.array((rng.random(size.transfers) ** 2 * len(CURRENCIES)).astype(np.int64))
                ),
                "day": days.astype(np.int64),
            }
        ),
        "Trusts": pa.table({"src": unique // size.accounts, "dst": unique % size.accounts}),
    }


def _pairs(rng: np.random.Generator, accounts: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of edges: one in ten goes back over another, one in twenty repeats another."""
    rank = np.arange(accounts)
    receiving = np.cumsum((rank + 20.0) ** -0.75)
    sending = np.cumsum((rank + 50.0) ** -0.6)
    who, whom = rng.permutation(accounts), rng.permutation(accounts)
    source = who[np.searchsorted(sending, rng.random(count) * sending[-1])]
    target = whom[np.searchsorted(receiving, rng.random(count) * receiving[-1])]
    back, again = count // 10, count // 20
    source[:back], target[:back] = target[-back:].copy(), source[-back:].copy()
    source[back : back + again] = source[-again:]
    target[back : back + again] = target[-again:]
    order = rng.permutation(count)
    return source[order].astype(np.int64), target[order].astype(np.int64)
