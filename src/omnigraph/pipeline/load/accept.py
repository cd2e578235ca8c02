"""How much of a staged load is accepted: all of it, or without its bad rows, or nothing.

Without a quarantine one bad row is enough to refuse the load, with one report of everything that is
wrong. With a quarantine the rows at fault go there, as long as there are not too many of them.
Whatever is accepted here, `settle` checks once more.
"""

from omnigraph.base.errors import ConstraintViolated
from omnigraph.pipeline.load.faults import find_faults, refusal
from omnigraph.pipeline.load.load import StagedLoad
from omnigraph.pipeline.load.remove_rows import quarantine_faults
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.quarantine import Quarantine
from omnigraph.store.snapshot import Snapshot

__all__ = ["accept_load"]


def accept_load(
    runner: Runner, load: StagedLoad, snapshot: Snapshot, *, quarantine: Quarantine | None
) -> StagedLoad:
    """What of the load may be settled at `snapshot`; raise if nothing may, and leave no files."""
    if quarantine is None:
        if not load.violations:
            return load
        error = refusal(runner, load, snapshot)
        load.discard_files()
        raise error
    try:
        faults = find_faults(runner, load, snapshot, max_errors=quarantine.max_errors)
    except ConstraintViolated:
        load.discard_files()
        raise
    if not faults and load.is_publishable:
        return load
    return quarantine_faults(runner, load, faults, quarantine)
