"""The quarantine: a directory of rejected rows, each with the reasons against it.

Tasks write the rows that they reject, side by side, into a directory beside the one that was asked
for. It gets its name, and the report that makes it whole, only once the load is published: what a
load that failed has written is removed, and never looks like a quarantine. A line is

    {"file": …, "line": …, "type": …, "id": …, "reasons": [{"kind": …, …}, …], "row": …}

where `row` is the input itself, untouched, or its text where that is not JSON.

Until then nothing is moved that an earlier step wrote, so that whoever comes after a driver that
died can go on: a load that is resumed takes the parts of finished tasks over (`take_over`), and of
a load that turns out to be published all that is left is to name things (`keep_if_complete`).

A driver holds a lock of the kernel in its directory for as long as it lives. So the next one knows
which directories nobody will ever need, wherever the graph is.
"""

import contextlib
import fcntl
import glob
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import ArgumentInvalid, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.base.violations import Violation
from omnigraph.pipeline.rows.conform import RejectedRow

__all__ = [
    "MAX_ERROR_ROWS",
    "Quarantine",
    "RejectedRows",
    "open_quarantine",
    "rejected_rows",
]

# A load that rejects more than this is told so unless it asks for more. The driver keeps a line's
# worth of memory for each row that only a set check rejects.
MAX_ERROR_ROWS = 100_000

REPORT = "report.json"
ORDER = "order.json"
"""The parts in the order of the input, until they have their names."""
PART = ".part"
DRIVER = "driver"
"""Locked by the driver while it lives; holds the name of its load, if it has one."""


@frozen
class Quarantine:
    """Where rejected rows go: to `partial` until the load is published, then it is `directory`."""

    directory: str
    partial: str
    max_errors: int

    def write_report(self, parts: Sequence[str], report: Mapping[str, Any]) -> None:
        """Say what is in the parts, and in which order they come."""
        with disk_failures("write", self.partial):
            path = Path(self.partial)
            for spare in path.glob(f"*{PART}"):
                # Of a task that was run twice, or of rows that an earlier driver took out.
                if spare.name not in parts:
                    spare.unlink()
            files = [_name_of_part(number) for number in range(len(parts))]
            _write_json(path / ORDER, list(parts))
            _write_json(path / REPORT, {**report, "files": files})

    def keep(self) -> str:
        """Name the parts and the directory; where its name has been taken meanwhile, one that
        begins so.

        It takes no space, and may be done again where a driver died over it.
        """
        with disk_failures("name", self.directory):
            path = Path(self.partial)
            order = json.loads((path / ORDER).read_bytes()) if (path / ORDER).exists() else ()
            for number, part in enumerate(order):
                if (path / part).exists():
                    (path / part).rename(path / _name_of_part(number))
            (path / ORDER).unlink(missing_ok=True)
            (path / DRIVER).unlink(missing_ok=True)
        try:
            return str(path.rename(self.directory))
        except OSError:
            # The load is published: its rejected rows must not be lost over a name.
            with disk_failures("name", self.directory):
                return str(path.rename(f"{self.directory}-{uuid.uuid4().hex}"))

    def keep_if_complete(self) -> str | None:
        """Name what a driver left that died when its load was published."""
        return self.keep() if (Path(self.partial) / REPORT).exists() else None

    def take_over(self, earlier: "Quarantine") -> None:
        """Go on with what the tasks of an earlier driver have written, which keeps its own."""
        with disk_failures("write", self.partial):
            for part in Path(earlier.partial).glob(f"*{PART}"):
                shutil.copy(part, self.partial)

    def has(self, parts: Sequence[str]) -> bool:
        return all((Path(self.partial) / part).exists() for part in parts)

    def drop(self) -> None:
        shutil.rmtree(self.partial, ignore_errors=True)

    def hold(self, load_id: str | None) -> TextIO:
        """Own the directory until the file that is returned is closed, or the process is gone."""
        with disk_failures("write", self.partial):
            unlocked = Path(self.partial) / f"{DRIVER}.new"
            file = unlocked.open("w", encoding="utf-8")
            file.write(load_id or "")
            file.flush()
            # Where a disk can't lock, nobody can prove that we are gone: the directory may stay.
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Only now under its name: nobody finds it without its lock.
                unlocked.rename(Path(self.partial) / DRIVER)
        return file

    def is_abandoned(self) -> bool:
        """True if the driver that made the directory is surely gone."""
        return _name_left_in(Path(self.partial)) is not None


def open_quarantine(
    directory: str, *, max_errors: int, names_like: str | None = None
) -> Quarantine:
    """A directory for rejected rows that becomes `directory`, which must not hold anything yet.

    Beside it go the directories of drivers that died before they could leave anything for others.
    They are found by their names: those of other quarantines that are called like `names_like`, or
    else like this one.
    """
    if "://" in directory:
        raise Unsupported(what=f"a quarantine at {directory}", instead="name a local directory")
    path = Path(directory).absolute()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        rule = "it must be a new or an empty directory"
        raise ArgumentInvalid(argument="quarantine", value=directory, rule=rule)
    called = f"{glob.escape(names_like)}*" if names_like else glob.escape(path.name)
    _forget_abandoned(path.parent.glob(f"{called}.partial-*"))
    partial = path.with_name(f"{path.name}.partial-{uuid.uuid4().hex}")
    with disk_failures("make", str(path)):
        partial.mkdir(parents=True)
    return Quarantine(str(path), str(partial), max_errors)


def _forget_abandoned(partials: Iterable[Path]) -> None:
    """Remove what nobody can resume and nobody has published: of loads without a name, or without
    a rejected row. The others are for the load that resumes them."""
    for left in partials:
        name = _name_left_in(left)
        is_empty = not any(left.glob(f"*{PART}"))
        if name is not None and not (left / REPORT).exists() and (is_empty or not name):
            shutil.rmtree(left, ignore_errors=True)


def _name_left_in(partial: Path) -> str | None:
    """The name of the load whose driver made the directory and is gone; None if it may live."""
    try:
        with (partial / DRIVER).open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file.read()
    except OSError:
        return None


class RejectedRows:
    """Inside a task: the part of the quarantine that it writes. Without a bad row there is none."""

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._file: TextIO | None = None
        self._written = 0
        self.parts: tuple[str, ...] = ()

    def add(self, rows: Iterable[RejectedRow]) -> None:
        with disk_failures("write", self._quarantine.partial):
            for row in rows:
                self._opened().write(_line(row))
                self._written += 1

    @property
    def is_full(self) -> bool:
        """So much is rejected that the load fails anyway."""
        return self._written > self._quarantine.max_errors

    def close(self) -> None:
        if self._file is None:
            return
        with disk_failures("write", self._quarantine.partial), self._file as file:
            # A driver that finds the receipt of the task must find its part too.
            file.flush()
            os.fsync(file.fileno())
        self._file = None

    def _opened(self) -> TextIO:
        if self._file is None:
            name = f"{uuid.uuid4().hex}{PART}"
            self._file = (Path(self._quarantine.partial) / name).open("w", encoding="utf-8")
            self.parts = (name,)
        return self._file


@contextlib.contextmanager
def rejected_rows(quarantine: Quarantine | None) -> Iterator[RejectedRows | None]:
    """The task's part, closed at the end; None if there is no quarantine."""
    if quarantine is None:
        yield None
        return
    rows = RejectedRows(quarantine)
    try:
        yield rows
    finally:
        rows.close()


def _name_of_part(number: int) -> str:
    return f"rejected-{number:05}.jsonl"


def _write_json(path: Path, document: object) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    path.write_text(text, encoding="utf-8")


def _line(row: RejectedRow) -> str:
    head = {
        "file": row.reasons[0].file,
        "line": row.reasons[0].line,
        **({"type": row.type_name} if row.type_name is not None else {}),
        **({"id": row.entity_id} if row.entity_id is not None else {}),
        "reasons": [_reason(reason) for reason in row.reasons],
    }
    # The row goes in as it came: to write what was read would round its numbers.
    body = row.text if _is_object(row.text) else json.dumps(row.text, ensure_ascii=False)
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "row": {body}}}\n'


def _reason(violation: Violation) -> dict[str, Any]:
    return {
        "kind": violation.kind,
        "property": violation.property_name,
        "message": violation.message,
    }


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
