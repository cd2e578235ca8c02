"""Any sequence of edits to a folder converges: after an apply the plan is empty."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.world import LISTERS, NAMES, READERS, Deployment

GRAPHS = ("a", "b", "c")
PROPERTIES = ("age: I32?", "size: F64?", "nick: String? @index", "born: Date?")
PROVIDERS = ("mock", "local")

graph = st.fixed_dictionaries(
    {
        "properties": st.sets(st.sampled_from(PROPERTIES)),
        "queries": st.sampled_from(["", "one", "two", "folder", "named"]),
        "provider": st.sampled_from([None, *PROVIDERS]),
        "comment": st.booleans(),
    }
)
folder = st.fixed_dictionaries(
    {
        "graphs": st.dictionaries(st.sampled_from(GRAPHS), graph, min_size=1),
        "policies": st.sets(st.sampled_from([*GRAPHS, "cluster"])),
    }
)


def _few() -> int:
    """Each example makes and migrates several graphs."""
    usual = settings.default
    assert usual is not None
    return usual.max_examples // 3


def written(deployment: Deployment, state: dict[str, object]) -> None:
    """Write a folder as this state has it."""
    graphs: dict[str, dict[str, object]] = state["graphs"]  # type: ignore[assignment]
    policies: set[str] = state["policies"]  # type: ignore[assignment]
    files: dict[str, str | None] = {
        "q/names.gq": NAMES,
        "q/more.gq": NAMES.replace("names", "more"),
        "read.yaml": READERS,
        "list.yaml": LISTERS,
    }
    lines = ["version: 1", "metadata: {name: walk}", f"storage: '{deployment.storage}'", "graphs:"]
    for id_, each in graphs.items():
        properties = "\n  ".join(sorted(each["properties"]))  # type: ignore[call-overload]
        note = "// a comment\n" if each["comment"] else ""
        schema = f"{note}node Person {{\n  name: String @key\n  {properties}\n}}\n"
        files[f"{id_}.pg"] = schema
        parts = [f"schema: {id_}.pg"]
        queries = {
            "one": "[q/names.gq]",
            "two": "[q/more.gq, q/names.gq]",
            "folder": "q",
            "named": "{more: {file: q/more.gq}}",
        }
        if each["queries"]:
            parts.append(f"queries: {queries[str(each['queries'])]}")
        if each["provider"]:
            parts.append(f"embedding_provider: {each['provider']}")
        lines.append(f"  {id_}: {{{', '.join(parts)}}}")
    lines.append("providers: {embedding: {mock: {provider: mock}, local: {provider: local}}}")
    if targets := [each for each in sorted(policies) if each in graphs or each == "cluster"]:
        lines.append("policies:")
    for target in targets:
        file = "list.yaml" if target == "cluster" else "read.yaml"
        lines.append(f"  p-{target}: {{file: {file}, applies_to: [{target}]}}")
    deployment.write(files)
    (deployment.path / "cluster.yaml").write_text("\n".join(lines) + "\n")


@settings(max_examples=_few())
@given(st.lists(folder, min_size=1, max_size=3))
def test_any_edits_of_a_folder_converge(states: list[dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as path:
        deployment = Deployment(Path(path) / "folder")
        for state in states:
            written(deployment, state)
            shown = deployment.plan()
            assert shown == deployment.plan()
            deployment.approve_all()
            done = deployment.apply(expected=shown.digest)
            assert done.plan == shown
            deployment.assert_settled()
            graphs: dict[str, object] = state["graphs"]  # type: ignore[assignment]
            assert deployment.place.applied().graphs == tuple(sorted(graphs))
            stored = Path(deployment.storage) / "graphs"
            assert sorted(each.name for each in stored.iterdir()) == [
                f"{id_}.omni" for id_ in sorted(graphs)
            ]
