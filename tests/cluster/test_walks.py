"""Any sequence of edits to a folder converges, whoever dies in between: after an apply the plan is
empty, each graph has the schema of its file, and the rows of graphs that stayed are all there.
"""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.failpoints import Crash
from omnigraph.cluster.lock import read_lock
from omnigraph.cluster.steps import ApplyPoint
from tests.cluster.world import LISTERS, NAMES, READERS, Deployment, DiesAt

GRAPHS = ("a", "b")
PROPERTIES = ("age: I32?", "length: F64?", "nick: String? @index", "born: Date?")
PROVIDERS = ("mock", "local")
COMMENT = "// a comment\n"
QUERIES = {
    "one": "[q/names.gq]",
    "two": "[q/more.gq, q/names.gq]",
    "folder": "q",
    "named": "{more: {file: q/more.gq}}",
}
SIZES = {False: "size", True: "height"}


class Declared(TypedDict):
    properties: set[str]
    queries: str | None
    provider: str | None
    comment: bool
    is_renamed: bool
    """Its size is called height; the values stay."""
    is_wide: bool
    """Its size is an I64, and so it stays for as long as there is the graph."""


class State(TypedDict):
    graphs: dict[str, Declared]
    policies: set[str]
    death: ApplyPoint | None


graph = st.fixed_dictionaries(
    {
        "properties": st.sets(st.sampled_from(PROPERTIES)),
        "queries": st.sampled_from([None, *QUERIES]),
        "provider": st.sampled_from([None, *PROVIDERS]),
        "comment": st.booleans(),
        "is_renamed": st.booleans(),
        "is_wide": st.booleans(),
    }
)
state = st.fixed_dictionaries(
    {
        "graphs": st.dictionaries(st.sampled_from(GRAPHS), graph, min_size=1),
        "policies": st.sets(st.sampled_from([*GRAPHS, "cluster"])),
        "death": st.sampled_from([None, *ApplyPoint]),
    }
)


def schema(declared: Declared, comment: str = COMMENT) -> str:
    note = comment if declared["comment"] else ""
    name, former = SIZES[declared["is_renamed"]], SIZES[not declared["is_renamed"]]
    size = f'{name}: {"I64" if declared["is_wide"] else "I32"}? @rename_from("{former}")'
    properties = "\n  ".join(["name: String @key", size, *sorted(declared["properties"])])
    return f"{note}node Person {{\n  {properties}\n}}\n"


def written(deployment: Deployment, state: State) -> None:
    """Write a folder as this state has it."""
    files: dict[str, str | None] = {
        "q/names.gq": NAMES,
        "q/more.gq": NAMES.replace("names", "more"),
        "read.yaml": READERS,
        "list.yaml": LISTERS,
    }
    lines = ["version: 1", "metadata: {name: walk}", f"storage: '{deployment.storage}'", "graphs:"]
    for id_, each in state["graphs"].items():
        files[f"{id_}.pg"] = schema(each)
        parts = [f"schema: {id_}.pg"]
        if each["queries"] is not None:
            parts.append(f"queries: {QUERIES[each['queries']]}")
        if each["provider"] is not None:
            parts.append(f"embedding_provider: {each['provider']}")
        lines.append(f"  {id_}: {{{', '.join(parts)}}}")
    lines.append("providers: {embedding: {mock: {provider: mock}, local: {provider: local}}}")
    targets = sorted(state["policies"] & {*state["graphs"], "cluster"})
    lines += ["policies:"] if targets else []
    for target in targets:
        file = "list.yaml" if target == "cluster" else "read.yaml"
        lines.append(f"  p-{target}: {{file: {file}, applies_to: [{target}]}}")
    deployment.write(files)
    (deployment.path / "cluster.yaml").write_text("\n".join(lines) + "\n")


def applied(deployment: Deployment, death: ApplyPoint | None) -> None:
    """Apply what a plan shows, also if the first apply dies."""
    shown = deployment.plan()
    assert shown == deployment.plan()
    deployment.approve_all()
    if death is not None:
        with suppress(Crash):
            deployment.apply(expected=shown.digest, faults=DiesAt(death))
        if read_lock(deployment.place) is not None:
            deployment.unlock()
    done = deployment.apply(expected=shown.digest)
    assert done.plan == shown or death is not None


def _few() -> int:
    """Each example makes and migrates several graphs."""
    usual = settings.default
    assert usual is not None
    return usual.max_examples // 2


@settings(max_examples=_few())
@given(st.lists(state, min_size=2, max_size=3))
def test_any_edits_of_a_folder_converge(states: list[State]) -> None:
    with tempfile.TemporaryDirectory() as path:
        deployment = Deployment(Path(path) / "folder")
        rows: dict[str, dict[str, int]] = {}
        wide: set[str] = set()
        for number, state in enumerate(states):
            graphs = state["graphs"]
            for id_, each in graphs.items():
                each["is_wide"] |= id_ in wide
            written(deployment, state)
            applied(deployment, state["death"])
            deployment.assert_settled()
            rows = {id_: rows.get(id_, {}) for id_ in graphs}
            wide = {id_ for id_, each in graphs.items() if each["is_wide"]}
            assert deployment.place.applied().graphs == tuple(sorted(graphs))
            stored = Path(deployment.storage) / "graphs"
            assert sorted(each.name for each in stored.iterdir()) == [
                f"{id_}.omni" for id_ in sorted(graphs)
            ]
            for id_, each in graphs.items():
                # A comment is no step: the graph keeps the text that it has.
                assert deployment.schema(id_).removeprefix(COMMENT) == schema(each, comment="")
                size, row = SIZES[each["is_renamed"]], f"row {number}"
                with deployment.graph(id_) as graph:
                    asked = (
                        f"query q() {{ match {{ $p: Person }} return {{ $p.name, $p.{size} }} }}"
                    )
                    found = graph.query(asked).to_pylist()
                    assert {r["p.name"]: r[f"p.{size}"] for r in found} == rows[id_]
                    data = {"name": row, size: number}
                    graph.load([{"type": "Person", "data": data}], mode="append", engine="local")
                rows[id_][row] = number
