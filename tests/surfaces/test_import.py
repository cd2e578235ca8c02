"""`omnigraph import`: a proposal that is shown and can be edited, then one commit or nothing."""

import os
from pathlib import Path

import pytest

from omnigraph import Graph
from tests.buckets import ENDPOINT, bucket_variables
from tests.pipeline.imports.imported import nodes_of, unpacked, write_files
from tests.places import copied
from tests.surfaces.cli import CommandLine

PEOPLE = "id:ID,name,since,:LABEL\na,Ada,1815-12-10,PERSON\nb,Bob,,PERSON\n"
KNOWS = ":START_ID,:END_ID,:TYPE\na,b,KNOWS\n"
ALL = "query all() { match { $p: Person } return { $p.id as id  $p.born as born } }"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_LOAD_ENGINE", "local")
    write_files(tmp_path / "people", {"people.csv": PEOPLE, "knows.csv": KNOWS})
    return tmp_path


def test_the_proposal_is_shown_then_a_graph_is_made_of_it(
    here: Path, omnigraph: CommandLine
) -> None:
    answer = omnigraph("import", "people", "g.omni")
    assert answer.exit_code == 0, answer.err
    assert "node PERSON {\n    id: String @key" in answer.err
    assert 'Knows.csv:\n  edge: Knows\n  from: ":START_ID"' in answer.err
    assert "note: the relationship type 'KNOWS' is called Knows" in answer.err
    assert "loaded 3 entities as one commit" in answer.err and not answer.out
    assert not list((here / "g.omni").rglob("*.csv")), "no table of the conversion is left"
    # The same again: every id is taken, and nothing is changed.
    again = omnigraph("import", "people", "g.omni", "--json")
    assert (again.exit_code, again.json["code"]) == (4, "key_conflict")
    merged = omnigraph("import", "people", "g.omni", "--mode", "merge", "--json")
    assert merged.json["unchanged"] == 2 and merged.json["is_new"] is False
    assert merged.json["format"] == "neo4j-csv" and "node PERSON" in merged.json["schema"]


def test_a_plan_is_written_whole_to_a_folder_on_a_disk(here: Path, omnigraph: CommandLine) -> None:
    refused = omnigraph("import", "people", "--plan", "s3://bucket/plan")
    assert refused.exit_code == 1 and "writing a plan to s3://bucket/plan" in refused.err
    # The last of its files can't be written, and no other is in the way of the next attempt.
    folder = here / "plan"
    folder.mkdir()
    (folder / "notes.txt").symlink_to("nowhere/notes.txt")
    assert omnigraph("import", "people", "--plan", "plan").exit_code == 1
    assert [file.name for file in folder.iterdir()] == ["notes.txt"]
    assert not (here / "s3:").exists()


def test_an_edited_plan_is_followed(here: Path, omnigraph: CommandLine) -> None:
    planned = omnigraph("import", "people", "--plan", "plan", "--json")
    assert planned.exit_code == 0 and planned.json["plan"] == "plan"
    schema, mapping = here / "plan/schema.pg", here / "plan/mapping.yaml"
    assert planned.json["schema"] == schema.read_text()
    # A plan that may have been edited is not written over.
    assert omnigraph("import", "people", "--plan", "plan").exit_code == 1
    edited = schema.read_text().replace("PERSON", "Person").replace("    name: String\n", "")
    schema.write_text(edited.replace("since: String?", "born: Date?"))
    mapping.write_text(
        mapping.read_text()
        .replace("node: PERSON", "node: Person\n  ignore: [name]")
        .replace("    name: name\n", "")
        .replace("since: since", "born: since")
    )
    done = omnigraph("import", "people", "g.omni", "--from-plan", "plan")
    assert done.exit_code == 0, done.err
    # What is shown and reported is what was followed, and not the proposal.
    assert f"plan/schema.pg:\n\n{schema.read_text()}" in done.err
    assert f"plan/mapping.yaml:\n\n{mapping.read_text()}" in done.err
    assert "node PERSON" not in done.err and "proposed" not in done.err
    again = omnigraph("import", "people", "again.omni", "--from-plan", "plan", "--json")
    assert again.json["schema"] == schema.read_text()
    assert again.json["mapping"]["PERSON.csv"]["node"] == "Person"
    rows = omnigraph("query", "-e", ALL, "--store", "g.omni", "--json").json["rows"]
    assert rows == [{"id": "a", "born": "1815-12-10"}, {"id": "b", "born": None}]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("schema.pg", None, "no file at plan/schema.pg"),
        ("mapping.yaml", None, "no file at plan/mapping.yaml"),
        ("schema.pg", "node Person {", "plan/schema.pg:1:"),
        ("mapping.yaml", "- a", "plan/mapping.yaml: a mapping must hold rules"),
        (
            "mapping.yaml",
            "PERSON.csv: {node: Persn}",
            "plan/mapping.yaml:1: the schema has no node",
        ),
    ],
)
def test_a_wrong_plan_is_told_before_the_source_is_read(
    file: str, text: str | None, said: str, here: Path, omnigraph: CommandLine
) -> None:
    assert omnigraph("import", "people", "--plan", "plan").exit_code == 0
    (here / "plan" / file).unlink() if text is None else (here / "plan" / file).write_text(text)
    (here / "people/knows.csv").write_text("this would be told if it were read")
    answer = omnigraph("import", "people", "g.omni", "--from-plan", "plan")
    assert answer.exit_code in (1, 3) and said in answer.err, answer.err
    assert not (here / "g.omni").exists()


def test_a_rule_of_a_plan_for_a_table_that_the_source_lacks_is_refused(
    here: Path, omnigraph: CommandLine
) -> None:
    assert omnigraph("import", "people", "--plan", "plan").exit_code == 0
    mapping = here / "plan/mapping.yaml"
    mapping.write_text(mapping.read_text().replace("PERSON.csv", "PERSONS.csv"))
    answer = omnigraph("import", "people", "g.omni", "--from-plan", "plan")
    assert answer.exit_code == 1 and "plan/mapping.yaml:1: no table" in answer.err
    assert "called PERSONS.csv (did you mean PERSON.csv?)" in answer.err
    assert not (here / "g.omni").exists()


def test_an_import_that_fails_or_is_rehearsed_leaves_no_graph(
    here: Path, omnigraph: CommandLine
) -> None:
    rehearsed = omnigraph("import", "people", "g.omni", "--dry-run")
    assert rehearsed.exit_code == 0 and "would load 3 entities" in rehearsed.err
    assert not (here / "g.omni").exists()
    (here / "people/knows.csv").write_text(KNOWS + "a,nobody,KNOWS\n")
    failed = omnigraph("import", "people", "g.omni")
    assert failed.exit_code == 1 and "people/knows.csv:3: " in failed.err
    assert not (here / "g.omni").exists()
    aside = omnigraph("import", "people", "g.omni", "--on-error", "quarantine", "--json")
    assert aside.json["rejected"] == 1 and aside.json["is_new"] is True
    assert Path(aside.json["quarantine"]).name.startswith("people.rejected-")


def test_a_graph_whose_schema_does_not_fit_says_what_it_lacks(
    here: Path, omnigraph: CommandLine
) -> None:
    graph = Graph.init("g.omni", "node Person { id: String @key }", durability="relaxed")
    answer = omnigraph("import", "people", "g.omni")
    assert answer.exit_code == 1
    assert "mapping, PERSON.csv: Person has no property name" in answer.err
    assert nodes_of(graph, "Person") == [] and len(graph.commits()) == 1


def test_an_export_in_a_bucket_is_imported_by_the_variables_that_reach_it(
    here: Path, bucket: str, omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "people/knows.csv").write_text(KNOWS + "a,nobody,KNOWS\n")
    source = copied("people", f"{bucket}/people")
    for name, value in bucket_variables(os.environ[ENDPOINT]).items():
        monkeypatch.setenv(name, value)
    planned = omnigraph("import", source, "--plan", "plan", "--json")
    assert planned.json["source"] == source
    aside = ("--on-error", "quarantine", "--from-plan", "plan", "--json")
    answer = omnigraph("import", source, "g.omni", *aside)
    assert answer.json["rejected"] == 1 and answer.json["edges"][0]["name"] == "Knows"
    # Beside the one who imports, since the bucket is others'.
    (line,) = (here / answer.json["quarantine"]).glob("*.jsonl")
    assert f"{source}/knows.csv" in line.read_text()


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["gone", "g.omni"], 3, "no file at gone"),
        (["", "g.omni"], 1, "error: path '': it is empty"),
        (["people"], 2, "name the graph"),
        (["people", "g.omni", "--format", "csv"], 2, "--format"),
        (["people", "--plan", "a", "--from-plan", "b"], 2, "give one"),
        (["people", "g.omni", "--from-plan", "b"], 3, "b/schema.pg"),
        (["people", "g.omni", "--format", "kuzu"], 3, "schema.cypher"),
        (["people", "g.omni", "--format", "graphml"], 1, "GraphML is one file"),
        (["ftp://host/people", "g.omni"], 1, "copy the files to a disk or a bucket"),
        (["people", "https://host/graphs/people"], 1, "a connection to a server can't do this"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_written(
    arguments: list[str], exit_code: int, said: str, here: Path, omnigraph: CommandLine
) -> None:
    answer = omnigraph("import", *arguments)
    assert answer.exit_code == exit_code, answer.err
    assert said in answer.err
    assert sorted(path.name for path in here.iterdir()) == ["people"]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("spark")
def test_spark_imports_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, omnigraph: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    source = unpacked("ladybug", tmp_path)
    for engine in ("spark", "local"):
        answer = omnigraph("import", str(source), f"{engine}.omni", "--engine", engine, "--json")
        assert answer.exit_code == 0 and answer.json["engine"] == engine, answer.err
    ours, theirs = (Graph.open(f"{name}.omni") for name in ("local", "spark"))
    for type_ in ("Person", "City"):
        assert nodes_of(ours, type_) == nodes_of(theirs, type_)
