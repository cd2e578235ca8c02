"""What every system must be able to do to its people. Counts are compared after each step."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

SEED = 7
FOLLOWS_PER_PERSON = 4


@dataclass(frozen=True)
class Base:
    """What there is before anything is measured."""

    people: pa.Table
    """number, name, age"""
    follows: pa.Table
    """src, dst: numbers of people"""


class Changes(Protocol):
    durability: str
    """What a commit of this system survives as it is set up here."""

    def version(self) -> str: ...

    def make(self, base: Base, place: Path) -> None:
        """Make the tables, with an index on what rows are looked up by."""
        ...

    def insert(self, number: int) -> None:
        """One new person."""
        ...

    def upsert(self, people: pa.Table) -> None:
        """People, some of whom are there already."""
        ...

    def delete(self, number: int) -> None:
        """One person and every follow from or to them."""
        ...

    def counts(self) -> tuple[int, int, int]:
        """People, follows, and the sum of all ages."""
        ...


def people(numbers: np.ndarray, *, age: int) -> pa.Table:
    return pa.table(
        {
            "number": pa.array(numbers, pa.int64()),
            "name": [f"Person {n}" for n in numbers.tolist()],
            "age": pa.array(np.full(len(numbers), age), pa.int32()),
        }
    )


def base_of(size: int) -> Base:
    """People who each follow a few others."""
    rng = np.random.default_rng(SEED)
    source = np.repeat(np.arange(size), FOLLOWS_PER_PERSON)
    target = rng.integers(0, size, len(source))
    pairs = np.unique(np.stack([source, target]), axis=1)
    return Base(
        people(np.arange(size), age=30),
        pa.table({"src": pa.array(pairs[0]), "dst": pa.array(pairs[1])}),
    )
