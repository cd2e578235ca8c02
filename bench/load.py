"""What a load costs: ours, checked as a whole on Spark, beside one process that checks nothing.

    python bench/load.py                      sizes S and M
    python bench/load.py --size L             a million people, 24 million follows

The peer reads the same file with DuckDB and writes the same columns with Lance, in one process, in
one go, without a check: the least that a load could cost. Ours runs on local Spark in the memory
that is given; its session is started and warmed before the clock is. Both take turns. Seconds of
processor are of the whole tree of processes, the JVM's and its workers' included, and are steadier
than the clock on a machine that others use. Memory is the largest sum over the tree.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from data import SIZES, Data, make
from processes import Watch
from worker import Steps, Worker, show

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32  city: String }
edge Follows: Person -> Person
"""
ROUNDS = {"XS": 3, "S": 3, "M": 3, "L": 1}
OURS, PEER = "omnigraph", "duckdb to lance"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", default="S,M", help=f"some of {', '.join(SIZES)}")
    parser.add_argument("--rounds", type=int, help="instead of what suits the size")
    parser.add_argument("--heap", default="2g", help="memory of Spark's JVM")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    chosen = parser.parse_args()
    place = chosen.directory / "load"
    warm_up = make("XS", chosen.directory)
    workers = [
        Worker(OURS, start_ours, place / "ours", warm_up, chosen.heap),
        Worker(PEER, start_peer, place / "peer"),
    ]
    try:
        for size in chosen.size.split(","):
            data = make(size, chosen.directory)
            report(size, measure(workers, data, chosen.rounds or ROUNDS[size]))
    finally:
        for worker in workers:
            worker.stop()
        shutil.rmtree(place, ignore_errors=True)


Figures = dict[str, dict[str, list[float]]]
"""What was measured in every round, by system and name."""


def measure(workers: Sequence[Worker], data: Data, rounds: int) -> Figures:
    figures: Figures = {worker.name: {} for worker in workers}
    for _ in range(rounds):
        for worker in workers:
            with Watch(worker.pid) as watch:
                seconds, phases = worker.call("load", data)
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
    for phase in ours.keys() - {"clock", "processor", "memory"}:
        print(f"{'  of which ' + phase:26}{show(ours[phase]):>18}")


# Inside the workers -------------------------------------------------------------------------------


def start_ours(place: Path, warm_up: Data, heap: str) -> tuple[str, Steps]:
    import omnigraph
    from omnigraph import Graph
    from omnigraph.pipeline.session import Spark, SparkSettings

    spark = Spark.open(SparkSettings(options={"spark.driver.memory": heap}))

    def load(data: Data) -> dict[str, float]:
        shutil.rmtree(place, ignore_errors=True)
        with Graph.init(str(place), SCHEMA) as graph:
            files = [str(data.people_file), str(data.follows_file)]
            result = graph.load(files, mode="append", engine="spark", spark=spark)
        return {name: s for name, s in result.seconds.items() if name != "start"}

    load(warm_up)
    return omnigraph.__version__, {"load": load}


# What our tables hold: keys as text, and an id of 26 characters for an edge without one.
PEOPLE = """
SELECT CAST(data.number AS VARCHAR) AS id, data.number, data.name, data.age, data.city
FROM read_json('{file}', format = 'newline_delimited', columns = {{
    'data': 'STRUCT(number BIGINT, name VARCHAR, age INTEGER, city VARCHAR)'}})
"""
FOLLOWS = """
SELECT lpad(CAST(row_number() OVER () AS VARCHAR), 26, '0') AS id,
       CAST("from" AS VARCHAR) AS src, CAST("to" AS VARCHAR) AS dst
FROM read_json('{file}', format = 'newline_delimited', columns = {{
    'from': 'BIGINT', 'to': 'BIGINT'}})
"""


def start_peer(place: Path) -> tuple[str, Steps]:
    import duckdb
    import lance

    def load(data: Data) -> dict[str, float]:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for name, statement, file in (
            ("people", PEOPLE, data.people_file),
            ("follows", FOLLOWS, data.follows_file),
        ):
            rows = duckdb.sql(statement.format(file=file)).to_arrow_reader(100_000)
            lance.write_dataset(rows, str(place / name), data_storage_version="2.2")
        return {}

    return duckdb.__version__, {"load": load}


if __name__ == "__main__":
    main()
