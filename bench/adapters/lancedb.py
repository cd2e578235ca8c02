"""LanceDB: tables, and no rule between them."""

from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa

from bench.workloads.changes import Base, people
from bench.workloads.papers import ASKED_ROWS, Papers, Question

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


# Searches -----------------------------------------------------------------------------------------


class Searches:
    """LanceDB: an index of vectors and one of words, as its pages advise, and a table of links."""

    def version(self) -> str:
        return str(lancedb.__version__)

    def load(self, papers: Papers, place: Path) -> None:
        place.mkdir(parents=True)
        db = lancedb.connect(str(place))
        self.papers = db.create_table("papers", papers.papers)
        self.wrote = db.create_table("wrote", papers.wrote)

    def index(self) -> None:
        self.papers.create_index(
            metric="cosine", vector_column_name="vector", index_type="IVF_FLAT"
        )
        # Stop words are kept, as ours are: both rank by the same words.
        self.papers.create_fts_index("body", remove_stop_words=False, with_position=False)
        self.papers.create_scalar_index("shelf", index_type="BITMAP")
        self.wrote.create_scalar_index("paper")

    def derive(self) -> None:
        """It keeps nothing in memory but what it has read."""

    def vector(self, asked: Question) -> list[int]:
        return self._numbers(self._near(asked), "_distance")

    def filtered_vector(self, asked: Question) -> list[int]:
        found = self._near(asked).where(f"shelf = {asked.shelf}", prefilter=True)
        return self._numbers(found, "_distance")

    def bm25(self, asked: Question) -> list[int]:
        return self._numbers(self.papers.search(asked.text, query_type="fts"), "_score")

    def filtered_bm25(self, asked: Question) -> list[int]:
        found = self.papers.search(asked.text, query_type="fts")
        return self._numbers(found.where(f"shelf = {asked.shelf}", prefilter=True), "_score")

    def hybrid(self, asked: Question) -> list[int]:
        found = self.papers.search(query_type="hybrid", vector_column_name="vector")
        found = found.vector(asked.vector).text(asked.text).distance_type("cosine").nprobes(20)
        return self._numbers(found)

    def hybrid_and_hop(self, asked: Question) -> list[int]:
        listed = ", ".join(map(str, self.hybrid(asked)))
        found = self.wrote.search().where(f"paper IN ({listed})").select(["author"]).limit(1_000)
        return sorted(set(found.to_arrow()["author"].to_pylist()))

    def _near(self, asked: Question) -> Any:
        found = self.papers.search(asked.vector, vector_column_name="vector")
        return found.distance_type("cosine").nprobes(20)

    def _numbers(self, found: Any, *scores: str) -> list[int]:
        rows = found.select(["number", *scores]).limit(ASKED_ROWS).to_arrow()
        numbers: list[int] = rows["number"].to_pylist()
        return numbers
