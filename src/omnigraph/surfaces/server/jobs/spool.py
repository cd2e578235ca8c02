"""The spool: the directory in which a server keeps its load jobs, and what was uploaded for them.

    SPOOL/lock                     held by the one server that uses the spool
    SPOOL/jobs/ID/job.json         the job; it is replaced whole
    SPOOL/jobs/ID/parts/N-SHA256   a part of the upload that came in full
    SPOOL/jobs/ID/parts/N.….new    one that is on its way, or was torn off: it does not count
    SPOOL/jobs/ID/data.jsonl       the parts joined, in a form that its suffix tells
    SPOOL/jobs/ID/rejected         rows that were set aside

Only their owner may look into these. A file that is named here is durable before its name is.
"""

import errno
import fcntl
import hashlib
import os
import re
import shutil
import uuid
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import ArgumentInvalid, SpoolFull
from omnigraph.surfaces.crossing.values import Unreadable, decoded, encoded
from omnigraph.surfaces.server.jobs.job import Job, Part

__all__ = ["PartDraft", "Spool"]

OPTION = "--spool"
PRIVATE_DIRECTORY, PRIVATE_FILE = 0o700, 0o600
JOB, PARTS, REJECTED, NEW = "job.json", "parts", "rejected", ".new"
PART_NAME = re.compile(r"(\d+)-([0-9a-f]{64})")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Spool:
    def __init__(self, root: Path, lock: int) -> None:
        self._root = root
        # A spool that nobody closes is free when nobody has it any more.
        self._unlock = weakref.finalize(self, os.close, lock)

    @classmethod
    def open(cls, root: Path) -> "Spool":
        """The spool of this server, made if need be; raises if it is another's."""
        with _refusals(root):
            root.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
            about = root.stat()
        if about.st_uid != os.geteuid() or about.st_mode & 0o077:
            rule = "others than its owner may look into it, or this process is not its owner"
            raise ArgumentInvalid(OPTION, str(root), rule, f"chmod 700 {root}, or name another")
        with _refusals(root):
            (root / "jobs").mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
            lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            rule = "another server uses it"
            raise ArgumentInvalid(OPTION, str(root), rule, "name a directory of its own") from None
        return cls(root, lock)

    def close(self) -> None:
        self._unlock()

    # Jobs -----------------------------------------------------------------------------------------

    def jobs(self) -> Iterator[Job]:
        """All jobs that can be read, after what was begun and never named has gone."""
        for directory in sorted((self._root / "jobs").iterdir()):
            for torn in directory.glob(f"**/*{NEW}"):
                torn.unlink(missing_ok=True)
            try:
                yield decoded(Job, (directory / JOB).read_bytes(), is_lenient=True)
            except (OSError, Unreadable):
                # Its server died before the job was told to anyone; or it is of a newer one.
                if not (directory / JOB).exists():
                    shutil.rmtree(directory, ignore_errors=True)

    def save(self, job: Job) -> None:
        directory = self._of(job)
        with _writing(directory):
            if not directory.exists():
                directory.mkdir(mode=PRIVATE_DIRECTORY)
                (directory / PARTS).mkdir(mode=PRIVATE_DIRECTORY)
                _sync_directory(directory.parent)
            draft = directory / f"{JOB}{NEW}"
            with _created(draft) as file:
                file.truncate()
                file.write(encoded(job))
                _sync(file)
            draft.replace(directory / JOB)
            _sync_directory(directory)

    def remove(self, job: Job) -> None:
        """Forget a job. Its file goes first, so that what is left is known to be nobody's."""
        (self._of(job) / JOB).unlink(missing_ok=True)
        shutil.rmtree(self._of(job), ignore_errors=True)

    def remove_data(self, job: Job) -> None:
        """Remove what was uploaded; the job and the rows that were set aside stay."""
        directory = self._of(job)
        shutil.rmtree(directory / PARTS, ignore_errors=True)
        for data in directory.glob("data*"):
            data.unlink(missing_ok=True)
        for left in directory.glob(f"{REJECTED}.partial-*"):
            shutil.rmtree(left, ignore_errors=True)

    def size_of(self, job: Job) -> int:
        directory = self._of(job)
        files = (*directory.glob(f"{PARTS}/*"), *directory.glob("data*"))
        return sum(file.stat().st_size for file in files)

    def touched_ms(self, job: Job) -> int:
        """When a part last came."""
        parts = self._of(job) / PARTS
        return parts.stat().st_mtime_ns // 1_000_000 if parts.exists() else 0

    def rejected(self, job: Job) -> Path:
        return self._of(job) / REJECTED

    # Parts ----------------------------------------------------------------------------------------

    def new_part(self, job: Job, number: int) -> "PartDraft":
        path = self._of(job) / PARTS / f"{number}.{uuid.uuid4().hex}{NEW}"
        with _writing(path):
            return PartDraft(number, path, _created(path))

    def keep(self, job: Job, draft: "PartDraft") -> Part:
        """Give a part that came in full its name; what had its number before goes."""
        part = draft.finished()
        parts = self._of(job) / PARTS
        with _writing(parts):
            draft.path.replace(parts / part.name)
            for earlier in parts.glob(f"{part.number}-*"):
                if earlier.name != part.name:
                    earlier.unlink()
            _sync_directory(parts)
        return part

    def parts(self, job: Job) -> list[Part]:
        """The parts that are there, by number."""
        found: dict[int, tuple[int, Part]] = {}
        for path in (self._of(job) / PARTS).glob("*-*"):
            if (match := PART_NAME.fullmatch(path.name)) is not None:
                about = path.stat()
                part = Part(int(match[1]), match[2], about.st_size)
                # A death between naming a part and removing the one before leaves both.
                found[part.number] = max(
                    found.get(part.number, (0, part)), (about.st_mtime_ns, part)
                )
        return sorted(part for _, part in found.values())

    def joined(self, job: Job, parts: Sequence[Part], suffix: str) -> Path:
        """The upload as one file. It may be broken off anywhere, and is then gone on with.

        Each part is removed when the file has it durably: an upload takes its size but once.
        """
        directory = self._of(job)
        data = directory / f"data{suffix}"
        with _writing(data), _created(data) as file:
            # Parts go in their order, so those before the first that is left are in the file.
            left = [part for part in parts if (directory / PARTS / part.name).exists()]
            done = sum(part.size for part in parts if part not in left)
            if os.fstat(file.fileno()).st_size != done:
                # Not without need: a task that was done is believed if its file is as it was.
                file.truncate(done)
            file.seek(done)
            for part in left:
                path = directory / PARTS / part.name
                with path.open("rb") as reading:
                    shutil.copyfileobj(reading, file, 1 << 20)
                _sync(file)
                path.unlink()
            _sync_directory(directory)
        return data

    def _of(self, job: Job) -> Path:
        return self._root / "jobs" / job.id


class PartDraft:
    """A part on its way: bytes go to the disk as they come."""

    def __init__(self, number: int, path: Path, file: BinaryIO) -> None:
        self.number = number
        self.path = path
        self._file = file
        self._sum = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        with _writing(self.path):
            self._file.write(data)
        self._sum.update(data)
        self.size += len(data)

    @property
    def sha256(self) -> str:
        return self._sum.hexdigest()

    def finished(self) -> Part:
        with _writing(self.path), self._file as file:
            _sync(file)
        return Part(self.number, self.sha256, self.size)

    def abandon(self) -> None:
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """A disk without room is an error of its own: a client can act on it."""
    with disk_failures("write", path):
        try:
            yield
        except OSError as error:
            if error.errno in NO_ROOM:
                raise SpoolFull from error
            raise


@contextmanager
def _refusals(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        rule = f"it can't be used: {error.strerror or error}"
        raise ArgumentInvalid(OPTION, str(root), rule) from None


def _created(path: Path) -> BinaryIO:
    """A file to read and write that only its owner may look into; what it holds stays."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE), "r+b")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
