"""What else is done to a deployment: approve, look, compare, take in. Nothing here is an apply."""

from collections.abc import Sequence
from typing import Any

from omnigraph.base.errors import (
    ArgumentInvalid,
    GraphMissing,
    LockLost,
    PlanBlocked,
    PlanChanged,
    ResourceMissing,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText
from omnigraph.cluster.apply import Unfinished, left_to_remove, plan, unfinished
from omnigraph.cluster.folder import Folder
from omnigraph.cluster.ledger import Ledger, utc_text
from omnigraph.cluster.lock import Lock, locked, read_lock
from omnigraph.cluster.observe import Absent, Occupied, Present, Unreadable, observe
from omnigraph.cluster.place import ClusterPlace
from omnigraph.cluster.plan import (
    DRIFTED,
    GONE,
    TEXT_GONE,
    Change,
    is_digest_of,
    of_another_cluster,
)
from omnigraph.cluster.resources import IMPORTED, Resource, graph_address, schema_address

__all__ = ["Drift", "Status", "approve", "import_graphs", "refresh", "status"]


@frozen
class Drift:
    """Where the storage is not what was applied."""

    address: str
    kind: str
    """`missing`, `changed`, `altered` or `unreadable`."""
    message: str

    def to_json(self) -> dict[str, Any]:
        return {"address": self.address, "kind": self.kind, "message": self.message}


@frozen
class Status:
    storage: str
    ledger: Ledger
    lock: Lock | None
    unfinished: Unfinished | None
    approvals: tuple[dict[str, Any], ...]
    observed_at: str | None
    """When a refresh looked last, if nothing was applied since."""
    drift: tuple[Drift, ...]


def approve(
    place: ClusterPlace,
    folder: Folder,
    addresses: Sequence[str],
    *,
    actor: str | None = None,
    expected: str | None = None,
) -> tuple[Change, ...]:
    """Approve of changes that lose data, as the plan has them now, or as `expected` was shown."""
    wanted = plan(place, folder)
    if expected is not None and not is_digest_of(wanted.digest, expected):
        raise PlanChanged(expected, wanted.digest)
    waiting = {change.address: change for change in wanted.losses}
    for address in addresses:
        if address not in waiting:
            raise ResourceMissing(address, tuple(sorted(waiting)))
    approved = tuple(waiting[address] for address in addresses)
    for change in approved:
        note = {
            "change": change.digest,
            "address": change.address,
            "action": change.action,
            "revision": wanted.revision,
            "approved_by": actor,
            "approved_at": utc_text(place.clock.now_ms()),
        }
        place.put_approval(change.digest, note)
    return approved


def status(place: ClusterPlace) -> Status:
    """What was applied, and who is at work. No graph is opened."""
    ledger, _ = place.ledger()
    observed_at, drift = _observed(place, ledger)
    approvals = place.approvals(ledger.revision)
    return Status(
        storage=str(place.root),
        ledger=ledger,
        lock=read_lock(place),
        unfinished=unfinished(place),
        approvals=tuple(approvals[change] for change in sorted(approvals)),
        observed_at=observed_at,
        drift=drift,
    )


def _observed(place: ClusterPlace, ledger: Ledger) -> tuple[str | None, tuple[Drift, ...]]:
    observed = place.observed() or {}
    if observed.get("revision") != ledger.revision:
        return None, ()  # a refresh that ended after an apply had looked at what was before
    try:
        return observed.get("observed_at"), tuple(Drift(**d) for d in observed.get("drift", ()))
    except TypeError:
        # It was changed by hand; the next refresh writes it anew.
        return None, ()


def refresh(place: ClusterPlace) -> tuple[Drift, ...]:
    """Compare the storage with what was applied. What was found is kept for `status`."""
    ledger = place.applied()
    found = [drift for id_ in ledger.graphs if (drift := _drift(place, ledger, id_)) is not None]
    for address, entry in sorted(ledger.resources.items()):
        if entry.content is not None and place.text(entry.content) is None:
            found.append(Drift(address, "altered", TEXT_GONE))
    note = {
        "observed_at": utc_text(place.clock.now_ms()),
        "revision": ledger.revision,
        "drift": [drift.to_json() for drift in found],
    }
    place.put_observed(note)
    return tuple(found)


def _drift(place: ClusterPlace, ledger: Ledger, id_: str) -> Drift | None:
    address = graph_address(id_)
    match observe(place, id_):
        case Absent():
            return Drift(address, "missing", GONE)
        case Occupied():
            return Drift(address, "missing", "files lie in its place that are no graph")
        case Unreadable(reason=reason):
            return Drift(address, "unreadable", f"the graph can't be read: {reason}")
        case Present(graph=graph, schema=schema):
            entry = ledger.resources.get(schema_address(id_))
            applied = None if entry is None or entry.content is None else place.text(entry.content)
            if applied is None or applied == schema:
                return None
            change = graph.schema_plan(SourceText(applied, schema_address(id_)))
            if change.steps or change.refusals:
                return Drift(schema_address(id_), "changed", DRIFTED)
            return None


def import_graphs(
    place: ClusterPlace, folder: Folder, ids: Sequence[str], *, actor: str | None = None
) -> Ledger:
    """Take graphs into the ledger that lie in their places and that no apply has made.

    They are taken in as they are; what the folder asks for beyond that, the next plan shows. Nobody
    serves them before the next apply, which brings their policies and providers.
    """
    for id_ in ids:
        if id_ not in folder.graphs:
            hint = name_hint(id_, folder.graphs)
            raise ArgumentInvalid("graph", id_, "the folder declares no such graph", hint)
    with locked(place, operation="import", owner=actor) as held:
        ledger, tag = place.ledger()
        if (said := of_another_cluster(ledger, folder)) is not None:
            raise PlanBlocked((f"cluster: {said}",))
        begun = unfinished(place)
        leaving = () if begun is None else left_to_remove(place, begun, ledger)
        taken: list[Resource] = []
        for id_ in ids:
            if id_ in ledger.graphs:
                continue
            if id_ in leaving:
                # It may open though files are gone that its rows are in.
                rule = "an apply that did not finish is deleting it, and a part may be gone"
                hint = "apply the folder: that removes the rest, and makes it anew"
                raise ArgumentInvalid("graph", id_, rule, hint)
            match observe(place, id_):
                case Present(schema=schema):
                    taken.append(Resource(graph_address(id_), {IMPORTED: True}))
                    taken.append(Resource(schema_address(id_), {}, schema))
                case Unreadable(reason=reason):
                    rule = f"it can't be read: {reason}"
                    raise ArgumentInvalid("graph", id_, rule)
                case Absent() | Occupied():
                    raise GraphMissing(str(place.graph(id_)))
        if not taken:
            return ledger
        for resource in taken:
            if resource.text is not None:
                place.put_text(resource.text)
        after = Ledger(
            cluster=folder.name,
            revision=ledger.revision + 1,
            applied_at=utc_text(place.clock.now_ms()),
            applied_by=actor,
            plan=ledger.plan,
            resources={**ledger.resources, **{each.address: each.entry for each in taken}},
        )
        held.confirm()
        if not place.swap_ledger(after, expected=tag):
            raise LockLost(held.lock.id, "another process has changed the ledger meanwhile")
        place.keep_copy(after)
        return after
