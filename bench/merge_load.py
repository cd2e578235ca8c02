"""What it costs to merge a branch that took a load, into a main that moved as well.

    python -m bench.merge_load                                     300,000 people, 1,500,000 follows
    python -m bench.merge_load --people 1000000 --follows 5000000

Main holds as many rows as the load brings at first, a tenth of each. While the load lies on its
branch, main takes another of a tenth, and changes and deletes rows. The branch changes and deletes
some too, others than main. The merge must bring all of it, or the run fails. The peer does the
least that a merge could: it copies the rows of the load from one Lance dataset to another, in one
process, without a look at what is there.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.measuring.processes import Watch
from bench.measuring.worker import Steps, Worker, show

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32 }
edge Follows: Person -> Person { since: I32 }
"""

Loads = dict[str, tuple[Path, Path]]
"""By name, the files of the people and of who follows whom."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=300_000)
    parser.add_argument("--follows", type=int, default=1_500_000)
    parser.add_argument("--engine", choices=("spark", "local"), default="spark")
    parser.add_argument("--heap", default="2g", help="memory of Spark's JVM")
    chosen = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="ogmerge-"))
    people, follows = chosen.people, chosen.follows
    few = people // 10, follows // 10
    loads = {
        "first": write(place / "first", 0, *few),
        "main": write(place / "main", few[0], *few),
        "branch": write(place / "branch", 2 * few[0], people, follows),
    }
    workers = [
        Worker("omnigraph", start_ours, place / "ours", loads, chosen.engine, chosen.heap),
        Worker("copying in lance", start_peer, place / "peer", loads),
    ]
    try:
        print(f"a load of {people:,} people and {follows:,} follows is merged\n")
        for worker in workers:
            worker.call("prepare")
            with Watch(worker.pid) as watch:
                seconds, told = worker.call("merge")
            worker.call("check")
            memory = f"{watch.peak_bytes / (1 << 30):.2f} GiB"
            speed = f"{(people + follows) / seconds:,.0f} rows a second"
            print(
                f"{worker.name:20}{show(seconds):>10}, processor {show(watch.cpu_s)}, "
                f"{speed}, {memory} {told}"
            )
    finally:
        for worker in workers:
            worker.stop()
        shutil.rmtree(place, ignore_errors=True)


def write(place: Path, first: int, people: int, follows: int) -> tuple[Path, Path]:
    """People by number, and who of them follows whom."""
    place.mkdir(parents=True)
    number = pa.array(np.arange(first, first + people))
    name = pc.binary_join_element_wise("Person", number.cast(pa.string()), " ")
    age = pa.repeat(pa.scalar(20, pa.int32()), people)
    pq.write_table(
        pa.table([number, name, age], ["number", "name", "age"]), place / "Person.parquet"
    )
    chance = np.random.default_rng(first)
    ends = [pa.array(chance.integers(first, first + people, follows)) for _ in range(2)]
    since = pa.array(chance.integers(2000, 2030, follows, dtype=np.int32))
    pq.write_table(pa.table([*ends, since], ["from", "to", "since"]), place / "Follows.parquet")
    return place / "Person.parquet", place / "Follows.parquet"


def start_ours(place: Path, loads: Loads, engine: str, heap: str) -> tuple[str, Steps]:
    import omnigraph
    from omnigraph import Graph
    from omnigraph.base.span import SourceText
    from omnigraph.engine.engine import Engine
    from omnigraph.engine.settings import Settings

    settings = Settings(
        load_engine="spark" if engine == "spark" else "local",
        spark_options={"spark.driver.memory": heap},
    )
    graph = Graph(Engine.init(str(place), SourceText(SCHEMA, "bench.pg"), settings=settings))
    counts: list[int] = []

    def change(branch: str, low: int) -> None:
        """A thousand people get older, and a hundred go with all their follows."""
        older = f"update Person set {{ age: 30 }} where number >= {low} and number < {low + 1000}"
        gone = f"delete Person where number >= {low + 1000} and number < {low + 1100}"
        for text in (older, gone):
            graph.mutate(f"query q() {{ {text} }}", branch=branch)

    def prepare(_: None) -> None:
        graph.load(loads["first"], mode="append")
        graph.branch_create("night")
        graph.load(loads["branch"], mode="append", branch="night")
        graph.load(loads["main"], mode="append")
        change("main", 0)
        change("night", 2000)

    def merge(_: None) -> str:
        result = graph.branch_merge("night")
        assert result.outcome == "merged", result.outcome
        counts.extend((result.counts["Person"].inserted, result.counts["Follows"].inserted))
        told = (f"{c.inserted:,}/{c.updated:,}/{c.deleted:,}" for c in result.counts.values())
        return f"(inserted/updated/deleted: {', '.join(told)})"

    def check(_: None) -> None:
        assert counts == [pq.read_metadata(file).num_rows for file in loads["branch"]]
        snapshot = graph.snapshot().stored
        ids = snapshot.dataset(snapshot.catalog.nodes[0]).scan(["id"])["id"]
        assert pc.count_distinct(ids).as_py() == len(ids), "each id once"
        rows = [pq.read_metadata(load[0]).num_rows for load in loads.values()]
        assert len(ids) == sum(rows) - 200, "what both sides brought, without what they deleted"

    return omnigraph.__version__, {"prepare": prepare, "merge": merge, "check": check}


def start_peer(place: Path, loads: Loads) -> tuple[str, Steps]:
    import lance

    def written(rows: pa.RecordBatchReader, name: str) -> None:
        lance.write_dataset(rows, str(place / name), enable_stable_row_ids=True)

    def prepare(_: None) -> None:
        for file in loads["branch"]:
            batches = pq.ParquetFile(file).iter_batches()
            written(pa.RecordBatchReader.from_batches(pq.read_schema(file), batches), file.stem)

    def merge(_: None) -> str:
        for file in loads["branch"]:
            rows = lance.dataset(str(place / file.stem)).scanner().to_reader()
            written(rows, f"{file.stem}-merged")
        return ""

    return lance.__version__, {"prepare": prepare, "merge": merge, "check": lambda _: None}


if __name__ == "__main__":
    main()
