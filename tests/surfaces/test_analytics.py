"""`omnigraph analytics`: rows, facts, and options that an algorithm has no use for."""

import pytest

from omnigraph.base.choices import AlgorithmName, words_of
from omnigraph.results import Analytics
from tests.analytics.test_answers import WORLD
from tests.surfaces.cli import CommandLine


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("commands") / "g.omni"
    WORLD.made(folder)
    return str(folder)


def test_the_command_knows_every_algorithm() -> None:
    methods = {name for name in dir(Analytics) if not name.startswith("_")}
    assert {*words_of(AlgorithmName)} == methods


def test_rows_are_the_answer_and_facts_are_said_beside(omnigraph: CommandLine, store: str) -> None:
    told = omnigraph(
        "analytics", "degrees", "--edge", "Knows", "--top", "2", "--format", "csv", "--store", store
    )
    assert told.out.splitlines() == [
        "type,id,degree,in_degree,out_degree",
        "Person,a,4,2,2",
        "Person,b,2,1,1",
    ]
    assert "degrees over 4 nodes and 4 edges, at 01" in told.err and "  run" not in told.out


def test_a_document_has_the_facts_too(omnigraph: CommandLine, store: str) -> None:
    document = omnigraph(
        "analytics", "pagerank", "--max-iterations", "1", "--json", "--quiet", "--store", store
    ).json
    assert document["algorithm"] == "pagerank" and document["edges"] == [
        "Knows",
        "Likes",
        "WorksAt",
    ]
    assert (document["iterations"], document["converged"]) == (1, False)
    assert (document["node_count"], document["edge_count"], document["row_count"]) == (6, 6, 6)
    assert document["engine"] == "local" and document["target"]["branch"] == "main"
    assert (document["written"], document["commit"]) == ({}, None)


def test_a_run_that_did_not_converge_says_what_to_do(omnigraph: CommandLine, store: str) -> None:
    told = omnigraph("analytics", "pagerank", "--max-iterations", "1", "--store", store)
    assert "the values still changed in the last round: --max-iterations allows more" in told.err


WRONG = {
    "analytics degrees --damping 0.5": "degrees takes no --damping",
    "analytics betweenness --weight weight": "betweenness takes no --weight",
    "analytics k_core --source a": "k_core takes no --source",
    "analytics pagerank --target a": "pagerank takes no --target",
    "analytics shortest_paths --source a --source b": "paths to all nodes begin at one",
    "analytics shortest_paths --target a": "give --source beside --target",
    "analytics shortest_paths": "paths begin somewhere: give --source",
    "analytics degrees --write-to age --write-to rank": "name the column of each property",
    "analytics degrees --write-to a=degree --write-to a=in_degree": "names a property twice",
    "analytics paths": "pagerank",
}


@pytest.mark.parametrize("line", WRONG)
def test_an_option_that_does_not_apply_is_refused(
    omnigraph: CommandLine, store: str, line: str
) -> None:
    told = omnigraph(*line.split(), "--store", store)
    assert told.exit_code == 2 and WRONG[line] in told.err


def test_an_error_names_options_as_they_are_typed(omnigraph: CommandLine, store: str) -> None:
    told = omnigraph("analytics", "pagerank", "--damping", "2", "--store", store)
    assert told.exit_code == 1 and "error: --damping '2.0': it must be a number" in told.err
    told = omnigraph("analytics", "pagerank", "--write-to", "x", "--store", store)
    assert "error: --write-to 'x': Company or Person has no property" in told.err
    told = omnigraph("analytics", "pagerank", "-m", "why", "--store", store)
    assert "error: --message: it is about the commit that --write-to makes" in told.err


def test_an_error_about_nodes_names_the_options_that_name_them(
    omnigraph: CommandLine, store: str
) -> None:
    for line, told_ in (
        ("pagerank --source a", "error: --source 'a': Company and Person each have"),
        ("shortest_paths --source a --target a", "error: --source and --target 'a': Company and"),
    ):
        told = omnigraph("analytics", *line.split(), "--store", store)
        assert told_ in told.err and "name its type: Company:a" in told.err
