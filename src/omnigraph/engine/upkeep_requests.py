"""What a caller wants done to a graph as a whole, as frozen values."""

from typing import ClassVar

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN
from omnigraph.base.keeping import DEFAULT_KEEP, Duration, duration_s
from omnigraph.engine.gate import Action, Where

__all__ = ["Cleanup", "Repair"]

# A query of another process may go on reading a commit that is not the newest any more.
READERS_GRACE_S = 3_600.0
# A load, a merge or an index build writes files for as long as this before it names them.
WRITERS_GRACE_S = 86_400.0


@frozen(kw_only=True)
class Cleanup:
    action: ClassVar[Action] = Action.ADMIN

    keep: int = DEFAULT_KEEP
    older_than: Duration | None = None
    grace: Duration | None = None
    dry_run: bool = False
    confirm: bool = False
    actor: str | None = None

    @property
    def where(self) -> Where | None:
        """It is about all branches, and main stands for them."""
        return Where(MAIN)

    def __post_init__(self) -> None:
        if not isinstance(self.keep, int) or isinstance(self.keep, bool) or self.keep < 1:
            rule = "it must be a whole number from 1 up: a branch's newest commit always stays"
            raise ArgumentInvalid(argument="keep", value=str(self.keep), rule=rule)
        for argument in ("older_than", "grace"):
            if (value := getattr(self, argument)) is not None:
                duration_s(argument, value)
        if not self.dry_run and not self.confirm:
            raise ArgumentInvalid(
                argument="confirm",
                value=None,
                rule="a cleanup removes the rows of old commits for good",
                advice="confirm it, or look first with a dry run",
            )

    @property
    def readers_grace_s(self) -> float:
        """How long a commit stays that is not the newest any more."""
        given = READERS_GRACE_S if self.grace is None else duration_s("grace", self.grace)
        age = 0.0 if self.older_than is None else duration_s("older_than", self.older_than)
        return max(given, age)

    @property
    def writers_grace_s(self) -> float:
        """How long a file stays that no commit names."""
        return WRITERS_GRACE_S if self.grace is None else duration_s("grace", self.grace)


@frozen(kw_only=True)
class Repair:
    action: ClassVar[Action] = Action.ADMIN

    confirm: bool = False
    force: bool = False
    actor: str | None = None

    @property
    def where(self) -> Where | None:
        """As of a cleanup."""
        return Where(MAIN)

    def __post_init__(self) -> None:
        if self.force and not self.confirm:
            raise ArgumentInvalid(
                argument="force",
                value=str(self.force),
                rule="it publishes rows that no commit meant",
                advice="look at the findings first, then confirm it too",
            )
