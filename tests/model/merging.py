"""Three-way merges by brute force: every row of three images, side by side.

Written from the rules alone, without a look at how the graph merges, so the two can only agree by
both being right. An entity goes by its kind, type and the model's name for it; a row is a dict.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tests.model.shapes import Shape, Unknown
from tests.model.world import HIGHEST_AGE, MOST_WRITTEN, Note, Person, World

Side = Literal["ours", "theirs"]
Row = Mapping[str, Any]

NOTHING: Unknown = {}


class Entity(NamedTuple):
    kind: str
    type_name: str
    name: Any


Image = Mapping[Entity, Row]


class Conflict(NamedTuple):
    kind: str
    entity: Entity
    property: str | None = None


class Choice(NamedTuple):
    """Which side an entity is taken from, or one property of it."""

    entity: Entity
    take: Side
    property: str | None = None


Resolve = Side | tuple[Choice, ...] | None


@dataclass(frozen=True)
class Merged:
    image: Image
    """Of rows with a conflict that is left, ours."""
    conflicts: frozenset[Conflict]
    """Those that no choice settled."""
    unused: frozenset[Choice]
    """Choices that fit no conflict."""


def image_of(world: World) -> Image:
    return {
        **{
            Entity("node", "Person", name): {"name": name, **person._asdict()}
            for name, person in world.people.items()
        },
        **{
            Entity("node", "Note", text): {"text": text, **note._asdict()}
            for text, note in world.notes.items()
        },
        **{Entity("node", "Tag", label): {"label": label} for label in world.tags},
        **{
            Entity("edge", "Knows", (a, b)): {"from": a, "to": b, "since": since}
            for (a, b), since in world.knows.items()
        },
        **{
            Entity("edge", "Wrote", stamp): {"from": who, "to": text, "stamp": stamp}
            for stamp, (who, text) in world.wrote.items()
        },
    }


def world_of(image: Image, shape: Shape) -> World:
    rows: dict[str, dict[Any, Row]] = defaultdict(dict)
    for entity, row in image.items():
        rows[entity.type_name][entity.name] = row
    return World(
        {
            name: Person(**{k: v for k, v in row.items() if k != "name"})
            for name, row in rows["Person"].items()
        },
        {ends: row["since"] for ends, row in rows["Knows"].items()},
        {text: Note(row["likes"], row["rank"]) for text, row in rows["Note"].items()},
        {stamp: (row["from"], row["to"]) for stamp, row in rows["Wrote"].items()},
        frozenset(rows["Tag"]),
        shape,
    )


# Merging -----------------------------------------------------------------------------------------


def three_way(
    base: Image, ours: Image, theirs: Image, resolve: Resolve = None, unknown: Unknown = NOTHING
) -> Merged:
    """What both sides made of the base, with the conflicts that no choice settles.

    `unknown` are properties that theirs never had, and says nothing about.
    """
    sides = (_with_ours(image, ours, theirs, unknown) for image in (base, ours, theirs))
    rows, choices = _Rows(*sides), _Choices(resolve)
    while True:
        image = rows.image()
        of_rows = [*rows.disputes()]
        # An edge that may go anyway is not also told to lack a node.
        unsure = {c.entity for c, *_ in of_rows if c.kind == "delete_vs_update"}
        of_sets = [d for d in _set_disputes(rows, image) if d.conflict.entity not in unsure]
        found = [*of_rows, *of_sets]
        news = [pin for pin in choices.pins(found) if rows.pin(pin)]
        if not news:
            # Nothing of a conflict is brought before it is settled.
            for pin in (pin for each in of_sets for pin in each.ours):
                rows.pin(pin)
            conflicts = frozenset(each.conflict for each in found)
            return Merged(rows.image(), conflicts, choices.unused)


def _with_ours(image: Image, ours: Image, theirs: Image, unknown: Unknown) -> Image:
    """The image with what ours has, in rows of both sides, of properties that theirs never had."""
    found = dict(image)
    for entity in image.keys() & ours.keys() & theirs.keys():
        kept = {name: ours[entity][name] for name in unknown.get(entity.type_name, ())}
        found[entity] = {**image[entity], **kept}
    return found


class Pin(NamedTuple):
    """An entity, or one property of it, is what it is on one side."""

    entity: Entity
    take: Side
    property: str | None = None


class Dispute(NamedTuple):
    """A conflict, and what becomes of it by either choice."""

    conflict: Conflict
    ours: tuple[Pin, ...]
    theirs: tuple[Pin, ...]
    is_of_rows: bool = False


class _Rows:
    """The rows of three sides, and which side those take that were told to."""

    def __init__(self, base: Image, ours: Image, theirs: Image) -> None:
        self.base, self.ours, self.theirs = base, ours, theirs
        self._whole: dict[Entity, Side] = {}
        self._parts: dict[tuple[Entity, str], Side] = {}

    def pin(self, pin: Pin) -> bool:
        """Whether that is news."""
        if pin.entity in self._whole:
            return False
        if pin.property is None:
            self._whole[pin.entity] = pin.take
            return True
        is_new = (pin.entity, pin.property) not in self._parts
        self._parts.setdefault((pin.entity, pin.property), pin.take)
        return is_new

    def image(self) -> Image:
        entities = self.base.keys() | self.ours.keys() | self.theirs.keys()
        rows = ((entity, self._row(entity)) for entity in entities)
        return {entity: row for entity, row in rows if row is not None}

    def _row(self, entity: Entity) -> Row | None:
        base, ours, theirs = self._three(entity)
        if entity in self._whole:
            return ours if self._whole[entity] == "ours" else theirs
        if not self._is_disputed(entity):
            return theirs if ours == base else ours
        if ours is None or theirs is None:
            return ours
        return {
            name: theirs[name] if self._parts.get((entity, name)) == "theirs" else value
            for name, value in ours.items()
        }

    def disputes(self) -> Iterator[Dispute]:
        """Rows that both sides changed, and not in the same way: by property, if both have it."""
        for entity in {*self.base, *self.theirs}:
            if entity in self._whole or not self._is_disputed(entity):
                continue
            base, ours, theirs = self._three(entity)
            if ours is None or theirs is None:
                yield _of_rows(Conflict("delete_vs_update", entity))
                continue
            kind = "divergent_insert" if base is None else "divergent_update"
            for name, value in ours.items():
                if value != theirs[name] and (entity, name) not in self._parts:
                    yield _of_rows(Conflict(kind, entity, name))

    def _is_disputed(self, entity: Entity) -> bool:
        base, ours, theirs = self._three(entity)
        return theirs != base and ours != base and theirs != ours

    def _three(self, entity: Entity) -> tuple[Row | None, Row | None, Row | None]:
        return self.base.get(entity), self.ours.get(entity), self.theirs.get(entity)

    def is_incoming(self, entity: Entity, image: Image) -> bool:
        return image.get(entity) != self.ours.get(entity)


def _of_rows(conflict: Conflict) -> Dispute:
    def pin(take: Side) -> tuple[Pin, ...]:
        return (Pin(conflict.entity, take, conflict.property),)

    return Dispute(conflict, pin("ours"), pin("theirs"), is_of_rows=True)


class _Choices:
    """What was chosen, and which choices were of use."""

    def __init__(self, resolve: Resolve) -> None:
        self._of_all: Side | None = resolve if isinstance(resolve, str) else None
        self._single = () if resolve is None or isinstance(resolve, str) else resolve
        self._meant = dict[Choice, set[str]]()
        """The kinds of conflicts that a choice met first: it settles no others."""

    def pins(self, found: Sequence[Dispute]) -> list[Pin]:
        if self._of_all is not None:
            of_rows = [each for each in found if each.is_of_rows]
            return [
                pin
                for each in of_rows or found
                for pin in (each.ours if self._of_all == "ours" else each.theirs)
            ]
        met: dict[Choice, set[str]] = defaultdict(set)
        pins = [pin for each in found for pin in self._pins_of(each, met)]
        self._meant = {**met, **self._meant}
        return pins

    def _pins_of(self, dispute: Dispute, met: dict[Choice, set[str]]) -> tuple[Pin, ...]:
        conflict = dispute.conflict
        fitting = [
            choice
            for choice in self._single
            if choice.entity == conflict.entity
            and choice.property in (None, conflict.property)
            and conflict.kind in self._meant.get(choice, {conflict.kind})
        ]
        for choice in fitting:
            met[choice].add(conflict.kind)
        if not fitting:
            return ()
        nearest = max(fitting, key=lambda choice: choice.property is not None)
        return dispute.ours if nearest.take == "ours" else dispute.theirs

    @property
    def unused(self) -> frozenset[Choice]:
        return frozenset(self._single) - self._meant.keys()


# Rows beside each other --------------------------------------------------------------------------

ENDS = {"Knows": ("Person", "Person"), "Wrote": ("Person", "Note")}


def _set_disputes(rows: _Rows, image: Image) -> Iterator[Dispute]:
    yield from _orphans(rows, image)
    yield from _namesakes(rows, image)
    yield from _prolific(rows, image)
    for entity, row in image.items():
        if entity.type_name == "Person":
            assert 0 <= (row["age"] or 0) <= HIGHEST_AGE, "either side obeys, so whoever is taken"


def _orphans(rows: _Rows, image: Image) -> Iterator[Dispute]:
    """An edge of one side needs a node that the other one deleted."""
    for entity, row in image.items():
        if entity.kind != "edge":
            continue
        for end, type_name in zip(("from", "to"), ENDS[entity.type_name], strict=True):
            node = Entity("node", type_name, row[end])
            if node not in image:
                conflict = Conflict("orphan_edge", entity, end)
                if rows.is_incoming(entity, image):
                    yield Dispute(conflict, (Pin(entity, "ours"),), (Pin(node, "theirs"),))
                else:
                    yield Dispute(conflict, (Pin(node, "ours"),), (Pin(entity, "theirs"),))


def _namesakes(rows: _Rows, image: Image) -> Iterator[Dispute]:
    nicks = defaultdict[str, list[Entity]](list)
    for entity, row in image.items():
        if entity.type_name == "Person" and row["nick"] is not None:
            nicks[row["nick"]].append(entity)
    for several in nicks.values():
        for entity in several if len(several) > 1 else []:
            if rows.is_incoming(entity, image):
                others = tuple(Pin(other, "theirs") for other in several if other != entity)
                conflict = Conflict("unique_violation", entity, "nick")
                yield Dispute(conflict, (Pin(entity, "ours"),), others)


def _prolific(rows: _Rows, image: Image) -> Iterator[Dispute]:
    written = Counter(row["from"] for e, row in image.items() if e.type_name == "Wrote")
    for who, many in written.items():
        if many <= MOST_WRITTEN:
            continue
        theirs_changed = tuple(
            Pin(entity, "ours")
            for entity in {*rows.base, *rows.theirs}
            if entity.type_name == "Wrote"
            and rows.base.get(entity) != rows.theirs.get(entity)
            and who in (_writer(rows.base, entity), _writer(rows.theirs, entity))
        )
        either_has = tuple(
            Pin(entity, "theirs")
            for entity in {*rows.ours, *rows.theirs}
            if entity.type_name == "Wrote"
            and who in (_writer(rows.ours, entity), _writer(rows.theirs, entity))
        )
        conflict = Conflict("cardinality_violation", Entity("node", "Person", who), "Wrote")
        yield Dispute(conflict, theirs_changed, either_has)


def _writer(image: Image, entity: Entity) -> str | None:
    return image[entity]["from"] if entity in image else None
