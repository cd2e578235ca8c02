"""What a load came to, for a person: how much of each type, and what was rejected and why."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.base.words import amount
from omnigraph.surfaces.cli.output import print_table, say
from omnigraph.surfaces.cli.words import as_typed

if TYPE_CHECKING:
    from omnigraph.base.row_counts import RowCounts
    from omnigraph.base.violations import Rule, Violations
    from omnigraph.engine.results import LoadResult

__all__ = ["print_rejected", "say_loaded"]

RAN = {"local": "in this process", "spark": "on Spark"}

ROWS_TO_RATE = 10_000
"""Of fewer rows, the time is that of the commit, and a rate says nothing."""


def say_loaded(result: "LoadResult") -> None:
    if result.is_repeat:
        assert result.commit is not None
        say(f"{result.load_id} was loaded before: commit {result.commit.graph_commit_id}")
        if result.quarantine is not None:
            say(f"the rows that it rejected: {result.quarantine}")
        return
    for name, counts in result.rows.items():
        say(f"  {name}: {_counted(counts)}")
    if result.resumed_tasks:
        say(f"  {result.resumed_tasks:,} of {amount(result.tasks, 'task')} had been done before")
    if result.violations is not None:
        print_rejected(result.violations)
        would_be = "would be " * result.dry_run
        rows = f"{result.rejected:,} of {amount(result.read, 'row')}"
        say(f"{rows} {would_be}rejected: {result.quarantine}")
    if result.engine is not None:
        say(f"  ran {RAN[result.engine]}: {result.engine_reason}")
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in result.seconds.items())
    working_s = sum(seconds for phase, seconds in result.seconds.items() if phase != "start")
    if result.read >= ROWS_TO_RATE:
        phases += f"; {result.read / working_s:,.0f} rows a second"
    entities = amount(result.total_entities, "entity")
    if result.dry_run:
        say(f"would load {entities}; nothing was published ({phases})")
    else:
        done = "as one commit" if result.commit is not None else "and nothing changed"
        say(f"loaded {entities} {done} ({phases})")
    for hint in result.hints:
        say(f"  hint: {as_typed(hint)}")
    if result.engine == "spark" and result.seconds["start"] > working_s:
        say("  hint: starting Spark took longer than the rows; --engine local does without it")


def _counted(counts: "RowCounts") -> str:
    """`3 inserted, 1 unchanged`: what there is of each."""
    of_each = {
        "inserted": counts.inserted,
        "updated": counts.updated,
        "unchanged": counts.unchanged,
        "removed before": counts.removed,
    }
    return ", ".join(f"{count:,} {what}" for what, count in of_each.items() if count) or "0"


def print_rejected(violations: "Violations", *, short: bool = False) -> None:
    """How often each rule was broken, and where first; in `short`, without directories."""
    first: dict[Rule, str] = {}
    for violation in violations.examples:
        rule = violation.rule
        if short and violation.file is not None:
            violation = replace(violation, file=Path(violation.file).name)
        first.setdefault(rule, str(violation))
    print_table(
        ["count", "kind", "of", "first"],
        (
            [count, rule[0], ".".join(part for part in rule[1:] if part) or None, first.get(rule)]
            for rule, count in sorted(
                violations.counts.items(), key=lambda one: (-one[1], str(one))
            )
        ),
        may_shorten=False,
    )
