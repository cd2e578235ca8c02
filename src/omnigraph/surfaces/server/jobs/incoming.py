"""A part of an upload on its way to the disk."""

from omnigraph.surfaces.server.jobs.room import Room
from omnigraph.surfaces.server.jobs.spool import PartDraft

__all__ = ["Incoming"]


class Incoming:
    """The bytes of a part while they come: they take room, and leave it if they stay away."""

    def __init__(self, room: Room, job: str, draft: PartDraft) -> None:
        self._room = room
        self._job = job
        self.draft = draft
        self._taken = 0
        self._is_over = False

    def write(self, data: bytes) -> None:
        self._room.take(self._job, len(data))
        self._taken += len(data)
        self.draft.write(data)

    def keep(self) -> None:
        self._room.keep(self._job, self.draft.number, self.draft.size, coming=self._taken)
        self._is_over = True

    def abandon(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._room.give_back(self._job, self._taken)
            self.draft.abandon()
