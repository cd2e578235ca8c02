"""LanceDB: tables, and no rule between them."""

from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa

from bench.workloads.changes import Base, people

# Changes ------------------------------------------------------------------------------------------


class Changes:
    """LanceDB: two tables and no rule between them; a delete is one statement on each."""

    durability = "none asked for: files are left to the page cache"

    def version(self) -> str:
        return str(lancedb.__version__)

    def make(self, base: Base, place: Path) -> None:
        place.mkdir(parents=True)
        db = lancedb.connect(str(place))
        self.people = db.create_table("people", base.people)
        self.follows = db.create_table("follows", base.follows)
        self.people.create_scalar_index("number")
        for end in ("src", "dst"):
            self.follows.create_scalar_index(end)

    def insert(self, number: int) -> None:
        self.people.add(people(np.array([number]), age=1))

    def upsert(self, people: pa.Table) -> None:
        merge = self.people.merge_insert("number").when_matched_update_all()
        merge.when_not_matched_insert_all().execute(people)

    def delete(self, number: int) -> None:
        self.people.delete(f"number = {number}")
        self.follows.delete(f"src = {number} OR dst = {number}")

    def counts(self) -> tuple[int, int, int]:
        ages = self.people.to_arrow()["age"].to_numpy().sum()
        return self.people.count_rows(), self.follows.count_rows(), int(ages)
