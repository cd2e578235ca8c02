"""Laws of the merge by brute force, with which the walks compare the graph's."""

from itertools import product
from random import Random

from tests.model.lineage import MAIN, Model, ModelCommit
from tests.model.merging import Image, Resolve, Side, image_of, three_way
from tests.model.wanderer import FOUNDING, Wanderer
from tests.model.world import World

WALKS = 60
SIDES: tuple[Side, ...] = ("ours", "theirs")


def changed(world: World, seed: int, many: int) -> Image:
    """What somebody makes of a world."""
    wanderer = Wanderer(seed)
    for _ in range(many):
        model = Model({"head": ModelCommit("head", world, ())}, {MAIN: ["head"]})
        step = wanderer.mutation(model, MAIN)
        if not step.refusals(model):
            world = step.foretell(model).world
    return image_of(world)


def test_a_merge_has_the_same_conflicts_either_way_and_without_any_the_same_rows() -> None:
    base = FOUNDING.rows.apply(World(), mode="append")
    clean = 0
    for seed in range(WALKS):
        many = Random(seed).randint(1, 5)
        ours, theirs = changed(base, seed, many), changed(base, seed + WALKS, many)
        one = three_way(image_of(base), ours, theirs)
        other = three_way(image_of(base), theirs, ours)
        assert bool(one.conflicts) == bool(other.conflicts)
        rows = ("divergent_insert", "divergent_update", "delete_vs_update")
        assert {c for c in one.conflicts if c.kind in rows} == {
            c for c in other.conflicts if c.kind in rows
        }
        if not one.conflicts:
            clean += 1
            assert one.image == other.image
    assert 0 < clean < WALKS


def test_a_side_that_did_nothing_gets_what_the_other_did_and_equal_changes_are_one() -> None:
    base = FOUNDING.rows.apply(World(), mode="append")
    words: tuple[Resolve, ...] = (None, *SIDES)
    for seed, resolve in product(range(WALKS), words):
        before, after = image_of(base), changed(base, seed, 3)
        for ours, theirs in ((before, after), (after, before), (after, after)):
            merged = three_way(before, ours, theirs, resolve)
            assert (merged.image, merged.conflicts) == (after, frozenset())


def test_a_word_settles_every_conflict() -> None:
    base = FOUNDING.rows.apply(World(), mode="append")
    for seed in range(WALKS):
        ours, theirs = changed(base, seed, 4), changed(base, seed + WALKS, 4)
        for resolve in SIDES:
            assert not three_way(image_of(base), ours, theirs, resolve).conflicts, seed
