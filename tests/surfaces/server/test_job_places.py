"""Load jobs of files beside the server: only of places that it was started with."""

import os
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.surfaces.server.jobs.places import Places
from tests.buckets import BUCKET, bucket_access, location_of
from tests.surfaces.server.uploads import Jobs, names, people
from tests.surfaces.server.world import World, make_graph, serve_here


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An allowed directory `in`, and beside it what nobody may load."""
    folder = tmp_path_factory.mktemp("places")
    allowed, outside, second = folder / "in", folder / "outside", folder / "second"
    for directory in (allowed / "deep", outside, second):
        directory.mkdir(parents=True)
    (allowed / "people.jsonl").write_bytes(people(3, "one"))
    (allowed / "deep" / "Person.csv").write_text("name,age\ncsv,1\n")
    (second / "more.jsonl").write_bytes(people(2, "two"))
    (outside / "secret.jsonl").write_bytes(people(1, "secret"))
    (folder / "in-secret.jsonl").write_bytes(people(1, "secret"))
    (allowed / "link.jsonl").symlink_to(outside / "secret.jsonl")
    (allowed / "dangling.jsonl").symlink_to(outside / "nothing.jsonl")
    (allowed / "linked").symlink_to(outside)
    (allowed / "with").mkdir()
    (allowed / "with" / "good.jsonl").write_bytes(people(1, "x"))
    (allowed / "with" / "bad.jsonl").symlink_to(outside / "secret.jsonl")
    (allowed / "own.jsonl").symlink_to(allowed / "people.jsonl")
    (allowed / "across.jsonl").symlink_to(second / "more.jsonl")
    os.mkfifo(allowed / "pipe.jsonl")
    return folder


@pytest.fixture(scope="module")
def beside(place: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    graph = make_graph(tmp_path_factory.mktemp("beside"))
    allowed = [str(place / "in"), str(place / "second") + "/", f"s3://{BUCKET}/in/"]
    return serve_here(graph, load_from=allowed)


def refused(world: World, name: str) -> Any:
    return Jobs(world).create(files=[name], engine="local")


FORBIDDEN = [
    "../outside/secret.jsonl",
    "deep/../../outside/secret.jsonl",
    "deep/../people.jsonl",
    "..",
    "",
    "link.jsonl",
    "dangling.jsonl",
    "linked",
    "linked/secret.jsonl",
    "linked/nothing.jsonl",
    "with",
    "{place}/outside/secret.jsonl",
    "{place}/outside/nothing.jsonl",
    "{place}/in-secret.jsonl",
    "{place}/in/../outside/secret.jsonl",
    "/etc/passwd",
    "/etc/nothing",
    "file://{place}/in/people.jsonl",
    "file:///etc/passwd",
    "http://127.0.0.1/x.jsonl",
    "S3://graphs/in/x.jsonl",
    "s3://other/in/x.jsonl",
    "s3://graphs/inside/x.jsonl",
    "s3://graphs/x.jsonl",
    "s3://graphs/in/../x.jsonl",
    "s3://graphs/in//x.jsonl",
    "s3://graphs/in/%2e%2e/x.jsonl",
    "s3://graphs/i*/x.jsonl",
    "s3://graphs/",
    "people\0.jsonl",
]


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_file_outside_the_allowed_places_is_refused_whether_it_is_there_or_not(
    beside: World, place: Path, name: str
) -> None:
    answer = refused(beside, name := name.replace("{place}", str(place)))
    assert answer.status_code == 403, answer.text
    body = answer.json()
    assert body["details"]["code"] == "file_not_allowed"
    told = "with/bad.jsonl" if name == "with" else name
    assert body["error"] == f"{told} is in no place that this server loads from"
    assert Jobs(beside).ids() == [] and "secret0" not in names(beside.graph)


@pytest.mark.parametrize("name", ["nothing.jsonl", "deep/nothing.jsonl", "pipe.jsonl"])
def test_a_file_that_is_not_in_its_place_is_missing(beside: World, name: str) -> None:
    answer = refused(beside, name)
    assert answer.status_code == 404 and answer.json()["error"] == f"no file at {name}"


def test_files_of_allowed_places_are_loaded_by_the_names_they_were_given(place: Path) -> None:
    (folder := place / "graph").mkdir()
    world = serve_here(make_graph(folder), load_from=[str(place / "in"), str(place / "second")])
    jobs = Jobs(world)
    for files, many in (
        (["people.jsonl"], 3),
        ([str(place / "in" / "own.jsonl")], 3),
        (["more.jsonl", "across.jsonl"], 2),
        (["deep"], 1),
    ):
        begun = jobs.create(files=files, mode="merge", engine="local")
        job = jobs.ended(begun.json()["id"])
        assert job["state"] == "succeeded", job
        assert job["result"]["total_entities"] == many, files
    (place / "in" / "bad.jsonl").write_text('{"type": "Person"}\n')
    failed = jobs.ended(jobs.create(files=["bad.jsonl"], engine="local").json()["id"])
    assert failed["error"]["details"]["examples"][0]["file"] == "bad.jsonl"
    assert str(place) not in str(failed)


def test_a_link_that_is_bent_after_the_job_was_begun_is_refused_when_it_runs(
    tmp_path: Path,
) -> None:
    places = Places.named([str(tmp_path)])
    (tmp_path / "a.jsonl").write_bytes(people(1))
    found = places.find(["a.jsonl"], None)
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "a.jsonl").symlink_to("/etc/passwd")
    assert [file.file for file in found.files if not isinstance(file, str)] == ["a.jsonl"]
    with pytest.raises(Exception, match="in no place"):
        places.find(["a.jsonl"], None)


def test_without_a_place_no_file_is_allowed(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(people(1))
    for name in ("x.jsonl", str(tmp_path / "x.jsonl"), "s3://graphs/x.jsonl"):
        assert refused(serve_here(graph), name).status_code == 403


@pytest.mark.parametrize("wrong", ["file:///data", "gs://bucket", "/nowhere/at/all"])
def test_a_place_that_is_none_is_refused_at_the_start(wrong: str) -> None:
    with pytest.raises(ArgumentInvalid, match="--load-from"):
        Places.named([wrong])


def test_files_below_an_allowed_prefix_of_a_bucket_are_loaded(bucket: str, tmp_path: Path) -> None:
    make_graph(tmp_path).close()
    prefix = bucket.removesuffix("/g")
    for name, rows in (("in/a.jsonl", people(2, "a")), ("out/b.jsonl", people(2, "b"))):
        location_of(prefix).objects().put(name, rows)
    settings = Settings(bucket_access=bucket_access())
    graph = Graph(Engine.open(str(tmp_path / "people.omni"), settings=settings))
    jobs = Jobs(serve_here(graph, load_from=[f"{prefix}/in"]))
    for name in (f"{prefix}/in/a.jsonl", f"{prefix}/in/*.jsonl", f"{prefix}/in/"):
        job = jobs.ended(jobs.create(files=[name], mode="merge", engine="local").json()["id"])
        assert job["state"] == "succeeded" and job["result"]["total_entities"] == 2, job
    for name in (f"{prefix}/out/b.jsonl", f"{prefix}/*/b.jsonl", prefix):
        assert jobs.create(files=[name]).status_code == 403
