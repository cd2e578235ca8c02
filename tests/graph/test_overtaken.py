"""Writers of one branch succeed one after the other; only what was decided on an older view is
refused.

A model of the graph says what each operation does to it. Whatever happened at once, the commits in
the order of the log, done one after the other to the model, must come to what the graph holds.
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from omnigraph import Graph, OmnigraphError
from omnigraph.base.choices import LoadModeName
from omnigraph.base.clock import SystemClock
from omnigraph.base.errors import ReadSetMoved, Unsupported
from omnigraph.base.ids import MAIN, BranchName, CommitId
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.store.commits import Commit, CommitKind
from omnigraph.store.publish import publish
from omnigraph.store.waiting import tries
from tests import processes
from tests.buckets import ENDPOINT, bucket_variables

SCHEMA = """
node Tally { name: String @key  value: I64 }
node Company { name: String @key  size: I64 }
node Note { text: String  at: DateTime }
edge Owns: Company -> Tally { @key(src, dst) }
"""

Held = dict[str, dict[str, int]]
"""The value of each tally and the size of each company, by name."""

LONG_S = 60.0


@dataclass(frozen=True)
class Do:
    """One statement: in the language, and as the model understands it."""

    verb: str
    type: str
    name: str | None = None
    value: int = 0
    old: int | None = None

    @property
    def column(self) -> str:
        return {"Tally": "value", "Company": "size"}[self.type]

    @property
    def text(self) -> str:
        if self.verb == "insert":
            return f'insert {self.type} {{ name: "{self.name}", {self.column}: {self.value} }}'
        where = f'name = "{self.name}"' if self.name else f"{self.column} = {self.old}"
        if self.verb == "delete":
            return f"delete {self.type} where {where}"
        return f"update {self.type} set {{ {self.column}: {self.value} }} where {where}"

    def apply(self, held: Held) -> None:
        rows = held[self.type]
        if self.verb == "insert":
            assert self.name is not None
            rows[self.name] = self.value
            return
        for name, value in list(rows.items()):
            if name == self.name or (self.name is None and value == self.old):
                if self.verb == "delete":
                    del rows[name]
                else:
                    rows[name] = self.value


Mutation = tuple[Do, ...]


def text_of(mutation: Mutation) -> str:
    return f"query q() {{ {' '.join(statement.text for statement in mutation)} }}"


def after(held: Held, mutation: Mutation) -> Held:
    changed = {type_: dict(rows) for type_, rows in held.items()}
    for statement in mutation:
        statement.apply(changed)
    return changed


def difference(before: Held, now: Held) -> int:
    """How many rows differ."""
    return sum(
        before[type_].get(name) != now[type_].get(name)
        for type_ in before
        for name in before[type_].keys() | now[type_].keys()
    )


QUERIES = """
query tallies() { match { $t: Tally } return { $t.name as name, $t.value as value } }
query companies() { match { $c: Company } return { $c.name as name, $c.size as value } }
"""
START: Held = {"Tally": {"ada": 1, "bob": 2, "cyd": 3}, "Company": {"acme": 1}}


def found_in(graph: Graph) -> Held:
    found = {}
    for type_, name in (("Tally", "tallies"), ("Company", "companies")):
        rows = graph.query(QUERIES, name).to_pylist()
        found[type_] = {row["name"]: row["value"] for row in rows}
        assert len(rows) == len(found[type_]), "a key is there twice"
    return found


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="relaxed")
    fill(graph)
    return graph


def fill(graph: Graph) -> None:
    rows = [Do("insert", type_, n, v) for type_, held in START.items() for n, v in held.items()]
    graph.mutate(text_of(tuple(rows)))


# Someone else is quicker --------------------------------------------------------------------------


class Overtaken:
    """Something happens once, when a write of this handle is prepared and before it is fenced."""

    def __init__(
        self, graph: Graph, meanwhile: Callable[[], object], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fence = graph.engine.store.fence
        self._is_over = False

        def overtaken(name: BranchName, **options: Any) -> Any:
            if not self._is_over and options.get("timeout_s") != 0:
                self._is_over = True
                meanwhile()
            return fence(name, **options)

        monkeypatch.setattr(graph.engine.store, "fence", overtaken)


@pytest.fixture(scope="module")
def another_process() -> Iterator[ProcessPoolExecutor]:
    with processes.pool(1) as pool:
        yield pool


def mutate_at(uri: str, text: str) -> str:
    commit = Graph.open(uri, durability="relaxed").mutate(text).commit
    assert commit is not None
    return commit.graph_commit_id


def load_of(mode: LoadModeName, *rows: Do) -> Callable[[Graph], CommitId]:
    lines = [{"type": r.type, "data": {"name": r.name, r.column: r.value}} for r in rows]

    def load(graph: Graph) -> CommitId:
        commit = graph.load(lines, mode=mode, engine="local").commit
        assert commit is not None
        return commit.graph_commit_id

    return load


def mutation_of(*statements: Do) -> Callable[[Graph], CommitId]:
    def mutate(graph: Graph) -> CommitId:
        commit = graph.mutate(text_of(statements)).commit
        assert commit is not None
        return commit.graph_commit_id

    return mutate


def merge(graph: Graph) -> CommitId:
    commit = graph.branch_merge("side").commit
    assert commit is not None
    return commit.graph_commit_id


def optimize(graph: Graph) -> CommitId:
    optimized = graph.optimize().commit
    assert optimized is not None
    return optimized.graph_commit_id


def replace_all(held: Held) -> Held:
    return {**held, "Tally": {"ada": 10}}


ADA_10 = Do("insert", "Tally", "ada", 10)
EVE_10 = Do("insert", "Tally", "eve", 10)
SET_ADA = Do("update", "Tally", "ada", 10)
DROP_ADA = Do("delete", "Tally", "ada")

# What each writer does, and what that means.
WRITERS: dict[str, tuple[Callable[[Graph], CommitId], Callable[[Held], Held]]] = {
    "insert": (mutation_of(EVE_10), lambda held: after(held, (EVE_10,))),
    "upsert": (mutation_of(ADA_10), lambda held: after(held, (ADA_10,))),
    "update": (mutation_of(SET_ADA), lambda held: after(held, (SET_ADA,))),
    "delete": (mutation_of(DROP_ADA), lambda held: after(held, (DROP_ADA,))),
    "append": (load_of("append", EVE_10), lambda held: after(held, (EVE_10,))),
    "merge load": (load_of("merge", ADA_10), lambda held: after(held, (ADA_10,))),
    "overwrite": (load_of("overwrite", ADA_10), replace_all),
    "branch merge": (merge, lambda held: after(held, (ADA_10,))),
    "optimize": (optimize, lambda held: held),
}
MUTATIONS = {"insert", "upsert", "update", "delete"}

# What the other writer does, to what the first one is about and to what it is not.
OTHERS: dict[str, Callable[[str], Mutation]] = {
    "the same row": lambda kind: (
        Do("insert", "Tally", "eve" if kind in ("insert", "append") else "ada", 5),
    ),
    "another row of the type": lambda _: (Do("update", "Tally", "bob", 5),),
    "another type": lambda _: (Do("update", "Company", "acme", 5),),
}
REFUSED = {
    ("append", "the same row"): "key_conflict",  # it may not replace what is there
    ("overwrite", "the same row"): "read_set_conflict",
    ("overwrite", "another row of the type"): "read_set_conflict",
    ("branch merge", "the same row"): "merge_conflicts",  # both sides gave it a value
}


@pytest.mark.parametrize("where", ["thread", "process"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("kind", WRITERS)
def test_whoever_is_overtaken_comes_after_or_is_refused_as_documented(
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    another_process: ProcessPoolExecutor,
    kind: str,
    other: str,
    where: str,
) -> None:
    graph.optimize()
    graph.mutate(text_of((Do("update", "Tally", "cyd", 4),)))  # so that there is upkeep to do
    if kind == "branch merge":
        graph.branch_create("side")
        graph.mutate(text_of((ADA_10,)), branch="side")
    first = found_in(graph)
    mine, theirs = WRITERS[kind], OTHERS[other](kind)

    with ThreadPoolExecutor(1) as pool:
        quick: list[Any] = []

        def meanwhile() -> None:
            if where == "process":
                quick.append(another_process.submit(mutate_at, graph.uri, text_of(theirs)))
                quick[0].result()
                return
            quick.append(pool.submit(mutation_of(*theirs), graph))
            if kind in MUTATIONS:
                # In one process it can't be quicker than a mutation that has its turn.
                for _ in tries(LONG_S, pause_s=0.001):
                    if len(graph.engine.store._queues._queues[MAIN].waiting) == 2:
                        break
            else:
                quick[0].result()

        Overtaken(graph, meanwhile, monkeypatch)
        refusal = REFUSED.get((kind, other))
        if refusal is None:
            done = {mine[0](graph): mine[1]}
        else:
            with pytest.raises(OmnigraphError) as caught:
                mine[0](graph)
            assert caught.value.code == refusal
            done = {}
        done[quick[0].result()] = lambda held: after(held, theirs)

    expected = first
    for commit in reversed(graph.commits()):
        if (apply := done.pop(commit.graph_commit_id, None)) is not None:
            expected = apply(expected)
    assert not done, "every commit that was acknowledged is in the log"
    assert found_in(graph) == expected


def overtake(graph: Graph, monkeypatch: pytest.MonkeyPatch, *theirs: Do) -> None:
    """Before the next mutation of this handle is fenced, another handle makes its own."""
    other = Graph.open(graph.uri, durability="relaxed")
    Overtaken(graph, lambda: other.mutate(text_of(theirs)), monkeypatch)


def test_what_is_counted_is_what_was_published(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtake(graph, monkeypatch, Do("update", "Tally", "bob", 1))
    done = graph.mutate(text_of((Do("update", "Tally", old=1, value=7),)))
    assert done.affected_nodes == 2
    assert done.commit is not None
    assert found_in(graph)["Tally"] == {"ada": 7, "bob": 7, "cyd": 3}


def test_what_no_longer_finds_a_row_publishes_nothing_and_says_so(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtake(graph, monkeypatch, Do("update", "Tally", "ada", 9))
    done = graph.mutate(text_of((Do("update", "Tally", old=1, value=7),)))
    assert (done.affected_nodes, done.commit) == (0, None)
    assert found_in(graph)["Tally"]["ada"] == 9


def test_what_found_nothing_to_do_looks_again(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtake(graph, monkeypatch, Do("update", "Tally", "ada", 9))
    done = graph.mutate(text_of((Do("insert", "Tally", "ada", 1),)))
    assert done.affected_nodes == 1
    assert found_in(graph)["Tally"]["ada"] == 1


def test_a_row_that_equalled_what_was_there_is_looked_at_again_with_the_others(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtake(graph, monkeypatch, Do("update", "Tally", "ada", 9))
    mine = (Do("insert", "Tally", "ada", 1), Do("insert", "Company", "new", 1))
    assert graph.mutate(text_of(mine)).affected_nodes == 2
    assert found_in(graph)["Tally"]["ada"] == 1, "the later of two commits has the last word"


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (
            'insert Owns { from: "acme", to: "ada" }',
            'update Tally set { value: 5 } where name = "ada"',
        ),
        ('delete Tally where name = "ada"', 'insert Owns { from: "acme", to: "ada" }'),
        ('delete Owns where to = "ada"', 'insert Owns { from: "acme", to: "ada" }'),
    ],
)
def test_edges_are_found_by_whoever_comes_after(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, mine: str, theirs: str
) -> None:
    other = Graph.open(graph.uri, durability="relaxed")
    Overtaken(graph, lambda: other.mutate(f"query q() {{ {theirs} }}"), monkeypatch)
    done = graph.mutate(f"query q() {{ {mine} }}")
    assert done.affected_edges == 1
    owners = "query q() { match { $c: Company  $c owns $t } return { $t.name as name } }"
    owned = graph.query(owners).to_pylist()
    assert owned == ([{"name": "ada"}] if mine.startswith("insert") else [])


def test_a_rule_that_is_broken_only_by_now_is_a_violation(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtake(graph, monkeypatch, Do("delete", "Tally", "ada"))
    with pytest.raises(OmnigraphError) as caught:
        graph.mutate('query q() { insert Owns { from: "acme", to: "ada" } }')
    assert caught.value.code == "constraint_violation"
    assert graph.commits(limit=1)[0].message is None
    assert "ada" not in found_in(graph)["Tally"]


def test_a_condition_on_the_head_is_not_run_again(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = graph.commits(limit=1)[0].graph_commit_id
    overtake(graph, monkeypatch, Do("update", "Company", "acme", 9))
    with pytest.raises(OmnigraphError) as caught:
        graph.mutate(text_of((Do("update", "Tally", "ada", 7),)), if_commit=head)
    assert caught.value.code == "precondition_failed"
    assert found_in(graph)["Tally"]["ada"] == 1


class TickingClock(SystemClock):
    """Each look at it is a second later."""

    def __init__(self) -> None:
        super().__init__()
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        self.ms += 1000
        return self.ms


def test_now_is_one_moment_however_often_a_mutation_is_run(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = TickingClock()
    mine = Graph(Engine.open(graph.uri, durability="relaxed", clock=clock))
    other = Graph.open(graph.uri, durability="relaxed")
    note = 'insert Note { text: "theirs", at: now() }'
    Overtaken(mine, lambda: other.mutate(f"query q() {{ {note} }}"), monkeypatch)
    asked_ms = clock.ms
    text = """query q() {
        insert Note { text: "one", at: now() }
        insert Note { text: "two", at: now() }
    }"""
    assert mine.mutate(text).affected_nodes == 2
    notes = "query q() { match { $n: Note } return { $n.id as id, $n.text as text, $n.at as at } }"
    rows = {row["text"]: row for row in graph.query(notes).to_pylist()}
    assert rows.keys() == {"one", "two", "theirs"}
    assert rows["one"]["at"] == rows["two"]["at"]
    assert rows["one"]["at"].timestamp() * 1000 == asked_ms + 1000
    assert len({row["id"] for row in rows.values()}) == 3


def test_a_mutation_is_run_again_with_the_schema_of_the_new_head(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Graph.open(graph.uri, durability="relaxed").engine.store
    stricter = SCHEMA.replace("value: I64 }", "value: I64  @range(value, 0..100) }")

    def publish_schema() -> None:
        with other.fence(MAIN) as held:
            commit = Commit(
                id=CommitId(other.clock.ulid()),
                parent=held.state.head,
                branch=MAIN,
                seq=held.state.recent[-1].seq + 1,
                kind=CommitKind.MUTATION,
                created_at_ms=other.clock.now_ms(),
                schema_hash=other.schemas.put(compile_schema(SourceText(stricter)), stricter),
                changes=(),
            )
            now_ms = commit.created_at_ms
            publish(other.manifest, held, onto=held.state, commit=commit, now_ms=now_ms)

    Overtaken(graph, publish_schema, monkeypatch)
    with pytest.raises(OmnigraphError) as caught:
        graph.mutate(text_of((Do("update", "Tally", "ada", 101),)))
    assert caught.value.code == "constraint_violation"


# Many at once -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["a row each", "the same row"])
def test_threads_that_update_one_type_all_succeed(graph: Graph, rows: str) -> None:
    threads, times = 8, 3
    names = ["ada"] * threads if rows == "the same row" else [f"t{n}" for n in range(threads)]
    graph.mutate(text_of(tuple(Do("insert", "Tally", name, 0) for name in dict.fromkeys(names))))
    before = len(graph.commits())

    def update(number: int) -> list[str]:
        values = [1000 * number + time for time in range(1, times + 1)]
        done = [graph.mutate(text_of((Do("update", "Tally", names[number], v),))) for v in values]
        assert [one.affected_nodes for one in done] == [1] * times
        return [one.commit.graph_commit_id for one in done if one.commit is not None]

    with ThreadPoolExecutor(threads) as pool:
        made = list(pool.map(update, range(threads)))
    log = [commit.graph_commit_id for commit in reversed(graph.commits())]
    assert sorted(log[before:]) == sorted(id_ for ids in made for id_ in ids)
    assert len(log) == before + threads * times
    if rows == "a row each":
        expected = {name: 1000 * number + times for number, name in enumerate(names)}
    else:
        last = next(number for number, ids in enumerate(made) if ids[-1] == log[-1])
        expected = {"ada": 1000 * last + times}
    assert {**found_in(graph)["Tally"], **expected} == found_in(graph)["Tally"]


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.integers(0, 3)
PUTS = st.one_of(
    st.builds(Do, st.just("insert"), st.sampled_from(["Tally", "Company"]), NAMES, VALUES),
    st.builds(Do, st.just("update"), st.just("Tally"), NAMES, VALUES),
    st.builds(Do, st.just("update"), st.just("Tally"), st.none(), VALUES, VALUES),
)
DELETES = st.one_of(
    st.builds(Do, st.just("delete"), st.just("Tally"), NAMES),
    st.builds(Do, st.just("delete"), st.just("Tally"), old=VALUES),
)
SOME_MUTATIONS = st.one_of(
    st.lists(PUTS, min_size=1, max_size=3), st.lists(DELETES, min_size=1, max_size=2)
).map(tuple)
MUTATIONS_OF_A_THREAD = st.lists(SOME_MUTATIONS, min_size=1, max_size=4)


@given(st.lists(MUTATIONS_OF_A_THREAD, min_size=2, max_size=4))
@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])  # what raced does not shrink
def test_whatever_is_done_at_once_equals_the_commits_one_after_the_other(
    tmp_path_factory: pytest.TempPathFactory, work: list[list[Mutation]]
) -> None:
    place = tmp_path_factory.mktemp("serial")
    first = Graph.init(str(place / "g"), SCHEMA, durability="relaxed")
    fill(first)
    # Threads of two handles: some meet in a queue, some at the fence.
    handles = [first, Graph.open(first.uri, durability="relaxed")]
    together = threading.Barrier(len(work))

    def run(number: int) -> list[tuple[CommitId, tuple[Mutation, int]]]:
        together.wait(LONG_S)
        done = []
        for mutation in work[number]:
            result = handles[number % 2].mutate(text_of(mutation))
            if result.commit is None:
                assert result.affected_nodes == 0
            else:
                id_ = result.commit.graph_commit_id
                done.append((id_, (mutation, result.affected_nodes)))
        return done

    with ThreadPoolExecutor(len(work)) as pool:
        done = dict(one for part in pool.map(run, range(len(work))) for one in part)
    held = START
    for commit in reversed(first.commits()):
        if commit.graph_commit_id in done:
            mutation, affected = done.pop(commit.graph_commit_id)
            now = after(held, mutation)
            assert difference(held, now) == affected
            held = now
    assert not done
    assert found_in(first) == held


# No circle ----------------------------------------------------------------------------------------


def test_no_two_writers_of_any_kind_wait_for_each_other(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place.startswith("s3:"):
        for name, value in bucket_variables(os.environ[ENDPOINT]).items():
            monkeypatch.setenv(name, value)
    graph = Graph.init(place, SCHEMA, durability="relaxed")
    fill(graph)
    rounds = 2 if place.startswith("s3:") else 4

    def branches(number: int) -> None:
        name = f"b{number}"
        graph.branch_create(name)
        graph.mutate(text_of((Do("insert", "Tally", name, number),)), branch=name)
        with suppress(ReadSetMoved, Unsupported):  # main has moved
            graph.branch_merge(name)
        graph.branch_delete(name)

    def mutations(number: int) -> None:
        graph.mutate(text_of((Do("insert", "Tally", f"m{number}", number),)))

    def loads(number: int) -> None:
        load_of("merge", Do("insert", "Tally", f"l{number}", number))(graph)

    def new_branches(number: int) -> None:
        line = {"type": "Tally", "data": {"name": "x", "value": number}}
        graph.load([line], mode="merge", branch=f"n{number}", from_="main", engine="local")

    def upkeep(_: int) -> None:
        graph.optimize()

    kinds = (branches, branches, mutations, mutations, loads, new_branches, upkeep)

    def run(which: int) -> None:
        for number in range(rounds):
            kinds[which](rounds * which + number)

    with ThreadPoolExecutor(len(kinds)) as pool:
        for done in [pool.submit(run, which) for which in range(len(kinds))]:
            done.result()
    found = found_in(graph)["Tally"]
    merged = {name for name in found if name.startswith("b") and name != "bob"}
    written = {f"m{rounds * w + n}" for w in (2, 3) for n in range(rounds)}
    loaded = {f"l{rounds * 4 + n}" for n in range(rounds)}
    assert found.keys() == START["Tally"].keys() | merged | written | loaded
    assert {*graph.branches()} == {MAIN, *(f"n{rounds * 5 + n}" for n in range(rounds))}
    assert not graph.engine.store._queues._queues
