"""The version of the layout on disk, and the steps that lead from each to the next.

The manifest of each branch carries a stamp, and no other module looks at it. A writer
walks the manifest of its branch forward first. Readers never write: they read old layouts as they
are, so a step comes only together with a reader that knows both sides of it. A stamp that is newer
than we know is refused by all.

A step is run again if a process died in it, and must then come to the same end.
"""

from collections.abc import Callable

import pyarrow as pa

from omnigraph.base.errors import SchemaVersionUnsupported, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.store.datasets import Dataset, Datasets, LandingRefused
from omnigraph.store.layout import MANIFEST
from omnigraph.store.transactions import SetMetadata

__all__ = ["UPGRADES", "Step", "Upgrades"]

STAMP = "omnigraph:internal_schema_version"
FIRST_VERSION = 1

Step = Callable[[Datasets, str | None], None]
"""Takes the manifest of one branch (by its Lance branch) to the next version, but for the stamp."""


@frozen
class Upgrades:
    steps: tuple[Step, ...] = ()
    """The first leads from version 1 to version 2."""

    @property
    def newest(self) -> int:
        return FIRST_VERSION + len(self.steps)

    def stamped(self, schema: pa.Schema) -> pa.Schema:
        """The schema of a new manifest."""
        return schema.with_metadata({STAMP: str(self.newest)})

    def is_behind(self, manifest: Dataset) -> bool:
        """True if a writer has to walk the manifest forward; refuses one that is ahead of us."""
        found = _version(manifest)
        if found > self.newest:
            raise SchemaVersionUnsupported(found=found, supported=self.newest)
        return found < self.newest

    def apply(self, datasets: Datasets, branch: str | None) -> None:
        """Walk a branch's manifest forward. The caller holds the branch's fence."""
        while self.is_behind(manifest := datasets.open_newest(MANIFEST, branch)):
            reached = _version(manifest) + 1
            self.steps[reached - FIRST_VERSION - 1](datasets, branch)
            base = datasets.open_newest(MANIFEST, branch).ref
            # Last: until it is there the step has not been made, and is made again.
            stamp = SetMetadata(((STAMP, str(reached)),))
            try:
                datasets.land(datasets.stage(base, stamp, {"upgrade": str(reached)}))
            except LandingRefused as refusal:
                raise _failed(
                    f"another process changed it meanwhile: {refusal.reason}"
                ) from refusal


UPGRADES = Upgrades()
"""What this omnigraph knows: version 1, the first."""


def _version(manifest: Dataset) -> int:
    stamp = manifest.schema_metadata.get(STAMP.encode())
    try:
        return int(stamp or b"")
    except ValueError as error:
        raise _failed(f"its version stamp is {stamp!r}, not a number") from error


def _failed(reason: str) -> StorageFailed:
    return StorageFailed(doing="read the layout version of", path=MANIFEST, reason=reason)
