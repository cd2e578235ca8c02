"""The schemas that a walk goes through: what comes, and what gets another name."""

from dataclasses import dataclass, replace
from random import Random


@dataclass(frozen=True)
class Shape:
    has_mood: bool = False
    has_rank: bool = False
    has_tags: bool = False
    badge: str = "badge"
    """What the property is called."""
    team: str = "Team"
    """What the type is called."""

    @property
    def text(self) -> str:
        badge = "mark" if self.badge == "badge" else "badge"
        team = "Crew" if self.team == "Team" else "Team"
        is_first = self == Shape()
        return f"""
// The secret of this schema.
interface Named {{ name: String? }}
node Person implements Named {{
    key: String @key
    team: String? @index
    pay: I64? @range(0..9)
    {self.badge}: String? @unique {"" if is_first else f'@rename_from("{badge}")'}
    bio: String? @index
    vector: Vector(4)? @embed("bio", model="mock")
    {"mood: String?" if self.has_mood else ""}
}}
node Note implements Named {{
    team: String?
    {"rank: I32 @default(1)" if self.has_rank else ""}
}}
node {self.team} {"" if is_first else f'@rename_from("{team}")'} {{ name: String @key }}
{"node Tag { label: String @key }" if self.has_tags else ""}
edge Knows: Person -> Person {{ since: I32? }}
edge About: Note -> Person
edge In: Person -> {self.team} @card(0..1)
"""

    def next(self, random: Random) -> "Shape":
        match random.choice(["mood", "rank", "tags", "badge", "team"]):
            case "mood":
                return replace(self, has_mood=True)
            case "rank":
                return replace(self, has_rank=True)
            case "tags":
                return replace(self, has_tags=True)
            case "badge":
                return replace(self, badge="mark" if self.badge == "badge" else "badge")
            case _:
                return replace(self, team="Crew" if self.team == "Team" else "Team")

    def renames(self, other: "Shape") -> bool:
        """True if another shape calls a thing otherwise."""
        return (self.badge, self.team) != (other.badge, other.team)
