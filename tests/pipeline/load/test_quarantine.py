"""What becomes of bad rows: the report, the quarantine, the accounts, and a load only rehearsed."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph, OmnigraphError
from omnigraph.base.choices import LoadModeName
from omnigraph.base.errors import (
    ArgumentInvalid,
    ConstraintViolated,
    InputUnreadable,
    RejectedTooMany,
)
from omnigraph.engine.results import LoadResult
from omnigraph.pipeline.limits import LoadLimits
from tests.pipeline import damage
from tests.pipeline.limits import LARGE, with_limits
from tests.processes import PATIENCE_S

MODES: tuple[LoadModeName, ...] = ("append", "merge", "overwrite")

# Each example is a whole load, into a graph that has a branch of every example before.
FEWER = settings(max_examples=max(15, settings().max_examples // 10))


class Held:
    """A graph whose main branch is never changed; every load gets a branch of its own."""

    def __init__(self, place: Path, limits: LoadLimits) -> None:
        self.place = place
        self.numbers = itertools.count()
        Graph.init(str(place / "g"), damage.SCHEMA, durability="relaxed")
        self.limit(limits)
        self.graph.load(self.file(damage.HELD), mode="append", engine="local")

    def limit(self, limits: LoadLimits) -> None:
        settings = with_limits(limits)
        self.graph = Graph.open(self.place / "g", durability="relaxed", settings=settings)

    def file(self, lines: Sequence[str]) -> str:
        path = self.place / "in.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    def load(self, lines: Sequence[str], mode: LoadModeName, **options: Any) -> LoadResult:
        branch = f"b{next(self.numbers)}"
        options = {"engine": "local", **options}
        return self.graph.load(self.file(lines), mode=mode, branch=branch, from_="main", **options)

    def quarantined(self, lines: Sequence[str], mode: LoadModeName, **options: Any) -> LoadResult:
        place = self.place / f"q{next(self.numbers)}"
        return self.load(lines, mode, on_error="quarantine", quarantine=place, **options)

    def image(self, branch: str) -> dict[str, dict[str, tuple[Any, ...]]]:
        """By type and id, without ids that were made up."""
        columns = {"Person": ("phone",), "City": (), "Note": ("text",)}
        found: dict[str, dict[str, tuple[Any, ...]]] = {}
        for name in ("Person", "City", "Note", *damage.ENDS):
            entity = self._entity(name)
            wanted = columns.get(name, ("src", "dst"))
            rows = self.graph.engine.store.snapshot(branch).dataset(entity)  # type: ignore[arg-type]
            for row in rows.scan(["id", *wanted]).to_pylist():
                found.setdefault(name, {})[row["id"]] = tuple(row[c] for c in wanted)
        return found

    def _entity(self, name: str) -> Any:
        catalog = self.graph.schema().catalog
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
    return Held(tmp_path_factory.mktemp("held"), LoadLimits())


@pytest.fixture(scope="module", params=["small", "large"])
def size(request: pytest.FixtureRequest, held: Held) -> Iterator[str]:
    """A large load is any that says so."""
    held.limit(LARGE if request.param == "large" else LoadLimits())
    yield request.param
    held.limit(LoadLimits())


@FEWER
@given(lines=damage.lines, mode=st.sampled_from(MODES))
def test_exactly_the_rows_at_fault_are_rejected_and_all_are_accounted_for(
    held: Held, size: str, lines: list[str], mode: LoadModeName
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


@FEWER
@given(lines=damage.lines, mode=st.sampled_from(MODES))
def test_a_load_fails_if_and_only_if_a_row_would_be_rejected(
    held: Held, size: str, lines: list[str], mode: LoadModeName
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


# The directory ------------------------------------------------------------------------------------

YORK = '{"type": "City", "data": {"name": "bath"}}'
BAD = '{"type": "Person", "data": {"name": "dan", "phone": 7.10}}'


def place_of(held: Held) -> Path:
    return held.place / f"q{next(held.numbers)}"


def test_a_rejected_row_is_kept_as_it_came_with_the_reasons_against_it(held: Held) -> None:
    cut_off = '{"type": "City", "da'
    several = '{"type": "Person", "data": {"phone": 1, "height": 180}}'
    taken = '{"type": "City", "data": {"name": "york"}}'
    done = held.quarantined([YORK, BAD, cut_off, several, "Ünfug\t", taken], "append")
    assert done.quarantine is not None
    lines = (Path(done.quarantine) / "rejected-00000.jsonl").read_text().splitlines()
    assert BAD in lines[0], "numbers are not rounded on the way"
    assert [json.loads(line)["row"] for line in lines[1:]] == [
        cut_off,
        json.loads(several),
        "Ünfug",
    ]
    first = json.loads(lines[0])
    assert first.keys() == {"file", "line", "type", "reasons", "row"}
    assert (first["file"], first["line"]) == (str(held.place / "in.jsonl"), 2)
    assert first["reasons"][0].keys() == {"kind", "property", "message"}
    last = json.loads((Path(done.quarantine) / "rejected-00001.jsonl").read_text())
    assert (last["type"], last["id"], last["line"]) == ("City", "york", 6)
    report = json.loads((Path(done.quarantine) / "report.json").read_text())
    assert (report["read"], report["loaded"], report["rejected"]) == (6, 1, 5)
    assert report["counts"] == (done.violations and done.violations.counts_json())


def test_a_clean_load_makes_no_quarantine(held: Held) -> None:
    done = held.quarantined([YORK], "append")
    assert (done.rejected, done.violations, done.quarantine) == (0, None, None)
    assert list(held.place.glob("q*.partial*")) == []


def test_rejected_rows_can_be_mended_and_loaded(held: Held) -> None:
    done = held.quarantined([BAD], "append")
    mended = [json.dumps(row["row"]).replace("7.1", '"7"') for row in rejected(done)]
    mended.append('{"edge": "Owns", "from": "dan", "to": "york"}')
    assert held.load(mended, "append").total_entities == 2


@pytest.mark.parametrize("is_together", [False, True])
def test_more_bad_rows_than_allowed_fail_the_load_and_leave_nothing(
    held: Held, size: str, is_together: bool
) -> None:
    loose = [f'{{"edge": "Knows", "from": "ada", "to": "nobody {n}"}}' for n in range(3)]
    lines = [YORK, *(loose if is_together else [BAD] * 3)]
    place = place_of(held)
    options: dict[str, Any] = {"on_error": "quarantine", "quarantine": place}
    with pytest.raises(RejectedTooMany) as caught:
        held.load(lines, "append", max_errors=2, **options)
    assert sum(caught.value.violations.counts.values()) == 3
    assert "more than 2 rows" in str(caught.value.hint)
    assert not place.exists() and list(held.place.glob("q*.partial*")) == []
    done = held.load(lines, "append", max_errors=3, **options)
    assert (done.rejected, done.total_entities, place.is_dir()) == (3, 1, True)


def test_a_load_that_only_rows_of_the_graph_stand_in_the_way_of_leaves_no_quarantine(
    held: Held, size: str
) -> None:
    place = place_of(held)
    with pytest.raises(ConstraintViolated, match="would be gone") as caught:
        held.load([YORK, BAD], "overwrite", on_error="quarantine", quarantine=place)
    # What stands in the way, and no more: the edges that would lose a city.
    assert caught.value.violations.counts == {
        ("endpoint", "LivesIn", "to"): 1,
        ("endpoint", "Owns", "to"): 3,
    }
    assert not place.exists() and list(held.place.glob("q*.partial*")) == []


def test_a_directory_that_holds_something_is_not_touched(held: Held) -> None:
    place = place_of(held)
    place.mkdir()
    (place / "precious").touch()
    with pytest.raises(ArgumentInvalid, match="a new or an empty directory"):
        held.load([BAD], "append", on_error="quarantine", quarantine=place)
    assert [file.name for file in place.iterdir()] == ["precious"]


def test_without_a_name_the_directory_is_named_after_the_source(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = held.load([BAD], "append", on_error="quarantine")
    (made,) = tmp_path.iterdir()
    assert made.name.startswith("in.jsonl.rejected-")
    assert str(made) == done.quarantine


def test_a_name_that_was_taken_meanwhile_costs_no_rows(held: Held) -> None:
    place = place_of(held)

    def interfere(phase: str, done: int, total: int) -> None:
        if phase == "publish":
            place.mkdir(exist_ok=True)
            (place / "precious").touch()

    done = held.load([BAD], "append", on_error="quarantine", quarantine=place, progress=interfere)
    assert str(done.quarantine).startswith(f"{place}-")
    assert [row["line"] for row in rejected(done)] == [1]


@pytest.mark.parametrize(
    "options",
    [
        {"on_error": "ignore"},
        {"max_errors": 3},
        {"quarantine": "somewhere"},
        {"on_error": "quarantine", "max_errors": -1},
    ],
)
def test_options_that_make_no_sense_are_refused(held: Held, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentInvalid):
        held.load([YORK], "append", **options)


def test_rows_of_a_table_are_kept_as_json(held: Held, tmp_path: Path) -> None:
    table = tmp_path / "Person.csv"
    table.write_text("name,phone\ndan,5\neve,1\n,6\n")
    owns = [f'{{"edge": "Owns", "from": "{name}", "to": "york"}}' for name in ("dan", "eve")]
    done = held.graph.load(
        [str(table), held.file(owns)],
        mode="append",
        branch=f"b{next(held.numbers)}",
        from_="main",
        engine="local",
        on_error="quarantine",
        quarantine=place_of(held),
    )
    found = {row["line"]: row["row"] for row in rejected(done) if row["type"] == "Person"}
    assert found == {3: {"name": "eve", "phone": "1"}, 4: {"name": None, "phone": "6"}}


@pytest.mark.parametrize("limits", [LoadLimits(), LARGE])
def test_tasks_reject_side_by_side(tmp_path: Path, limits: LoadLimits) -> None:
    held = Held(tmp_path, replace(limits, min_task_bytes=500))
    lines = [f'{{"type": "Note", "id": "m{n % 90}", "data": {{"text": "x"}}}}' for n in range(100)]
    lines[50] = "{"
    done = held.quarantined(lines, "append")
    assert done.tasks > 3
    assert sorted(row["line"] for row in rejected(done)) == [51, *range(91, 101)]


# Rehearsals and reports ---------------------------------------------------------------------------


def test_a_dry_run_leaves_neither_commit_nor_branch_nor_files(held: Held, size: str) -> None:
    def everything() -> set[Path]:
        return {path for path in (held.place / "g").rglob("*") if path.is_file()}

    before, branches = everything(), held.graph.branches()
    for mode in MODES:
        done = held.quarantined([*damage.HELD, BAD, YORK], mode, dry_run=True)
        assert (done.dry_run, done.commit, done.base_branch) == (True, None, "main")
        assert done.read == done.total_entities + done.rejected
        assert done.rejected and Path(str(done.quarantine)).is_dir()
        with pytest.raises(OmnigraphError):
            held.load([*damage.HELD, BAD], mode, dry_run=True)
    assert {path for path in everything() - before if path.suffix == ".lance"} == set()
    assert held.graph.branches() == branches


def test_one_report_tells_of_rows_alone_and_together(held: Held, size: str) -> None:
    lines = [
        "{",
        BAD,
        '{"type": "Note", "id": "n2", "data": {"text": "a"}}',
        '{"type": "Note", "id": "n2", "data": {"text": "b"}}',
        '{"edge": "Knows", "from": "dan", "to": "ada"}',
    ]
    with pytest.raises(InputUnreadable) as caught:
        held.load(lines, "append")
    found = [(v.kind, v.line) for v in caught.value.violations.examples]
    # Who knows what the first line would have been: that Dan is missing is not certain.
    assert found == [("json", 1), ("type", 2), ("key", 4)]
    with pytest.raises(ConstraintViolated) as other:
        held.load([*lines[2:], '{"type": "City", "data": {}}'], "append")
    found = [(v.kind, v.line) for v in other.value.violations.examples]
    assert found == [("key", 2), ("endpoint", 3), ("required", 4)]


REPORTED = """
import sys
from omnigraph.pipeline.staging.quarantine import open_quarantine
open_quarantine(sys.argv[1], max_errors=1).write_report([], {"file": "Ünfug"})
"""


def test_a_report_is_utf8_whatever_the_machine_writes_otherwise(tmp_path: Path) -> None:
    refusing = "error::EncodingWarning:omnigraph.pipeline.staging.quarantine"
    strictly = ("-X", "warn_default_encoding", "-W", refusing)
    ran = subprocess.run(
        [sys.executable, *strictly, "-c", REPORTED, str(tmp_path / "aside")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    (report,) = tmp_path.glob("aside.partial-*/report.json")
    assert json.loads(report.read_bytes())["file"] == "Ünfug"
