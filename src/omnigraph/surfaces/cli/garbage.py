"""When Python looks for garbage: not while a command is imported.

A command needs a hundred thousand objects that are imported and stay. To look for garbage among
them again and again takes a tenth of a second, as long as a small query.
"""

import gc

__all__ = ["put_off", "settle"]

WHILE_IMPORTING = 1_000_000
"""So many new objects make Python look for garbage; a command imports fewer."""


def put_off() -> None:
    """Look for hardly any garbage, until `settle`."""
    gc.set_threshold(WHILE_IMPORTING)


def settle() -> None:
    """What is there now was imported and stays. Look for garbage in what comes, as Python does."""
    if gc.get_threshold()[0] == WHILE_IMPORTING:
        gc.freeze()
        gc.set_threshold(700)
