"""Names of other systems as names of the schema language: always the same one for the same names.

Letters and digits of ASCII and `_` stay; a letter with a mark loses the mark; whatever else there
is becomes one `_`. Types begin with a capital, properties with a small letter or `_`. Labels of
edges in capitals, `ACTED_IN`, are written `ActedIn`, since queries write them `actedIn`. A name
that is taken gets a number.
"""

import re
import unicodedata
from collections.abc import Collection

from omnigraph.lang.schema.check.identity import VIRTUAL_COLUMNS
from omnigraph.lang.schema.check.properties import RESERVED_ON_EDGES
from omnigraph.lang.type_words import BUILT_IN_TYPES

__all__ = ["Names", "edge_name", "edge_property_name", "node_name", "property_name"]

# The language takes 128; what is left is for a number.
MAX_CHARACTERS = 120

ILLEGAL = re.compile(r"[^A-Za-z0-9_]+")
CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


class Names:
    """Names of one kind, each given once."""

    def __init__(self, *, taken: Collection[str] = (), folds_case: bool = False) -> None:
        self._folds_case = folds_case
        self._taken = {self._folded(name) for name in taken}

    def give(self, wanted: str) -> str:
        """The name, or the name with the first number that is free."""
        name, number = wanted, 1
        while self._folded(name) in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(self._folded(name))
        return name

    def _folded(self, name: str) -> str:
        return name.casefold() if self._folds_case else name


def node_name(label: str) -> str:
    name = _legal(label).lstrip("_")
    name = name[:1].upper() + name[1:] if name[:1].isalpha() else f"Type{name}"
    return f"{name}_" if name in BUILT_IN_TYPES else name


def edge_name(label: str) -> str:
    if CAPITALS.fullmatch(label):
        label = "".join(word.capitalize() for word in label.split("_"))
    return node_name(label)


def property_name(name: str) -> str:
    legal = _legal(name)
    first = legal[:1]
    legal = first.lower() + legal[1:] if first.isalpha() else legal
    legal = f"_{legal}" if not legal or first.isdigit() else legal
    return f"{legal}_" if legal in VIRTUAL_COLUMNS else legal


def edge_property_name(name: str) -> str:
    legal = property_name(name)
    return f"{legal}_" if legal in RESERVED_ON_EDGES else legal


def _legal(text: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return ILLEGAL.sub("_", plain)[:MAX_CHARACTERS]
