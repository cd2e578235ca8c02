"""What a node is called by people: by its name, its title, its label, or else by its id."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["LABELS", "label_of"]

LABELS = ("name", "title", "label")
"""What a node is called by, if it has one of them; otherwise by its id."""


def label_of(properties: Mapping[str, Any], id_: object, names: Iterable[str] = LABELS) -> str:
    """The first of these properties that has a value, or the id."""
    return next((str(v) for n in names if (v := properties.get(n)) is not None), str(id_))
