"""The benchmark's data: a social graph made from a seed, as NDJSON that every system reads.

Degrees follow a power law on both ends, as in real networks: a few people are followed by very
many, and a few follow very many. No one follows themselves and no pair appears twice.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEED = 7
FIRST_NAMES = [
    "Ada",
    "Bela",
    "Chidi",
    "Dana",
    "Emre",
    "Fumi",
    "Gita",
    "Hugo",
    "Ines",
    "Jun",
    "Kofi",
    "Lena",
    "Mara",
    "Nils",
    "Olga",
    "Pia",
]
CITIES = 400
ROWS_AT_A_TIME = 1_000_000


@dataclass(frozen=True, slots=True)
class Size:
    people: int
    follows: int


SIZES = {
    "XS": Size(1_000, 24_000),
    "S": Size(10_000, 240_000),
    "M": Size(100_000, 2_400_000),
    "L": Size(1_000_000, 24_000_000),
}


@dataclass(frozen=True, slots=True)
class Data:
    """Where the files of one size lie, and which people the queries ask about."""

    people_file: Path
    follows_file: Path
    sources: list[int]


def make(size: str, directory: Path) -> Data:
    """The files of a size, made once and kept."""
    place = directory / f"{size}-{SEED}"
    data = Data(place / "people.jsonl", place / "follows.jsonl", [])
    note = place / "sources.json"
    if not note.exists():
        place.mkdir(parents=True, exist_ok=True)
        sources = _write(SIZES[size], data)
        note.write_text(json.dumps(sources))
    return Data(data.people_file, data.follows_file, json.loads(note.read_text()))


def _write(size: Size, data: Data) -> list[int]:
    rng = np.random.default_rng(SEED)
    number = pa.array(np.arange(size.people))
    age = pa.array(rng.integers(18, 81, size.people))
    first = pa.array(FIRST_NAMES).take(pa.array(rng.integers(0, len(FIRST_NAMES), size.people)))
    city = pa.array(rng.integers(0, CITIES, size.people))
    _write_lines(
        data.people_file,
        [
            '{"type":"Person","data":{"number":',
            number,
            ',"name":"',
            first,
            " ",
            number,
            '","age":',
            age,
            ',"city":"City ',
            city,
            '"}}',
        ],
    )
    source, target = follows_of(rng, size)
    _write_lines(
        data.follows_file,
        ['{"edge":"Follows","from":', pa.array(source), ',"to":', pa.array(target), "}"],
    )
    degree = np.bincount(source, minlength=size.people)
    by_degree = np.argsort(-degree, kind="stable")
    middle = size.people // 2
    # Mostly ordinary people and a few of the most active: a median of hubs would say little.
    return [int(n) for n in (*by_degree[middle - 16 : middle + 16], *by_degree[:4])]


def follows_of(rng: np.random.Generator, size: Size) -> tuple[np.ndarray, np.ndarray]:
    rank = np.arange(size.people)
    popularity = np.cumsum((rank + 20.0) ** -0.55)
    activity = np.cumsum((rank + 50.0) ** -0.35)
    who, whom = rng.permutation(size.people), rng.permutation(size.people)
    pairs = np.empty(0, np.int64)
    while len(pairs) < size.follows:
        wanted = int((size.follows - len(pairs)) * 1.1) + 100
        source = who[np.searchsorted(activity, rng.random(wanted) * activity[-1])]
        target = whom[np.searchsorted(popularity, rng.random(wanted) * popularity[-1])]
        fresh = (source * size.people + target)[source != target]
        pairs = np.unique(np.concatenate([pairs, fresh]))
    pairs = rng.permutation(pairs)[: size.follows]
    return pairs // size.people, pairs % size.people


def _write_lines(file: Path, parts: list[str | pa.Array]) -> None:
    count = max(len(p) for p in parts if isinstance(p, pa.Array))
    with file.open("wb") as out:
        for start in range(0, count, ROWS_AT_A_TIME):
            columns = [
                p if isinstance(p, str) else pc.cast(p.slice(start, ROWS_AT_A_TIME), pa.string())
                for p in parts
            ]
            lines = pc.binary_join_element_wise(*columns, "\n", "")
            out.write(b"".join(lines.cast(pa.binary()).to_pylist()))


# What a system must be able to do: answers are compared, so each must mean the same ---------------


class People(Protocol):
    def version(self) -> str: ...

    def prepare(self) -> None:
        """Start what a load should not be charged for: a Spark session."""
        ...

    def load(self, data: Data, place: Path) -> None: ...

    def open(self, place: Path) -> None: ...

    def one_hop(self, person: int) -> int:
        """How many people `person` follows."""
        ...

    def two_hop(self, person: int) -> int:
        """How many paths of two follows begin at `person`."""
        ...

    def all_two_hop(self) -> int:
        """How many paths of two follows there are."""
        ...


class Ranked(NamedTuple):
    """The person with the highest score, and the score."""

    person: str
    score: float


class Analytics(Protocol):
    """What an adapter offers to `bench.analytics`."""

    name: str

    def version(self) -> str: ...

    def load(self, data: Data, place: Path) -> None: ...

    def open(self, place: Path) -> None: ...

    def ranks(self) -> Ranked: ...

    def components(self) -> int: ...
