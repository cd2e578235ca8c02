"""The ledger: what was applied, as one small file that nobody edits.

Its checksum covers all the rest. So a change by hand, or half of a file, is told instead of obeyed.
"""

import datetime
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.cluster.resources import Address, Entry, canonical, digest_of

__all__ = ["Ledger", "LedgerUnreadable", "utc_text"]

FORMAT = 1


class LedgerUnreadable(Exception):
    """The bytes are no ledger; the text says why."""


@frozen
class Ledger:
    cluster: str = ""
    revision: int = 0
    """How many applies have changed something; 0: none has."""
    applied_at: str | None = None
    applied_by: str | None = None
    plan: str | None = None
    """The digest of the plan that was applied last."""
    resources: Mapping[Address, Entry] = field(default_factory=dict)

    @property
    def graphs(self) -> tuple[str, ...]:
        kind = "graph."
        return tuple(sorted(a.removeprefix(kind) for a in self.resources if a.startswith(kind)))

    def to_bytes(self) -> bytes:
        body = {
            "format": FORMAT,
            "cluster": self.cluster,
            "revision": self.revision,
            "applied_at": self.applied_at,
            "applied_by": self.applied_by,
            "plan": self.plan,
            "resources": {a: self.resources[a].to_json() for a in sorted(self.resources)},
        }
        whole = {**body, "checksum": digest_of(canonical(body))}
        return json.dumps(whole, indent=2, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def of_bytes(cls, data: bytes) -> "Ledger":
        """Raises `LedgerUnreadable`."""
        try:
            stored: Any = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise LedgerUnreadable("it is no JSON") from error
        if not isinstance(stored, dict):
            raise LedgerUnreadable("it is no JSON object")
        if isinstance(stored.get("format"), int) and stored["format"] > FORMAT:
            raise LedgerUnreadable("it was written by a newer OmniGraph")
        checksum = stored.pop("checksum", None)
        try:
            is_whole = checksum == digest_of(canonical(stored))
        except (ValueError, RecursionError):
            is_whole = False
        if not is_whole:
            raise LedgerUnreadable("its checksum is another one, so it was changed by hand")
        try:
            return cls(
                cluster=stored["cluster"],
                revision=stored["revision"],
                applied_at=stored["applied_at"],
                applied_by=stored["applied_by"],
                plan=stored["plan"],
                resources={a: Entry(**entry) for a, entry in stored["resources"].items()},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise LedgerUnreadable(f"it lacks something: {error}") from error


def utc_text(now_ms: int) -> str:
    """A time as the ledger writes it: UTC, to the second."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
