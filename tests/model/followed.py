"""What a graph says has changed, beside what the model says: diffs, and a consumer of the feed."""

import io
from collections.abc import Iterable, Mapping
from typing import Any

from omnigraph import Graph
from omnigraph.base.errors import ChangeDiffRefused
from tests.model.lineage import Spelling
from tests.model.merging import Entity, Image, Row, image_of
from tests.model.world import Ids, Note, Person, embedded_text, world_of_lines

Change = tuple[str, Row | None, Row | None]

PROPERTIES = {
    "Person": ("name", *Person._fields),
    "Note": ("text", *Note._fields),
    "Tag": ("label",),
    "Knows": ("since",),
    "Wrote": ("stamp",),
}
"""Those of all schemas, by the names of the first."""
PAGE = 7
"""Small, so that pages end within commits."""


def changes_between(before: Image, after: Image) -> dict[Entity, Change]:
    """By entity: what was done to it, and both rows."""
    found: dict[Entity, Change] = {}
    for entity in before.keys() | after.keys():
        old, new = before.get(entity), after.get(entity)
        if old != new:
            op = "insert" if old is None else "delete" if new is None else "update"
            found[entity] = (op, old, new)
    return found


def changes_told(told: Iterable[Mapping[str, Any]], ids: Ids) -> dict[Entity, Change]:
    """The same, as the graph tells it."""
    changes = [*told]
    order = [(c["kind"] == "edge", c["type"]["name"], c["id"]) for c in changes]
    assert order == sorted(order), "nodes come before edges, then types and ids in order"
    found = {
        _entity(change, ids): (
            change["op"],
            _row(change, change["before"], ids),
            _row(change, change["after"], ids),
        )
        for change in changes
    }
    assert len(found) == len(changes), "no entity comes twice"
    return found


def _entity(change: Mapping[str, Any], ids: Ids) -> Entity:
    kind, type_name, image = (
        change["kind"],
        change["type"]["name"],
        _row(change, change["after"] or change["before"], ids),
    )
    assert image is not None
    match type_name:
        case "Person" | "Tag":
            return Entity(kind, type_name, change["id"])
        case "Knows":
            return Entity(kind, type_name, (image["from"], image["to"]))
        case "Note":
            return Entity(kind, type_name, ids.meet(image["text"], change["id"]))
        case _:
            return Entity(kind, type_name, ids.meet(image["stamp"], change["id"]))


def _row(change: Mapping[str, Any], image: Mapping[str, Any] | None, ids: Ids) -> Row | None:
    if image is None:
        return None
    row: dict[str, Any] = dict.fromkeys(PROPERTIES[change["type"]["name"]])
    row |= {"team" if k == "squad" else k: v for k, v in image["properties"].items()}
    if "mark" in row:
        row["mark"] = embedded_text(row["mark"])
    if change["kind"] == "edge":
        ends = image["endpoints"]
        is_written = change["type"]["name"] == "Wrote"
        row["from"] = ends["from"]
        row["to"] = ids.name_of(ends["to"]) if is_written else ends["to"]
    return row


class Follower:
    """Somebody who applies the feed of a branch to an image of their own."""

    def __init__(self, branch: str, image: Image, cursor: str, commit: str) -> None:
        self.branch = branch
        self.image = dict(image)
        self.cursor = cursor
        self.commit = commit
        """Where the cursor stands."""

    @classmethod
    def begin(cls, graph: Graph, branch: str, spelling: Spelling) -> "Follower":
        lines = io.BytesIO()
        begun = graph.changes_baseline(lines, branch=branch)
        world = world_of_lines(lines.getvalue(), spelling.ids, spelling.shape(branch))
        return cls(branch, image_of(world), begun.resume_cursor, begun.snapshot_commit_id)

    def catch_up(self, graph: Graph, spelling: Spelling) -> None:
        """Apply what was published since. Over a change of the schema it begins anew."""
        while True:
            try:
                page = graph.changes(self.cursor, branch=self.branch, limit=PAGE)
            except ChangeDiffRefused:
                self.begin_anew(graph, spelling)
                return
            for block in page.blocks:
                self._apply(changes_told(block.changes, spelling.ids))
            self.cursor = page.cursor
            if page.caught_up:
                self.commit = graph.commits(self.branch)[0].graph_commit_id
                return

    def begin_anew(self, graph: Graph, spelling: Spelling) -> None:
        begun = Follower.begin(graph, self.branch, spelling)
        self.image, self.cursor, self.commit = begun.image, begun.cursor, begun.commit

    def _apply(self, changes: Mapping[Entity, Change]) -> None:
        for entity, (_, before, after) in changes.items():
            assert self.image.get(entity) == before, f"{entity} was {self.image.get(entity)}"
            if after is None:
                del self.image[entity]
            else:
                self.image[entity] = after
