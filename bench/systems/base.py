"""What every system must be able to do. Answers are compared, so each must mean the same."""

from pathlib import Path
from typing import Protocol

from data import Data


class System(Protocol):
    name: str

    def version(self) -> str: ...

    def prepare(self) -> None:
        """Start what a load should not be charged for: a Spark session."""
        ...

    def load(self, data: Data, place: Path) -> None: ...

    def open(self, place: Path) -> None: ...

    def one_hop(self, person: int) -> int:
        """How many people `person` follows."""
        ...

    def two_hop(self, person: int) -> int:
        """How many paths of two follows begin at `person`."""
        ...

    def all_two_hop(self) -> int:
        """How many paths of two follows there are."""
        ...
