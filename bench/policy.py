"""What a policy costs: the same questions without one, under one, and under ten rules about rows.

    python -m bench.policy                  size S
    python -m bench.policy --size M

All handles share one engine and its caches, so that only the policy differs. Figures are medians of
processor time of warm rounds, which are interleaved. The ten rules hide about one row in a hundred:
answers differ a little, the work does not.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from bench.adapters.omnigraph import STUDY_ASKED, STUDY_SCHEMA
from bench.workloads.people import SIZES
from bench.workloads.study import make
from omnigraph import Graph
from omnigraph.engine.settings import Settings
from omnigraph.policy.policy import Policy

ROUNDS = 15
POINT = "query q($n: I64) { match { $p: Person { number: $n } } return { $p.name } }"
POINTS = 200

ALL = """
version: 1
groups: {staff: [ada, bo]}
rules:
  - id: all
    allow: {actors: {group: staff}, actions: [read, export]}
"""
HIDDEN = [
    ("Person", "resource.age == 80"),
    ("Person", 'resource.gender == "other"'),
    ("Person", 'resource.name like "*99999*"'),
    ("Person", "resource.number == 123"),
    ("City", 'resource.name == "city 0999"'),
    ("City", "resource.number == 1100"),
    ("State", 'resource.name == "state 59"'),
    ("Interest", 'resource.name == "interest 39"'),
    ("Country", 'resource.name == "Peru"'),
    ("Follows", 'resource.from == "77"'),
]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--size", choices=SIZES, default="S")
    options.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "ogbench")
    given = options.parse_args()
    graph = opened(make(given.size, given.directory), given.directory / f"policy-db-{given.size}")
    handles = {
        "no policy": graph,
        "no row rules": under(graph, ALL).as_actor("ada"),
        "ten row rules": under(graph, ALL + row_rules()).as_actor("ada"),
    }
    report_points(handles)
    report_study(handles)


def opened(files: Path, place: Path) -> Graph:
    settings = Settings(load_engine="local")
    if not place.exists():
        with Graph.init(place, STUDY_SCHEMA, durability="relaxed", settings=settings) as graph:
            graph.load(files / "graph.jsonl", mode="append")
            graph.optimize()
    return Graph.open(place, settings=settings)


def under(graph: Graph, text: str) -> Graph:
    return graph.under_policy(Policy.of_text(text))


def row_rules() -> str:
    return "".join(
        f"  - id: r{number}\n    deny:\n      actors: {{group: staff}}\n"
        f"      actions: [read, export]\n      types: [{type_}]\n      when: '{when}'\n"
        for number, (type_, when) in enumerate(HIDDEN)
    )


def report_points(handles: dict[str, Graph]) -> None:
    """A point read shows what is the same for every query, whatever it reads."""
    spent: dict[str, list[float]] = {name: [] for name in handles}
    for number in range(ROUNDS + 1):
        for name, graph in handles.items():
            began = time.process_time()
            for person in range(POINTS):
                graph.query(POINT, params={"n": person})
            if number:
                spent[name].append((time.process_time() - began) / POINTS)
    print("a warm point read")
    plain = statistics.median(spent["no policy"])
    for name, seconds in spent.items():
        median = statistics.median(seconds)
        print(f"  {name:16}{median * 1e6:9.0f} µs{(median - plain) * 1e6:+9.0f} µs")


def report_study(handles: dict[str, Graph]) -> None:
    print(
        f"\n{'the study, warm':34}" + "".join(f"{name:>16}" for name in handles) + f"{'ratio':>9}"
    )
    ratios = []
    for question, body in STUDY_ASKED.items():
        if "$n" in body:
            continue
        spent: dict[str, list[float]] = {name: [] for name in handles}
        for number in range(ROUNDS + 1):
            for name, graph in handles.items():
                began = time.process_time()
                graph.query(f"query q() {{ {body} }}")
                if number:
                    spent[name].append(time.process_time() - began)
        medians = {name: statistics.median(seconds) for name, seconds in spent.items()}
        ratios.append(medians["ten row rules"] / medians["no policy"])
        shown = "".join(f"{seconds * 1e3:13.2f} ms" for seconds in medians.values())
        print(f"{question:34}{shown}{ratios[-1]:8.2f}×")
    print(f"\nten row rules, geometric mean: {statistics.geometric_mean(ratios):.2f}×")


if __name__ == "__main__":
    main()
