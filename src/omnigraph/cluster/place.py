"""Where a deployment is stored: its graphs, and `__cluster` with all that an apply has written.

    graphs/G.omni                the graphs
    __cluster/state.json         the ledger
    __cluster/lock.json          who is at work
    __cluster/resources/HASH     texts, by their hash
    __cluster/revisions/N.json   a copy of each ledger
    __cluster/approvals/…        what was approved, by the digest of the change
    __cluster/recovery/…         what an apply that is under way, or died, is about to do
    __cluster/observed.json      what the last refresh found

On a disk and in a bucket it is the same code: what must not be overwritten is swapped on a
condition (`store/fenced_objects`, `store/bucket`).
"""

import json
from collections.abc import Callable
from typing import Any

from omnigraph.base.clock import Clock, SystemClock
from omnigraph.base.errors import ClusterMissing, LedgerDamaged, StorageFailed
from omnigraph.cluster.ledger import Ledger, LedgerUnreadable
from omnigraph.cluster.resources import digest_of
from omnigraph.engine.settings import Settings
from omnigraph.store.fenced_objects import FencedObjects
from omnigraph.store.layout import GRAPH
from omnigraph.store.lease import LeaseFences
from omnigraph.store.location import BucketLocation, DiskLocation, Location, graph_location
from omnigraph.store.objects import SwappableObjects
from omnigraph.store.storage import Storage

__all__ = ["APPLYING", "LEDGER", "LOCK", "ClusterPlace"]

CLUSTER = "__cluster"
LEDGER, LOCK, OBSERVED = "state.json", "lock.json", "observed.json"
RESOURCES, REVISIONS, APPROVALS = "resources", "revisions", "approvals"
APPLYING = "recovery/apply.json"
GRAPHS = "graphs"


class ClusterPlace:
    def __init__(self, root: Location, settings: Settings, clock: Clock) -> None:
        self.root = root
        self.settings = settings
        self.clock = clock
        self.objects = _objects(root / CLUSTER)

    @classmethod
    def at(
        cls, address: str, *, settings: Settings | None = None, clock: Clock | None = None
    ) -> "ClusterPlace":
        settings = settings or Settings.from_environment()
        root = graph_location(address, settings.bucket_access)
        return cls(root, settings, clock or SystemClock())

    def name_of(self, name: str) -> str:
        """Where one of our objects lies, for messages."""
        return str(self.root / CLUSTER / name)

    def require_conditions(self) -> None:
        """Raise `StoreUnfit` where a bucket ignores the condition of a put."""
        if isinstance(self.root, BucketLocation):
            LeaseFences(self.objects, self.clock, address=str(self.root)).require()

    # Graphs ---------------------------------------------------------------------------------------

    def graph(self, id_: str) -> Location:
        return self.root / f"{GRAPHS}/{id_}.omni"

    def graph_storage(self, id_: str) -> Storage:
        return Storage.at(self.graph(id_), clock=self.clock)

    def graph_mark(self, id_: str) -> str | None:
        """What tells a graph from another one in its place; None: there is none."""
        mark = self.graph(id_).objects().get(GRAPH)
        return None if mark is None else digest_of(mark)

    def delete_graph(self, id_: str, confirm: Callable[[], None]) -> None:
        """Remove all that lies where a graph was; what is gone already stays gone.

        It may take long. So each object is confirmed: once the lock is lost, another apply may be
        making a graph there.
        """
        objects = self.graph(id_).objects()
        for stored in list(objects.survey("")):
            confirm()
            objects.delete(stored.name)
        confirm()
        objects.forget_folder("")

    # The ledger -----------------------------------------------------------------------------------

    def ledger(self) -> tuple[Ledger, str | None]:
        """The ledger and its tag; an empty one and None where nothing was applied yet."""
        found = self.objects.get_tagged(LEDGER)
        if found is None:
            if (last_whole := self._last_whole()) is not None:
                # Else all would be made anew, or taken in one by one, over what there was.
                raise LedgerDamaged(
                    ledger=self.name_of(LEDGER), reason="it is gone", last_whole=last_whole
                )
            return Ledger(), None
        data, tag = found
        try:
            return Ledger.of_bytes(data), tag
        except LedgerUnreadable as error:
            raise LedgerDamaged(
                ledger=self.name_of(LEDGER),
                reason=str(error),
                last_whole=self._last_whole(),
            ) from error

    def applied(self) -> Ledger:
        """The ledger; raises `ClusterMissing` where nothing was applied yet."""
        ledger, tag = self.ledger()
        if tag is None:
            raise ClusterMissing(str(self.root))
        return ledger

    def keep_copy(self, ledger: Ledger) -> None:
        self.objects.put(_copy_of(ledger.revision), ledger.to_bytes())

    def swap_ledger(self, ledger: Ledger, *, expected: str | None) -> bool:
        """Make it the ledger; False, and nothing written, if another one came in between."""
        data = ledger.to_bytes()
        if self.objects.swap(LEDGER, data, expected=expected) is not None:
            return True
        return self.objects.get(LEDGER) == data  # it had landed, and the answer was lost

    def ledger_mark(self) -> str | None:
        """A text that changes whenever the ledger does."""
        return self.objects.fingerprint(LEDGER)

    def _last_whole(self) -> str | None:
        for name in reversed(self.objects.list(REVISIONS)):
            try:
                Ledger.of_bytes(self.objects.get(name) or b"")
            except LedgerUnreadable:
                continue
            return self.name_of(name)
        return None

    # Texts ----------------------------------------------------------------------------------------

    def put_text(self, text: str) -> None:
        data = text.encode()
        name = f"{RESOURCES}/{digest_of(data)}"
        if self.objects.get(name) != data:
            self.objects.put(name, data)

    def text(self, content: str) -> str | None:
        """A text by its hash; None if it is gone, or is not what was stored."""
        data = self.objects.get(f"{RESOURCES}/{content}")
        return data.decode() if data is not None and digest_of(data) == content else None

    def require_text(self, content: str, what: str) -> str:
        if (text := self.text(content)) is None:
            name = self.name_of(f"{RESOURCES}/{content}")
            reason = f"the stored text of {what} is gone, or was altered"
            advice = "apply the folder again, which stores it again"
            raise StorageFailed(doing="read", path=name, reason=reason, advice=advice)
        return text

    # Notes ----------------------------------------------------------------------------------------

    def note(self, name: str) -> dict[str, Any] | None:
        """A small JSON document; None if it is not there, or is none."""
        data = self.objects.get(name)
        try:
            found = None if data is None else json.loads(data)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def put_note(self, name: str, note: dict[str, Any]) -> None:
        self.objects.put(name, json.dumps(note, indent=2, ensure_ascii=False).encode() + b"\n")

    def approvals(self, revision: int) -> dict[str, dict[str, Any]]:
        """Those that were given over this revision, by the digest of the change.

        One of an earlier revision is of no use: whoever gave it saw another deployment, and the
        same change may be asked for again by mistake, much later.
        """
        found = {}
        for name in self.objects.list(APPROVALS):
            note = self.note(name) or {}
            texts = (note.get("change"), note.get("address"), note.get("action"))
            if all(isinstance(each, str) for each in texts) and note.get("revision") == revision:
                found[note["change"]] = note
        return found

    def put_approval(self, change: str, note: dict[str, Any]) -> None:
        self.put_note(f"{APPROVALS}/{change}.json", note)

    def forget_approvals(self) -> None:
        for name in self.objects.list(APPROVALS):
            self.objects.delete(name)

    def observed(self) -> dict[str, Any] | None:
        return self.note(OBSERVED)

    def put_observed(self, note: dict[str, Any]) -> None:
        self.put_note(OBSERVED, note)

    def forget_observed(self) -> None:
        self.objects.delete(OBSERVED)


def _objects(root: Location) -> SwappableObjects:
    match root:
        case DiskLocation(path=path):
            return FencedObjects(path)
        case BucketLocation():
            return root.objects()


def _copy_of(revision: int) -> str:
    return f"{REVISIONS}/{revision:08}.json"
