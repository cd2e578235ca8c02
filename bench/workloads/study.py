"""The study's graph, made from a seed: people, who follow each other, with places and interests.

Degrees and the sizes of cities follow power laws. It is written twice: as NDJSON, which ours loads,
and as Parquet, which the others read.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.workloads.people import SIZES, follows_of

SEED = 11
COUNTRIES = ["Norway", "Ghana", "Chile"]
STATES_OF = [40, 12, 8]
CITIES = 1_200
INTERESTS = [f"interest {number:02}" for number in range(40)]
INTERESTS_PER_PERSON = 3

NODES = ("Country", "State", "City", "Interest", "Person")
EDGES = ("StateIn", "CityIn", "LivesIn", "HasInterest", "Follows")
ENDS = {
    "StateIn": ("State", "Country"),
    "CityIn": ("City", "State"),
    "LivesIn": ("Person", "City"),
    "HasInterest": ("Person", "Interest"),
    "Follows": ("Person", "Person"),
}


def make(size: str, directory: Path) -> Path:
    """Where the files of a size lie, made once and kept."""
    place = directory / f"study-{size}-{SEED}"
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        tables = _tables(size)
        for name, table in tables.items():
            pq.write_table(table, place / f"{name}.parquet")
        _write_ndjson(tables, place / "graph.jsonl")
        (place / "done").touch()
    return place


def _tables(size: str) -> dict[str, pa.Table]:
    rng = np.random.default_rng(SEED)
    people = SIZES[size].people
    country_of = np.repeat(np.arange(3), STATES_OF)
    state_of = np.concatenate([np.arange(60), rng.integers(0, 60, CITIES - 60)])
    crowd = (np.arange(CITIES) + 3.0) ** -0.7
    city_of = rng.permutation(CITIES)[rng.choice(CITIES, people, p=crowd / crowd.sum())]
    likes = np.unique(
        np.repeat(np.arange(people), INTERESTS_PER_PERSON) * len(INTERESTS)
        + rng.integers(0, len(INTERESTS), INTERESTS_PER_PERSON * people)
    )
    source, target = follows_of(rng, SIZES[size])
    return {
        "Country": _named(COUNTRIES),
        "State": _named([f"state {number:02}" for number in range(60)]),
        "City": _named([f"city {number:04}" for number in range(CITIES)]),
        "Interest": _named(INTERESTS),
        "Person": pa.table(
            {
                "number": np.arange(people),
                "name": [f"person {number}" for number in range(people)],
                "gender": np.where(rng.random(people) < 0.5, "female", "male"),
                "age": rng.integers(18, 81, people),
            }
        ),
        "StateIn": _edges(np.arange(60), country_of),
        "CityIn": _edges(np.arange(CITIES), state_of),
        "LivesIn": _edges(np.arange(people), city_of),
        "HasInterest": _edges(likes // len(INTERESTS), likes % len(INTERESTS)),
        "Follows": _edges(source, target),
    }


def _named(names: list[str]) -> pa.Table:
    return pa.table({"number": np.arange(len(names)), "name": names})


def _edges(source: np.ndarray, target: np.ndarray) -> pa.Table:
    return pa.table({"src": source.astype(np.int64), "dst": target.astype(np.int64)})


def _write_ndjson(tables: dict[str, pa.Table], file: Path) -> None:
    with file.open("w", encoding="utf-8") as out:
        for name in NODES:
            for row in tables[name].to_pylist():
                out.write(json.dumps({"type": name, "data": row}) + "\n")
        for name in EDGES:
            ends = zip(*(tables[name][c].to_pylist() for c in ("src", "dst")), strict=True)
            out.writelines(f'{{"edge":"{name}","from":{s},"to":{t}}}\n' for s, t in ends)


# The questions -----------------------------------------------------------------------------------
#
# Every system must give the same rows, in the same order.

STUDY = {
    "most followed": "the three people with most followers",
    "most followed, with place": "the one with most followers, and city, state and country",
    "youngest cities": "the five cities of a country with the lowest mean age",
    "people by country": "how many between 30 and 40 each country has",
    "men with an interest in a city": "how many men of one city have one interest",
    "women with an interest by city": "the five cities with most women of one interest",
    "state of an interest": "the state of a country with most people of 23 to 30 and one interest",
    "paths of two": "how many paths of two follows there are",
    "paths of two, filtered": "how many pass by someone under 50 and end at someone over 25",
}
POINT = {
    "point read": "a person by number",
    "one hop": "the people that a person follows",
    "two hops": "the people that a person reaches in exactly two follows, not fewer",
    "reach": "how many people a person reaches in up to three follows",
}
