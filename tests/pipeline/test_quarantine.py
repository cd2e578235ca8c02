"""What becomes of bad rows: the report, the quarantine, the accounts, and a load only rehearsed."""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph import Graph, OmnigraphError
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline import load as load_module
from tests.pipeline import damage

MODES = ("append", "merge", "overwrite")


class Held:
    """A graph whose main branch is never changed; every load gets a branch of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.numbers = itertools.count()
        self.graph = Graph.init(str(place / "g"), damage.SCHEMA, durability="relaxed")
        self.graph.load(self.file(damage.HELD), mode="append", engine="local")

    def file(self, lines: Sequence[str]) -> str:
        path = self.place / "in.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    def load(self, lines: Sequence[str], mode: str, **options: Any) -> LoadResult:
        branch = f"b{next(self.numbers)}"
        options = {"engine": "local", **options}
        return self.graph.load(self.file(lines), mode=mode, branch=branch, from_="main", **options)

    def quarantined(self, lines: Sequence[str], mode: str, **options: Any) -> LoadResult:
        place = self.place / f"q{next(self.numbers)}"
        return self.load(lines, mode, on_error="quarantine", quarantine=place, **options)

    def image(self, branch: str) -> dict[str, dict[str, tuple[Any, ...]]]:
        """By type and id, without ids that were made up."""
        columns = {"Person": ("phone",), "City": (), "Note": ("text",)}
        found: dict[str, dict[str, tuple[Any, ...]]] = {}
        for name in ("Person", "City", "Note", *damage.ENDS):
            entity = self._entity(name)
            wanted = columns.get(name, ("src", "dst"))
            rows = self.graph._store.snapshot(branch).dataset(entity)  # type: ignore[arg-type]
            for row in rows.scan(["id", *wanted]).to_pylist():
                found.setdefault(name, {})[row["id"]] = tuple(row[c] for c in wanted)
        return found

    def _entity(self, name: str) -> Any:
        catalog = self.graph.catalog
        return catalog.node_by_name.get(name) or catalog.edge_by_name[name]


def rejected(done: LoadResult) -> list[dict[str, Any]]:
    """The lines of the quarantine."""
    if done.quarantine is None:
        return []
    files = json.loads((Path(done.quarantine) / "report.json").read_text())["files"]
    texts = [(Path(done.quarantine) / name).read_text() for name in files]
    return [json.loads(line) for text in texts for line in text.splitlines()]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Held:
    return Held(tmp_path_factory.mktemp("held"))


@pytest.fixture(scope="module", params=["small", "large"])
def size(request: pytest.FixtureRequest) -> Iterator[str]:
    """A large load is any that says so."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "large":
            patch.setattr(load_module, "SMALL_BYTES", -1)
        yield request.param


@given(lines=damage.lines, mode=st.sampled_from(MODES))
def test_exactly_the_rows_at_fault_are_rejected_and_all_are_accounted_for(
    held: Held, size: str, lines: list[str], mode: str
) -> None:
    model = damage.expected(lines, damage.HELD, mode)
    if model.is_hopeless:
        with pytest.raises(OmnigraphError):
            held.quarantined(lines, mode)
        return
    done = held.quarantined(lines, mode)
    assert sorted(row["line"] for row in rejected(done)) == sorted(model.rejected)
    assert done.rejected == len(model.rejected)
    assert done.superseded == model.superseded
    assert done.read == done.total_entities + done.rejected + done.superseded
    assert done.read == sum(bool(line.strip()) for line in lines)
    found = held.image(done.branch)
    for name, rows in model.image.items():
        mine = {i: r.values for i, r in rows.items() if not i.startswith("fresh")}
        there = found.get(name, {})
        assert {i: there.get(i) for i in mine} == mine
        assert sorted(map(str, there.values())) == sorted(str(r.values) for r in rows.values())
    assert done.violations is None or set(done.violations.counts.values()) != {0}


@given(lines=damage.lines, mode=st.sampled_from(MODES))
def test_a_load_fails_if_and_only_if_a_row_would_be_rejected(
    held: Held, size: str, lines: list[str], mode: str
) -> None:
    model = damage.expected(lines, damage.HELD, mode)
    head = held.graph.commits(limit=1)
    if model.rejected or model.is_hopeless:
        with pytest.raises(OmnigraphError):
            held.load(lines, mode, dry_run=True)
    else:
        done = held.load(lines, mode, dry_run=True)
        assert done.dry_run and done.commit is None and done.rejected == 0
    assert held.graph.commits(limit=1) == head
