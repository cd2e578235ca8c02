"""The schemas that a walk goes through, and what becomes of rows when one follows another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

FIRST_RANK = 1
"""The default of a note's rank."""

Unknown = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Shape:
    """A schema: what it has beside the first one, and what it has no more."""

    team: str = "team"
    """What the property is called."""
    likes: int | None = 0
    """Which property of this name it is: dropped and added again it is another one."""
    likes_made: int = 1
    mood: bool = False
    rank: bool = False
    tags: bool = False
    wide: bool = False
    """Whether the year of an acquaintance has 64 bits."""

    @property
    def text(self) -> str:
        other = {"team": "squad", "squad": "team"}[self.team]
        rename = f' @rename_from("{other}")' if self != Shape() else ""
        return f"""
node Person {{
    name: String @key
    age: I32? @index
    {self.team}: String?{rename} @index @index(ngram)
    nick: String? @unique
    {"mood: String?" if self.mood else ""}
    mark: Vector(4)? @embed("{self.team}", model="mock")
    @range(age, 0..9)
}}
node Note {{
    text: String @index
    {"likes: I32?" if self.likes is not None else ""}
    {f"rank: I32 @default({FIRST_RANK})" if self.rank else ""}
}}
{"node Tag { label: String @key }" if self.tags else ""}
edge Knows: Person -> Person {{ since: {"I64" if self.wide else "I32"}?  @key(src, dst) }}
edge Wrote: Person -> Note @card(0..3) {{ stamp: I32 }}
"""

    def unknown_to(self, other: "Shape") -> Unknown:
        """The properties, by type, that this schema has and the other one hasn't."""
        likes = self.likes is not None and self.likes != other.likes
        found = {
            "Person": {"mood"} if self.mood and not other.mood else set(),
            "Note": ({"rank"} if self.rank and not other.rank else set())
            | ({"likes"} if likes else set()),
        }
        return {name: frozenset(properties) for name, properties in found.items()}

    def name_of(self, column: str) -> str:
        """What a property of the first schema is called."""
        return self.team if column == "team" else column

    def spelled(self, text: str) -> str:
        """A query that is written for the first schema, as this one has it."""
        return text.replace(".team", f".{self.team}")


CHANGES: dict[str, Callable[[Shape], Shape]] = {
    "add mood": lambda s: replace(s, mood=True),
    "add rank": lambda s: replace(s, rank=True),
    "add tags": lambda s: replace(s, tags=True),
    "rename team": lambda s: replace(s, team="squad" if s.team == "team" else "team"),
    "drop likes": lambda s: replace(s, likes=None),
    "add likes": lambda s: (
        s if s.likes is not None else replace(s, likes=s.likes_made, likes_made=s.likes_made + 1)
    ),
    "widen since": lambda s: replace(s, wide=True),
}
ADDITIVE = ("add mood", "add rank", "add tags", "add likes")
OF_NO_TABLE = ("add tags", "rename team")
"""Changes that move no table that is there."""
