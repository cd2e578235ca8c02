"""How much of a staged load is accepted: all of it, or without its bad rows, or nothing.

Without a quarantine one bad row is enough to refuse the load, with one report of everything that is
wrong. With a quarantine the rows at fault go there, as long as there are not too many of them. Set
rules are checked in rounds: each round leaves out the rows that earlier rounds found at fault, and
a round that finds none is the last. `resolve` checks what is accepted here once more, at the
snapshot it is published on.
"""

from omnigraph.base.errors import ConstraintViolated, InputUnreadable, RejectedTooMany
from omnigraph.base.violations import UNREADABLE, Violations
from omnigraph.check.sets.rules import TypeNames
from omnigraph.check.sets.violations import SetViolation, report
from omnigraph.pipeline.load.checks import NO_ROWS, LoadChecks
from omnigraph.pipeline.load.load import AcceptedLoad, StagedLoad
from omnigraph.pipeline.load.remove_rows import Faults, places_of, quarantine_faults
from omnigraph.pipeline.load.resolve import refusal
from omnigraph.pipeline.load.row_origin import Locator
from omnigraph.pipeline.runner import Runner
from omnigraph.pipeline.staging.area import StagingArea
from omnigraph.pipeline.staging.quarantine import Quarantine
from omnigraph.store.snapshot import Snapshot

__all__ = ["accept_load", "refuse_what_is_wrong"]


def accept_load(
    runner: Runner,
    load: StagedLoad,
    snapshot: Snapshot,
    area: StagingArea,
    *,
    quarantine: Quarantine | None,
) -> AcceptedLoad:
    """The part of the load that may be resolved at `snapshot`; raise if that is nothing."""
    checks = LoadChecks(runner, load, snapshot)
    if quarantine is None:
        if load.violations:
            raise _refusal(load, checks)
        return AcceptedLoad(load)
    faults = _find_faults(load, checks, max_errors=quarantine.max_errors)
    if not faults and load.is_publishable:
        return AcceptedLoad(load)
    return AcceptedLoad(quarantine_faults(runner, load, faults, quarantine, area))


def _find_faults(load: StagedLoad, checks: LoadChecks, *, max_errors: int) -> Faults:
    """The rows without which nothing is wrong; raise if more would go than may be rejected."""
    faults: Faults = {}
    while True:
        room = max_errors - load.rejected - len(faults)
        if room < 0:
            raise _refusal(load, checks, max_errors=max_errors)
        found = checks.without(places_of(faults)).at_fault(limit_rows=room + 1)
        if kept := [each.violation for each in found if each.place is None]:
            # Nothing that could be taken out of the load would put this right.
            raise ConstraintViolated(Violations.of(kept))
        if not found:
            return faults
        for each in found:
            assert each.place is not None
            faults.setdefault((each.entity.table_key, each.place), []).append(each)


def refuse_what_is_wrong(load: StagedLoad, checks: LoadChecks | None) -> None:
    """Raise if something is wrong with the load by these checks, or with its rows alone.

    Without checks nothing is said of rows beside each other.
    """
    if load.violations:
        raise _refusal(load, checks)
    if checks is not None and (found := checks.without(NO_ROWS).violations()):
        raise refusal(load, found)


def _refusal(
    load: StagedLoad, checks: LoadChecks | None, *, max_errors: int | None = None
) -> ConstraintViolated:
    """Why nothing of the load is published: every kind of violation, of rows alone and together.

    Set rules that the rejected rows might have satisfied are skipped: an edge to a node whose line
    was broken is not reported as if the node had never been there.
    """
    violations = Violations()
    violations.merge(load.violations)
    found = [] if checks is None else _found_together(load, checks)
    violations.merge(report(found, Locator(load).place))
    if max_errors is not None:
        return RejectedTooMany(violations, max_errors=max_errors)
    is_unreadable = any(kind in UNREADABLE for kind, _, _ in violations.counts)
    return InputUnreadable(violations) if is_unreadable else ConstraintViolated(violations)


def _found_together(load: StagedLoad, checks: LoadChecks) -> list[SetViolation]:
    return checks.without(NO_ROWS).violations(rejected=_rejected_types(load))


def _rejected_types(load: StagedLoad) -> TypeNames:
    return frozenset(type_name for _, type_name, _ in load.violations.counts)
