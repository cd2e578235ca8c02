"""What neo4j-admin takes comes back from the graph as it was written, however it is laid out."""

import gzip
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipeline.imports.imported import edges_of, import_into, nodes_of, write_files

TEXTS = st.text(st.sampled_from(list("ab ,;|\t\"'\n\\éß🦀:{}()[]")), max_size=6)
ITEMS = st.text(st.sampled_from(list("ab \"'\né:")), min_size=1, max_size=4)
LONG = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "int": LONG,
    "double": FLOATS,
    "boolean": st.booleans(),
    "string[]": st.lists(ITEMS, min_size=1, max_size=3),
    "long[]": st.lists(LONG, min_size=1, max_size=3),
    "float[]": st.lists(FLOATS, min_size=1, max_size=3),
    "boolean[]": st.lists(st.booleans(), min_size=1, max_size=3),
}
# What fields may be called, and the property that each becomes.
NAMES = {"name": "name", "Full Name": "full_Name", "1st": "_1st", "a:b": "a_b", "labels": "labels"}


@dataclass(frozen=True)
class Layout:
    delimiter: str
    is_apart: bool
    is_packed: bool
    has_label_column: bool
    line_end: str

    def files(self, name: str, header: list[str], rows: list[list[str | None]]) -> dict[str, bytes]:
        """In two parts behind a header of its own, or in one file."""
        if not self.is_apart:
            return {f"{name}.csv{'.gz' * self.is_packed}": self._data([header, *rows])}
        half = len(rows) // 2
        return {
            f"{name}-header.csv": self._data([header], is_packed=False),
            f"{name}-1.csv": self._data(rows[:half], is_packed=False),
            f"{name}-2.csv{'.gz' * self.is_packed}": self._data(rows[half:]),
        }

    def _data(self, rows: list[Any], *, is_packed: bool | None = None) -> bytes:
        out = io.StringIO(newline="")
        for row in rows:
            # A null is nothing, an empty text two quotes: the module writes the two alike.
            cells = [f'"{c.replace(chr(34), chr(34) * 2)}"' if c is not None else "" for c in row]
            out.write(self.delimiter.join(cells) + self.line_end)
        data = out.getvalue().encode()
        return gzip.compress(data) if self.is_packed and is_packed is None else data


LAYOUTS = st.builds(
    Layout,
    st.sampled_from(",\t|;"),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)


def cell(value: Any, part: str) -> str | None:
    match value:
        case None:
            return None
        case list():
            return part.join(cell(item, part) or "" for item in value)
        case bool():
            return str(value).lower()
        case _:
            return value if isinstance(value, str) else repr(value)


@settings(max_examples=max(6, settings().max_examples // 2))
@given(data=st.data(), layout=LAYOUTS)
def test_nodes_and_edges_come_back_as_they_were_written(
    data: st.DataObject, layout: Layout
) -> None:
    part = "," if layout.delimiter == ";" else ";"
    fields = data.draw(
        st.dictionaries(st.sampled_from(sorted(NAMES)), st.sampled_from(sorted(VALUES)))
    )
    ids = data.draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=5, unique=True))
    nodes = [
        {name: data.draw(st.none() | VALUES[type_]) for name, type_ in fields.items()} for _ in ids
    ]
    label = [":LABEL"] * layout.has_label_column
    header = ["key:ID(Things)", *label, *(f"{name}:{type_}" for name, type_ in fields.items())]
    rows = [
        [id_, *(["Thing"] * len(label)), *(cell(row[name], part) for name in fields)]
        for id_, row in zip(ids, nodes, strict=True)
    ]
    ends = data.draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=4))
    links: list[list[str | None]] = [[source, target, "1"] for source, target in ends]
    files = layout.files("Thing", header, rows)
    files |= layout.files("SEES", [":START_ID(Things)", ":END_ID(Things)", "n:int"], links)
    with tempfile.TemporaryDirectory() as folder:
        graph = import_into(Path(folder), write_files(Path(folder) / "export", files))
        found = {row.pop("key"): row for row in nodes_of(graph, "Thing")}
        edges = edges_of(graph, "Sees") if ends else []
    assert found == {
        id_: {NAMES[name]: value for name, value in row.items() if value is not None}
        for id_, row in zip(ids, nodes, strict=True)
    }
    assert sorted(edges) == sorted((source, target, {"n": 1}) for source, target in ends)
