"""A plan: what an apply would change, from the ledger, the folder and the graphs as they are.

A plan is a value, and the same folder over the same state gives the same plan, byte for byte. Its
digest stands for all that an apply would do. What loses data has a digest of its own, which an
approval names: once the folder or the graph asks for something else, the approval is of no use.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

from omnigraph.base.errors import OmnigraphError
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.words import listed
from omnigraph.cluster.folder import Folder
from omnigraph.cluster.ledger import Ledger
from omnigraph.cluster.observe import Absent, Observed, Occupied, Present, Unreadable, observe
from omnigraph.cluster.place import ClusterPlace
from omnigraph.cluster.resources import (
    IMPORTED,
    Address,
    Entry,
    canonical,
    digest_of,
    graph_address,
    kind_of,
    schema_address,
)

__all__ = [
    "DRIFTED",
    "GONE",
    "SHORT",
    "TAKEN_IN",
    "TEXT_GONE",
    "Action",
    "Change",
    "Phase",
    "Plan",
    "is_digest_of",
    "make_plan",
    "of_another_cluster",
]

SHORT = 12
"""So many letters of a digest are shown, and are enough to name it."""


Action = Literal["create", "update", "delete"]
Phase = Literal["create", "migrate", "catalog", "delete"]
PHASES: tuple[Phase, ...] = ("create", "migrate", "catalog", "delete")
"""In the order in which they are carried out."""

DRIFTED = "the graph has another schema than was applied"
GONE = "the graph is gone from its place"
TAKEN_IN = "it was imported, and an apply lets it be served"
TEXT_GONE = "its stored text is gone, or was altered"


@frozen
class Change:
    """What becomes of one resource."""

    address: Address
    action: Action
    before: str | None = None
    """The digest that the ledger has."""
    after: str | None = None
    """The digest that the folder asks for."""
    steps: tuple[Mapping[str, Any], ...] = ()
    """Of a schema: the steps that the graph would take, in their order."""
    reason: str | None = None
    """Why, if it is not that the folder was edited."""
    loses_data: bool = False
    blocked: tuple[str, ...] = ()
    """What stands in the way."""

    @property
    def phase(self) -> Phase:
        match kind_of(self.address), self.action:
            case (("graph" | "schema"), "create"):
                return "create"
            case "schema", "update":
                return "migrate"
            case (("graph" | "schema"), "delete"):
                return "delete"
            case _:
                return "catalog"

    @property
    def digest(self) -> str:
        """What an approval of it names."""
        return digest_of(canonical(self._named()))

    def _named(self) -> dict[str, Any]:
        return {
            "address": self.address,
            "action": self.action,
            "before": self.before,
            "after": self.after,
            "steps": [dict(step) for step in self.steps],
        }

    def to_json(self, approvals: Collection[str] = ()) -> dict[str, Any]:
        return {
            **self._named(),
            "phase": self.phase,
            "digest": self.digest,
            "reason": self.reason,
            "needs_approval": self.loses_data,
            "is_approved": self.loses_data and self.digest in approvals,
            "blocked": list(self.blocked),
        }


@frozen
class Plan:
    cluster: str
    revision: int
    """Of the ledger that it goes on from."""
    changes: tuple[Change, ...]

    @property
    def is_empty(self) -> bool:
        return not self.changes

    @property
    def digest(self) -> str:
        changes = [change.digest for change in self.changes]
        whole = {"cluster": self.cluster, "revision": self.revision, "changes": changes}
        return digest_of(canonical(whole))

    @property
    def losses(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.loses_data)

    @property
    def blocked(self) -> tuple[str, ...]:
        """All that stands in the way, each with its address."""
        return tuple(f"{c.address}: {reason}" for c in self.changes for reason in c.blocked)

    def of_phase(self, phase: Phase) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.phase == phase)


def is_digest_of(digest: str, given: str) -> bool:
    """True if a person means this digest."""
    return len(given) >= SHORT and digest.startswith(given)


def of_another_cluster(ledger: Ledger, folder: Folder) -> str | None:
    """Why nobody applies one cluster over another, by a folder that names the wrong storage."""
    if ledger.revision == 0 or ledger.cluster == folder.name:
        return None
    theirs, ours = ledger.cluster, folder.name
    return f"the storage is that of the cluster {theirs}, and this folder declares {ours}"


def make_plan(
    place: ClusterPlace,
    folder: Folder,
    ledger: Ledger,
    *,
    begun: Collection[str] = (),
    removed: Collection[str] = (),
) -> Plan:
    """All that is between what is there and what the folder asks for.

    `begun` are graphs that an apply which did not finish was about to make: one of them that is
    there is ours. `removed` are graphs that it had begun to delete: the next apply removes what is
    left of them before anything else.
    """
    planning = _Planning(place, folder, ledger, frozenset(begun), frozenset(removed))
    changes = sorted(planning.changes(), key=lambda c: (PHASES.index(c.phase), c.address))
    return Plan(folder.name, ledger.revision, tuple(changes))


@frozen
class _Planning:
    place: ClusterPlace
    folder: Folder
    ledger: Ledger
    begun: frozenset[str]
    removed: frozenset[str]

    def changes(self) -> list[Change]:
        found = []
        desired = {address: each.entry for address, each in self.folder.resources.items()}
        for id_ in sorted({*self.folder.graphs, *self.ledger.graphs}):
            found += self._graph(id_, desired)
        for address in sorted({*desired, *self.ledger.resources}):
            if kind_of(address) not in ("graph", "schema"):
                change = self._plain(address, desired.get(address))
                found += [] if change is None else [change]
        return self._of_this_cluster(found)

    def _of_this_cluster(self, found: list[Change]) -> list[Change]:
        if (said := of_another_cluster(self.ledger, self.folder)) is None:
            return found
        return [_blocked(change, said) for change in found] or [
            Change("cluster", "update", blocked=(said,))
        ]

    def _plain(self, address: Address, after: Entry | None) -> Change | None:
        before = self.ledger.resources.get(address)
        if after is None:
            assert before is not None, "an address is of the ledger or of the folder"
            reason = self._unguarded(address, before)
            return Change(address, "delete", before=before.digest, reason=reason)
        if before is None:
            return Change(address, "create", after=after.digest)
        is_torn = after.content is not None and self.place.text(after.content) is None
        if before.digest == after.digest and not is_torn:
            return None
        is_same = before.digest == after.digest
        reason = TEXT_GONE if is_same else self._unguarded(address, before)
        return Change(address, "update", before.digest, after.digest, reason=reason)

    def _unguarded(self, address: Address, before: Entry) -> str | None:
        """What becomes of graphs that a policy leaves, and that no other one takes."""
        if kind_of(address) != "policy":
            return None
        policies = [
            each.attributes["applies_to"]
            for each in self.folder.resources.values()
            if kind_of(each.address) == "policy"
        ]
        guarded = {target for targets in policies for target in targets}
        left = [
            id_
            for id_ in before.attributes["applies_to"]
            if id_ in self.folder.graphs and id_ not in guarded
        ]
        if not left:
            return None
        return f"without a policy, every actor with a token reads {listed(left, 'and')}"

    # Graphs ---------------------------------------------------------------------------------------

    def _graph(self, id_: str, desired: Mapping[Address, Entry]) -> list[Change]:
        address, schema = graph_address(id_), schema_address(id_)
        known, known_schema = (self.ledger.resources.get(each) for each in (address, schema))
        if (after := desired.get(address)) is None:
            assert known is not None, "a graph is of the ledger or of the folder"
            changes = [Change(address, "delete", before=known.digest, loses_data=True)]
            if known_schema is not None:
                changes.append(Change(schema, "delete", before=known_schema.digest))
            return changes
        there = Absent() if id_ in self.removed else observe(self.place, id_)
        if known is None:
            return self._new(id_, there, after, desired[schema])
        if isinstance(there, Absent):
            return [
                # Nobody makes an empty graph where a full one was, unless somebody says so.
                Change(address, "create", known.digest, after.digest, reason=GONE, loses_data=True),
                Change(schema, "create", _digest(known_schema), desired[schema].digest),
            ]
        if (said := _in_the_way(self.place, id_, there)) is not None:
            return [Change(address, "update", known.digest, after.digest, blocked=(said,))]
        assert isinstance(there, Present)
        changes = []
        if known.digest != after.digest:
            reason = TAKEN_IN if IMPORTED in known.attributes else None
            changes.append(Change(address, "update", known.digest, after.digest, reason=reason))
        migrated = self._migrated(id_, there, known_schema, desired[schema])
        return changes if migrated is None else [*changes, migrated]

    def _new(self, id_: str, there: Observed, after: Entry, schema: Entry) -> list[Change]:
        address = graph_address(id_)
        blocked: tuple[str, ...] = ()
        made = [Change(schema_address(id_), "create", after=schema.digest)]
        if isinstance(there, Present) and id_ in self.begun:
            # What the apply before had made. Its schema may be that of an earlier folder.
            migrated = self._migrated(id_, there, None, schema)
            if migrated is not None and (migrated.steps or migrated.blocked):
                made = [migrated]
        elif isinstance(there, Present):
            where = self.place.graph(id_)
            how = f"take it in with omnigraph cluster import {id_}"
            blocked = (f"a graph is at {where} that no apply has made: {how}",)
        elif (said := _in_the_way(self.place, id_, there)) is not None:
            blocked = (said,)
        return [Change(address, "create", after=after.digest, blocked=blocked), *made]

    def _migrated(
        self, id_: str, there: Present, known: Entry | None, after: Entry
    ) -> Change | None:
        """The change of a schema, by what the graph has and not by what the ledger says."""
        address, before = schema_address(id_), _digest(known)
        text = self.folder.resources[address].text
        assert text is not None, "a schema has a text"
        steps: tuple[Mapping[str, Any], ...] = ()
        blocked: tuple[str, ...] = ()
        loses = False
        if text != there.schema:
            try:
                change = there.graph.schema_plan(SourceText(text, address))
            except OmnigraphError as error:
                return Change(address, "update", before, after.digest, blocked=(str(error),))
            steps = tuple(step.to_json() for step in change.steps)
            loses = any(step.tier == "destructive" for step in change.steps)
            blocked = tuple(
                [f"{r.message} [{r.code}]; {r.hint}" for r in change.refusals]
                + ([str(change.violations.report)] if change.violations is not None else [])
                + [
                    f"branch {name} must be merged or deleted first"
                    for name in change.branches_in_the_way
                ]
            )
        reason = None
        if before == after.digest:
            is_torn = after.content is not None and self.place.text(after.content) is None
            if not steps and not blocked and not is_torn:
                return None
            reason = TEXT_GONE if is_torn and not steps else DRIFTED
        return Change(address, "update", before, after.digest, steps, reason, loses, blocked)


def _in_the_way(place: ClusterPlace, id_: str, there: Observed) -> str | None:
    match there:
        case Occupied():
            return f"files lie at {place.graph(id_)} that are no graph: move them away"
        case Unreadable(reason=reason):
            return f"the graph can't be read: {reason}"
        case Absent() | Present():
            return None


def _digest(entry: Entry | None) -> str | None:
    return None if entry is None else entry.digest


def _blocked(change: Change, reason: str) -> Change:
    return replace(change, blocked=(*change.blocked, reason))
