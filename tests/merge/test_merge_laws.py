"""Whatever two sides did, a merge tells the conflicts that the reference tells, and no others."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from omnigraph import Graph
from tests.merge import reference
from tests.merge.world import (
    ENDS,
    Image,
    Step,
    apply,
    edge,
    gone,
    image_of,
    item,
    make_graph,
    place,
    tidy,
    write_rows,
)

ITEMS, PLACES = ["i0", "i1", "i2"], ["p0", "p1"]
NEW_PLACES = ["p2", "p3"]
"""Places that the start does not have: each comes with an edge, of which it needs one."""
SMALL = st.sampled_from([None, 0, 1])


@st.composite
def steps(draw: st.DrawFn) -> Step:
    kind = draw(st.sampled_from(["Item", "Item", "Place", *ENDS]))
    dies = draw(st.integers(0, 3)) == 0
    if kind == "Item":
        name = draw(st.sampled_from(ITEMS))
        values = {"a": draw(SMALL), "b": draw(st.sampled_from([None, "", "x"]))}
        taken = draw(st.sampled_from([None, None, "u0", "u1"]))
        return gone(kind, name) if dies else item(name, **values, u=taken)
    if kind == "Place":
        name = draw(st.sampled_from([*PLACES, *NEW_PLACES]))
        return gone(kind, name) if dies else place(name)
    source, target = (draw(st.sampled_from(ITEMS if n == "Item" else PLACES)) for n in ENDS[kind])
    id_ = f"{source}>{target}" if kind == "Tie" else draw(st.sampled_from(["e0", "e1"]))
    more = {"a": draw(SMALL)} if kind in ("Link", "Tie") else {}
    return gone(kind, id_) if dies else edge(kind, id_, source, target, **more)


MANY = st.lists(steps(), max_size=8)


def allowed(image: Image, wanted: Iterable[Step]) -> list[Step]:
    """Those of the steps that break no rule; a node takes its edges with it."""
    made: list[Step] = []
    for kind, id_, row in wanted:
        more: list[Step] = [(kind, id_, row)]
        if row is None and kind in ("Item", "Place"):
            more += [
                gone(name, edge_id)
                for name, ends in ENDS.items()
                for edge_id, found in image.get(name, {}).items()
                if (kind, id_) in ((ends[0], found["src"]), (ends[1], found["dst"]))
            ]
        elif kind == "Place" and id_ not in image.get(kind, {}):
            more.append(edge("Seat", "e0", id_, ITEMS[0]))
        after = apply(image, more)
        if not reference.set_conflicts(after, {}):
            image = after
            made += more
    return made


def start() -> list[Step]:
    seats = [edge("Seat", f"{name} s", name, "i0") for name in PLACES]
    return [*map(item, ITEMS), *map(place, PLACES), *seats]


def make(root: str, sides: tuple[list[Step], ...]) -> tuple[Graph, tuple[Image, Image, Image]]:
    """A graph whose branches feature and main left a base with these steps, and their images."""
    graph = make_graph(Path(root) / "g")
    first = [*start(), *allowed(apply({}, start()), sides[0])]
    base = apply({}, first)
    write_rows(graph, "main", first)
    graph.branch_create("feature")
    images = [base]
    for branch, wanted in zip(("main", "feature"), sides[1:], strict=True):
        made = allowed(base, wanted)
        write_rows(graph, branch, made)
        images.append(apply(base, made))
    return graph, (images[0], images[1], images[2])


@given(MANY, MANY, MANY)
def test_a_merge_agrees_with_the_reference(
    before: list[Step], ours: list[Step], theirs: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        graph, images = make(root, (before, ours, theirs))
        expected = reference.conflicts(*images)
        preview = graph.branch_merge("feature", preview=True)
        told = [(c.kind, c.type_name, c.entity_id, c.property) for c in preview.conflicts]
        if preview.outcome != "merged":  # a side did nothing
            assert not expected
        else:
            assert len(told) == len(set(told)) and set(told) == expected
        if not expected:
            graph.branch_merge("feature")
            assert image_of(graph, "main") == tidy(reference.merged(*images))
            assert graph.branch_merge("main", "feature").outcome != "merged"
            assert image_of(graph, "feature") == image_of(graph, "main")


@given(MANY, MANY, MANY, st.sampled_from(["ours", "theirs"]))
def test_one_word_settles_every_conflict(
    before: list[Step], ours: list[Step], theirs: list[Step], take: str
) -> None:
    """What comes of it breaks no rule, and every row is that of one side."""
    with tempfile.TemporaryDirectory() as root:
        graph, images = make(root, (before, ours, theirs))
        graph.branch_merge("feature", resolve=take)
        image = image_of(graph, "main")
        assert not reference.set_conflicts(image, image)
        for kind in ("Item", "Place", *ENDS):
            mine, yours, now = (i.get(kind, {}) for i in (images[1], images[2], image))
            for id_ in {*mine, *yours, *now}:
                assert now.get(id_) in (mine.get(id_), yours.get(id_))
        for _, kind, id_, _ in reference.row_conflicts(*images) if take == "ours" else []:
            assert image.get(kind, {}).get(id_) == images[1].get(kind, {}).get(id_)


@given(MANY, MANY, MANY)
def test_a_revert_undoes_its_commit_and_a_second_one_redoes_it(
    before: list[Step], ours: list[Step], theirs: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        graph, images = make(root, (before, ours, theirs))
        commit = graph.commits("feature", limit=1)[0]
        if commit.graph_branch != "feature" or tidy(images[2]) == tidy(images[0]):
            return  # it did nothing, or put what was there
        undone = graph.revert(commit, "feature")
        assert (undone.outcome, image_of(graph, "feature")) == ("reverted", tidy(images[0]))
        assert undone.commit is not None
        assert graph.revert(commit, "feature").outcome == "nothing_to_revert"
        graph.revert(undone.commit, "feature")
        assert image_of(graph, "feature") == tidy(images[2])
