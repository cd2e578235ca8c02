"""Turns of a load: which driver it belongs to, told by objects that only one driver can make.

Each driver that goes on with a load takes the next turn. A turn is never written again: when its
object is gone the load has ended, and nothing brings it back.
"""

import hashlib
import json
import os
import re
import socket
import threading
import unicodedata
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from omnigraph.base.errors import ArgumentInvalid, LoadUnderWay
from omnigraph.pipeline.staging.quarantine import Quarantine
from omnigraph.store.layout import STAGING
from omnigraph.store.objects import Objects

__all__ = [
    "LoadRecord",
    "check_load_id",
    "claimed",
    "find_record",
    "folder_of",
    "forget_turns",
    "is_there",
    "staged_loads",
    "this_process",
]

# What people and jobs call a load, with room to spare: it is part of its commit for ever.
LONGEST_ID = 1_000

# A file's name has at most 255 bytes, and a turn's adds its number and an ending.
LONGEST_NAME, SHOWN = 200, 80

# After how long without a word a driver on another machine is taken for dead.
SILENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """Whose a load is: what `__staging/{load_id}.{turn}.json` says. It is written once.

    Each driver that goes on with a load takes the next turn, and only one can take it.
    """

    load_id: str
    turn: int
    owner: str
    is_named: bool
    """Whether the caller named it: only then its commit tells that it was published."""
    mode: str
    branch: str
    base_commit: str
    parallelism: int
    """What the input was cut for: cut for another number, its pieces would be others."""
    host: str
    boot: str
    pid: int
    started: str
    """With the process id it tells a process from all others that the machine has run."""
    began_ms: int
    quarantine: Quarantine | None = None
    others_may_live: bool = False
    """An earlier driver was taken for dead because it was silent, and may yet publish."""
    has_left: bool = False
    """Its driver lives on and is done with it: whoever wants to may go on at once."""
    is_over: bool = False
    """Nobody goes on with it: what its tasks have left is being removed."""

    @property
    def name(self) -> str:
        return f"{folder_of(self.load_id)}.{self.turn}.json"

    @property
    def heartbeat(self) -> str:
        return f"{folder_of(self.load_id)}.{self.turn}.alive"

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def is_surely_dead(self) -> bool:
        """Whether its driver has run here and has ended, or has let go of it."""
        if self.is_over or self.has_left:
            return True
        if not self._is_from_here():
            return False
        if self.pid == os.getpid():
            # A load that ended in some way that nobody foresaw is not under way either.
            return all(thread.name != self.owner for thread in threading.enumerate())
        return _started(self.pid) != self.started

    def require_dead(self, objects: Objects, now_ms: int) -> None:
        """Raise if its driver may still be at work. One that runs here is, however silent."""
        if self.is_surely_dead():
            return
        beat = objects.get(self.heartbeat)
        is_silent = now_ms - (self.began_ms if beat is None else int(beat)) > SILENCE_S * 1000
        if not is_silent or self._is_from_here():
            raise LoadUnderWay(load_id=self.load_id, host=self.host, pid=self.pid)

    def taken_over(self, *, owner: str, now_ms: int) -> "LoadRecord":
        """The next turn, of this process."""
        return replace(
            self,
            turn=self.turn + 1,
            owner=owner,
            others_may_live=self.others_may_live or not self.is_surely_dead(),
            has_left=False,
            is_over=False,
            began_ms=now_ms,
            **this_process(),
        )

    def _is_from_here(self) -> bool:
        return (self.host, self.boot) == (socket.gethostname(), _boot())


def find_record(objects: Objects, load_id: str) -> LoadRecord | None:
    """The last turn of a load."""
    turns = [_record_at(objects, name) for name in _turns(objects, load_id)]
    return max((turn for turn in turns if turn), key=lambda turn: turn.turn, default=None)


def staged_loads(objects: Objects) -> tuple[str, ...]:
    """The loads with a name that have a record: under way, or left behind."""
    names = [name for name in objects.list(STAGING) if name.endswith(".json")]
    found = [record for name in names if (record := _record_at(objects, name)) is not None]
    return tuple(sorted({record.load_id for record in found if record.is_named}))


def claimed(objects: Objects, record: LoadRecord, before: LoadRecord | None) -> LoadRecord:
    """Take the turn, unless another driver was quicker."""
    if not objects.put_if_absent(record.name, record.to_json()):
        other = _record_at(objects, record.name) or record
        raise LoadUnderWay(load_id=record.load_id, host=other.host, pid=other.pid)
    if before is not None and not is_there(objects, before):
        # It has ended in the meantime, and what it had staged is gone or published.
        objects.delete(record.name)
        raise LoadUnderWay(load_id=record.load_id, host=before.host, pid=before.pid)
    return record


def is_there(objects: Objects, record: LoadRecord) -> bool:
    there = _record_at(objects, record.name)
    return there is not None and there.owner == record.owner


def _record_at(objects: Objects, name: str) -> LoadRecord | None:
    data = objects.get(name)
    if data is None:
        return None
    told = json.loads(data)
    quarantine = told["quarantine"]
    return LoadRecord(**{**told, "quarantine": quarantine and Quarantine(**quarantine)})


def folder_of(load_id: str) -> str:
    """Where the tasks of a load leave accounts, and how its records begin: no two loads' alike."""
    # Dots too: a name of dots alone would lead elsewhere, and `a.0.json` is a record of `a`.
    name = quote(load_id, safe="").replace(".", "%2E").replace("~", "%7E")
    if len(name) > LONGEST_NAME:
        name = f"{name[:SHOWN]}~{hashlib.sha256(load_id.encode()).hexdigest()}"
    return f"{STAGING}/{name}"


def check_load_id(load_id: str) -> None:
    """Refuse a name that could not be told, or kept in a commit. Any other is escaped."""
    if not 0 < len(load_id) <= LONGEST_ID:
        rule = f"it has at least one character and at most {LONGEST_ID:,}"
    elif any(unicodedata.category(letter) in ("Cc", "Cs") for letter in load_id):
        rule = "it has no control characters and no halves of surrogate pairs"
    else:
        return
    shown = load_id[:SHOWN].encode("unicode_escape").decode()
    raise ArgumentInvalid(argument="load_id", value=shown, rule=rule)


def _turns(objects: Objects, load_id: str) -> list[str]:
    """Names of the records of a load, in no order."""
    mine = re.compile(re.escape(folder_of(load_id)) + r"\.\d+\.json")
    return [name for name in objects.list(STAGING) if mine.fullmatch(name)]


def forget_turns(objects: Objects, load_id: str) -> None:
    """The last turn goes last: who finds it and no other knows that all is over."""
    names = sorted(_turns(objects, load_id), key=lambda name: int(name.rsplit(".", 2)[1]))
    for name in names:
        objects.delete(name.removesuffix(".json") + ".alive")
        objects.delete(name)


# Processes ----------------------------------------------------------------------------------------


def this_process() -> dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "boot": _boot(), "pid": pid, "started": _started(pid)}


def _boot() -> str:
    """What tells this run of the machine from another, where the system says it."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _started(pid: int) -> str | None:
    """When a process began, where the system says it; None if there is none."""
    with suppress(OSError):
        # The name, which comes before and may hold anything, ends with the last parenthesis.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return ""
