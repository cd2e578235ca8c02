"""`Explanation`: the plan of a query as a value, step by step. Printed, it is a table of lines."""

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.base.words import amount
from omnigraph.lang.plan.explain import PlanLine, plan_lines
from omnigraph.lang.plan.ir import CompiledQuery
from omnigraph.read.profile import Measured

__all__ = ["Explanation", "PlanStep", "explanation_of"]


@frozen
class PlanStep:
    """One line of a plan: an operator, or a statement of a mutation."""

    depth: int
    """How many operators the step stands under; those above ask it."""
    operator: str
    text: str
    """The whole line, operator included."""
    rows_expected: float | None = None
    """A guess from the sizes of the tables; None where there is none."""
    rows: int | None = None
    """Rows that came, if the query was run. The next three fields are measured too."""
    rows_of_pattern: int | None = None
    """More than `rows` where equal rows were counted instead of made."""
    bytes: int | None = None
    """None also under a policy that may hide rows: how rows are packed in memory depends on their
    neighbours."""
    ms: float | None = None
    """Milliseconds, without the steps below."""
    notes: tuple[str, ...] = ()
    """What a search or a ranking looked at, if the query was run; on Spark, what a step becomes."""


@frozen(repr=False)
class Explanation:
    """A plan. `graph_commit_id` is None where it was made for a schema, without a graph."""

    query_name: str
    graph_commit_id: CommitId | None
    is_analyzed: bool
    """The query was run: the steps say how many rows came in what time."""
    steps: tuple[PlanStep, ...]

    def __str__(self) -> str:
        lines = ["    " * step.depth + step.text for step in self.steps]
        width = max((len(line) for line in lines), default=0)
        notes = [self._note(step) for step in self.steps]
        pairs = zip(lines, notes, strict=True)
        return "\n".join(f"{line:{width}}  {note}" if note else line for line, note in pairs)

    def __repr__(self) -> str:
        return f"<Explanation of {self.query_name}: {amount(len(self.steps), 'step')}>"

    def _repr_html_(self) -> str:
        """A table for a notebook; where the query was run, with a bar for the time of each step."""
        from omnigraph.engine.notebook.plan import ShownStep, plan_html

        total = sum(step.ms or 0.0 for step in self.steps)
        of = f"the plan of {self.query_name}"
        if not self.is_analyzed:
            steps = [ShownStep(s.depth, s.text, [_rows_expected(s)]) for s in self.steps]
            return plan_html(["rows expected"], steps, of)
        columns = ["rows expected", "rows", "bytes", "ms", "notes"]
        ran = [
            ShownStep(
                s.depth, s.text, _measured(s), None if s.ms is None else s.ms / (total or 1.0)
            )
            for s in self.steps
        ]
        return plan_html(columns, ran, f"{of}: {total:.3f} ms in all")

    def _note(self, step: PlanStep) -> str:
        noted = "".join(f"  ({note})" for note in step.notes)
        if step.rows is None:
            has_guess = step.rows_expected is not None and not self.is_analyzed
            guess = f"~{_short(step.rows_expected or 0.0)} rows" if has_guess else ""
            return f"{guess}{noted}".strip()
        is_counted = step.rows_of_pattern != step.rows
        paths = f" for {step.rows_of_pattern:,}" if is_counted else ""
        size = "" if step.bytes is None else f"{_size(step.bytes):>7}  "
        found = f"{step.ms:9.3f} ms  {size}{step.rows:,} rows{paths}"
        return f"~{_short(step.rows_expected or 0.0):>6} rows  {found}{noted}"


def _rows_expected(step: PlanStep) -> str:
    return "" if step.rows_expected is None else f"~{_short(step.rows_expected)}"


def _measured(step: PlanStep) -> list[str]:
    """What stands beside a step that was run."""
    if step.rows is None:
        return [_rows_expected(step), "", "", "", ""]
    paths = f" for {step.rows_of_pattern:,}" if step.rows_of_pattern != step.rows else ""
    size = "" if step.bytes is None else _size(step.bytes)
    took = f"{step.ms:.3f}" if step.ms is not None else ""
    return [_rows_expected(step), f"{step.rows:,}{paths}", size, took, "; ".join(step.notes)]


def explanation_of(
    query: CompiledQuery,
    commit: CommitId | None = None,
    *,
    expected: Mapping[int, float] | None = None,
    measured: Mapping[int, Measured] | None = None,
    notes: Mapping[int, str] | None = None,
    tells_bytes: bool = True,
) -> Explanation:
    """The plan, with the rows to expect, what was measured and notes, by identity of operators."""
    steps = tuple(
        _step(line, expected or {}, measured or {}, notes or {}) for line in plan_lines(query)
    )
    if not tells_bytes:
        steps = tuple(replace(step, bytes=None) for step in steps)
    return Explanation(query.name, commit, is_analyzed=measured is not None, steps=steps)


def _step(
    line: PlanLine,
    expected: Mapping[int, float],
    measured: Mapping[int, Measured],
    notes: Mapping[int, str],
) -> PlanStep:
    operator = line.text.split(maxsplit=1)[0]
    guess, found = expected.get(id(line.op)), measured.get(id(line.op))
    if found is None:
        note = notes.get(id(line.op))
        noted = () if note is None else (note,)
        return PlanStep(line.depth, operator, line.text, guess, notes=noted)
    return PlanStep(
        line.depth,
        operator,
        line.text,
        guess,
        rows=found.rows,
        rows_of_pattern=found.stands_for,
        bytes=found.nbytes,
        ms=found.seconds * 1000,
        notes=found.notes,
    )


def _size(count: int) -> str:
    return f"{_short(count) if count else '0'}B"


def _short(number: float) -> str:
    """Guesses have no more than two digits that mean anything."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:{'.2g' if number < 100 * size else '.0f'}}{unit}"
    return f"{number:.0f}" if number >= 1 else "<1"
