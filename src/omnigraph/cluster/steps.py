"""The places of an apply where a process may die, and how a test makes it die there."""

from enum import Enum
from typing import Protocol

__all__ = ["NEVER", "ApplyFaults", "ApplyPoint"]


class ApplyPoint(Enum):
    """In the order in which an apply passes them."""

    AFTER_LOCK = "after_lock"
    """The lock is taken; nothing else has happened."""
    AFTER_ARM = "after_arm"
    """The note of what is about to be done is durable: the next apply knows what was begun."""
    AFTER_CREATE_1 = "after_create_1"
    """The first new graph is there; the ledger does not know it."""
    AFTER_CREATE_ALL = "after_create_all"
    AFTER_MIGRATE_1 = "after_migrate_1"
    """The first graph has its new schema; the ledger has the old one."""
    AFTER_MIGRATE_ALL = "after_migrate_all"
    AFTER_TEXTS = "after_texts"
    """All texts of the new revision are stored; nobody names them."""
    AFTER_LEDGER = "after_ledger"
    """The new revision is what servers serve; it has no copy yet."""
    AFTER_COPY = "after_copy"
    """The copy of the new ledger is there; deleted graphs still lie there."""
    AFTER_DELETE_1 = "after_delete_1"
    AFTER_DELETE_ALL = "after_delete_all"
    AFTER_DISARM = "after_disarm"
    """All is done; only the lock is still held."""


class ApplyFaults(Protocol):
    def reach(self, point: ApplyPoint) -> None: ...


class _Never:
    def reach(self, point: ApplyPoint) -> None:
        pass


NEVER: ApplyFaults = _Never()
