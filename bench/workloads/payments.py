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


# The questions -----------------------------------------------------------------------------------
#
# Every system must give the same rows. Where a question has no order, rows are sorted to compare.

FEW = 2_000
"""Accounts whose edges are a large answer: those of numbers below."""

VALUES_OF_EDGES = {
    "sum over a filter": "count and sum of the amounts above a bound",
    "by currency": "count, sum and mean of what edges hold, by one of twelve currencies",
    "by day": "the same by one of 365 days",
    "by country": "the sum of edges by a property of the node they leave",
    "by both countries": "the sum of edges by properties of both ends",
    "filtered at both ends": "tests on both nodes and on the edge, by currency",
    "top senders": "the ten accounts that sent most",
    "largest transfers": "the twenty largest in one currency, with both ends",
}
CYCLES = {
    "mutual trust": "pairs that trust each other",
    "mutual trust by country": "the same by the country of one of them",
    "mutual transfers": "pairs of transfers there and back, where more went than came",
    "triangles": "cycles of three that trust each other",
    "triangles through a hub": "cycles of three transfers through the busiest account",
}
COMPARED = {
    "equal in two values": "pairs of 2,000 accounts of one country and kind, each pair once",
    "pairs in order": "pairs of 2,000 accounts, the smaller number first",
    "not the last of its kind": "accounts for which one of the same kind has a greater number",
    "largest of each receiver": "transfers to an account that got none with a greater amount",
}
LARGE = {
    "edges of 2,000": "every transfer of 2,000 accounts with both ends, as Arrow",
    "edges of 2,000 in order": "the same by amount, as Arrow",
    "edges of 2,000, Python": "the same, as rows of Python",
}
FAR = {
    "two steps from all": "how many pairs are one or two steps of trust apart",
    "three steps from 2,000": "how many are up to three steps from 2,000 accounts",
    "who reaches most": "the five accounts that reach most in up to two steps",
}
SMALL = {
    "point read": "an account by number",
    "one hop": "whom an account trusts",
    "one hop with edges": "the transfers of an account, with what they hold",
    "two hops": "whom those trust that an account trusts",
}

WARM = {**VALUES_OF_EDGES, **CYCLES, **COMPARED, **LARGE, **FAR, **SMALL}

STATES = {
    "": tuple(WARM),
    "after a delete": (
        "by currency",
        "by both countries",
        "top senders",
        "mutual trust",
        "mutual transfers",
        "edges of 2,000",
        "one hop with edges",
    ),
    "on a fork": ("by currency", "by country", "mutual trust", "one hop", "point read"),
    "first after a commit": (
        "by currency",
        "by country",
        "mutual trust",
        "edges of 2,000",
        "one hop",
        "one hop with edges",
        "point read",
    ),
}
"""In this order: a state has the changes of those before it."""

CLOSED_DAY = 7
"""The transfers of this day are deleted, and later the accounts of these numbers."""
CLOSED = list(range(5_00, 25_00, 40))
CLOSED_ON_THE_FORK = list(range(5_10, 25_10, 80))
