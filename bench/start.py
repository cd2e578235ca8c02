"""What it costs to start: one small query by the command line, beside Python with Arrow and Lance.

    python -m bench.start

Both are new processes, in turns. What counts is processor time, children and threads included, and
of that the least: whatever else the machine does only adds to it. An environment with pandas has a
dearer Lance, since Arrow imports pandas where it is installed; the report says which one this is.
"""

import importlib.util
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.languages import SCHEMA
from omnigraph import Graph

ROUNDS = 15
AT_MOST = 1.5

QUERY = "query friends() { match { $p: Person  $p knows $f } return { $f.name, $f.age } }"
ROWS = [
    {"type": "Person", "data": {"email": "ada@example.org", "name": "Ada", "age": 36}},
    {"type": "Person", "data": {"email": "alan@example.org", "name": "Alan", "age": 41}},
    {"edge": "Knows", "from": "ada@example.org", "to": "alan@example.org", "data": {}},
]


def main() -> None:
    with TemporaryDirectory() as directory:
        store = str(Path(directory) / "people.omni")
        with Graph.init(store, SCHEMA) as graph:
            graph.load(ROWS, mode="append", engine="local")
        programs = {
            "an empty Python": ["-c", "pass"],
            "import pyarrow, lance": ["-c", "import pyarrow, lance"],
            "omnigraph version": ["-m", "omnigraph", "version"],
            "omnigraph query": ["-m", "omnigraph", "query", "-e", QUERY, "--store", store],
        }
        for program in programs.values():
            spent_s(program)  # Files are read, and Python's bytecode is written, once.
        rounds = [
            {name: spent_s(program) for name, program in programs.items()} for _ in range(ROUNDS)
        ]
    least = {name: min(round_[name] for round_ in rounds) for name in programs}
    bare = least["import pyarrow, lance"]
    has_pandas = importlib.util.find_spec("pandas") is not None
    print(f"with{'' if has_pandas else 'out'} pandas")
    for name, spent in least.items():
        print(f"{name:32}{spent * 1e3:8.0f} ms{spent / bare:8.2f} ×")
    print(f"omnigraph query should be at most {AT_MOST} ×")


def spent_s(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
