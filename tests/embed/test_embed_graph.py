"""The vectors of a graph: which are made, from what, and how often."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph import Graph
from omnigraph.embed.mock import Mock
from omnigraph.embed.provider import EmbedConfig, ProviderName
from omnigraph.engine.settings import Settings
from omnigraph.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    EmbedModelWrong,
    EmbedProviderMissing,
    EmbedRefused,
    EmbedTextRefused,
    LoadUnderWay,
    NameMissing,
    OmnigraphError,
    ReadOnly,
)
from tests.embed.server import EmbedServer, Reply, embed_server, texts
from tests.graph.people import write_ndjson

SCHEMA = """
node Paper {
    title: String @key
    abstract: String?
    vector: Vector(8)? @embed("abstract")
    title_vector: Vector(4)? @embed("title")
    scan: Blob?
}
node Author { name: String @key }
edge Wrote: Author -> Paper { note: String?  note_vector: Vector(8)? @embed("note") }
"""
PAPERS: list[dict[str, Any]] = [
    {"type": "Paper", "data": {"title": "a", "abstract": "red fox", "scan": "base64:aGk="}},
    {"type": "Paper", "data": {"title": "b", "abstract": "blue whale"}},
    {"type": "Paper", "data": {"title": "c", "abstract": "red fox"}},
    {"type": "Paper", "data": {"title": "d"}},
    {"type": "Paper", "data": {"title": "e", "abstract": "  "}},
    {"type": "Author", "data": {"name": "ada"}},
    {"edge": "Wrote", "from": "ada", "to": "a", "data": {"note": "with love"}},
]
VECTORS = """query v() {
    match { $p: Paper }
    return { $p.title as title, $p.vector as vector, $p.title_vector as of_title }
    order { $p.title }
}"""
CHANGE = "query c($t: String, $a: String?) { update Paper set { abstract: $a } where title = $t }"
GIVE = "query g($t: String, $v: Vector(8)?) { update Paper set { vector: $v } where title = $t }"

MOCK = Settings(embed=EmbedConfig("mock"))


def make(path: Path, settings: Settings = MOCK) -> Graph:
    graph = Graph.init(path, SCHEMA, durability="relaxed", settings=settings)
    graph.load(PAPERS, mode="append")
    return graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return make(tmp_path / "g.omni")


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with embed_server() as server:
        yield server


def at(server: EmbedServer, model: str = "text-embedding-3-any") -> Settings:
    return Settings(embed=EmbedConfig("openai-compatible", model, base_url=server.url))


def reopened(graph: Graph, settings: Settings) -> Graph:
    return Graph.open(graph.uri, durability="relaxed", settings=settings)


def vectors(graph: Graph, **where: Any) -> dict[str, Any]:
    return {row["title"]: row["vector"] for row in graph.query(VECTORS, **where).to_pylist()}


def mock(text: str, width: int = 8, model: str = "mock") -> Any:
    return pytest.approx(Mock(model).embed([text], purpose="row", width=width)[0].tolist())


def kinds(graph: Graph, branch: str = "main") -> list[str]:
    return [commit.kind for commit in graph.commits(branch)]


# What is made -------------------------------------------------------------------------------------


def test_rows_with_a_text_get_its_vector_in_one_commit(graph: Graph) -> None:
    result = graph.embed(message="first vectors", actor="ada")
    assert result.embedded == {
        "Paper": {"vector": 3, "title_vector": 5},
        "Wrote": {"note_vector": 1},
    }
    assert (result.model, result.emptied, result.total_embedded) == ("mock", 0, 9)
    assert vectors(graph) == {
        "a": mock("red fox"),
        "b": mock("blue whale"),
        "c": mock("red fox"),
        "d": None,
        "e": None,
    }
    assert [row["of_title"] for row in graph.query(VECTORS)] == [mock(t, 4) for t in "abcde"]
    head = graph.commits()[0]
    assert (head.kind, head.actor_id, head.message) == ("embed", "ada", "first vectors")
    assert kinds(graph) == ["embed", "load", "init"]


def test_everything_else_of_a_row_stays(graph: Graph) -> None:
    graph.embed()
    assert graph.blob("node", "Paper", "a", "scan").read() == b"hi"
    assert graph.query(
        "query n() { match { $a: Author  $a wrote $p } return { $a.name as a, $p.title as p } }"
    ).to_pylist() == [{"a": "ada", "p": "a"}]
    assert graph.stats().tables["node:Paper"].row_count == 5  # type: ignore[index]


def test_nothing_to_do_is_no_commit(graph: Graph) -> None:
    graph.embed()
    for only in ("missing", "stale", "all"):
        result = graph.embed(only=only)
        assert result.commit is None and result.total_embedded == 0
    assert kinds(graph) == ["embed", "load", "init"]


def test_some_types_are_embedded_and_others_wait(graph: Graph) -> None:
    assert graph.embed("Wrote").embedded == {"Wrote": {"note_vector": 1}}
    assert graph.embed(["Paper"]).embedded.keys() == {"Paper"}


def test_new_rows_are_missing_until_they_are_embedded(graph: Graph) -> None:
    graph.embed()
    graph.load([{"type": "Paper", "data": {"title": "f", "abstract": "new"}}], mode="append")
    assert graph.embed().embedded["Paper"] == {"vector": 1, "title_vector": 1}
    assert vectors(graph)["f"] == mock("new")


def test_a_text_is_sent_once_however_many_rows_have_it(graph: Graph, server: EmbedServer) -> None:
    reopened(graph, at(server)).embed("Paper")
    sent = [text for _, _, document in server.requests for text in document["input"]]
    assert sorted(sent) == ["a", "b", "blue whale", "c", "d", "e", "red fox"]


def test_a_vector_keeps_its_row_id_so_that_edges_and_changes_find_it(graph: Graph) -> None:
    before = graph.snapshot()
    graph.embed()
    changed = graph.diff(before, graph.snapshot())
    assert {(c["type"]["name"], c["op"]) for c in changed} == {
        ("Paper", "update"),
        ("Wrote", "update"),
    }


# What is stale ------------------------------------------------------------------------------------


def test_a_vector_is_stale_once_its_text_has_changed(graph: Graph) -> None:
    graph.embed()
    graph.mutate(CHANGE, {"t": "b", "a": "grey whale"})
    assert graph.embed(only="missing").commit is None
    assert graph.embed(only="stale").embedded["Paper"] == {"vector": 1, "title_vector": 0}
    assert vectors(graph)["b"] == mock("grey whale")
    assert graph.embed(only="stale").commit is None


def test_a_text_that_comes_back_is_not_stale_for_long(graph: Graph) -> None:
    graph.embed()
    graph.mutate(CHANGE, {"t": "b", "a": "grey whale"})
    graph.mutate(CHANGE, {"t": "b", "a": "blue whale"})
    assert graph.embed(only="stale").commit is None


def test_a_row_that_lost_its_text_loses_its_vector(graph: Graph) -> None:
    graph.embed()
    graph.mutate(CHANGE, {"t": "b", "a": None})
    assert graph.embed(only="missing").commit is None
    result = graph.embed(only="stale")
    assert result.emptied == 1 and result.total_embedded == 0
    assert vectors(graph)["b"] is None


def test_a_vector_that_was_given_is_left_alone_but_by_all(graph: Graph) -> None:
    given = [1.0, *[0.0] * 7]
    graph.mutate(GIVE, {"t": "b", "v": given})
    graph.mutate(GIVE, {"t": "d", "v": given})
    graph.embed(only="stale")
    assert vectors(graph)["b"] == vectors(graph)["d"] == given
    graph.embed(only="all")
    assert vectors(graph)["b"] == mock("blue whale")
    assert vectors(graph)["d"] == given


def test_vectors_of_another_model_are_stale(graph: Graph) -> None:
    graph.embed()
    other = reopened(graph, Settings(embed=EmbedConfig("mock", "other")))
    assert other.embed().commit is None
    other.branch_create("new-model")
    assert other.embed(only="stale", branch="new-model").embedded["Paper"]["vector"] == 3
    assert vectors(graph)["a"] == mock("red fox")
    other.branch_merge("new-model")
    assert vectors(other)["a"] == mock("red fox", model="other")
    assert other.embed(only="stale").commit is None
    assert graph.embed(only="stale").embedded["Paper"]["vector"] == 3


def test_what_is_stale_is_known_on_branches_in_the_past_and_after_renames(graph: Graph) -> None:
    graph.embed()
    then = graph.commits()[0].graph_commit_id
    graph.branch_create("side")
    graph.mutate(CHANGE, {"t": "b", "a": "grey whale"}, branch="side")
    graph.branch_merge("side", delete=True)
    renamed = SCHEMA.replace(
        'vector: Vector(8)? @embed("abstract")\n    title',
        'meaning: Vector(8)? @embed("abstract") @rename_from("vector")\n    title',
    )
    graph.schema_apply(renamed)
    graph.optimize()
    assert graph.embed(only="stale").embedded["Paper"] == {"meaning": 1, "title_vector": 0}
    graph.branch_create("past", from_=then)
    assert graph.embed(only="stale", branch="past").commit is None


def test_many_embeddings_leave_few_files_about_where_vectors_came_from(graph: Graph) -> None:
    for number in range(40):
        graph.mutate(CHANGE, {"t": "b", "a": f"text {number}"})
        assert graph.embed(only="stale").commit is not None
    facts = list((Path(graph.uri) / "__embeddings").iterdir())
    assert len(facts) < 35
    assert graph.embed(only="stale").commit is None


def test_a_cleanup_keeps_what_is_known_of_vectors(graph: Graph) -> None:
    graph.embed()
    graph.mutate(CHANGE, {"t": "b", "a": "grey whale"})
    graph.cleanup(keep=1, confirm=True)
    assert graph.embed(only="stale").embedded["Paper"] == {"vector": 1, "title_vector": 0}


# What fails ---------------------------------------------------------------------------------------


def test_a_failure_keeps_what_was_made_and_the_next_try_makes_the_rest(
    graph: Graph, server: EmbedServer, tmp_path: Path
) -> None:
    settings = at(server)
    # Each column of vectors is a request of its own here, and the second one is refused.
    server.replies.extend([Reply(), Reply(401, {"error": {"message": "no"}})])
    local = reopened(graph, settings)
    with pytest.raises(EmbedRefused):
        local.embed("Paper", engine="local")
    assert vectors(graph)["a"] is None and kinds(graph) == ["load", "init"]
    before = len(server.requests)
    assert local.embed("Paper").total_embedded == 8
    again = [text for _, _, document in server.requests[before:] for text in document["input"]]
    assert len(again) < 7
    assert not [*Path(graph.uri).glob("__staging/embed~*/*")]


MANY = [{"type": "Note", "data": {"name": f"n{n}", "text": f"text {n}"}} for n in range(900)]


def many_texts(path: Path, settings: Settings) -> Graph:
    """A graph with so many texts that one task sends several requests."""
    schema = 'node Note { name: String @key  text: String  vector: Vector(8)? @embed("text") }'
    graph = Graph.init(path, schema, durability="relaxed", settings=settings)
    graph.load(MANY, mode="append")
    return graph


@pytest.mark.parametrize(
    "fault",
    [
        Reply(401, {"error": {"message": "no"}}),
        Reply(429, {"error": {}}, headers={"Retry-After": "500"}),
        Reply(stalls_after=0),
        Reply(raw=b'{"data": []}'),
        Reply(raw=b"[" * 200_000),
    ],
    ids=["refused", "limited", "silent", "wrong", "nested"],
)
@pytest.mark.parametrize("answered", [0, 1, 3])
def test_every_answer_before_a_failure_is_kept(
    tmp_path: Path, server: EmbedServer, answered: int, fault: Reply
) -> None:
    settings = at(server)
    settings = replace(settings, embed=replace(settings.embed, timeout_s=1.0))
    graph = many_texts(tmp_path / "g.omni", settings)
    server.replies.extend([*[Reply() for _ in range(answered)], fault])
    with pytest.raises(OmnigraphError):
        graph.embed()
    paid = {t for _, _, document in server.requests[:answered] for t in texts(document)}
    before = len(server.requests)
    assert graph.embed().total_embedded == 900
    again = [t for _, _, document in server.requests[before:] for t in texts(document)]
    assert len(again) == 900 - len(paid) and not paid & set(again)


def test_answers_to_parts_of_a_refused_batch_are_kept(tmp_path: Path, server: EmbedServer) -> None:
    graph = many_texts(tmp_path / "g.omni", at(server))
    too_many = Reply(413, {"error": {"message": "too many"}})
    # The batch is refused and a harmless text is not. Half of the batch is answered.
    server.replies.extend([too_many, Reply(), Reply(), Reply(401, {"error": {"message": "no"}})])
    with pytest.raises(EmbedRefused):
        graph.embed()
    paid = set(texts(server.requests[2][2]))
    before = len(server.requests)
    graph.embed()
    again = {t for _, _, document in server.requests[before:] for t in texts(document)}
    assert len(paid) == 128 and not paid & again


@pytest.mark.parametrize("retry", ["load", "another source"])
def test_a_load_that_fails_keeps_the_answers_too(
    tmp_path: Path, server: EmbedServer, retry: str
) -> None:
    graph = many_texts(tmp_path / "g.omni", at(server))
    rows: list[dict[str, Any]] = [
        {"type": "Note", "data": {"name": f"m{n}", "text": f"more {n}"}} for n in range(900)
    ]
    data = write_ndjson(tmp_path / "notes.jsonl", rows)
    server.replies.extend([Reply(), Reply(), Reply(401, {"error": {"message": "no"}})])
    with pytest.raises(EmbedRefused):
        graph.load(data, mode="append", embed=True, engine="local")
    paid = {t for _, _, document in server.requests[:2] for t in texts(document)}
    before = len(server.requests)
    source = data if retry == "load" else rows[::-1]
    graph.load(source, mode="append", embed=True, engine="local")
    again = [t for _, _, document in server.requests[before:] for t in texts(document)]
    assert len(paid) == 512 and sorted([*paid, *again]) == sorted(f"more {n}" for n in range(900))
    assert not [*Path(graph.uri).glob("__staging/embed~*/*")]
    vector = graph.query(
        'query v() { match { $n: Note { name: "m7" } } return { $n.vector as v } }'
    )
    assert vector.to_pylist()[0]["v"] == mock("more 7")


LONG: list[dict[str, Any]] = [
    {"type": "Paper", "data": {"title": f"long {n}", "abstract": f"{n:03d}" * 100}}
    for n in range(30)
]


def test_rows_whose_text_is_refused_are_named_and_the_rest_is_kept(
    graph: Graph, server: EmbedServer
) -> None:
    graph.load([*LONG, {**LONG[0], "data": {**LONG[0]["data"], "title": "same"}}], mode="append")
    server.max_characters = 100
    remote = reopened(graph, at(server))
    with pytest.raises(EmbedTextRefused) as caught:
        remote.embed("Paper")
    error = caught.value
    assert error.count == len(error.details["rows"]) == 31
    assert {row["entity_id"] for row in error.details["rows"]} == {
        "same",
        *(row["data"]["title"] for row in LONG),
    }
    assert {(row["type_name"], row["property"]) for row in error.details["rows"]} == {
        ("Paper", "abstract")
    }
    shown = error.render()
    assert "31 texts can't be embedded" in shown and "and 11 more" in shown
    assert "Paper long 7: the text of abstract, 300 characters" in shown
    assert "maximum context length" in shown and "OMNIGRAPH_EMBED_MAX_CHARACTERS" in shown
    assert kinds(graph) == ["load", "load", "init"]

    for row in LONG:
        graph.mutate(CHANGE, {"t": row["data"]["title"], "a": "short"})
    graph.mutate(CHANGE, {"t": "same", "a": None})
    before = len(server.requests)
    assert remote.embed("Paper").embedded["Paper"] == {"vector": 33, "title_vector": 36}
    assert [texts(document) for _, _, document in server.requests[before:]] == [["short"]]


def test_the_beginning_of_a_long_text_is_embedded_if_the_setting_says_so(
    graph: Graph, server: EmbedServer
) -> None:
    graph.load(LONG[:1], mode="append")
    server.max_characters = 100
    settings = at(server)
    cut = Settings(embed=replace(settings.embed, max_characters=99))
    assert reopened(graph, cut).embed("Paper").commit is not None
    assert vectors(graph)["long 0"] == mock("000" * 33)
    # It is the vector of the whole text: as long as that stays, it is not stale.
    assert reopened(graph, cut).embed("Paper", only="stale").commit is None


@pytest.mark.parametrize("provider", ["openai-compatible", "gemini"])
def test_a_load_rejects_rows_whose_text_is_refused(
    tmp_path: Path, server: EmbedServer, provider: ProviderName
) -> None:
    url = f"{server.url}/{'v1beta' if provider == 'gemini' else 'v1'}"
    config = EmbedConfig(provider, "text-embedding-3-any", base_url=url, api_key="k")
    graph = empty(tmp_path / "g.omni", Settings(embed=config))
    server.max_characters = 100
    data = write_ndjson(tmp_path / "papers.jsonl", [*PAPERS[:3], *LONG[:2], *PAPERS[3:]])
    with pytest.raises(ConstraintViolated) as caught:
        graph.load(data, mode="append", embed=True, engine="local")
    shown = caught.value.render()
    assert "papers.jsonl:4: Paper long 0: the text of abstract, 300 characters" in shown
    assert kinds(graph) == ["init"]
    result = graph.load(
        data,
        mode="append",
        embed=True,
        on_error="quarantine",
        quarantine=tmp_path / "rejected",
        engine="local",
    )
    assert result.rejected == 2
    rejected = "".join(path.read_text() for path in (tmp_path / "rejected").rglob("*.jsonl"))
    assert "long 0" in rejected and "long 1" in rejected and "refused by" in rejected
    assert vectors(graph).keys() == {"a", "b", "c", "d", "e"}
    assert vectors(graph)["a"] == mock("red fox")


def test_rows_that_others_write_meanwhile_are_embedded_too(
    graph: Graph, server: EmbedServer
) -> None:
    other = reopened(graph, MOCK)

    def write(_: Any) -> None:
        other.mutate(CHANGE, {"t": "b", "a": "changed under us"})

    server.replies.append(Reply(change=write))
    reopened(graph, at(server)).embed("Paper")
    assert vectors(graph)["b"] == mock("changed under us")


def test_one_embedding_of_a_branch_runs_at_a_time(graph: Graph, server: EmbedServer) -> None:
    other, seen = reopened(graph, MOCK), threading.Event()

    def refuse(_: Any) -> None:
        with pytest.raises(LoadUnderWay):
            other.embed()
        seen.set()

    server.replies.append(Reply(change=refuse))
    reopened(graph, at(server)).embed("Wrote")
    assert seen.is_set()


def test_a_model_that_the_schema_does_not_name_makes_no_vector(tmp_path: Path) -> None:
    schema = 'node A { t: String @key  v: Vector(8)? @embed("t", model="this") }'
    graph = Graph.init(tmp_path / "g.omni", schema, settings=MOCK)
    graph.load([{"type": "A", "data": {"t": "x"}}], mode="append")
    with pytest.raises(EmbedModelWrong, match="this"):
        graph.embed()
    named = reopened(graph, Settings(embed=EmbedConfig("mock", "this")))
    assert named.embed().total_embedded == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"types": "Papr"}, NameMissing),
        ({"types": ["Author"]}, ArgumentInvalid),
        ({"only": "old"}, ArgumentInvalid),
        ({"engine": "here"}, ArgumentInvalid),
    ],
)
def test_a_wrong_argument_is_refused(
    graph: Graph, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        graph.embed(**arguments)


def test_an_embedding_needs_a_provider_and_the_right_to_write(graph: Graph) -> None:
    with pytest.raises(EmbedProviderMissing):
        reopened(graph, Settings()).embed()
    reading = Graph.open(graph.uri, read_only=True, settings=MOCK)
    with pytest.raises(ReadOnly):
        reading.embed()


def test_a_graph_without_embeds_has_nothing_to_do(tmp_path: Path) -> None:
    graph = Graph.init(tmp_path / "g.omni", "node A { t: String @key }", settings=MOCK)
    assert graph.embed().commit is None


# How it runs --------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_makes_the_same_vectors(graph: Graph, tmp_path: Path, spark: Any) -> None:
    other = make(tmp_path / "other.omni")
    assert graph.embed(spark=spark).embedded == other.embed(engine="local").embedded
    np.testing.assert_equal(vectors(graph), vectors(other))


def test_progress_counts_texts(graph: Graph) -> None:
    told: list[tuple[str, int, int]] = []
    graph.embed("Paper", progress=lambda *step: told.append(step))
    assert ("embed", 0, 7) in told and ("embed", 7, 7) in told
    assert [phase for phase, *_ in told if phase != "embed"] == ["start", "publish"]


# While loading ------------------------------------------------------------------------------------


def empty(path: Path, settings: Settings = MOCK) -> Graph:
    return Graph.init(path, SCHEMA, durability="relaxed", settings=settings)


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_load_makes_the_vectors_that_rows_lack(tmp_path: Path, mode: Any) -> None:
    graph = empty(tmp_path / "g.omni")
    given = [1.0, *[0.0] * 7]
    rows = [*PAPERS, {"type": "Paper", "data": {"title": "f", "abstract": "x", "vector": given}}]
    graph.load(rows, mode=mode, embed=True)
    assert vectors(graph) == {
        "a": mock("red fox"),
        "b": mock("blue whale"),
        "c": mock("red fox"),
        "d": None,
        "e": None,
        "f": given,
    }
    assert kinds(graph) == ["load", "init"]
    # Their origin is known as if they had been embedded later.
    assert graph.embed(only="stale").commit is None
    graph.mutate(CHANGE, {"t": "b", "a": "grey whale"})
    assert graph.embed(only="stale").embedded["Paper"]["vector"] == 1


def test_the_same_load_again_changes_nothing(tmp_path: Path) -> None:
    graph = empty(tmp_path / "g.omni")
    graph.load(PAPERS, mode="merge", embed=True)
    assert graph.load(PAPERS[:6], mode="merge", embed=True).commit is None


def test_a_rehearsal_checks_the_provider_and_asks_it_nothing(
    tmp_path: Path, server: EmbedServer
) -> None:
    graph = empty(tmp_path / "g.omni", at(server))
    graph.load(PAPERS, mode="append", embed=True, dry_run=True)
    assert server.requests == []
    with pytest.raises(EmbedProviderMissing):
        reopened(graph, Settings()).load(PAPERS, mode="append", embed=True, dry_run=True)


def test_a_provider_that_refuses_fails_the_load(tmp_path: Path, server: EmbedServer) -> None:
    graph = empty(tmp_path / "g.omni", at(server))
    server.replies.append(Reply(401, {"error": {"message": "no key"}}))
    with pytest.raises(EmbedRefused, match="no key"):
        graph.load(PAPERS, mode="append", embed=True)
    assert kinds(graph) == ["init"]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_load_on_spark_makes_the_same_vectors(tmp_path: Path, spark: Any) -> None:
    data = write_ndjson(tmp_path / "papers.jsonl", PAPERS)
    graph = empty(tmp_path / "g.omni")
    graph.load(data, mode="append", embed=True, spark=spark)
    assert vectors(graph)["a"] == mock("red fox")
    assert graph.embed(only="stale").commit is None
