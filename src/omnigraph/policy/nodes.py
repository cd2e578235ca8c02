"""Small pieces of Cedar's JSON: building them, and looking through them."""

from collections.abc import Iterable, Iterator
from functools import reduce

from omnigraph.policy.cedar import Json

__all__ = [
    "accesses",
    "all_of",
    "attribute",
    "entity",
    "has",
    "looks_at_row",
    "negation",
    "one_of",
    "types_in",
    "uids_in",
    "variable",
    "with_types",
]


def variable(name: str) -> Json:
    return {"Var": name}


def attribute(owner: str, name: str) -> Json:
    return {".": {"left": variable(owner), "attr": name}}


def has(owner: str, name: str) -> Json:
    return {"has": {"left": variable(owner), "attr": name}}


def entity(kind: str, name: str) -> Json:
    return {"type": kind, "id": name}


def negation(node: Json) -> Json:
    return {"!": {"arg": node}}


def all_of(nodes: Iterable[Json]) -> Json:
    """The nodes from left to right, joined by `&&`; without nodes, true."""
    given = list(nodes) or [{"Value": True}]
    return reduce(lambda left, right: {"&&": {"left": left, "right": right}}, given)


def one_of(left: Json, right: Json) -> Json:
    return {"||": {"left": left, "right": right}}


def parts_of(node: Json) -> Iterator[Json]:
    """The nodes right below a node."""
    ((word, parts),) = node.items()
    match word:
        case "Value" | "Var" | "Slot":
            return
        case "." | "has" | "like":
            yield parts["left"]
        case "is":
            yield parts["left"]
            if "in" in parts:
                yield parts["in"]
        case _:
            yield from parts.values() if isinstance(parts, dict) else parts


def below(node: Json) -> Iterator[Json]:
    """The node and all nodes below it."""
    yield node
    for part in parts_of(node):
        yield from below(part)


def accesses(node: Json, *, of_any: bool = False) -> Iterator[tuple[str, str]]:
    """The attributes of variables that a node takes; those it only asks for if `of_any`."""
    words = (".", "has") if of_any else (".",)
    for found in below(node):
        ((word, parts),) = found.items()
        if word in words and parts["left"].keys() == {"Var"}:
            yield parts["left"]["Var"], parts["attr"]


def looks_at_row(node: Json) -> bool:
    return any(found == {"Var": "resource"} for found in below(node))


def uids_in(node: Json) -> Iterator[Json]:
    """The entities that a node names."""
    for found in below(node):
        if "Value" in found:
            yield from _uids(found["Value"])


def _uids(value: Json) -> Iterator[Json]:
    match value:
        case {"__entity": uid}:
            yield uid
        case list():
            for item in value:
                yield from _uids(item)
        case _:
            return


def types_in(node: Json) -> Iterator[str]:
    """The types that a node asks for by `is`."""
    for found in below(node):
        if "is" in found:
            yield found["is"]["entity_type"]


def with_types(node: Json, types: dict[str, str]) -> Json:
    """The node with other names for the types of its entities."""
    match node:
        case {"__entity": {"type": kind, "id": name}}:
            return {"__entity": entity(types.get(kind, kind), name)}
        case {"is": parts}:
            renamed = {n: with_types(p, types) for n, p in parts.items() if n != "entity_type"}
            kind = parts["entity_type"]
            return {"is": {**renamed, "entity_type": types.get(kind, kind)}}
        case dict():
            return {name: with_types(part, types) for name, part in node.items()}
        case list():
            return [with_types(part, types) for part in node]
        case _:
            return node
