"""A search that is cancelled ends within the piece it works on, and the next goes on from there."""

from pathlib import Path

import numpy as np
import pytest

from omnigraph import Graph
from omnigraph.base.errors import LimitExceeded, QueryCancelled
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.read.limits import ReadLimits
from tests.graph.read.test_deadlines import Fuse

SCHEMA = "node Doc { name: String @key  body: String?  v: Vector(4)? }"
DOCS = 6_000

# A table this small goes through what otherwise only large ones meet: many blocks of text, vectors
# in lists, and vectors that memory can't hold.
SMALL = ReadLimits(max_text_block_bytes=20_000)
IN_LISTS = ReadLimits(max_exact_floats=0)
BEYOND = ReadLimits(max_cache_bytes=0, max_exact_floats=4_096)

NEAREST = "query q() { match { $d: Doc } return { $d.name } order { %s } limit 3 }"
WORDS = "query q() { match { $d: Doc  %s } return { $d.name } }"
QUESTIONS = {
    "words": (SMALL, WORDS % 'search($d.body, "w7 w9")'),
    "phrase": (SMALL, WORDS % 'match_text($d.body, "w7 x")'),
    "fuzzy": (SMALL, WORDS % 'fuzzy($d.body, "w71", 1)'),
    "best words": (SMALL, NEAREST % 'bm25($d.body, "x w7 w9")'),
    "all vectors": (ReadLimits(), NEAREST % "nearest($d.v, [1, 2, 3, 4])"),
    "lists": (IN_LISTS, NEAREST % "nearest($d.v, [1, 2, 3, 4])"),
    "vectors in files": (BEYOND, NEAREST % "nearest($d.v, [1, 2, 3, 4])"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("docs") / "g"
    random = np.random.default_rng(0)
    rows = [
        {
            "type": "Doc",
            "data": {"name": f"d{n:04}", "body": f"w{n % 97} x w{n % 13}", "v": vector},
        }
        for n, vector in enumerate(random.normal(size=(DOCS, 4)).round(3).tolist())
    ]
    Graph.init(place, SCHEMA, durability="relaxed").load(rows, mode="append", engine="local")
    return place


def opened(place: Path, limits: ReadLimits) -> Graph:
    return Graph(Engine.open(str(place), read_only=True, settings=Settings(read_limits=limits)))


def asked(place: Path, name: str) -> int:
    """How often a query looks whether it was cancelled, if nothing is there that it needs."""
    limits, text = QUESTIONS[name]
    fuse = Fuse()
    opened(place, limits).query(text, cancel=fuse)
    return fuse.asked


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_search_ends_at_whatever_moment_it_is_cancelled(place: Path, name: str) -> None:
    limits, text = QUESTIONS[name]
    often = asked(place, name)
    assert often > 10
    for until in range(0, often, 1 + often // 7):
        fuse = Fuse(until)
        with pytest.raises(QueryCancelled):
            opened(place, limits).query(text, cancel=fuse)
        # Asked once to know that it is spent, and once for the error.
        assert fuse.asked <= until + 2


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "vectors in files"])
def test_a_search_that_is_cut_off_again_and_again_gets_done(place: Path, name: str) -> None:
    limits, text = QUESTIONS[name]
    often, ready = asked(place, name), opened(place, limits)
    expected = ready.query(text).to_pylist()
    ready.query(text, cancel=(warm := Fuse()))
    # Not enough to make all that is needed, and more than enough to ask it.
    patience = (often + 2 * warm.asked) // 3
    impatient, tries, found = opened(place, limits), 0, None
    while found is None:
        try:
            found = impatient.query(text, cancel=Fuse(patience)).to_pylist()
        except QueryCancelled:
            tries += 1
            assert tries < often
    assert found == expected and tries


def test_a_deadline_that_is_over_ends_what_a_search_needs(place: Path) -> None:
    limits, text = QUESTIONS["best words"]
    with pytest.raises(LimitExceeded, match="the time in milliseconds"):
        opened(place, limits).query(text, timeout_s=0)
