"""What a large merge costs: ours, matched and checked on Spark, beside Lance's own in one process.

    python -m bench.upsert                                  100,000 rows into a million
    python -m bench.upsert --rows 1000000 --into 10000000

Half of the rows are known and half are new. Ours must keep the row id of every row that it
replaces, with the version that made it, and hold each id once, or the run fails. The peer's
`merge_insert` does the same to one table, without a check and without history.
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

SCHEMA = "node Person { number: I64 @key  name: String  age: I32 }"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--into", type=int, default=1_000_000)
    parser.add_argument("--heap", default="2g", help="memory of Spark's JVM")
    chosen = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="ogupsert-"))
    held, incoming = place / "held" / "Person.parquet", place / "incoming" / "Person.parquet"
    write_people(held, 0, chosen.into, age=20)
    write_people(incoming, chosen.into - chosen.rows // 2, chosen.rows, age=21)
    workers = [
        Worker("omnigraph", start_ours, place / "ours", held, incoming, chosen.heap),
        Worker("lance merge_insert", start_peer, place / "peer", held, incoming),
    ]
    try:
        print(f"{chosen.rows:,} rows into {chosen.into:,}, half of them known\n")
        for worker in workers:
            worker.call("prepare")
            with Watch(worker.pid) as watch:
                seconds, told = worker.call("merge")
            worker.call("check")
            memory = f"{watch.peak_bytes / (1 << 30):.2f} GiB"
            cost = f"{show(seconds):>10}, processor {show(watch.cpu_s)}, {memory}"
            print(f"{worker.name:20}{cost} {told}")
    finally:
        for worker in workers:
            worker.stop()
        shutil.rmtree(place, ignore_errors=True)


def write_people(file: Path, first: int, count: int, *, age: int) -> None:
    file.parent.mkdir(parents=True)
    number = pa.array(np.arange(first, first + count))
    # Long enough for a million rows to be too many for the driver.
    name = pc.binary_join_element_wise("Person", *[number.cast(pa.string())] * 8, " ")
    table = pa.table([number, name, pa.repeat(pa.scalar(age, pa.int32()), count)], NAMES)
    pq.write_table(table, file, row_group_size=1_000_000)


NAMES = ["number", "name", "age"]
MADE = "_row_created_at_version"


def start_ours(place: Path, held: Path, incoming: Path, heap: str) -> tuple[str, Steps]:
    import omnigraph
    from omnigraph import Graph
    from omnigraph.pipeline.spark.session import Spark, SparkSettings

    spark = Spark.open(SparkSettings(options={"spark.driver.memory": heap}))
    graph = Graph.init(str(place), SCHEMA)
    before: dict[str, pa.ChunkedArray] = {}

    def marks() -> pa.Table:
        snapshot = graph.snapshot().stored
        person = snapshot.catalog.nodes[0]
        rows = snapshot.dataset(person).scan(["number", MADE], with_row_id=True)
        return rows.take(pc.sort_indices(rows["number"]))

    def prepare(_: None) -> None:
        graph.load(held, mode="append", engine="spark", spark=spark)
        before.update(zip(("_rowid", MADE), marks().select(["_rowid", MADE]), strict=True))

    def merge(_: None) -> str:
        result = graph.load(incoming, mode="merge", engine="spark", spark=spark)
        phases = ", ".join(f"{name} {show(s)}" for name, s in result.seconds.items())
        return f"({result.inserted:,} inserted, {result.updated:,} updated; {phases})"

    def check(_: None) -> None:
        rows = marks()
        assert rows.num_rows == pc.count_distinct(rows["number"]).as_py(), "each id once"
        assert pc.count_distinct(rows["_rowid"]).as_py() == rows.num_rows, "each row id once"
        for mark, values in before.items():
            # Known rows have the smaller numbers.
            kept = rows[mark].slice(0, len(values))
            assert pc.all(pc.equal(kept, values)).as_py(), f"{mark} of a row is kept"

    return omnigraph.__version__, {"prepare": prepare, "merge": merge, "check": check}


def start_peer(place: Path, held: Path, incoming: Path) -> tuple[str, Steps]:
    import lance

    def prepare(_: None) -> None:
        rows = pq.ParquetFile(held).iter_batches()
        reader = pa.RecordBatchReader.from_batches(pq.read_schema(held), rows)
        lance.write_dataset(reader, str(place), enable_stable_row_ids=True)

    def merge(_: None) -> str:
        builder = lance.dataset(str(place)).merge_insert("number")
        builder.when_matched_update_all().when_not_matched_insert_all()
        done = builder.execute(pq.read_table(incoming))
        return f"({done['num_inserted_rows']:,} inserted, {done['num_updated_rows']:,} updated)"

    return lance.__version__, {"prepare": prepare, "merge": merge, "check": lambda _: None}


if __name__ == "__main__":
    main()
