"""A library to search in, twice: as a graph on disk and as plain rows that change with it.

Some bodies and vectors are missing, some are equal to others, and some words differ only by their
ending, their accents or their script.
"""

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnigraph import Graph
from omnigraph.base.span import SourceText
from omnigraph.engine.engine import Engine
from omnigraph.engine.settings import Settings
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.ir import ReadQuery
from omnigraph.lang.plan.parameters import bind_parameters
from omnigraph.read.tables.cold_lookups import TraversalMode
from tests.reference.naive import Entity, Naive, PlainGraph
from tests.reference.small_graph import catalog_of, plain_graph

SCHEMA = """
interface Titled { title: String  body: String?  v: Vector(3)? }
node Doc implements Titled {
    slug: String @key
    year: I32
    tags: [String]?
    @index(year, title, body)
    @index(tags)
    @index(v)
    motto: String? @index(ngram)
}
node Note implements Titled { slug: String @key  @index(title, body) }
node Person { name: String @key  bio: String? }
edge Wrote: Person -> Doc
edge Cites: Doc -> Doc { why: String? }
"""
CATALOG = catalog_of(SCHEMA)

WORDS = [
    "cat", "cats", "dog", "running", "runs", "fox", "quick", "brown", "graph", "graphs",
    "the", "of", "naïve", "naive", "überall", "東京", "Москва", "café",
]  # fmt: skip


class Letters:
    """An embedder whose vectors anyone can work out: how often a, e and o occur, and one."""

    def embed_query(
        self, texts: Any, *, model: str | None, width: int, limit_s: float | None
    ) -> NDArray[np.float32]:
        assert model is None
        return np.array([letters(text)[:width] for text in texts], dtype=np.float32)


def letters(text: str) -> list[float]:
    return [1.0 + text.count(letter) for letter in "aeo"]


@dataclass
class Library:
    graph: Graph
    where: Mapping[str, Any] = field(default_factory=dict)
    """The branch or the snapshot that is asked."""
    rows: dict[str, dict[str, Entity]] = field(
        default_factory=lambda: {entity.name: {} for entity in CATALOG.entities}
    )
    pending: list[str] | None = None
    """Statements that become one commit."""

    @classmethod
    def at(cls, place: Path) -> "Library":
        graph = Graph.init(str(place), SCHEMA, durability="relaxed")
        return cls(with_embedder(graph))

    # Changes -------------------------------------------------------------------------------------

    def doc(self, slug: str, body: str | None, v: list[float] | None, year: int = 2000) -> None:
        title, motto = f"title of {slug}", None if year % 5 == 0 else f"{body} of {slug}"
        tags = None if year % 3 == 0 else ["red", "blue"][: year % 4]
        self._insert(
            "Doc", slug, slug=slug, title=title, body=body, v=v, year=year, tags=tags, motto=motto
        )

    def note(self, slug: str, body: str | None, v: list[float] | None) -> None:
        self._insert("Note", slug, slug=slug, title=f"note {slug}", body=body, v=v)

    def person(self, name: str, bio: str | None) -> None:
        self._insert("Person", name, name=name, bio=bio)

    def wrote(self, name: str, slug: str) -> None:
        self._insert("Wrote", f"{name}-{slug}", ends=(name, slug))

    def cites(self, slug: str, other: str, why: str | None = None) -> None:
        self._insert("Cites", f"{slug}-{other}", ends=(slug, other), why=why)

    def rewrite(self, slug: str, body: str | None, v: list[float] | None) -> None:
        before = self.rows["Doc"][slug]
        values = {"body": body, "v": v, "tags": ["blue"] if v else None, "motto": f"of {slug}"}
        self._change(f"update Doc set {written(values)} where slug = {json.dumps(slug)}")
        self._put(replace(before, values={**before.values, **values}))

    def drop(self, slug: str) -> None:
        self._change(f"delete Doc where slug = {json.dumps(slug)}")
        self.rows["Doc"] = {id_: doc for id_, doc in self.rows["Doc"].items() if id_ != slug}
        for name, ends in (("Wrote", ("dst",)), ("Cites", ("src", "dst"))):
            self.rows[name] = {
                id_: edge
                for id_, edge in self.rows[name].items()
                if not any(getattr(edge, end) == slug for end in ends)
            }

    @contextmanager
    def one_commit(self) -> Iterator[None]:
        """Everything that is inserted or changed meanwhile."""
        self.pending = []
        yield
        statements, self.pending = self.pending, None
        self._change("\n".join(statements))

    def _insert(
        self, type_: str, id_: str, ends: tuple[str, str] = ("", ""), **values: Any
    ) -> None:
        joined = {"from": ends[0], "to": ends[1]} if ends[0] else {}
        self._change(f"insert {type_} {written({**joined, **values})}")
        self._put(Entity(type_, id_, values, *ends))

    def _change(self, statement: str) -> None:
        if self.pending is not None:
            self.pending.append(statement)
        else:
            self.graph.mutate(f"query change() {{ {statement} }}", **self.where)

    def _put(self, entity: Entity) -> None:
        self.rows[entity.type] = {**self.rows[entity.type], entity.id: entity}

    # Other ways to see it ------------------------------------------------------------------------

    def asked(self, **where: Any) -> "Library":
        """As it is now, of a branch or at a commit: what becomes of this one does not matter."""
        return Library(self.graph, where, dict(self.rows))

    def reopened(
        self, cache: Path | None = None, mode: TraversalMode = TraversalMode.AUTO
    ) -> "Library":
        """Through another handle, which has read nothing yet."""
        settings = replace(Settings.from_environment(), cache_directory=cache, traversal_mode=mode)
        graph = Graph(Engine.over(self.graph.engine.store, settings))
        return Library(with_embedder(graph), self.where, dict(self.rows))

    # Questions -----------------------------------------------------------------------------------

    def plain(self) -> PlainGraph:
        return plain_graph(CATALOG, {name: list(rows.values()) for name, rows in self.rows.items()})

    def ask(self, question: str, **params: Any) -> list[tuple[Any, ...]]:
        answer = self.graph.query(as_query(question), params=params, **self.where)
        return [canonical(row) for row in answer.to_pylist()]

    def expect(self, question: str, **params: Any) -> list[tuple[Any, ...]]:
        query = compile_query(SourceText(as_query(question)), CATALOG)
        assert isinstance(query, ReadQuery)
        naive = Naive(self.plain(), bind_parameters(query, params), embed=letters)
        return [canonical(row) for row in naive.answer(query.plan)]

    def check(self, question: str, **params: Any) -> list[tuple[Any, ...]]:
        """The rows, which are those that plain rows give; without an order in any order."""
        ours, theirs = self.ask(question, **params), self.expect(question, **params)
        if "order {" not in question:
            ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
        assert ours == theirs, question
        return ours


def written(values: Mapping[str, Any]) -> str:
    given = (f"{name}: {json.dumps(value)}" for name, value in values.items())
    return "{ " + ", ".join(given) + " }"


def as_query(question: str) -> str:
    """`(parameters) body` or `body` as the text of a query."""
    declared, _, rest = (
        question.partition(") ") if question.startswith("(") else ("(", "", question)
    )
    return f"query q{declared}) {{ {rest} }}"


def canonical(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Floats to twelve digits: plain rows add up in another order."""
    return tuple(f"{v:.12g}" if isinstance(v, float) else v for v in row.values())


def with_embedder(graph: Graph) -> Graph:
    return Graph(replace(graph.engine, query_texts=Letters()))


def filled(place: Path) -> Library:
    """Thirty documents and their authors."""
    library = Library.at(place)
    with library.one_commit():
        fill(library, random.Random(15))
    return library


def fill(library: Library, chance: random.Random) -> None:
    for number in range(5):
        library.person(f"p{number}", text(chance))
    for number in range(30):
        library.doc(f"d{number:02}", text(chance), vector(chance), year=1990 + number)
    for number in range(6):
        library.note(f"d{number:02}", text(chance), vector(chance))
    for number in range(0, 30, 2):
        library.wrote(f"p{number % 5}", f"d{number:02}")
        library.wrote(f"p{(number + 1) % 5}", f"d{number:02}")
    for number in range(0, 30, 3):
        library.cites(f"d{number:02}", f"d{(number + 7) % 30:02}", text(chance))
        library.cites(f"d{number:02}", f"d{(number + 14) % 30:02}")
    # Equal to others in all but the id.
    twin = library.rows["Doc"]["d03"].values
    library.doc("d99", twin["body"], twin["v"], year=twin["year"])
    library.doc("d98", "quick brown fox", [1.0, 2.0, 3.0])
    library.doc("d97", "quick brown fox", [1.0, 2.0, 3.0])
    library.cites("d97", "d03")
    library.cites("d97", "d08")
    library.wrote("p3", "d97")


def text(chance: random.Random) -> str | None:
    if chance.random() < 0.15:
        return chance.choice([None, "", "—"])
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))


def vector(chance: random.Random) -> list[float] | None:
    """Eighths, which 32 bits hold as they are."""
    if chance.random() < 0.15:
        return None
    return [chance.randint(-40, 40) / 8 or 0.125 for _ in range(3)]
