"""What is wrong with a file that a person configured the command line with."""

from dataclasses import dataclass
from typing import ClassVar

from omnigraph.base.errors.tree import InputError

__all__ = ["ConfigurationInvalid"]


@dataclass(eq=False)
class ConfigurationInvalid(InputError):
    """A file of the configuration can't be used as it is."""

    code: ClassVar[str] = "invalid_configuration"
    file: str
    line: int | None
    """None where the file as a whole is meant."""
    column: int | None
    rule: str
    """A sentence of its own: subject, verb, and how it must be."""
    advice: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(each) for each in (self.file, self.line, self.column) if each)
        return f"{place}: {self.rule}"

    @property
    def hint(self) -> str | None:
        return self.advice
