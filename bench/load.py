"""What a load costs: ours, checked as a whole on Spark, beside one process that checks nothing.

    python -m bench.load                      sizes S and M
    python -m bench.load --size L             a million people, 24 million follows
    python -m bench.load --format parquet     the same rows as tables

The peer reads the same file with DuckDB and writes the same columns with Lance, in one process, in
one go, without a check: the least that a load could cost. Ours runs on local Spark in the memory
that is given; its session is started and warmed before the clock is. Both take turns. Seconds of
processor are of the whole tree of processes, the JVM's and its workers' included, and are steadier
than the clock on a machine that others use. Memory is the largest sum over the tree.
"""

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.measuring.processes import Watch
from bench.measuring.worker import Steps, Worker, show
from bench.workloads.people import SIZES, Data, make

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32  city: String }
edge Follows: Person -> Person
"""
FORMATS = ("ndjson", "parquet")
Files = tuple[Path, Path]
"""Of the people, and of who follows whom."""

ROUNDS = {"XS": 3, "S": 3, "M": 3, "L": 1}
OURS, PEER = "omnigraph", "duckdb to lance"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", default="S,M", help=f"some of {', '.join(SIZES)}")
    parser.add_argument("--format", choices=FORMATS, default="ndjson")
    parser.add_argument("--rounds", type=int, help="instead of what suits the size")
    parser.add_argument("--heap", default="2g", help="memory of Spark's JVM")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    place = chosen.directory / "load"
    warm_up = files_of(make("XS", chosen.directory), chosen.format)
    workers = [
        Worker(OURS, start_ours, place / "ours", warm_up, chosen.heap),
        Worker(PEER, start_peer, place / "peer", chosen.format),
    ]
    try:
        for size in chosen.size.split(","):
            files = files_of(make(size, chosen.directory), chosen.format)
            report(size, measure(workers, files, chosen.rounds or ROUNDS[size]))
    finally:
        for worker in workers:
            worker.stop()
        shutil.rmtree(place, ignore_errors=True)


Figures = dict[str, dict[str, list[float]]]
"""What was measured in every round, by system and name."""


def files_of(data: Data, form: str) -> Files:
    """The people and who follows whom, in a format; tables are made once and kept."""
    if form == "ndjson":
        return data.people_file, data.follows_file
    import duckdb

    files = tuple(data.people_file.with_name(f"{name}.parquet") for name in ("Person", "Follows"))
    if not files[1].exists():
        for file, rows in zip(files, (PEOPLE_LINES, FOLLOWS_LINES), strict=True):
            source = data.people_file if rows is PEOPLE_LINES else data.follows_file
            duckdb.sql(f"COPY ({rows.format(file=source)}) TO '{file}' (FORMAT parquet)")
    return files[0], files[1]


def measure(workers: Sequence[Worker], files: Files, rounds: int) -> Figures:
    figures: Figures = {worker.name: {} for worker in workers}
    for _ in range(rounds):
        for worker in workers:
            with Watch(worker.pid) as watch:
                seconds, phases = worker.call("load", files)
            found = {"clock": seconds, "processor": watch.cpu_s, "memory": watch.peak_bytes}
            for name, value in (found | phases).items():
                figures[worker.name].setdefault(name, []).append(value)
    return figures


def report(size: str, figures: Figures) -> None:
    rows = SIZES[size].people + SIZES[size].follows
    ours, peer = (
        {name: statistics.median(values) for name, values in figures[who].items()}
        for who in (OURS, PEER)
    )
    print(f"\nsize {size}: {rows:,} rows\n{'':26}{OURS:>18}{PEER:>18}{'ratio':>9}")
    for name in ("clock", "processor"):
        ratio = f"{ours[name] / peer[name]:.2f}×"
        print(f"{name:26}{show(ours[name]):>18}{show(peer[name]):>18}{ratio:>9}")
    speeds = [f"{rows / who['clock']:,.0f}" for who in (ours, peer)]
    print(f"{'rows a second':26}{speeds[0]:>18}{speeds[1]:>18}")
    memory = [f"{who['memory'] / (1 << 30):.2f} GiB" for who in (ours, peer)]
    print(f"{'memory':26}{memory[0]:>18}{memory[1]:>18}")
    for phase in (name for name in ours if name not in ("clock", "processor", "memory")):
        print(f"{'  of which ' + phase:26}{show(ours[phase]):>18}")


# Inside the workers -------------------------------------------------------------------------------


def start_ours(place: Path, warm_up: Files, heap: str) -> tuple[str, Steps]:
    import omnigraph
    from omnigraph import Graph
    from omnigraph.pipeline.spark.session import Spark, SparkSettings

    spark = Spark.open(SparkSettings(options={"spark.driver.memory": heap}))

    def load(files: Files) -> dict[str, float]:
        shutil.rmtree(place, ignore_errors=True)
        with Graph.init(str(place), SCHEMA) as graph:
            result = graph.load(files, mode="append", engine="spark", spark=spark)
        return {name: s for name, s in result.seconds.items() if name != "start"}

    load(warm_up)
    return omnigraph.__version__, {"load": load}


PEOPLE_LINES = """
SELECT data.number, data.name, data.age, data.city
FROM read_json('{file}', format = 'newline_delimited', columns = {{
    'data': 'STRUCT(number BIGINT, name VARCHAR, age INTEGER, city VARCHAR)'}})
"""
FOLLOWS_LINES = """
SELECT "from", "to"
FROM read_json('{file}', format = 'newline_delimited', columns = {{
    'from': 'BIGINT', 'to': 'BIGINT'}})
"""


# What our tables hold: keys as text, and an id of 26 characters for an edge without one.
PEOPLE = "SELECT CAST(number AS VARCHAR) AS id, * FROM ({rows})"
FOLLOWS = """
SELECT lpad(CAST(row_number() OVER () AS VARCHAR), 26, '0') AS id,
       CAST("from" AS VARCHAR) AS src, CAST("to" AS VARCHAR) AS dst
FROM ({rows})
"""
TABLE = "SELECT * FROM read_parquet('{file}')"


def start_peer(place: Path, form: str) -> tuple[str, Steps]:
    import duckdb
    import lance

    def load(files: Files) -> dict[str, float]:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        is_table = form == "parquet"
        for name, statement, lines, file in (
            ("people", PEOPLE, PEOPLE_LINES, files[0]),
            ("follows", FOLLOWS, FOLLOWS_LINES, files[1]),
        ):
            rows = (TABLE if is_table else lines).format(file=file)
            relation = duckdb.sql(statement.format(rows=rows))
            assert relation is not None, "a select gives rows"
            reader = relation.to_arrow_reader(100_000)
            lance.write_dataset(reader, str(place / name), data_storage_version="2.2")
        return {}

    return duckdb.__version__, {"load": load}


if __name__ == "__main__":
    main()
