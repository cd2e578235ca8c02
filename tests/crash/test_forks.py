"""Forked children: refused in our words, at once, and without a hold on anything of their parent's.

The parents are processes of their own: a forked copy of a test run would be a strange thing.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.base.ids import MAIN
from tests.store_contract.builders import make_store, open_store

# What a forked child tries, of a graph that its parent has used.
CALLS = {
    "a warm query": "graph.query(ALL)",
    "a query of a new commit": "graph.query(ALL)",
    "an open": "Graph.open(graph.uri)",
    "a read-only open": "Graph.open(graph.uri, read_only=True)",
    "an init": "Graph.init(graph.uri + '2', SCHEMA)",
    "a mutation": "graph.mutate(INSERT, params={'k': 'c'})",
    "a load": 'graph.load(b\'{"type": "C", "data": {"k": "x"}}\', mode="append", engine="local")',
    "a branch": "graph.branch_create('b')",
    "upkeep": "graph.optimize()",
    "a held snapshot": "held.dataset(held.catalog.nodes[0]).scan(['id'])",
}

PARENT = """
import os, sys, time, warnings
warnings.simplefilter("ignore")
from omnigraph import Graph, OmnigraphError
SCHEMA = "node C { k: String @key }"
ALL = "query q() { match { $c: C } return { $c.k as k } }"
INSERT = "query q($k: String) { insert C { k: $k } }"
graph = Graph.init(sys.argv[1], SCHEMA)
graph.mutate(INSERT, params={"k": "a"})
graph.query(ALL)
held = graph.engine.store.snapshot()
for name, call in CALLS.items():
    if "new commit" in name:
        graph.mutate(INSERT, params={"k": "n"})
    child = os.fork()
    if not child:
        try:
            eval(call)
            print(name, "answered", flush=True)
        except OmnigraphError as error:
            print(name, error.code, flush=True)
        except BaseException as error:
            print(name, repr(error), flush=True)
        os._exit(0)
    for _ in range(600):
        if os.waitpid(child, os.WNOHANG)[0]:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        print(name, "hung", flush=True)
graph.mutate(INSERT, params={"k": "z"})
assert len(graph.query(ALL)) == 3
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_whatever_a_forked_child_asks_of_a_graph_is_refused_at_once(tmp_path: Path) -> None:
    said = run(f"CALLS = {CALLS!r}\n{PARENT}", str(tmp_path / "g"))
    assert said.splitlines() == [f"{name} forked_process" for name in CALLS]


def test_a_child_forked_before_any_graph_was_used_can_use_one(tmp_path: Path) -> None:
    program = """
import os, sys, warnings
warnings.simplefilter("ignore")
from omnigraph import Graph
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
graph = Graph.init(sys.argv[1], "node C { k: String @key }")
graph.mutate('query q() { insert C { k: "a" } }')
print(len(graph.query("query q() { match { $c: C } return { $c.k as k } }")), flush=True)
os._exit(0)
"""
    assert run(program, str(tmp_path / "g")) == "1\n"


@pytest.mark.parametrize("end", ["is done", "is killed"])
def test_a_fence_is_free_when_its_holder_is_done_though_a_forked_child_lives_on(
    tmp_path: Path, end: str
) -> None:
    make_store(tmp_path / "g")
    program = """
import os, sys, time
from omnigraph.base.ids import MAIN
from tests.store_contract.builders import open_store
store = open_store(sys.argv[1])
with store.fence(MAIN):
    if not (child := os.fork()):
        os.close(1)
        os.close(2)
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)
    if sys.argv[2] == "is killed":
        os.kill(os.getpid(), 9)
print("done", flush=True)
"""
    holder = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "g"), end],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=120,
    )
    child = int(holder.stdout.split()[0])
    try:
        os.kill(child, 0)  # it lives
        with open_store(tmp_path / "g").fence(MAIN, timeout_s=0):
            pass
    finally:
        os.kill(child, 9)


def test_a_child_that_leaves_a_fence_does_not_free_its_parents(tmp_path: Path) -> None:
    make_store(tmp_path / "g")
    program = """
import os, sys
from omnigraph.base.errors import BranchBusy
from omnigraph.base.ids import MAIN
from tests.store_contract.builders import open_store
store, other = open_store(sys.argv[1]), open_store(sys.argv[1])
with store.fence(MAIN):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        try:
            with other.fence(MAIN, timeout_s=0):
                print("free")
        except BranchBusy:
            print("held")
if not child:
    os._exit(0)
"""
    place = str(tmp_path / "g")
    root = str(Path(__file__).parents[2])
    assert run(f"import sys; sys.path.insert(0, {root!r})\n{program}", place) == "held\n"
