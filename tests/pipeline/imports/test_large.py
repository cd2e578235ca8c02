"""A large directory of CSV files is imported whole."""

import gzip
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from omnigraph import Graph, ImportPlan
from tests.pipeline.conftest import DEEP_ON_SPARK
from tests.pipeline.export.test_large import stored


def written_for_neo4j(folder: Path, count: int) -> dict[str, Any]:
    """A directory as `neo4j-admin database import` takes it, and what must come of it."""
    rng = np.random.default_rng(7)
    people, movies, roles = count * 4 // 10, count // 10, count // 2
    numbers = np.arange(people)
    born = (numbers % 20_000).astype("datetime64[D]")
    labels = np.where(numbers % 3 == 0, "Person;Actor", "Person")
    half = people // 2
    tables = {
        "people-1.csv": slice(0, half),
        "people-2.csv.gz": slice(half, people),
    }
    person = pa.table(
        {
            "id": pa.array(numbers).cast(pa.string()),
            "name": pa.array([f'n{n % 9973} "q", {n}' for n in range(people)]),
            "born": pa.array(born).cast(pa.string()),
            "tags": pa.array(np.where(numbers % 2 == 0, "a;b", "c")),
            "label": pa.array(labels),
        }
    )
    folder.mkdir()
    (folder / "people-header.csv").write_text(
        "personId:ID(P),name,born:date,tags:string[],:LABEL\n"
    )
    for name, rows in tables.items():
        write(folder / name, person.slice(rows.start, rows.stop - rows.start))
    movie = pa.table(
        {
            "m:ID(M){id-type:long}": np.arange(movies),
            "year:int": 1900 + np.arange(movies) % 120,
            "unused:IGNORE": pa.array(["x"] * movies),
        }
    )
    write(folder / "Movie.csv", movie, include_header=True)
    sources, targets = rng.integers(0, people, roles), rng.integers(0, movies, roles)
    stars = (np.arange(roles) % 10) / 2
    role = pa.table(
        {
            ":START_ID(P)": pa.array(sources).cast(pa.string()),
            ":END_ID(M)": targets,
            "stars:float": stars,
            ":TYPE": pa.array(["ACTED_IN"] * roles),
        }
    )
    write(folder / "roles.csv.gz", role, include_header=True)
    pairs = np.unique(np.stack([sources, targets])[:, targets % 120 == 0], axis=1)
    return {
        "nodes": {"Person": people, "Movie": movies},
        "edges": {"ActedIn": roles},
        "names": person["name"],
        "ends": sorted(zip(sources.astype(str), targets.astype(str), stars, strict=True)),
        "roles of 1900": pairs.shape[1],
    }


def write(path: Path, table: pa.Table, *, include_header: bool = False) -> None:
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink, pa_csv.WriteOptions(include_header=include_header))
    data = sink.getvalue().to_pybytes()
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)


ASKED = """
query roles() { match { $m: Movie { year: 1900 }  $p actedIn $m } return { count($p) as roles } }
query one() {
    match { $p: Person { personId: "5" } } return { $p.name, $p.born, $p.tags, $p.labels }
}
"""


@pytest.mark.parametrize(
    ("engine", "count"),
    [("local", 2_000), pytest.param("spark", 1_000_000, marks=DEEP_ON_SPARK)],
)
def test_a_directory_of_neo4j_is_imported_whole(
    tmp_path: Path, engine: str, count: int, request: pytest.FixtureRequest
) -> None:
    how: dict[str, Any] = {"engine": "local"}
    if engine == "spark":
        how = {"spark": request.getfixturevalue("spark").session}
    expected = written_for_neo4j(tmp_path / "neo4j", count)
    plan = ImportPlan.of(tmp_path / "neo4j")
    graph = Graph.init(tmp_path / "g.omni", plan.schema, durability="relaxed")
    result = graph.import_(plan, **how)
    assert (result.nodes, result.edges) == (expected["nodes"], expected["edges"])
    found = stored(graph)
    people = found["Person"].take(np.argsort(found["Person"]["personId"].to_numpy().astype(int)))
    assert people["name"].to_pylist() == expected["names"].to_pylist()
    roles = [found["ActedIn"][name].to_pylist() for name in ("src", "dst", "stars")]
    assert sorted(zip(*roles, strict=True)) == expected["ends"]
    (row,) = graph.query(ASKED, "one")
    assert row == {
        "p.name": 'n5 "q", 5',
        "p.born": date(1970, 1, 6),
        "p.tags": ["c"],
        "p.labels": ["Person"],
    }
    assert graph.query(ASKED, "roles").to_pylist() == [{"roles": expected["roles of 1900"]}]
