"""A plain model of which rows of a load are rejected, and random input for it.

The model holds a graph of a few rows as dictionaries and judges an input line by line, in the words
of the documentation. It knows nothing of how the pipeline does it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

SCHEMA = """
node Person { name: String @key  phone: String?  @unique(phone) }
node City { name: String @key }
node Note { text: String }
edge LivesIn: Person -> City @card(0..1)
edge Owns: Person -> City @card(1..2)
edge Knows: Person -> Person { @unique(src, dst) }
"""

ENDS = {"LivesIn": ("Person", "City"), "Owns": ("Person", "City"), "Knows": ("Person", "Person")}
CARDS = {"LivesIn": (0, 1), "Owns": (1, 2)}


@dataclass(frozen=True)
class Row:
    """A row that is right by itself."""

    type: str
    id: str
    values: tuple[Any, ...]
    """Of a Person the phone, of an edge its ends."""
    line: int | None = None
    """None: the graph holds it."""


Image = dict[str, dict[str, Row]]

HELD = [
    '{"type": "City", "data": {"name": "york"}}',
    '{"type": "City", "data": {"name": "rome"}}',
    '{"type": "Person", "data": {"name": "ada", "phone": "1"}}',
    '{"type": "Person", "data": {"name": "bob"}}',
    '{"edge": "Owns", "id": "o1", "from": "ada", "to": "york"}',
    '{"edge": "Owns", "id": "o2", "from": "bob", "to": "york"}',
    '{"edge": "Owns", "id": "o3", "from": "bob", "to": "rome"}',
    '{"edge": "LivesIn", "id": "l1", "from": "ada", "to": "york"}',
    '{"edge": "Knows", "id": "k1", "from": "ada", "to": "bob"}',
    '{"type": "Note", "id": "n1", "data": {"text": "hi"}}',
]


@dataclass
class Outcome:
    rejected: set[int] = field(default_factory=set)
    superseded: int = 0
    image: Image = field(default_factory=dict)
    is_hopeless: bool = False
    """Rows that the graph holds are at fault: nothing is loaded."""


def expected(lines: Sequence[str], held: Sequence[str], mode: str) -> Outcome:
    """What a load of the lines with a quarantine comes to."""
    committed = _image(row for row in _rows(held) if row is not None)
    rows = _rows(lines)
    rejected = {line for line, row in enumerate(rows, 1) if row is None and lines[line - 1].strip()}
    outcome = Outcome(rejected)
    while True:
        left = [r for r in rows if r is not None and r.line not in rejected]
        counted = _counted(left, mode)
        kept = _kept(committed, counted, mode)
        blamed = _first_blamed(counted, kept, mode)
        if None in blamed:
            outcome.is_hopeless = True
            return outcome
        if not blamed:
            outcome.superseded = len(left) - len(counted)
            outcome.image = _image([*kept, *counted])
            return outcome
        rejected |= {line for line in blamed if line is not None}


def _rows(lines: Sequence[str]) -> list[Row | None]:
    """Each line as a row, or None where it is none or breaks a rule by itself."""
    return [_row(text, line) for line, text in enumerate(lines, 1)]


def _row(text: str, line: int) -> Row | None:
    try:
        given = json.loads(text)
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    data = given.get("data", {})
    match given.get("type") or given.get("edge"):
        case "Person" if isinstance(data.get("phone"), str | None) and "name" in data:
            return Row("Person", data["name"], (data.get("phone"),), line)
        case "City" if "name" in data:
            return Row("City", data["name"], (), line)
        case "Note" if isinstance(data.get("text"), str):
            return Row("Note", given.get("id", f"fresh {line}"), (data["text"],), line)
        case "LivesIn" | "Owns" | "Knows" as name:
            ends = (given["from"], given["to"])
            return Row(name, given.get("id", f"fresh {line}"), ends, line)
        case _:
            return None


def _counted(left: Sequence[Row], mode: str) -> list[Row]:
    if mode != "merge":
        return list(left)
    return list({(row.type, row.id): row for row in left}.values())


def _kept(committed: Image, counted: Sequence[Row], mode: str) -> list[Row]:
    names = {row.type for row in counted} if mode == "overwrite" else set()
    ids = {(row.type, row.id) for row in counted} if mode == "merge" else set()
    return [
        Row(row.type, row.id, row.values)
        for rows in committed.values()
        for row in rows.values()
        if row.type not in names and (row.type, row.id) not in ids
    ]


def _first_blamed(counted: Sequence[Row], kept: Sequence[Row], mode: str) -> set[int | None]:
    """Lines at fault for what is wrong first; None stands for rows that the graph holds."""
    rows = [*kept, *sorted(counted, key=lambda row: row.line or 0)]
    nodes = [row for row in rows if row.type not in ENDS]
    edges = [row for row in rows if row.type in ENDS]
    ids = {(row.type, row.id) for row in nodes}
    questions = (
        set() if mode == "merge" else _clashes((r, (r.type, r.id)) for r in nodes),
        _clashes((r, r.values) for r in nodes if r.type == "Person" and r.values[0] is not None),
        {
            edge.line
            for edge in edges
            for name, end in zip(ENDS[edge.type], edge.values, strict=True)
            if (name, end) not in ids
        },
        set() if mode == "merge" else _clashes((r, (r.type, r.id)) for r in edges),
        _clashes((r, r.values) for r in edges if r.type == "Knows"),
        _too_many(edges),
        _too_few(nodes, edges),
    )
    return next((blamed for blamed in questions if blamed), set())


def _clashes(claims: Iterable[tuple[Row, Any]]) -> set[int | None]:
    """Kept rows come first: whoever claims what another has claimed before is at fault."""
    seen: set[Any] = set()
    blamed: set[int | None] = set()
    for row, claim in claims:
        if claim in seen:
            blamed.add(row.line)
        seen.add(claim)
    return blamed


def _too_many(edges: Sequence[Row]) -> set[int | None]:
    seen: Counter[tuple[str, str]] = Counter()
    blamed: set[int | None] = set()
    for edge in edges:
        if edge.type in CARDS:
            seen[edge.type, edge.values[0]] += 1
            if seen[edge.type, edge.values[0]] > CARDS[edge.type][1]:
                blamed.add(edge.line)
    return blamed


def _too_few(nodes: Sequence[Row], edges: Sequence[Row]) -> set[int | None]:
    degrees = Counter((edge.type, edge.values[0]) for edge in edges)
    return {
        node.line
        for node in nodes
        if node.type == "Person"
        for name, (least, _) in CARDS.items()
        if degrees[name, node.id] < least
    }


def _image(rows: Iterable[Row]) -> Image:
    image: Image = defaultdict(dict)
    for row in rows:
        image[row.type][row.id] = row
    return image


# Random input -------------------------------------------------------------------------------------

_names = st.sampled_from(["ada", "bob", "cyd", "dan", "eve"])
_cities = st.sampled_from(["york", "rome", "oslo"])
_phones = st.sampled_from([None, None, "1", "2", "3", 7])


def _given(member: str, name: str, id_: str | None, **more: Any) -> str:
    return json.dumps({member: name, **({"id": id_} if id_ is not None else {}), **more})


_people = st.builds(
    lambda name, phone: _given("type", "Person", None, data={"name": name, "phone": phone}),
    _names,
    _phones,
)
_places = st.builds(lambda name: _given("type", "City", None, data={"name": name}), _cities)
_notes = st.builds(
    lambda id_, text: _given("type", "Note", id_, data={"text": text}),
    st.sampled_from([None, "n1", "n2"]),
    st.sampled_from(["a", "b", 5]),
)


def _edges(name: str, ids: Sequence[str | None], targets: st.SearchStrategy[str]) -> Any:
    return st.builds(
        lambda id_, source, target: _given("edge", name, id_, **{"from": source, "to": target}),
        st.sampled_from(ids),
        _names,
        targets,
    )


_owns = _edges("Owns", [None, None, "o1", "o2", "o4"], _cities)
_homes = _edges("LivesIn", [None, "l1", "l2"], _cities)
_friends = _edges("Knows", [None, "k1", "k2"], _names)
_nonsense = st.sampled_from(["{", "", "[]", '{"type": "Town", "data": {}}'])

lines = st.lists(
    st.one_of(_people, _people, _places, _notes, _owns, _owns, _homes, _friends, _nonsense),
    max_size=14,
)
