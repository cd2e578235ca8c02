"""Files of a user's own that can't be used: all that is wrong with them, each with its place."""

from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors.language import MOST_SHOWN, Diagnostic
from omnigraph.base.errors.tree import InputError
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText
from omnigraph.base.words import amount, clipped

__all__ = ["FileFinding", "FilesInvalid"]


@frozen
class FileFinding:
    """One thing that is wrong, and the file it stands in."""

    source: SourceText
    diagnostic: Diagnostic
    rule: str | None = None
    """The id of the rule of a policy that it is about, if it is about one."""

    @property
    def position(self) -> str:
        span = self.diagnostic.span
        return f"{self.source.name}:{span.line}:{span.column}"

    @property
    def line(self) -> str:
        """The rule, where it stands and what is wrong, for those who may read the file."""
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
class FilesInvalid(InputError):
    """Files can't be used; all that was found wrong arrives together."""

    findings: tuple[FileFinding, ...]

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
