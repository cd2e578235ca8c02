"""The root of the error tree and its branches, named by what the caller can do."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

__all__ = [
    "ConflictError",
    "DeniedError",
    "InputError",
    "LimitError",
    "MissingError",
    "OmnigraphError",
    "RecoveryError",
    "StorageError",
]


@dataclass(eq=False)
class OmnigraphError(Exception):
    """Anything that can go wrong and that a caller can do something about."""

    code: ClassVar[str] = "internal"

    def __post_init__(self) -> None:
        # A traceback shows notes below the message. So a caller that does not catch the error sees
        # the place it points at, and the hint.
        if beside := self.render().removeprefix(f"error: {self.message}").strip("\n"):
            self.add_note(beside)

    @property
    def message(self) -> str:
        """One sentence: what was wrong, and where."""
        return str(self)

    @property
    def hint(self) -> str | None:
        """What to do next."""
        return None

    @property
    def details(self) -> dict[str, Any]:
        """The fields, as values that JSON can carry."""
        return {f.name: _json_safe(getattr(self, f.name)) for f in fields(self)}

    def render(self) -> str:
        """The error as a person reads it in a terminal."""
        return f"error: {self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")

    def to_json(self) -> dict[str, Any]:
        return {
            "error": self.message,
            "code": self.code,
            "details": self.details,
            "hint": self.hint,
        }

    # An exception made with keywords does not unpickle by itself, and errors cross from Spark's
    # workers to the driver.
    def __reduce__(self) -> tuple[Callable[..., "OmnigraphError"], tuple[Any, ...]]:
        return _rebuild, (type(self), {f.name: getattr(self, f.name) for f in fields(self)})


class InputError(OmnigraphError):
    """Fix the input."""


class MissingError(OmnigraphError):
    """Check the name."""

    code: ClassVar[str] = "not_found"


class DeniedError(OmnigraphError):
    """Ask for the right."""


class ConflictError(OmnigraphError):
    """Read again, then retry."""


class StorageError(OmnigraphError):
    """The outcome may be unknown: look before you retry."""


class LimitError(OmnigraphError):
    """Ask for less."""


class RecoveryError(OmnigraphError):
    """An operator decides."""


def _rebuild(cls: type[OmnigraphError], values: dict[str, Any]) -> OmnigraphError:
    return cls(**values)


def _json_safe(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(k): _json_safe(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_safe(v) for v in value]
    return str(value)
