"""The nodes that a caller names: an id, with its type where several types have it."""

from collections.abc import Callable, Sequence

from omnigraph.base.errors import ArgumentInvalid, EntityMissing, NameMissing
from omnigraph.base.ids import TypeName
from omnigraph.base.words import is_whole
from omnigraph.read.analytics.algorithms import NodeKey

__all__ = ["ids_named", "number_of"]

Look = Callable[[TypeName, str], int | None]
"""The number of the node of a type with an id; None: there is none."""


def ids_named(keys: Sequence[NodeKey]) -> list[str]:
    """All ids that the keys may mean, each once: `City:Bern` is an id, or a type and an id."""
    # What follows the first colon, if there is one; an empty text is an id, too.
    texts = [text for key in keys for text in (key.id, *key.id.split(":", 1)[1:])]
    return list(dict.fromkeys(filter(is_whole, texts)))


def number_of(key: NodeKey, argument: str, types: Sequence[TypeName], look: Look) -> int:
    """The number of the one node of these types that a key means."""
    among = [name for name in types if key.type_name in (None, name)]
    if not among:
        raise NameMissing("node type at these edges", str(key.type_name), tuple(types))
    numbers = {name: look(name, key.id) for name in among}
    found = [name for name, number in numbers.items() if number is not None]
    if len(found) > 1:
        rule = f"{' and '.join(found)} each have a node with this id"
        raise ArgumentInvalid(argument, key.id, rule, f"name its type: {found[0]}:{key.id}")
    if found:
        number = numbers[found[0]]
        assert number is not None, "it was found"
        return number
    named, _, id_ = key.id.partition(":")
    if key.type_name is None and named in types:
        return number_of(NodeKey(id_, named), argument, types, look)
    raise EntityMissing(type_name=" or ".join(among), entity_id=key.id)
