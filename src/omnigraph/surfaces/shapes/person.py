"""What commands print about policies and about the person."""

from typing import Literal, TypedDict

__all__ = [
    "Alias",
    "Aliases",
    "Login",
    "Logout",
    "PolicyCase",
    "PolicyCases",
    "PolicyExplanation",
    "PolicySummary",
    "Profile",
    "Profiles",
    "RowRule",
    "RowsSeen",
    "Version",
]


class PolicySummary(TypedDict):
    """What a policy holds."""

    digest: str
    rules: list[str]
    groups: list[str]
    actors: list[str]
    schema_checked: bool


class PolicyCase(TypedDict):
    """A case, and what the policy says to it."""

    id: str
    passed: bool
    expect: str
    got: str
    rules: list[str]
    reason: str


class PolicyCases(TypedDict):
    """How a policy does on cases."""

    passed: int
    failed: int
    cases: list[PolicyCase]


class RowRule(TypedDict):
    """A rule about rows."""

    id: str
    effect: str
    condition: str


class RowsSeen(TypedDict):
    """What an actor sees of one type."""

    type: str
    rows: Literal["all", "some", "none"]
    condition: str | None
    hidden_properties: list[str]
    rules: list[RowRule]


class PolicyExplanation(TypedDict):
    """Whether an actor may do something, and by which rules."""

    actor: str
    action: str
    branch: str | None
    allowed: bool
    rules: list[str]
    reason: str
    note: str | None
    types: list[RowsSeen]


class Login(TypedDict):
    """A server that knows you."""

    server: str
    logged_in: bool


class Logout(Login):
    """A server whose token is forgotten."""

    was_logged_in: bool


class Profile(TypedDict):
    """A profile of the configuration."""

    name: str
    store: str | None
    server: str | None
    graph: str | None
    actor: str | None
    format: str | None


class Profiles(TypedDict):
    """The profiles of the configuration, and the name of the default one."""

    profiles: list[Profile]
    default: str | None


class Alias(TypedDict):
    """A word, and the words that it stands for."""

    name: str
    words: list[str]


class Aliases(TypedDict):
    """The aliases of the configuration."""

    aliases: list[Alias]


class Version(TypedDict):
    """The version of the program."""

    version: str
