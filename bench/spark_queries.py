"""What it costs to ask Spark, and to export by it, beside this process.

    python -m bench.spark_queries                                  10,000 people, 240,000 follows
    python -m bench.spark_queries --people 1000000 --follows 24000000

Both engines count the paths of two hops, in one process each, and must agree. The first answer of
Spark has the start of its session in it; the second is what a question costs. An export to Parquet
is measured beside a bare copy of the same rows from Lance to Parquet.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from bench.measuring.processes import Watch
from bench.measuring.worker import Steps, Worker, show
from bench.merge_load import SCHEMA, write

QUESTIONS = {
    "two hops": "match { $p: Person  $p follows $f  $f follows $g } return { count($g) as n }",
    "groups": """match { $p: Person  $p follows $f  $f.number < 1000 }
                 return { $f.number as who, count($p) as n }  order { n desc, who }  limit 3""",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--follows", type=int, default=240_000)
    parser.add_argument("--heap", default="2g", help="memory of Spark's JVM")
    chosen = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="ogspark-"))
    files = write(place / "rows", 0, chosen.people, chosen.follows)
    make_graph(place / "g.omni", files)
    workers = [
        Worker(engine, start, place, engine, chosen.heap) for engine in ("local", "spark", "copy")
    ]
    try:
        print(f"{chosen.people:,} people and {chosen.follows:,} follows\n")
        for question in (*QUESTIONS, "export"):
            answers = []
            for worker in workers:
                if question != "export" and worker.name == "copy":
                    continue
                with Watch(worker.pid) as watch:
                    rounds = [worker.call("ask", question) for _ in range(2)]
                answers.append(rounds[-1][1])
                memory = f"{watch.peak_bytes / (1 << 30):.2f} GiB"
                first, second = (show(seconds) for seconds, _ in rounds)
                print(f"{question:10}{worker.name:8}{first:>10}, then{second:>10}, {memory}")
            assert all(answer == answers[0] for answer in answers), f"{question}: {answers}"
    finally:
        for worker in workers:
            worker.stop()
        shutil.rmtree(place, ignore_errors=True)


def make_graph(place: Path, files: tuple[Path, Path]) -> None:
    from omnigraph import Graph

    Graph.init(place, SCHEMA).load([str(file) for file in files], mode="append", engine="local")


def start(place: Path, who: str, heap: str) -> tuple[str, Steps]:
    import omnigraph
    from omnigraph import Graph
    from omnigraph.base.choices import LoadEngine
    from omnigraph.engine.settings import Settings

    settings = Settings(spark_options={"spark.driver.memory": heap})
    graph = Graph.open(place / "g.omni", read_only=True, settings=settings)

    def ask(question: str) -> object:
        if question == "export":
            return copied(graph, place / f"{who}-copy") if who == "copy" else exported()
        text = f"query q() {{ {QUESTIONS[question]} }}"
        return graph.query(text, engine="spark" if who == "spark" else "local").to_pylist()

    def exported() -> int:
        target = place / f"{who}-export"
        engine: LoadEngine = "spark" if who == "spark" else "local"
        result = graph.export(target, format="parquet", engine=engine, overwrite=True)
        return result.total_entities

    return omnigraph.__version__, {"ask": ask}


def copied(graph: object, target: Path) -> int:
    """The least that an export could do."""
    import lance
    import pyarrow.parquet as pq

    from omnigraph import Graph

    assert isinstance(graph, Graph)
    snapshot, rows = graph.snapshot().stored, 0
    target.mkdir(exist_ok=True)
    for entity in snapshot.catalog.entities:
        dataset = snapshot.dataset(entity)
        version = dataset.ref.version
        table = lance.dataset(str(snapshot.location(entity)), version=version).to_table()
        pq.write_table(table, target / f"{entity.name}.parquet", compression="zstd")
        rows += table.num_rows
    return rows


if __name__ == "__main__":
    main()
