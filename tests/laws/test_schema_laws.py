"""Any changes of a schema with any writes between them leave the rows that a plain model has.

The model knows nothing of columns: it keeps, for each property by its number, the values of rows.
After every step the head, a fresh handle and each commit of before are held beside it.
"""

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph import Graph
from tests.schema_change.world import graph_of

Row = dict[str, Any]

NAMES = ("a", "b", "c", "d")
KINDS = {"I32": 1, "F32": 1.5, "String": "x", "Bool": True, "[String]": ["x"]}
WIDER = {"I32": "I64", "F32": "F64"}
KEYS = ("k1", "k2", "k3")


@dataclass(frozen=True)
class Declared:
    kind: str
    default: Any = None
    was: str | None = None

    def text(self, name: str) -> str:
        default = f" @default({_literal(self.default)})" if self.default is not None else ""
        was = f' @rename_from("{self.was}")' if self.was is not None else ""
        return f"{name}: {self.kind}?{default}{was}"


@dataclass(frozen=True)
class Model:
    type_name: str = "T0"
    was: str | None = None
    properties: dict[str, Declared] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)

    @property
    def schema(self) -> str:
        was = f' @rename_from("{self.was}")' if self.was is not None else ""
        body = "\n".join(one.text(name) for name, one in self.properties.items())
        return f"node {self.type_name}{was} {{ key: String @key\n{body} }}"

    def after(self, number: int, step: tuple[str, str, str, bool]) -> "Model | None":
        """The model after a change of the schema; None: there is nothing like it to change."""
        verb, name, kind, flag = step
        accepted = {n: replace(one, was=None) for n, one in self.properties.items()}
        there = name in accepted
        match verb:
            case "add" if not there:
                added = Declared(kind, KINDS[kind] if flag and kind[0] != "[" else None)
                rows = {k: {**row, name: added.default} for k, row in self.rows.items()}
                return replace(self, was=None, properties={**accepted, name: added}, rows=rows)
            case "drop" if there:
                rows = {k: _without(row, name) for k, row in self.rows.items()}
                return replace(self, was=None, properties=_without(accepted, name), rows=rows)
            case "rename" if there:
                new = f"{'z' if flag else 'e'}{number}"
                moved = {**_without(accepted, name), new: replace(accepted[name], was=name)}
                rows = {k: {**_without(r, name), new: r[name]} for k, r in self.rows.items()}
                return replace(self, was=None, properties=moved, rows=rows)
            case "widen" if there and accepted[name].kind in WIDER:
                wide = replace(accepted[name], kind=WIDER[accepted[name].kind])
                return replace(self, was=None, properties={**accepted, name: wide})
            case "rename type":
                return replace(
                    self, type_name=f"T{number + 1}", was=self.type_name, properties=accepted
                )
            case _:
                return None


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


def _without(of: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in of.items() if key != name}


def rows_of(graph: Graph, model: Model, **at: Any) -> dict[str, Row]:
    text = f"query q() {{ match {{ $t: {model.type_name} }} return {{ $t }} }}"
    return {row["t"]["key"]: _without(row["t"], "id") for row in graph.query(text, **at)}


def written(graph: Graph, model: Model, step: tuple[str, str, str, bool], key: str) -> Model:
    """Put a row whole, change one value of it, or delete it."""
    verb, name, _, flag = step
    rows = dict(model.rows)
    if verb == "put":
        given = {n: _value(one, key, flag) for n, one in model.properties.items()}
        row = {"key": key, **given}
        graph.load([{"type": model.type_name, "data": row}], mode="merge")
        rows[key] = row
    elif verb == "set" and name in model.properties:
        value = _value(model.properties[name], key, flag)
        declared = model.properties[name].kind
        text = (
            f"query m($k: String, $v: {declared}?) "
            f"{{ update {model.type_name} set {{ {name}: $v }} where key = $k }}"
        )
        graph.mutate(text, {"k": key, "v": value})
        if key in rows:
            rows[key] = {**rows[key], name: value}
    elif verb == "delete":
        text = f"query m($k: String) {{ delete {model.type_name} where key = $k }}"
        graph.mutate(text, {"k": key})
        rows.pop(key, None)
    elif verb == "optimize":
        graph.optimize()
    return replace(model, rows=rows)


def _value(declared: Declared, key: str, flag: bool) -> Any:
    if not flag:
        return None
    match declared.kind:
        case "I32":
            return int(key[1:])
        case "I64":
            return 2**40 + int(key[1:])
        case "F32" | "F64":
            return int(key[1:]) + 0.25
        case "String":
            return key
        case "Bool":
            return key == "k1"
        case _:
            return [key]


SCHEMA_STEPS = ("add", "drop", "rename", "widen", "rename type")
WRITES = ("put", "set", "delete", "optimize")
STEPS = st.lists(
    st.tuples(
        st.sampled_from((*SCHEMA_STEPS, "add", "add", *WRITES, "put", "put", "set")),
        st.sampled_from(NAMES),
        st.sampled_from(tuple(KINDS)),
        st.booleans(),
        st.sampled_from(KEYS),
    ),
    min_size=4,
    max_size=14,
)


@given(STEPS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_rows_follow_the_schema_whatever_is_changed_and_written(
    steps: list[tuple[str, str, str, bool, str]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory, "graph")
        model = Model()
        graph = Graph.init(str(place), model.schema, durability="relaxed")
        past: list[tuple[Any, Model]] = []
        for number, (verb, name, kind, flag, key) in enumerate(steps):
            past.append((graph.commits(limit=1)[0], model))
            names = list(model.properties)
            if names and verb in ("drop", "rename", "widen", "set"):
                name = names[NAMES.index(name) % len(names)]
            step = (verb, name, kind, flag)
            if verb in WRITES:
                model = written(graph, model, step, key)
            elif (after := model.after(number, step)) is not None:
                applied = graph.schema_apply(after.schema)
                assert applied.applied and applied.supported
                model = after
            assert rows_of(graph, model) == model.rows
        fresh = graph_of(place)
        assert rows_of(fresh, model) == model.rows
        for commit, then in past:
            assert rows_of(fresh, then, snapshot=commit) == then.rows
