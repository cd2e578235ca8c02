"""An apply: make the graphs and the ledger what the folder says, in an order that survives a death.

    lock ─► finish what died ─► plan ─► arm
         ─► create ─► migrate ─► texts ─► ledger ─► delete ─► disarm

The ledger is swapped once, so servers see a revision whole or not at all. Before it, everything is
either invisible (texts, graphs that nobody names) or can be repeated (a schema that a graph has
already is no step). After it only what the ledger does not name any more is removed. The note that
`arm` writes says what was begun, so that the next apply knows its own work, and finishes deletes.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from omnigraph.base.errors import (
    ApprovalNeeded,
    LockLost,
    PlanBlocked,
    PlanChanged,
    PreconditionFailed,
    StorageFailed,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped
from omnigraph.cluster.folder import Folder
from omnigraph.cluster.ledger import Ledger, utc_text
from omnigraph.cluster.lock import HeldLock, locked
from omnigraph.cluster.observe import Present, observe
from omnigraph.cluster.place import APPLYING, ClusterPlace
from omnigraph.cluster.plan import SHORT, Change, Plan, is_digest_of, make_plan
from omnigraph.cluster.reading import is_name
from omnigraph.cluster.resources import graph_of, kind_of, schema_address
from omnigraph.cluster.steps import NEVER, ApplyFaults, ApplyPoint
from omnigraph.engine.handles.graph import Graph

__all__ = ["Applied", "Unfinished", "apply", "left_to_remove", "plan", "unfinished"]

T = TypeVar("T")

MAX_TRIES = 50
"""A commit that comes between a look at the graph and its migration makes us look again."""


@frozen
class Unfinished:
    """What an apply that did not come to its end was about to do."""

    plan: str
    actor: str | None
    began_at: str
    creates: tuple[str, ...]
    migrates: tuple[str, ...]
    deletes: tuple[tuple[str, str | None], ...]
    """Each graph, and the mark that tells it from another one in its place."""
    changes: tuple[str, ...]
    """The digest of each; where it has steps, also that of the same without them, when they are
    taken."""

    def to_json(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "actor": self.actor,
            "began_at": self.began_at,
            "creates": list(self.creates),
            "migrates": list(self.migrates),
            "deletes": [list(delete) for delete in self.deletes],
            "changes": list(self.changes),
        }


@frozen
class Applied:
    plan: Plan
    ledger: Ledger
    """As it is now."""
    finished: Unfinished | None = None
    """The apply before, if it had not come to its end."""

    @property
    def changed(self) -> bool:
        return not self.plan.is_empty


def plan(place: ClusterPlace, folder: Folder) -> Plan:
    """What an apply would do now. Nothing is changed, and nobody is kept out."""
    ledger, _ = place.ledger()
    if (begun := unfinished(place)) is None:
        return make_plan(place, folder, ledger)
    removed = left_to_remove(place, begun, ledger)
    return make_plan(place, folder, ledger, begun=begun.creates, removed=removed)


def unfinished(place: ClusterPlace) -> Unfinished | None:
    note = place.note(APPLYING)
    if note is None:
        return None
    try:
        found = Unfinished(
            plan=note["plan"],
            actor=note["actor"],
            began_at=note["began_at"],
            creates=tuple(note["creates"]),
            migrates=tuple(note["migrates"]),
            deletes=tuple((id_, mark) for id_, mark in note["deletes"]),
            changes=tuple(note["changes"]),
        )
        # What it names is made and deleted: nothing but graphs in their places.
        for id_ in (*found.creates, *found.migrates, *(id_ for id_, _ in found.deletes)):
            if not is_name(id_):
                raise ValueError(f"{clipped(str(id_))} is no graph")
        return found
    except (KeyError, TypeError, ValueError) as error:
        advice = "it was changed by hand: remove it if no apply was under way"
        raise StorageFailed(
            doing="read",
            path=place.name_of(APPLYING),
            reason=f"it is not what an apply writes: {error}",
            advice=advice,
        ) from error


def apply(
    place: ClusterPlace,
    folder: Folder,
    *,
    actor: str | None = None,
    expected: str | None = None,
    faults: ApplyFaults = NEVER,
) -> Applied:
    """Make it so. With `expected`, the digest of the plan that was shown, only that."""
    with locked(place, operation="apply", owner=actor) as held:
        faults.reach(ApplyPoint.AFTER_LOCK)
        begun = unfinished(place)
        ledger, tag = place.ledger()
        if begun is not None:
            _finish(place, held, begun, ledger)
        wanted = make_plan(place, folder, ledger, begun=() if begun is None else begun.creates)
        _require_shown(wanted, expected, begun, ledger)
        if wanted.blocked:
            raise PlanBlocked(wanted.blocked)
        approvals = place.approvals(ledger.revision)
        if lacking := [c.address for c in wanted.losses if c.digest not in approvals]:
            raise ApprovalNeeded(tuple(lacking))
        creates = frozenset(() if begun is None else begun.creates)
        applying = _Applying(place, folder, wanted, held, creates, actor, faults)
        after = ledger if wanted.is_empty else applying.run(ledger, tag)
        if begun is not None or not wanted.is_empty:
            held.confirm()
            # What was not used was of a folder that nobody applied.
            place.forget_approvals()
            place.objects.delete(APPLYING)
            place.forget_observed()
            faults.reach(ApplyPoint.AFTER_DISARM)
    return Applied(wanted, after, begun)


def left_to_remove(place: ClusterPlace, begun: Unfinished, ledger: Ledger) -> tuple[str, ...]:
    """Graphs that an apply was about to delete when the ledger had let go of them."""
    return tuple(
        id_
        for id_, mark in begun.deletes
        # Somebody may have put another graph there since.
        if id_ not in ledger.graphs and place.graph_mark(id_) in (None, mark)
    )


def _finish(place: ClusterPlace, held: HeldLock, begun: Unfinished, ledger: Ledger) -> None:
    """Do what can't be seen from a plan: remove graphs that the ledger does not name any more, let
    graphs heal whose migration was cut off, and keep the copy of the ledger that may be missing."""
    if ledger.revision:
        held.confirm()
        place.keep_copy(ledger)
    for id_ in left_to_remove(place, begun, ledger):
        place.delete_graph(id_, held.confirm)
    for id_ in (*begun.creates, *begun.migrates):
        if isinstance(observe(place, id_), Present):
            Graph.open(str(place.graph(id_)), settings=place.settings).close()


def _require_shown(
    wanted: Plan, expected: str | None, begun: Unfinished | None, ledger: Ledger
) -> None:
    if expected is None or is_digest_of(wanted.digest, expected):
        return
    if wanted.is_empty and ledger.plan is not None and is_digest_of(ledger.plan, expected):
        return  # it was applied already, by somebody whose answer was lost
    if begun is not None and is_digest_of(begun.plan, expected):
        left = {change.digest for change in wanted.changes}
        if left <= set(begun.changes):
            return
    raise PlanChanged(expected, wanted.digest)


@frozen
class _Applying:
    place: ClusterPlace
    folder: Folder
    plan: Plan
    held: HeldLock
    begun: frozenset[str]
    """Graphs that the apply before was about to make."""
    actor: str | None
    faults: ApplyFaults

    def run(self, ledger: Ledger, tag: str | None) -> Ledger:
        plan, place = self.plan, self.place
        self.held.confirm()
        place.put_note(APPLYING, self._note().to_json())
        self.faults.reach(ApplyPoint.AFTER_ARM)
        for first, id_ in _counted(_graphs(plan.of_phase("create"), kind="graph")):
            self.held.confirm()
            self._create(id_)
            self._reach(ApplyPoint.AFTER_CREATE_1, is_reached=first)
        self.faults.reach(ApplyPoint.AFTER_CREATE_ALL)
        for first, change in _counted(plan.of_phase("migrate")):
            self.held.confirm()
            self._migrate(change)
            self._reach(ApplyPoint.AFTER_MIGRATE_1, is_reached=first)
        self.faults.reach(ApplyPoint.AFTER_MIGRATE_ALL)
        for resource in self.folder.resources.values():
            if resource.text is not None:
                place.put_text(resource.text)
        self.faults.reach(ApplyPoint.AFTER_TEXTS)
        after = self._ledger(ledger)
        self.held.confirm()
        if not place.swap_ledger(after, expected=tag):
            raise LockLost(self.held.lock.id, "another process has changed the ledger meanwhile")
        self.faults.reach(ApplyPoint.AFTER_LEDGER)
        # Not before: a copy stands for what was applied.
        place.keep_copy(after)
        self.faults.reach(ApplyPoint.AFTER_COPY)
        for first, id_ in _counted(_graphs(plan.of_phase("delete"), kind="graph")):
            place.delete_graph(id_, self.held.confirm)
            self._reach(ApplyPoint.AFTER_DELETE_1, is_reached=first)
        self.faults.reach(ApplyPoint.AFTER_DELETE_ALL)
        return after

    def _create(self, id_: str) -> None:
        if id_ in self.begun and isinstance(observe(self.place, id_), Present):
            return
        made = Graph.init(
            str(self.place.graph(id_)),
            self._schema(id_),
            settings=self.place.settings,
            actor=self.actor,
            message=self._message,
            force=True,
        )
        made.close()

    def _migrate(self, change: Change) -> None:
        """Take the steps that were shown, or none: others may write the graph meanwhile."""
        id_ = graph_of(change.address)
        assert id_ is not None, "a schema is of a graph"
        schema = self._schema(id_)
        with Graph.open(str(self.place.graph(id_)), settings=self.place.settings) as graph:
            for _ in range(MAX_TRIES):
                head = graph.schema().graph_commit_id
                steps = graph.schema_plan(schema, snapshot=head).steps
                if [step.to_json() for step in steps] != [dict(step) for step in change.steps]:
                    break
                try:
                    graph.schema_apply(
                        schema, actor=self.actor, message=self._message, if_commit=head
                    )
                    return
                except PreconditionFailed:
                    continue
        now = plan(self.place, self.folder).digest
        raise PlanChanged(self.plan.digest, now, is_begun=True)

    def _schema(self, id_: str) -> SourceText:
        address = schema_address(id_)
        text = self.folder.resources[address].text
        assert text is not None, "a schema has a text"
        return SourceText(text, address)

    @property
    def _message(self) -> str:
        return f"cluster {self.plan.cluster}, plan {self.plan.digest[:SHORT]}"

    def _ledger(self, before: Ledger) -> Ledger:
        return Ledger(
            cluster=self.folder.name,
            revision=before.revision + 1,
            applied_at=utc_text(self.place.clock.now_ms()),
            applied_by=self.actor,
            plan=self.plan.digest,
            resources={address: each.entry for address, each in self.folder.resources.items()},
        )

    def _note(self) -> Unfinished:
        plan = self.plan
        return Unfinished(
            plan=plan.digest,
            actor=self.actor,
            began_at=utc_text(self.place.clock.now_ms()),
            creates=_graphs(plan.of_phase("create"), kind="graph"),
            migrates=_graphs(plan.of_phase("migrate"), kind="schema"),
            deletes=tuple(
                (id_, self.place.graph_mark(id_))
                for id_ in _graphs(plan.of_phase("delete"), kind="graph")
            ),
            changes=tuple(
                dict.fromkeys(
                    each.digest
                    for change in plan.changes
                    for each in (change, replace(change, steps=()))
                )
            ),
        )

    def _reach(self, point: ApplyPoint, *, is_reached: bool) -> None:
        if is_reached:
            self.faults.reach(point)


def _graphs(changes: Iterable[Change], *, kind: str) -> tuple[str, ...]:
    found = (graph_of(change.address) for change in changes if kind_of(change.address) == kind)
    return tuple(id_ for id_ in found if id_ is not None)


def _counted(things: Iterable[T]) -> Iterable[tuple[bool, T]]:
    return ((number == 0, thing) for number, thing in enumerate(things))
