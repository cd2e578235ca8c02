"""Actors, groups and the graph as Cedar has entities."""

from collections.abc import Iterable, Sequence

from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar import Json
from omnigraph.policy.cedar_schema import ACTOR, GRAPH, GROUP, ROOT, SERVER
from omnigraph.policy.nodes import entity

__all__ = ["actor_entities"]


def actor_entities(bundle: Bundle, actor: str) -> list[Json]:
    """The actor, its groups and theirs, and the graph, as Cedar has entities.

    An actor that no file names has no groups and no attributes but its name.
    """
    groups: dict[str, Sequence[str]] = {}
    ahead = bundle.groups_of(actor)
    parents_of_actor = tuple(ahead)
    while ahead:
        name = ahead.pop()
        if name not in groups:
            groups[name] = bundle.groups_around(name)
            ahead += groups[name]
    attributes = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in bundle.attributes.get(actor, {}).items()
    }
    return [
        _entity(ACTOR, actor, {"id": actor, **attributes}, parents_of_actor),
        *(_entity(GROUP, name, {}, parents) for name, parents in groups.items()),
        _entity(GRAPH, ROOT, {}, ()),
        _entity(SERVER, ROOT, {}, ()),
    ]


def _entity(kind: str, name: str, attributes: Json, groups: Iterable[str]) -> Json:
    return {
        "uid": entity(kind, name),
        "attrs": attributes,
        "parents": [entity(GROUP, group) for group in groups],
    }
