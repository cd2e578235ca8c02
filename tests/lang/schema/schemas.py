"""Hypothesis strategies for schema texts: meaningful ones, and ones that merely parse."""

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

NODES = ("Person", "Company", "Doc", "Place", "P2")
EDGES = ("Knows", "WorksAt", "Wrote")
PROPERTIES = ("name", "age", "id", "src", "userId", "userid", "_score", "node", "note_1", "id__3")
SCALARS = ("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime")
TYPES = (*SCALARS, "Blob", "Vector(3)", "[String]", "[I64]", "enum(b, a, c-d)", "enum(x)")
DEFAULTS = {
    "String": '"a \\"b\\" \\\\ é\\n"',
    "Bool": "true",
    "I32": "-7",
    "U64": "18446744073709551615",
    "F64": "-2.5e-3",
    "Date": '"2024-02-29"',
    "DateTime": '"2024-02-29T12:30:00.25+02:00"',
    "[I64]": "[1, -2]",
    "Vector(3)": "[0, 0.5, 1]",
    "enum(x)": "x",
}
NOTES = ("", '@description("d")', "@pii", "@owner(team, level=3)", "@span(..5)", '@label([a, "b"])')


@dataclass(frozen=True)
class Declaration:
    """A declaration whose members can be put in any order without changing its meaning."""

    head: str
    members: tuple[str, ...]

    def text(self, shuffle: Random | None = None) -> str:
        members = list(self.members)
        if shuffle:
            shuffle.shuffle(members)
        return f"{self.head} {{\n" + "".join(f"    {m}\n" for m in members) + "}\n"


def text_of(declarations: tuple[Declaration, ...], shuffle: Random | None = None) -> str:
    ordered = list(declarations)
    if shuffle:
        shuffle.shuffle(ordered)
    return "\n".join(d.text(shuffle) for d in ordered)


@st.composite
def schemas(draw: st.DrawFn) -> tuple[Declaration, ...]:
    """A schema that compiles."""
    nodes = draw(st.lists(st.sampled_from(NODES), min_size=1, unique=True))
    edges = draw(st.lists(st.sampled_from(EDGES), unique=True))
    interface = Declaration("interface Named", ("label: String? @index",))
    declarations = [interface]
    for name in nodes:
        implements = draw(st.sampled_from(("", " implements Named")))
        note = draw(st.sampled_from(NOTES))
        declarations.append(Declaration(f"node {name} {note}{implements}", draw(_members(False))))
    for name in edges:
        ends = f"{draw(st.sampled_from(nodes))} -> {draw(st.sampled_from(nodes))}"
        card = draw(st.sampled_from(("", "@card(0..1)", "@card(1..*)", "@card(2..5)")))
        declarations.append(Declaration(f"edge {name}: {ends} {card}", draw(_members(True))))
    return tuple(declarations)


@st.composite
def _members(draw: st.DrawFn, is_edge: bool) -> tuple[str, ...]:
    names = draw(st.lists(st.sampled_from(PROPERTIES), unique=True))
    if is_edge:
        names = [n for n in names if n != "src"]
    types = {name: draw(st.sampled_from(TYPES)) for name in names}
    nullable = {name: draw(st.booleans()) for name in names}
    members = []
    for name, type_ in types.items():
        default = (
            f" @default({DEFAULTS[type_]})" if type_ in DEFAULTS and draw(st.booleans()) else ""
        )
        note = draw(st.sampled_from(NOTES))
        members.append(f"{name}: {type_}{'?' * nullable[name]}{default} {note}")
    plain = [n for n, t in types.items() if t in SCALARS or t.startswith("enum")]
    ends = ["src", "dst"] if is_edge else []
    if draw(st.booleans()) and plain:
        members.append(f"@unique({', '.join([*ends, *plain])})")
    if draw(st.booleans()) and plain:
        members.append(f"@index({plain[0]})")
    required = [n for n in plain if not nullable[n]]
    if draw(st.booleans()) and (required or is_edge):
        members.append(f"@key({', '.join([*ends, *required])})")
    return tuple(members)


GAPS = (
    " ",
    " ",
    " ",
    "\n",
    "\n\n\n",
    "\t",
    " /* c */ ",
    " // line\n",
    "\n// own\n",
    "/* a\n b */",
    "\r\n",
)
LOOSE_TOKENS = (
    *NODES,
    *PROPERTIES,
    *("node", "edge", "interface", "implements", "enum", "String", "Vector", "I32", "@key", "@x"),
    *(
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        "->",
        "..",
        "?",
        "=",
        "*",
        "@",
        '"text"',
        "1",
        "-2.5",
    ),
)


@st.composite
def gapped(draw: st.DrawFn) -> str:
    """A text that parses, with white space and comments between its tokens wherever they may be."""
    text = text_of(draw(schemas()))
    gaps = iter(draw(st.lists(st.sampled_from(GAPS), min_size=40, max_size=80)))
    # Spaces inside quotes stay as they are: every second part of a split at quotes is quoted.
    parts = text.split('"')
    for i in range(0, len(parts), 2):
        words = parts[i].split(" ")
        parts[i] = "".join(f"{word}{next(gaps, ' ')}" for word in words[:-1]) + words[-1]
    return '"'.join(parts)


def broken() -> st.SearchStrategy[str]:
    """Tokens in any order, damaged schemas, and plain noise."""
    tokens = st.lists(st.sampled_from(LOOSE_TOKENS), max_size=60).map(" ".join)
    return st.one_of(tokens, damaged(), st.text(max_size=200))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = text_of(draw(schemas()))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = (
            text[:start]
            + draw(st.sampled_from(("", *LOOSE_TOKENS, "\x00", '"', "/*")))
            + text[end:]
        )
    return text
