"""Rows leave a staged load, and what is left is whole: blobs, order, and a second look."""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.blob_text import text_from_blob
from omnigraph.base.ids import MAIN
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.pipeline.load.faults import accept_load
from omnigraph.pipeline.load.load import AcceptedLoad, LoadMode, StagedLoad, stage_load
from omnigraph.pipeline.load.resolve import resolve_load
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.sources import plan_splits
from omnigraph.pipeline.staging.area import Ending, StagingArea
from omnigraph.pipeline.staging.quarantine import Quarantine, open_quarantine
from tests.pipeline.limits import LARGE
from tests.pipeline.loads import YORK, World, owner, person, staged_files
from tests.pipeline.world import NOW_MS, edge, node
from tests.pipeline.world import write as write_lines


class Sifted:
    """A world in which loads have a quarantine."""

    def __init__(self, place: Path, runner: Runner, limits: LoadLimits) -> None:
        self.world = World(place, runner, limits=limits)
        self.quarantine: Quarantine = open_quarantine(str(place / "q"), max_errors=100)

    def stage(self, *lines: dict[str, Any] | str, mode: str = "append") -> StagedLoad:
        world, snapshot = self.world, self.world.snapshot
        self.area = StagingArea(world.store)
        source = write_lines(world.place / "in.jsonl", *lines)
        return stage_load(
            world.runner,
            plan_splits(source, catalog=snapshot.catalog, parallelism=2),
            snapshot=snapshot,
            mode=LoadMode.named(mode),
            limits=world.limits,
            area=self.area,
            now_ms=NOW_MS,
            quarantine=self.quarantine,
        )

    def accept(self, load: StagedLoad) -> StagedLoad:
        snapshot, quarantine = self.world.store.snapshot(MAIN), self.quarantine
        runner = self.world.runner
        return accept_load(runner, load, snapshot, self.area, quarantine=quarantine).load

    def publish(self, load: StagedLoad) -> None:
        world, accepted = self.world, AcceptedLoad(load)
        resolved = resolve_load(world.runner, accepted, world.snapshot, self.area)
        assert world.publish(resolved) is not None
        self.area.close(Ending.PUBLISHED, published=staged_files(resolved))

    def rejected_lines(self, load: StagedLoad) -> list[int]:
        texts = [(Path(self.quarantine.partial) / part).read_text() for part in load.parts]
        return [json.loads(line)["line"] for text in texts for line in text.splitlines()]


@pytest.fixture(params=["small", "large", "grown"])
def sifted(tmp_path: Path, request: pytest.FixtureRequest) -> Sifted:
    """A large load is any that says so, and one has grown that seemed small to begin with."""
    limits = {"small": LoadLimits(), "large": LARGE, "grown": LoadLimits(max_held_bytes=1)}
    return Sifted(tmp_path, InProcess(), limits[request.param])


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_blobs_survive_the_loss_of_a_neighbour(sifted: Sifted, mode: str) -> None:
    photos = {f"n{n}": bytes([n]) * 3 for n in range(4)}
    notes = [
        node("Note", id_=id_, text=id_, photo=text_from_blob(photo), face=[1, 2])
        for id_, photo in photos.items()
    ]
    loose = edge("Knows", "nobody", "ada")
    twice = [notes[1]] if mode != "merge" else []
    load = sifted.accept(sifted.stage(*notes, *twice, loose, mode=mode))
    assert sifted.rejected_lines(load) == ([5, 6] if twice else [5])
    sifted.publish(load)
    rows = sifted.world.rows("Note")
    assert {row["id"]: row["photo"] for row in rows} == photos
    assert sifted.world.files_of_no_commit() == set()


def test_what_was_accepted_is_judged_again_by_what_is_there_now(sifted: Sifted) -> None:
    world = sifted.world
    world.load(YORK)
    lines = [person("ada"), *owner("bob"), *owner("cyd"), edge("Knows", "cyd", "bob")]
    load = sifted.accept(sifted.stage(*lines))
    assert sifted.rejected_lines(load) == [1], "who owns nothing is not let in"
    assert sifted.accept(load) is load, "nothing has happened since"
    world.load(*owner("bob"))
    again = sifted.accept(load)
    assert sifted.rejected_lines(again) == [1, 2]
    assert (again.read, again.rejected) == (6, 2)
    sifted.publish(again)
    assert [row["name"] for row in world.rows("Person")] == ["bob", "cyd"]
    assert len(world.rows("Owns")) == 3 and len(world.rows("Knows")) == 1


def test_a_type_of_which_nothing_is_left_stays_as_it_is(sifted: Sifted) -> None:
    world = sifted.world
    world.load(YORK, *owner("ada"), edge("Knows", "ada", "ada"))
    load = sifted.stage(edge("Knows", "ada", "nobody"), node("Note", text="new"), mode="overwrite")
    sifted.publish(sifted.accept(load))
    assert len(world.rows("Knows")) == 1
    assert [row["text"] for row in world.rows("Note")] == ["new"]
