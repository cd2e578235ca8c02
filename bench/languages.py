"""What the languages cost: importing them, building the grammar, compiling a query.

    python -m bench.languages

Imports are measured in fresh processes, next to an empty one; the rest in this process, as medians
of processor time, which other programs on the machine disturb less than the clock on the wall.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.query.check.check import check
from omnigraph.lang.query.text.format import format_source
from omnigraph.lang.query.text.parser import parse
from omnigraph.lang.schema.check.check import compile_schema

SCHEMA = """
node Person  { email: String @key  name: String  age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""

QUERY = """query colleagues($email: String, $least: I32?) {
    match {
        $p: Person { email: $email }
        $p knows{1,2} $f
        $f.age >= $least
        not { $f worksAt $_ }
    }
    return { $f.name, count($f) as n }
    order { n desc, $f.name }
    limit 10
}"""

ROUNDS = 200
PROCESSES = 7


def main() -> None:
    empty = in_a_new_process("pass")
    print(f"{'an empty Python':44}{empty:8.1f} ms")
    for module in ("omnigraph", "omnigraph.lang.plan.compile", "omnigraph.surfaces.cli.main"):
        spent = in_a_new_process(f"import {module}")
        print(f"{'import ' + module:44}{spent - empty:8.1f} ms more")
    catalog = compile_schema(SourceText(SCHEMA))
    source = SourceText(QUERY)
    began = time.process_time()
    compile_query(source, catalog)
    print(
        f"{'the first query: grammar and compile':44}{(time.process_time() - began) * 1e3:8.1f} ms"
    )
    tree = parse(source).queries[0]
    for what, work in (
        ("parse a ten-line query", lambda: parse(source)),
        ("check it", lambda: check(tree, catalog, source)),
        ("parse + check + lower", lambda: compile_query(source, catalog)),
        ("format it", lambda: format_source(source)),
        ("compile a schema of four types", lambda: compile_schema(SourceText(SCHEMA))),
    ):
        print(f"{what:44}{median_ms(work):8.2f} ms")


def median_ms(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return statistics.median(spent) * 1e3


def in_a_new_process(statement: str) -> float:
    spent = []
    for _ in range(PROCESSES):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1e3


if __name__ == "__main__":
    main()
