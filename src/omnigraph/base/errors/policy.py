"""What a policy says no to, and policies that can't be used as they are written."""

from dataclasses import dataclass
from typing import ClassVar

from omnigraph.base.errors.findings import FilesInvalid
from omnigraph.base.errors.tree import ConflictError, DeniedError
from omnigraph.base.words import clipped

__all__ = ["PolicyDenied", "PolicyInTheWay", "PolicyInvalid", "SparkNotAllowed"]


@dataclass(eq=False)
class PolicyDenied(DeniedError):
    """The policy does not let this actor do this.

    The text goes to the actor. So it says what was asked, and never which rule, type, property or
    row stood in the way: a hidden thing must not be known by the refusal either.
    """

    code: ClassVar[str] = "policy_denied"
    action: str
    """In the words of policies: `read`, `branch_merge`."""
    actor: str | None = None
    branch: str | None = None
    target_branch: str | None = None
    """Where a merge goes."""
    reason: str | None = None
    """What the actor may know of it, as a clause."""

    def __str__(self) -> str:
        asked = clipped(self.action)
        if self.branch is not None:
            asked += f" on branch {clipped(self.branch)}"
        if self.target_branch is not None:
            asked += f" into {clipped(self.target_branch)}"
        if self.actor is None:
            return f"the policy denies {asked}: no actor is named"
        because = "" if self.reason is None else f": {self.reason}"
        return f"the policy denies {asked} to {clipped(self.actor)}{because}"

    @property
    def hint(self) -> str | None:
        if self.actor is None:
            return "name an actor: actor= in Python, --as on the command line"
        return "ask the owner of the policy; omnigraph policy explain shows its rules to them"


@dataclass(eq=False)
class SparkNotAllowed(DeniedError):
    """Work on Spark was asked of a server where no caller may start Spark."""

    code: ClassVar[str] = "spark_not_allowed"

    def __str__(self) -> str:
        return "this server starts no Spark session for its callers"

    @property
    def hint(self) -> str | None:
        return (
            "leave out the engine, or use engine local; the server allows Spark with --allow-spark "
            "if it needs no tokens, else with a policy that gives the right run_spark"
        )


@dataclass(eq=False)
class PolicyInvalid(FilesInvalid):
    """A policy can't be used: all that is wrong with its files, or with a schema they don't fit."""

    code: ClassVar[str] = "policy_invalid"


@dataclass(eq=False)
class PolicyInTheWay(ConflictError):
    """The policy that the graph is opened with would not fit a schema, and nothing could be seen.

    It is told to those who may change the schema, and they see everything.
    """

    code: ClassVar[str] = "policy_in_use"
    rules: tuple[str, ...]
    """Each rule that would not fit, where it stands and why."""

    def __str__(self) -> str:
        more = f" (and {len(self.rules) - 1} more)" if len(self.rules) > 1 else ""
        return f"the policy would not fit this schema, {self.rules[0]}{more}"

    @property
    def hint(self) -> str | None:
        return (
            "nothing was written: take the rule out of the policy first; or open the graph without "
            "the policy, apply the schema, and open it with a policy that names what is there then"
        )
