"""Walks that fail: found, cut down to the steps that matter, and told as a program."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum

from tests.model.statements import Rows
from tests.model.steps import Crash, Elsewhere, Load, Mutate, Step
from tests.model.walk import Ground, Walk
from tests.model.wanderer import Wanderer


@dataclass(frozen=True)
class Failure:
    steps: tuple[Step, ...]
    """As far as it came; the last one is that after which they disagreed."""
    error: Exception


def wander(ground: Ground, seed: int, steps: int) -> Failure | None:
    """Take so many steps of the walk with this number."""
    wanderer = Wanderer(seed, has_process=ground.elsewhere is not None)
    return _run(ground, lambda walk: (wanderer.next(walk.model) for _ in range(steps)))


def retrace(ground: Ground, steps: Sequence[Step]) -> Failure | None:
    return _run(ground, lambda _: iter(steps))


def _run(ground: Ground, steps_of: Callable[[Walk], Iterator[Step]]) -> Failure | None:
    walk = Walk(ground)
    taken: list[Step] = []
    try:
        for step in steps_of(walk):
            taken.append(step)
            walk.take(step)
        walk.look_at_everything()
    except Exception as error:  # noqa: BLE001  # whatever goes wrong is what we look for
        return Failure(tuple(taken), error)
    return None


def cut_down(
    failure: Failure, fails: Callable[[Sequence[Step]], Failure | None], *, seconds: float
) -> Failure:
    """Leave out what the failure does not need: first many steps at once, then parts of steps."""
    end = time.monotonic() + seconds

    def attempt(steps: Sequence[Step]) -> bool:
        nonlocal failure
        if time.monotonic() > end:
            return False
        found = fails(steps)
        if found is not None:
            failure = found
        return found is not None

    size = max(len(failure.steps) // 2, 1)
    while size:
        start = len(failure.steps) - size
        while start > -size:
            before, after = failure.steps[: max(start, 0)], failure.steps[start + size :]
            attempt((*before, *after))
            start -= size
        size //= 2
    is_smaller = True
    while is_smaller:
        is_smaller = any(
            attempt((*failure.steps[:place], simpler, *failure.steps[place + 1 :]))
            for place in range(len(failure.steps))
            for simpler in _simpler(failure.steps[place])
        )
    return failure


def _simpler(step: Step) -> Iterator[Step]:
    match step:
        case Elsewhere(step=inside) | Crash(step=inside):
            yield inside
            if isinstance(step, Elsewhere) and step.is_process:
                yield replace(step, is_process=False)
        case Mutate(statements=several) if len(several) > 1:
            for left_out in several:
                yield replace(step, statements=tuple(s for s in several if s is not left_out))
        case Load(rows=rows):
            for name in (each.name for each in fields(rows)):
                held = getattr(rows, name)
                for size in (len(held), len(held) // 2, 1):
                    for start in range(0, len(held), size or 1):
                        less = replace(rows, **{name: held[:start] + held[start + size :]})
                        if less not in (rows, Rows()):
                            yield replace(step, rows=less)
        case _:
            pass


def told(failure: Failure) -> str:
    """The failure as a program that shows it again."""
    steps = "".join(f"    {_spelled(step)},\n" for step in failure.steps)
    return (
        f"{type(failure.error).__name__}: {failure.error}\n"
        + "".join(f"  {note}\n" for note in getattr(failure.error, "__notes__", ()))
        + "\nfrom omnigraph.base.failpoints import Failpoint\n"
        "from tests.model.failing import *\nfrom tests.model.merge_steps import *\n"
        "from tests.model.schema_steps import *\nfrom tests.model.statements import *\n"
        f"from tests.model.steps import *\n\nsteps = [\n{steps}]\n"
        'print(retrace(Ground("an/empty/place"), steps))\n'
    )


def _spelled(value: object) -> str:
    """A value as one would write it: without names of fields, and without what is left out."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, tuple):
        return f"({''.join(f'{_spelled(each)}, ' for each in value).strip()})"
    if not is_dataclass(value):
        return repr(value)
    given = [
        _spelled(held) if each.default is MISSING else f"{each.name}={_spelled(held)}"
        for each in fields(value)
        if (held := getattr(value, each.name)) != each.default
    ]
    return f"{type(value).__name__}({', '.join(given)})"
