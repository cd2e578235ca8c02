"""Arguments that mean nothing whatever the graph is: refused by name, before anything is asked."""

from collections.abc import Iterable
from typing import Any

from omnigraph.base.errors import ArgumentInvalid

__all__ = ["check_cancel", "check_limit", "check_request_id", "check_text", "names_in"]


MAX_REQUEST_ID_CHARACTERS = 255


def check_text(argument: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise ArgumentInvalid(argument=argument, value=str(value), rule="it must be text")


def check_request_id(value: object) -> None:
    """Refuse what could not be a header or a file name somewhere on its way."""
    check_text("request_id", value)
    if value is None:
        return
    is_plain = str(value).isascii() and str(value).isprintable() and str(value).strip() == value
    if not (value and is_plain and len(str(value)) <= MAX_REQUEST_ID_CHARACTERS):
        rule = f"it must be 1 to {MAX_REQUEST_ID_CHARACTERS} printable ASCII characters"
        raise ArgumentInvalid(argument="request_id", value=str(value), rule=rule)


def names_in(argument: str, given: Any) -> tuple[str, ...] | None:
    """Names as a caller gives them: one may stand for a list of one. Raises for what is none."""
    if given is None:
        return None
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    names = tuple(given) if is_list else (given,)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentInvalid(argument, str(name), "it must be a name")
    return names


def check_cancel(cancel: object) -> None:
    """Refuse what nobody could set while the work is going on."""
    if cancel is not None and not hasattr(cancel, "is_set"):
        rule = "pass a threading.Event, and set it to end the work"
        raise ArgumentInvalid(argument="cancel", value=str(cancel), rule=rule)


def check_limit(argument: str, value: object) -> None:
    """Refuse a limit that no amount could reach or keep: a negative one, NaN, no number."""
    if value is None:
        return
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    if not is_amount:  # NaN is none either
        rule = "pass a number that is not negative, or None for the usual limit"
        raise ArgumentInvalid(argument=argument, value=str(value), rule=rule)
