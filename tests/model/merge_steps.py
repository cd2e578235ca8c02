"""Steps that join histories: merges and reverts, looked at first, or resolved, or both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from omnigraph import Graph
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchMissing,
    CommitMissing,
    MergeConflicts,
    SchemasApart,
)
from omnigraph.engine.merge_results import MergeResult
from tests.model.lineage import MAIN, UPKEEP, Foretold, Model, Refusal, Spelling
from tests.model.merging import (
    Choice,
    Conflict,
    Entity,
    Image,
    Merged,
    Resolve,
    Row,
    image_of,
    three_way,
    world_of,
)
from tests.model.shapes import Shape, Unknown
from tests.model.world import Ids, World
from tests.reference.seen_writes import SeenWrites

NOT_REVERTED = (*UPKEEP, "init", "schema")


@dataclass(frozen=True)
class Merge:
    source: str
    branch: str
    resolve: Resolve = None
    is_preview: bool = False
    deletes: bool = False
    """The source goes afterwards."""

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        if not self._is_possible(model):
            return (BranchMissing,)
        if self.source == self.branch:
            return (ArgumentInvalid,)
        if self.outcome(model) == "already_up_to_date":
            # A list of choices is about conflicts, of which there are none.
            return (ArgumentInvalid,) if self.resolve and not isinstance(self.resolve, str) else ()
        if not self._has_one_schema(model):
            return (SchemasApart,)
        return _refusals(self.joined(model), is_preview=self.is_preview)

    def _has_one_schema(self, model: Model) -> bool:
        """Whether what the source changed can be told in the schema of the branch."""
        ours, theirs = model.head(self.branch), model.head(self.source)
        if self.outcome(model) == "fast_forward":
            return ours.world.shape == theirs.world.shape
        commits = (theirs, *model.merge_bases(ours.id, theirs.id))
        return all(model.knows_schema(self.branch, each.world.shape) for each in commits)

    def may_be_too_late(self, model: Model) -> bool:
        """Whether rows that it needs may be gone: those of the base, if it is another one now."""
        if not self._is_possible(model) or self.outcome(model) != "merged":
            return False
        heads = model.lines[self.source][-1], model.lines[self.branch][-1]
        return not model.all_bases(*heads) <= model.readable

    def outcome(self, model: Model) -> str:
        if model.is_up_to_date(self.source, self.branch):
            return "already_up_to_date"
        return "fast_forward" if model.is_forward(self.source, self.branch) else "merged"

    def joined(self, model: Model) -> Merged:
        """Whatever the outcome is, the three-way merge tells the rows: if one side has nothing of
        its own, there is nothing to dispute."""
        ours, theirs = model.head(self.branch), model.head(self.source)
        shape = ours.world.shape
        unknown = shape.unknown_to(theirs.world.shape)
        sides = image_of(ours.world), image_of(theirs.world.lifted(shape))
        match self.outcome(model):
            case "already_up_to_date":
                base = sides[1]
            case "fast_forward":
                base = sides[0]
            case _:
                known = tuple(_without(side, unknown) for side in sides)
                base = _base(model, (ours.id, theirs.id), known, shape, unknown)
        return three_way(base, *sides, self.resolve, unknown)

    def loses_its_source(self, model: Model) -> bool:
        """Whether the source goes; a branch that can't is kept, and the merge is done."""
        is_kept = self.source == MAIN or model.children(self.source)
        return self.deletes and not is_kept

    def conflicts(self, model: Model) -> Sequence[Conflict]:
        return _in_order(self.joined(model)) if self._is_possible(model) else ()

    def _is_possible(self, model: Model) -> bool:
        return {self.source, self.branch} <= model.lines.keys()

    def foretell(self, model: Model) -> Foretold:
        outcome = self.outcome(model)
        if outcome == "already_up_to_date":
            return Foretold(model.world(self.branch))
        return Foretold(
            world_of(self.joined(model).image, model.world(self.branch).shape),
            "merge",
            merged=model.lines[self.source][-1],
            is_forward=outcome == "fast_forward",
        )

    def take(self, graph: Graph, spelling: Spelling) -> MergeResult:
        return graph.branch_merge(
            self.source,
            self.branch,
            preview=self.is_preview,
            resolve=_spelled(self.resolve, spelling.ids, spelling.shape(self.branch)),
            delete=self.deletes,
        )


@dataclass(frozen=True)
class Revert:
    """Undo the commit that was made so many commits ago, on whatever branch."""

    branch: str
    commits: int
    resolve: Resolve = None
    is_preview: bool = False

    def refusals(self, model: Model) -> tuple[Refusal, ...]:
        commit = model.counted_back(self.commits)
        if commit.id not in model.known or self.branch not in model.lines:
            return (CommitMissing, BranchMissing)
        head = model.head(self.branch)
        if commit.kind in NOT_REVERTED or commit.id not in model.ancestors(head.id):
            return (ArgumentInvalid,)
        before = model.commits[commit.parents[0]].world.shape
        if not model.knows_schema(self.branch, before) or before != commit.world.shape:
            return (SchemasApart,)
        return _refusals(self.joined(model), is_preview=self.is_preview)

    def may_be_too_late(self, model: Model) -> bool:
        """Whether rows that it needs may be gone. Not every file of a branch is its own."""
        commit = model.counted_back(self.commits)
        return not {commit.id, *commit.parents[:1]} <= model.readable

    def joined(self, model: Model) -> Merged:
        commit = model.counted_back(self.commits)
        before = model.commits[commit.parents[0]]
        return _joined(commit.world, model.world(self.branch), before.world, self.resolve)

    def conflicts(self, model: Model) -> Sequence[Conflict]:
        has_parent = model.counted_back(self.commits).parents
        return _in_order(self.joined(model)) if has_parent else ()

    def foretell(self, model: Model) -> Foretold:
        shape = model.world(self.branch).shape
        return Foretold(world_of(self.joined(model).image, shape), "revert")

    def take(self, graph: Graph, spelling: Spelling) -> Any:
        return graph.revert(
            spelling.counted_back(self.commits),
            branch=self.branch,
            preview=self.is_preview,
            resolve=_spelled(self.resolve, spelling.ids, spelling.shape(self.branch)),
        )


def _base(
    model: Model, heads: tuple[str, str], sides: Sequence[Image], shape: Shape, unknown: Unknown
) -> Image:
    """What both heads are compared with: the rows of their base. Of several bases, each row as it
    was by the last write that both heads have seen.

    `sides` are what the heads show, without properties that theirs never had.
    """
    bases = [base.id for base in model.merge_bases(*heads)]
    below = model.ancestors(heads[0]) | model.ancestors(heads[1])
    read = below if len(bases) > 1 else bases
    images = {id_: image_of(model.commits[id_].world.lifted(shape)) for id_ in read}
    if len(bases) == 1:
        return images[bases[0]]
    found = {}
    for entity in {entity for image in images.values() for entity in image}:
        rows = {id_: image.get(entity) for id_, image in images.items()}
        row = _last_known(model, heads, bases, entity, rows, sides, unknown)
        if row is not None:
            found[entity] = row
    return found


def _last_known(
    model: Model,
    heads: tuple[str, str],
    bases: Sequence[str],
    entity: Entity,
    rows: Mapping[str, Row | None],
    sides: Sequence[Image],
    unknown: Unknown,
) -> Row | None:
    """A row as it was by the last write that both heads have seen. Where several such writes
    dispute it, it is one that neither head shows, so that the heads dispute it unless they agree.
    """
    known = {id_: _known(row, entity, unknown) for id_, row in rows.items()}
    values = {id_: row and tuple(sorted(row.items())) for id_, row in known.items()}
    writes = _writes(model, values)
    last = writes.without_taken_back(writes.last_common(*heads))
    if len({values[write] for write in last}) == 1:
        return rows[last[0]]
    shared = (w for pair in combinations(bases, 2) for w in writes.last_common(*pair))
    shown = [side.get(entity) for side in sides]
    return next(rows[id_] for id_ in (*bases, *shared) if known[id_] not in shown)


def _writes(model: Model, values: Mapping[str, object]) -> SeenWrites[str]:
    """Who has seen which write of a row, which has these values on commits."""
    first, *others = (commit for commit in model.commits.values() if commit.id in values)
    writes = SeenWrites(first.id, values[first.id])
    for commit in others:
        if len(commit.parents) == 1:
            writes.write(commit.id, commit.parents[0], values[commit.id])
        else:
            writes.merge(commit.id, commit.parents[0], commit.parents[1], values[commit.id])
    return writes


def _without(side: Image, unknown: Unknown) -> Image:
    known = ((entity, _known(row, entity, unknown)) for entity, row in side.items())
    return {entity: row for entity, row in known if row is not None}


def _known(row: Row | None, entity: Entity, unknown: Unknown) -> Row | None:
    names = unknown.get(entity.type_name, frozenset())
    return row if row is None else {k: v for k, v in row.items() if k not in names}


def _joined(base: World, ours: World, theirs: World, resolve: Resolve) -> Merged:
    before, after = base.lifted(ours.shape), theirs.lifted(ours.shape)
    unknown = ours.shape.unknown_to(theirs.shape)
    return three_way(image_of(before), image_of(ours), image_of(after), resolve, unknown)


def _in_order(merged: Merged) -> Sequence[Conflict]:
    return sorted(merged.conflicts, key=repr)


def _refusals(merged: Merged, *, is_preview: bool) -> tuple[Refusal, ...]:
    if merged.unused:
        return (ArgumentInvalid,)
    return (MergeConflicts,) if merged.conflicts and not is_preview else ()


# Spelled -----------------------------------------------------------------------------------------


def id_of(entity: Entity, ids: Ids) -> str:
    """The id that the graph has for it."""
    match entity.type_name:
        case "Note":
            return ids.of_note(entity.name)
        case "Wrote":
            return ids.of_wrote(entity.name)
        case "Knows":
            return ids.of_knows(*entity.name)
        case _:
            return str(entity.name)


def conflict_key(conflict: Conflict, ids: Ids, shape: Shape) -> tuple[str, str, str, str | None]:
    entity, name = conflict.entity, conflict.property
    spelled = None if name is None else shape.name_of(name)
    return conflict.kind, entity.type_name, id_of(entity, ids), spelled


def _spelled(resolve: Resolve, ids: Ids, shape: Shape) -> str | list[Mapping[str, Any]] | None:
    if resolve is None or isinstance(resolve, str):
        return resolve
    return [_spelled_choice(choice, ids, shape) for choice in resolve]


def _spelled_choice(choice: Choice, ids: Ids, shape: Shape) -> Mapping[str, Any]:
    entity, take, name = choice
    spelled = {"type": entity.type_name, "id": id_of(entity, ids), "take": take}
    return spelled if name is None else {**spelled, "property": shape.name_of(name)}
