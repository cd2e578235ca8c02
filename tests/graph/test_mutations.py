"""Mutations: one commit or nothing, later statements see earlier ones, counts are exact."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph import Graph, OmnigraphError
from omnigraph.base.errors import ConstraintViolated, TypeCheckFailed
from omnigraph.base.span import SourceText
from omnigraph.engine.mutate import prepare_mutation
from omnigraph.engine.permit import Permit
from omnigraph.engine.requests import Mutation
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.ir import MutationQuery
from tests.graph.people import QUERIES, SCHEMA

FOUNDING = """
query found() {
    insert Company { name: "Engines" }
    insert Person { email: "ada@x", name: "Ada", age: 36 }
    insert Person { email: "alan@x", name: "Alan" }
    insert Knows { from: "ada@x", to: "alan@x", since: "1840-06-01" }
    insert WorksAt { from: "ada@x", to: "Engines" }
}
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "people.omni"), SCHEMA, durability="relaxed")
    graph.mutate(FOUNDING)
    return graph


def everyone(graph: Graph) -> list[dict[str, Any]]:
    return graph.query(QUERIES, "everyone").to_pylist()


def test_all_statements_are_one_commit(graph: Graph) -> None:
    assert [c.kind for c in graph.commits()] == ["mutation", "init"]
    assert graph.query(QUERIES, "friends_of", {"email": "ada@x"}).to_pylist() == [{"name": "Alan"}]


def test_an_insert_on_an_existing_key_replaces_the_row(graph: Graph) -> None:
    result = graph.mutate('query q() { insert Person { email: "ada@x", name: "Ada L" } }')
    assert (result.affected_nodes, result.affected_edges) == (1, 0)
    assert everyone(graph)[0] == {"p.email": "ada@x", "p.age": None}


def test_an_update_touches_only_what_it_sets(graph: Graph) -> None:
    graph.mutate(QUERIES, "birthday", {"email": "ada@x", "age": 37})
    answer = graph.query("query q() { match { $p: Person { age: 37 } } return { $p.name } }")
    assert answer.to_pylist() == [{"p.name": "Ada"}]


def test_a_statement_sees_the_rows_of_the_statements_before(graph: Graph) -> None:
    result = graph.mutate(
        """query q() {
            insert Person { email: "eve@x", name: "Eve", age: 1 }
            update Person set { age: 2 } where email = "eve@x"
            update Person set { name: "Eve the second" } where age = 2
        }"""
    )
    assert result.affected_nodes == 1
    answer = graph.query("query q() { match { $p: Person { age: 2 } } return { $p.name } }")
    assert answer.to_pylist() == [{"p.name": "Eve the second"}]


@pytest.mark.parametrize(
    "statement",
    [
        'update Person set { age: 1 } where email = "nobody"',
        'update Person set { age: 36 } where email = "ada@x"',
        'insert Company { name: "Engines" }',
    ],
)
def test_matching_nothing_or_rewriting_equal_values_commits_nothing(
    graph: Graph, statement: str
) -> None:
    head = graph.commits()[0]
    result = graph.mutate(f"query q() {{ {statement} }}")
    assert (result.affected_nodes, result.affected_edges, result.commit) == (0, 0, None)
    assert graph.commits()[0] == head


def test_edges_are_updated_and_deleted_by_their_ends(graph: Graph) -> None:
    dated = graph.mutate(
        'query q() { update Knows set { since: "1841-01-01" } where from = "ada@x" }'
    )
    assert (dated.affected_nodes, dated.affected_edges) == (0, 1)
    gone = graph.mutate('query q() { delete Knows where from = "ada@x" and to = "alan@x" }')
    assert (gone.affected_nodes, gone.affected_edges) == (0, 1)
    assert graph.query(QUERIES, "friends_of", {"email": "ada@x"}).to_pylist() == []


def test_deleting_a_node_deletes_the_edges_that_end_in_it(graph: Graph) -> None:
    result = graph.mutate(QUERIES, "leave", {"email": "ada@x"})
    assert (result.affected_nodes, result.affected_edges) == (1, 2)
    assert [row["p.email"] for row in everyone(graph)] == ["alan@x"]
    assert graph.query(QUERIES, "staff").to_pylist() == []


@pytest.mark.parametrize(
    ("text", "params", "code"),
    [
        ('query q() { insert Knows { from: "ada@x", to: "nobody" } }', {}, "constraint_violation"),
        ("query q() { insert Robot { name: 1 } }", {}, "type_error"),
        ("query q() { insert Person { email: 1 ", {}, "parse_error"),
        ("query q($n: I32) { update Person set { age: $n } where age = 1 }", {}, "param_error"),
        (
            "query q($n: I32) { update Person set { age: $n } where age = 1 }",
            {"n": "x"},
            "param_error",
        ),
        ("query q() { match { $p: Person } return { $p } }", {}, "invalid_argument"),
    ],
)
def test_a_mutation_that_is_wrong_says_so_and_writes_nothing(
    graph: Graph, text: str, params: dict[str, Any], code: str
) -> None:
    head = graph.commits()[0]
    with pytest.raises(OmnigraphError) as caught:
        graph.mutate(text, params=params)
    assert caught.value.code == code
    assert graph.commits()[0] == head


def test_a_write_can_be_bound_to_a_commit(graph: Graph) -> None:
    first, head = graph.commits()[1], graph.commits()[0]
    birthday = {"email": "ada@x", "age": 40}
    with pytest.raises(OmnigraphError) as caught:
        graph.mutate(QUERIES, "birthday", birthday, if_commit=first.graph_commit_id)
    assert caught.value.code == "precondition_failed"
    done = graph.mutate(QUERIES, "birthday", birthday, if_commit=head.graph_commit_id)
    assert done.commit is not None


def test_a_statement_that_fails_undoes_those_before_it(graph: Graph) -> None:
    head = graph.commits()[0]
    with pytest.raises(ConstraintViolated) as caught:
        graph.mutate(
            """query q() {
                insert Person { email: "eve@x", name: "Eve", age: 1 }
                update Person set { age: 2 } where email = "ada@x"
                insert WorksAt { from: "eve@x", to: "Nowhere" }
                insert Knows { from: "nobody", to: "no one" }
            }"""
        )
    assert sorted(caught.value.violations.counts.items()) == [
        (("endpoint", "Knows", "from"), 1),
        (("endpoint", "Knows", "to"), 1),
        (("endpoint", "WorksAt", "to"), 1),
    ]
    assert graph.commits()[0] == head
    assert [row["p.age"] for row in everyone(graph)] == [36, None]


def test_rows_that_break_rules_are_all_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    schema = "node Dial { name: String @key  level: I32  @range(level, 0..9) }"
    graph = Graph.init(str(tmp_path / "g"), schema, durability="relaxed")
    good = " ".join(f'insert Dial {{ name: "d{n}", level: {n % 10} }}' for n in range(30))
    graph.mutate(f"query q() {{ {good} }}")
    with pytest.raises(ConstraintViolated) as caught:
        graph.mutate("query q() { update Dial set { level: 10 } where level >= 0 }")
    violations = caught.value.violations
    assert violations.counts == {("range", "Dial", "level"): 30}
    assert len(violations.examples) == 20
    first = violations.examples[0]
    assert (first.entity_id, first.message) == ("d0", "Dial.level is 10, outside 0..9")


def test_a_violation_names_the_row_of_a_type_without_a_key(tmp_path: Path) -> None:
    schema = "node Dial { level: I32  @range(level, 0..9) }"
    graph = Graph.init(str(tmp_path / "g"), schema, durability="relaxed")
    graph.mutate("query q() { insert Dial { level: 1 } }")
    (dial,) = graph.query("query q() { match { $d: Dial } return { $d.id as id } }")
    with pytest.raises(ConstraintViolated) as caught:
        graph.mutate("query q() { update Dial set { level: 10 } where level = 1 }")
    assert [v.entity_id for v in caught.value.violations.examples] == [dial["id"]]


def test_a_commit_says_who_made_it_and_why(graph: Graph) -> None:
    given = {"email": "ada@x", "age": 40}
    done = graph.mutate(QUERIES, "birthday", given, actor="clerk", message="one more")
    assert done.actor_id == "clerk" and done.commit is not None
    assert graph.commits(limit=1) == [done.commit]
    assert (done.commit.actor_id, done.commit.message) == ("clerk", "one more")


def test_statements_and_cascades_that_overlap_count_each_row_once(graph: Graph) -> None:
    graph.mutate('query q() { insert Knows { from: "ada@x", to: "ada@x" } }')
    gone = graph.mutate(
        """query q() {
            delete Knows where from = "ada@x"
            delete Person where email = "ada@x"
            delete Person where name = "Ada"
        }"""
    )
    assert (gone.affected_nodes, gone.affected_edges) == (1, 3)


def test_an_upsert_keeps_the_row_that_it_replaces(graph: Graph) -> None:
    def row_id() -> int:
        snapshot = graph.snapshot().stored
        dataset = snapshot.dataset(snapshot.catalog.node_by_name["Person"])
        return int(dataset.rows_of(pa.array(["ada@x"]))["_rowid"][0].as_py())

    before = row_id()
    graph.mutate('query q() { insert Person { email: "ada@x", name: "Ada L" } }')
    assert row_id() == before


def test_a_branch_whose_target_moved_is_refused_with_a_way_out(graph: Graph) -> None:
    graph.branch_create("side")
    graph.mutate(QUERIES, "birthday", {"email": "ada@x", "age": 40}, branch="side")
    graph.mutate(QUERIES, "birthday", {"email": "ada@x", "age": 50})
    with pytest.raises(OmnigraphError) as caught:
        graph.branch_merge("side")
    assert caught.value.hint is not None
    assert everyone(graph)[0]["p.age"] == 50


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda g: g.query(QUERIES, "everyone", branch="nowhere"), "not_found"),
        (
            lambda g: g.query(QUERIES, "everyone", snapshot="01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            "not_found",
        ),
        (lambda g: g.query(QUERIES, "nothing_of_the_kind"), "not_found"),
        (lambda g: g.query(QUERIES), "not_found"),
        (lambda g: g.query(QUERIES, "friends_of"), "param_error"),
        (lambda g: g.branch_create("main"), "branch_exists"),
        (lambda g: g.branch_create("a//b"), "invalid_argument"),
        (lambda g: Graph.open(g.uri + "/nowhere"), "not_found"),
        (lambda g: Graph.init(g.uri, SCHEMA), "already_initialized"),
        (lambda g: Graph.open(g.uri, read_only=True).branch_create("b"), "read_only"),
    ],
)
def test_a_wrong_name_is_a_typed_error(graph: Graph, ask: Any, code: str) -> None:
    with pytest.raises(OmnigraphError) as caught:
        ask(graph)
    assert caught.value.code == code


def test_writers_of_different_tables_do_not_get_in_each_others_way(graph: Graph) -> None:

    snapshot = graph.snapshot().stored

    def reads(text: str) -> frozenset[str]:
        query = compile_query(SourceText(text), snapshot.catalog)
        assert isinstance(query, MutationQuery)
        permit = Permit.of(graph.engine.gate, snapshot, Mutation.of(text))
        work = prepare_mutation(query, permit, {}, now_ms=0)
        assert work.reads is not None
        return frozenset(work.tables) | work.reads

    assert reads('query q() { insert Company { name: "New" } }') == {"node:Company"}
    assert reads('query q() { insert Knows { from: "alan@x", to: "ada@x" } }') == {
        "edge:Knows",
        "node:Person",
    }
    assert reads('query q() { delete Person where email = "alan@x" }') == {
        "node:Person",
        "edge:Knows",
        "edge:WorksAt",
    }


@pytest.mark.parametrize(
    ("kind", "text"), [("Date", "2024-01-01"), ("DateTime", "2024-01-01T10:00:00Z")]
)
def test_an_edge_ends_in_a_node_that_is_known_by_a_date(
    tmp_path: Path, kind: str, text: str
) -> None:
    schema = f"node P {{ name: String @key }}\nnode Q {{ d: {kind} @key }}\nedge PQ: P -> Q"
    graph = Graph.init(tmp_path / "g", schema, durability="relaxed")
    graph.mutate(f'query q() {{ insert P {{ name: "a" }} insert Q {{ d: "{text}" }} }}')
    for value in (f'{kind.lower()}("{text}")', f'"{text}"', "$d"):
        graph.mutate(
            f'query q($d: {kind}) {{ insert PQ {{ from: "a", to: {value} }} }}', {"d": text}
        )
    edges = "query n() { match { $p: P  $p $e:pq $q } return { $q.d as d, count($e) as n } }"
    assert [row["n"] for row in graph.query(edges).to_pylist()] == [3]


NEEDED = """
node Task { name: String @key  state: String @default("open")  place: String  note: String? }
edge Blocks: Task -> Task { weight: I32 @default(1) }
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Graph:
    graph = Graph.init(tmp_path / "tasks.omni", NEEDED, durability="relaxed")
    graph.mutate(
        """query q() {
            insert Task { name: "a", state: "done", place: "here", note: "x" }
            insert Blocks { from: "a", to: "a", weight: 7 }
        }"""
    )
    return graph


@pytest.mark.parametrize(
    ("update", "kind", "named"),
    [
        ('update Task set { state: %s } where name = "a"', "String", "Task.state"),
        ('update Task set { note: null, place: %s } where name = "a"', "String", "Task.place"),
        ('update Task set { state: %s } where name = "nobody"', "String", "Task.state"),
        ('update Blocks set { weight: %s } where from = "a"', "I32", "Blocks.weight"),
    ],
)
def test_an_update_sets_no_property_to_null_that_needs_a_value(
    tasks: Graph, update: str, kind: str, named: str
) -> None:
    """A default is for rows that leave a property out, and an update says what it sets."""
    sources = f"query q() {{ {update % 'null'} }}", f"query q($x: {kind}?) {{ {update % '$x'} }}"
    for source, written in zip(sources, ("null", "$x"), strict=True):
        with pytest.raises(TypeCheckFailed) as told:
            tasks.mutate(source)
        (found,) = told.value.diagnostics
        assert (found.code, found.message) == ("T3", f"{named} can't be null")
        assert source[found.span.column - 1 :].startswith(written)
        assert found.span.length == len(written)
    shown = tasks.query("query q() { match { $t: Task } return { $t.state, $t.note } }")
    assert shown.to_pylist() == [{"t.state": "done", "t.note": "x"}]


def test_every_null_that_an_update_can_not_set_is_told(tasks: Graph) -> None:
    source = """query q($x: String?, $y: String?) {
    update Task set { state: $x, note: $x, place: $y } where name = "a"
}"""
    with pytest.raises(TypeCheckFailed) as told:
        tasks.mutate(source, params={"x": None})
    assert [(d.span.line, d.span.column) for d in told.value.diagnostics] == [(2, 30), (2, 51)]
    assert "$x of q is null" in str(told.value.hint)


@pytest.mark.parametrize("state", ["$x", "null"])
def test_an_insert_takes_the_default_for_a_null_as_a_load_does(tasks: Graph, state: str) -> None:
    tasks.mutate(
        f'query q($x: String?) {{ insert Task {{ name: "b", place: "p", state: {state} }} }}'
    )
    shown = tasks.query('query q() { match { $t: Task { name: "b" } } return { $t.state } }')
    assert shown.to_pylist() == [{"t.state": "open"}]
