"""An import into a graph of any place leaves the rows, or nothing at all."""

from pathlib import Path

import pytest

from omnigraph import Graph, ImportPlan, Settings
from omnigraph.base.span import SourceText
from omnigraph.engine.imports import import_new
from omnigraph.engine.requests import Import
from omnigraph.errors import ConstraintViolated
from omnigraph.store.layout import STAGING
from tests.buckets import bucket_access, location_of
from tests.pipeline.imports.imported import nodes_of, write_files

NODES = "id:ID,:LABEL\na,Cat\nb,Cat\n"
EDGES = ":START_ID,:END_ID,:TYPE\na,b,SEES\n"


def test_a_graph_that_an_import_would_make_is_there_whole_or_not_at_all(
    place: str, tmp_path: Path
) -> None:
    settings = Settings(bucket_access=bucket_access())
    source = write_files(tmp_path / "cats", {"n.csv": NODES, "e.csv": EDGES + "a,gone,SEES\n"})
    with pytest.raises(ConstraintViolated):
        make(place, source, settings)
    assert not list(location_of(place).objects().walk("")), "nothing is left"
    (source / "e.csv").write_text(EDGES)
    make(place, source, settings)
    graph = Graph.open(place, settings=settings)
    assert nodes_of(graph, "Cat") == [{"id": "a"}, {"id": "b"}]
    assert not list(location_of(place).objects().walk(STAGING)), "no table is left"


def make(place: str, source: Path, settings: Settings) -> None:
    plan = ImportPlan.of(source)
    request = Import(source=plan, mode="append", engine="local")
    import_new(place, SourceText(plan.schema, "s"), request, settings=settings)
