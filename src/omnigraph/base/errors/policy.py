"""What a policy says no to, and policies that can't be used as they are written."""

from dataclasses import dataclass
from typing import Any, ClassVar

from omnigraph.base.errors.language import MOST_SHOWN, Diagnostic
from omnigraph.base.errors.tree import ConflictError, DeniedError, InputError
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.words import amount, clipped

__all__ = ["PolicyDenied", "PolicyFinding", "PolicyInTheWay", "PolicyInvalid"]


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


@frozen
class PolicyFinding:
    """One thing that is wrong with a bundle, and the file it stands in."""

    source: SourceText
    diagnostic: Diagnostic
    rule: str | None = None
    """The id of the rule; None: it is about the files."""

    @property
    def position(self) -> str:
        span = self.diagnostic.span
        return f"{self.source.name}:{span.line}:{span.column}"

    @property
    def line(self) -> str:
        """The rule, where it stands and what is wrong, for those who may read the policy."""
        found = self.diagnostic
        who = f"rule {clipped(self.rule)} at " if self.rule is not None else ""
        return f"{who}{self.position}: {found.message} [{found.code}]"

    def to_json(self) -> dict[str, Any]:
        return {"file": self.source.name, **self.diagnostic.to_json()}

    def render(self) -> str:
        found = self.diagnostic
        hint = f"\n  hint: {found.hint}" if found.hint else ""
        return f"error[{found.code}]: {found.message}\n{self.source.point_at(found.span)}{hint}"


@dataclass(eq=False)
class PolicyInvalid(InputError):
    """A policy can't be used: all that is wrong with its files, or with a schema they don't fit."""

    code: ClassVar[str] = "policy_invalid"
    findings: tuple[PolicyFinding, ...]

    def __str__(self) -> str:
        first, more = self.findings[0], len(self.findings) - 1
        said = f"{first.position}: {first.diagnostic.code}: {first.diagnostic.message}"
        return said + (f" (and {more} more)" if more else "")

    @property
    def hint(self) -> str | None:
        return self.findings[0].diagnostic.hint

    @property
    def details(self) -> dict[str, Any]:
        return {
            **self.findings[0].to_json(),
            "findings": [finding.to_json() for finding in self.findings],
        }

    def render(self) -> str:
        shown = [finding.render() for finding in self.findings[:MOST_SHOWN]]
        more = len(self.findings) - MOST_SHOWN
        return "\n".join(shown) + (f"\nand {amount(more, 'error')} more" if more > 0 else "")


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
