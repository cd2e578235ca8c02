"""Every page for users is true: its files, commands and Python run as they stand.

A page is run from top to bottom in an empty folder (`tests/house/reading.py`), and what it shows of
their output is compared; `--bless` writes it anew. `console` marks what can't be run here: a
cluster, say. Small files are loaded in process, where Spark is not what the page is about.
"""

import gzip
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.lang.query.text.parser import parse
from omnigraph.lang.schema.check.check import compile_schema
from tests.buckets import bucket_variables
from tests.house.reading import FENCE, Reader, blocks
from tests.house.terminal import Masks
from tests.lang.query.cases import FOLDER

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/user"
QUICKSTART = PAGES / "quickstart.md"
FIVE_MINUTES = QUICKSTART.read_text()

# What the page runs on: nothing, the files of the five minutes, or the graph that they make too.
ALONE = [
    "analytics.md",
    "blobs.md",
    "branches.md",
    "data-quality.md",
    "deployments.md",
    "embeddings.md",
    "export.md",
    "importing.md",
    "mappings.md",
    "migrations.md",
    "moving.md",
    "policy.md",
    "search.md",
]
# They hold tables and pictures.
NOTHING_TO_RUN = ["concepts.md"]
WITH_CONSOLE = {
    "analytics.md",
    "clusters.md",
    "deployments.md",
    "explorer.md",
    "install.md",
    "quickstart.md",
    "shell.md",
}
WITH_FILES = ["loading.md"]
WITH_GRAPH = [
    "changes.md",
    "coming-from.md",
    "lint.md",
    "maintenance.md",
    "querying.md",
    "shell.md",
]
ON_SPARK = ["clusters.md", "spark.md", "streaming.md"]
IN_A_BUCKET = ["object-stores.md"]
LANGUAGES = ["query-language.md", "schema-language.md", "text-search.md", "vector-search.md"]
# `tests/graph/test_mutations_page.py`, `tests/notebook/test_documents.py`,
# `tests/surfaces/test_configuration.py`, `tests/surfaces/client`, `tests/house/test_package.py`,
# `tests/surfaces/test_explore.py` and `tests/surfaces/server/test_page.py` look closer.
ELSEWHERE = [
    "client.md",
    "configuration.md",
    "explorer.md",
    "install.md",
    "mcp.md",
    "mutations.md",
    "notebooks.md",
    "server.md",
]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_blessing: bool) -> Reader:
    monkeypatch.chdir(tmp_path)
    return Reader(tmp_path, monkeypatch, is_blessing)


def read_five_minutes(reader: Reader) -> None:
    """Make the graph of the quickstart: its first commands, up to the merge."""
    reader.write_files(FIVE_MINUTES)
    before_python = FIVE_MINUTES.split("## From Python")[0]
    reader.run(before_python)


def test_the_quickstart_runs_as_it_stands(reader: Reader) -> None:
    reader.read(QUICKSTART)


def test_the_sixty_seconds_of_the_readme_run_as_they_stand(reader: Reader) -> None:
    reader.read(ROOT / "README.md")


def test_the_program_is_where_the_readme_says() -> None:
    program = Path(sys.executable).with_name("omnigraph")
    told = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"omnigraph {omnigraph.__version__}\n"


@pytest.mark.parametrize("page", ALONE)
def test_a_page_runs_as_it_stands(page: str, reader: Reader) -> None:
    reader.read(PAGES / page)


@pytest.mark.parametrize("page", WITH_FILES)
def test_a_page_runs_with_the_files_of_the_five_minutes(page: str, reader: Reader) -> None:
    reader.write_files(FIVE_MINUTES)
    reader.read(PAGES / page)


@pytest.mark.parametrize("page", WITH_GRAPH)
def test_a_page_runs_with_the_graph_of_the_five_minutes(page: str, reader: Reader) -> None:
    read_five_minutes(reader)
    reader.read(PAGES / page)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", ON_SPARK)
def test_a_page_about_spark_runs_on_the_session_there_is(page: str, reader: Reader) -> None:
    if page == "clusters.md":
        reader.write_files(FIVE_MINUTES)
        (reader.folder / "people").mkdir()
        (reader.folder / "people.jsonl").rename(reader.folder / "people/1.jsonl")
        reader.do("omnigraph", "init", "--schema", "people.pg", "people.omni")
    reader.read(PAGES / page)


@pytest.mark.parametrize("page", IN_A_BUCKET)
def test_a_page_about_buckets_runs_in_one(page: str, reader: Reader, s3: str) -> None:
    for name, value in bucket_variables(s3).items():
        reader.monkeypatch.setenv(name, value)
    reader.write_files(FIVE_MINUTES)
    lines = (reader.folder / "people.jsonl").read_bytes()
    for name, data in (
        ("", b""),
        ("/daily/2024-05-31/people.jsonl", lines),
        ("/daily/2024-06-01/people.jsonl.gz", gzip.compress(lines)),
    ):
        put = urllib.request.Request(f"{s3}/my-bucket{name}", data or None, method="PUT")
        put.add_header("Content-Type", "application/octet-stream")
        urllib.request.urlopen(put).close()
    reader.read(PAGES / page)


@pytest.mark.parametrize("page", LANGUAGES)
def test_the_examples_of_a_language_are_taken_by_a_graph(page: str, reader: Reader) -> None:
    graph = Graph.init("g.omni", FOLDER / "schema.pg")
    blocks = FENCE.findall((PAGES / page).read_text())
    assert {language for language, _ in blocks} & {"gq", "pg"}
    for language, block in blocks:
        if language == "pg":
            assert compile_schema(SourceText(block)).nodes
        for query in parse(SourceText(block)).queries if language == "gq" else ():
            assert query.header.name.text
            if "insert" not in block and "update" not in block:
                assert graph.explain(block, query.header.name.text)


@pytest.mark.parametrize(
    "printed",
    ["  merge …\nmerged\n", "  merge … 12 s\nmerged\n", "\r  merge … 2 s\x1b[K\r\x1b[Kmerged\n"],
)
def test_a_command_on_a_slow_machine_shows_what_it_shows_on_a_fast_one(
    printed: str, tmp_path: Path
) -> None:
    assert Masks(tmp_path)(printed) == "merged"


def test_no_page_is_left_out_and_no_command_is_hidden_from_this_test() -> None:
    run = [*ALONE, *WITH_FILES, *WITH_GRAPH, *ON_SPARK, *IN_A_BUCKET, *LANGUAGES, *ELSEWHERE]
    run += [QUICKSTART.name, *NOTHING_TO_RUN]
    assert sorted(run) == sorted(page.name for page in PAGES.glob("*.md"))
    for page in PAGES.glob("*.md"):
        text = FENCE.sub("", page.read_text())
        assert not re.search(r"^    \S", text, re.MULTILINE), f"{page.name}: fence what is code"
        assert "```console" not in page.read_text() or page.name in WITH_CONSOLE
        assert page.name not in NOTHING_TO_RUN or not list(blocks(page.read_text()))


def test_no_page_shows_an_output_that_is_not_compared() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = page.read_text()
        compared = {block.output.start() for block in blocks(text) if block.output is not None}
        shown = {fence.start() for fence in FENCE.finditer(text) if fence[1] == "text"}
        assert shown == compared, f"{page.name}: put output right behind what prints it"
        assert all(language for language, _ in FENCE.findall(text)), f"{page.name}: name the block"


def test_the_page_about_lint_names_every_member_of_the_report(reader: Reader) -> None:
    page = (PAGES / "lint.md").read_text()
    reader.write_files(FIVE_MINUTES)
    Path("wrong.gq").write_text("query q($n: I32) { match { $p: Person } return { $p.agee } }")
    report = reader.terminal("lint", "--schema", "people.pg", "people.gq", "wrong.gq", "--json")

    def members(value: Any) -> Iterator[str]:
        for name, inside in value.items() if isinstance(value, dict) else ():
            yield name
            yield from members(inside)
        for inside in value if isinstance(value, list) else ():
            yield from members(inside)

    told = set(re.findall(r"`(?:\{\")?(\w+)", page)) | {"type_name"}
    assert set(members(json.loads(report.text))) <= told
