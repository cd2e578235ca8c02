"""Errors on their way: the class by its name, and its fields. The same error is raised there."""

from typing import Any

from omnigraph.base import errors
from omnigraph.base.errors import OmnigraphError
from omnigraph.surfaces.crossing.values import TAG, Unreadable, read_value, written_value

__all__ = ["error_from_wire", "error_to_wire"]


def error_to_wire(error: OmnigraphError) -> dict[str, Any]:
    written: dict[str, Any] = written_value(error)
    return written


def error_from_wire(found: Any) -> OmnigraphError:
    """The error that was raised there; raises Unreadable where it can't be told."""
    name = found.get(TAG) if isinstance(found, dict) else None
    if name not in errors.__all__:
        raise Unreadable(f"no error is called {name}")
    kind = getattr(errors, str(name))
    if not (isinstance(kind, type) and issubclass(kind, OmnigraphError)):
        raise Unreadable(f"{name} is no error")
    error: OmnigraphError = read_value(kind, found, is_lenient=True)
    return error
