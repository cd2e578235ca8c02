"""What happens on a walk: writes of every kind, by the boss and by actors, on several branches."""

from dataclasses import dataclass
from random import Random
from typing import Any

from omnigraph.base.choices import LoadModeName, OnError

KEYS = tuple(f"p{number}" for number in range(5))
NOTES = tuple(f"n{number}" for number in range(3))
TEAMS = ("red", "blue")
WORDS = ("sea", "sky", "sea sky", "sky sky land", "land")
BRANCHES = ("main", "side", "other")


@dataclass(frozen=True)
class Mutate:
    actor: str
    branch: str
    text: str


@dataclass(frozen=True)
class Load:
    actor: str
    branch: str
    mode: LoadModeName
    on_error: OnError
    dry_run: bool
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class MakeBranch:
    actor: str
    branch: str
    source: str


@dataclass(frozen=True)
class DropBranch:
    branch: str


@dataclass(frozen=True)
class Merge:
    actor: str
    source: str
    into: str
    resolve: str | None
    """`choices`: for each conflict that is told, one side or the other."""
    ours: str | None
    """What the boss changes on the branch that takes, before; and below, on the other one."""
    theirs: str | None


@dataclass(frozen=True)
class Revert:
    actor: str
    back: int
    """How many commits before the head."""
    resolve: str | None


@dataclass(frozen=True)
class Evolve:
    pass


@dataclass(frozen=True)
class Tidy:
    branch: str


@dataclass(frozen=True)
class Clean:
    pass


@dataclass(frozen=True)
class Embed:
    actor: str


@dataclass(frozen=True)
class NewPolicy:
    pass


Step = (
    Mutate | Load | MakeBranch | DropBranch | Merge | Revert | Evolve | Tidy | Clean | Embed
    | NewPolicy
)  # fmt: skip


def random_step(random: Random, branches: list[str], actors: list[str]) -> Step:
    actor, branch = random.choice(actors), random.choice(branches)
    free = [name for name in BRANCHES if name not in branches]
    others = [name for name in branches if name != branch]
    kinds = ["mutate"] * 8 + ["load"] * 6 + ["revert"] * 3 + ["evolve", "tidy", "clean", "embed"]
    kinds += ["policy"] + ["make"] * 3 * bool(free) + ["merge"] * 10 * bool(others)
    kinds += ["drop"] * bool(others)
    match random.choice(kinds):
        case "mutate":
            return Mutate(actor, branch, random_mutation(random))
        case "load":
            rows = tuple(random_row(random) for _ in range(random.randint(1, 4)))
            mode: LoadModeName = random.choice(["append", "merge", "merge"])
            on_error: OnError = random.choice(["fail", "fail", "quarantine"])
            return Load(actor, branch, mode, on_error, random.random() < 0.15, rows)
        case "make":
            return MakeBranch(actor, random.choice(free), branch)
        case "drop":
            return DropBranch(random.choice([name for name in branches if name != "main"]))
        case "merge":
            resolve = random.choice([None, None, "ours", "theirs", "choices"])
            key, is_apart = random.choice(KEYS), random.random() < 0.6
            ours, theirs = (_random_change(random, key) if is_apart else None for _ in range(2))
            return Merge(actor, random.choice(others), branch, resolve, ours, theirs)
        case "revert":
            return Revert(actor, random.randint(0, 3), random.choice([None, "theirs"]))
        case "evolve":
            return Evolve()
        case "tidy":
            return Tidy(branch)
        case "clean":
            return Clean()
        case "embed":
            return Embed(actor)
        case _:
            return NewPolicy()


def _random_change(random: Random, key: str) -> str:
    """Another Person of this key, or none."""
    team, pay = random.choice(TEAMS), random.randint(0, 3)
    return random.choice(
        [
            f'update Person set {{ pay: {pay}, team: "{team}" }} where key = "{key}"',
            f'update Person set {{ pay: {pay} }} where key = "{key}"',
            f'update Person set {{ bio: "{random.choice(WORDS)}" }} where key = "{key}"',
            f'update Person set {{ badge: "{random.choice("xy")}" }} where key = "{key}"',
            f'delete Person where key = "{key}"',
            f'insert Knows {{ from: "{key}", to: "p0", since: {pay} }}',
        ]
    )


def random_person(random: Random) -> dict[str, Any]:
    return {
        "team": random.choice([*TEAMS, *TEAMS, None]),
        "pay": random.choice([0, 1, 2, 3, None]),
        "badge": random.choice(["x", "y", None, None, None]),
        "bio": random.choice([*WORDS, None]),
        "name": random.choice(["Ada", "Bo", None]),
    }


def random_row(random: Random) -> dict[str, Any]:
    """A row of a load; one in some is wrong by itself."""
    match random.choice(["Person"] * 3 + ["Note", "Team", "Knows", "About", "In"]):
        case "Person":
            data = {"key": random.choice(KEYS), **random_person(random)}
            if random.random() < 0.1:
                data["pay"] = 99
            return {"type": "Person", "data": data}
        case "Note":
            team = random.choice([*TEAMS, None])
            return {"type": "Note", "id": random.choice(NOTES), "data": {"team": team}}
        case "Team":
            return {"type": "Team", "data": {"name": random.choice([*TEAMS, "grey"])}}
        case "Knows":
            ends = {"from": random.choice(KEYS), "to": random.choice(KEYS)}
            data = {"since": random.choice([0, 1, 2, None])}
            given = {"id": f"k{random.randint(0, 3)}"} if random.random() < 0.7 else {}
            return {"edge": "Knows", **given, **ends, "data": data}
        case "About":
            ends = {"from": random.choice(NOTES), "to": random.choice(KEYS)}
            return {"edge": "About", "id": f"a{random.randint(0, 2)}", **ends}
        case _:
            ends = {"from": random.choice(KEYS), "to": random.choice(TEAMS)}
            return {"edge": "In", "id": f"i{random.randint(0, 4)}", **ends}


def random_mutation(random: Random) -> str:
    key, other = random.choice(KEYS), random.choice(KEYS)
    team, pay, since = random.choice(TEAMS), random.randint(0, 3), random.randint(0, 2)
    badge = random.choice(["x", "y"])
    statements = [
        f'update Person set {{ pay: {pay} }} where key = "{key}"',
        f'update Person set {{ team: "{team}" }} where pay >= {pay}',
        f'update Person set {{ badge: "{badge}" }} where key = "{key}"',
        f'update Person set {{ bio: "{random.choice(WORDS)}" }} where team = "{team}"',
        "update Person set { badge: null } where pay < 2",
        f"update Knows set {{ since: {since} }} where since <= 1",
        f'update Note set {{ team: "{team}" }} where team = "{random.choice(TEAMS)}"',
        f'delete Person where key = "{key}"',
        f'delete Note where team = "{team}"',
        f"delete Knows where since = {since}",
        f'delete Team where name = "{team}"',
        f'insert Person {{ key: "{key}", team: "{team}", pay: {pay} }}',
        f'insert Person {{ key: "{key}", badge: "{badge}" }}',
        f'insert Knows {{ from: "{key}", to: "{other}", since: {since} }}',
        f'insert In {{ from: "{key}", to: "{team}" }}',
        f'insert Team {{ name: "{team}" }}',
        f'insert Note {{ team: "{team}", name: "new" }}',
        f'insert About {{ from: "{random.choice(NOTES)}", to: "{key}" }}',
    ]
    return "  ".join(random.sample(statements, random.choice([1, 1, 1, 2, 3])))
