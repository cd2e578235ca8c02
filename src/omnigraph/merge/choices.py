"""`resolve=`: which side to take where two stand against each other.

Either one word for all conflicts, or a list of choices: `{"type": "Person", "id": "ada",
"property": "age", "take": "theirs"}`. A choice without a property is about all conflicts of the
row; one with a property goes before it.

A choice settles the conflicts that it was made for. What it brings up, such as another row with the
value that it gave to its own, is told; to settle that too takes a choice that names the `kind`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from omnigraph.base.conflicts import Conflict, ConflictKind, Take
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import CommitId
from omnigraph.base.words import amount, clipped

if TYPE_CHECKING:
    # Surfaces read choices, and start without Arrow.
    from omnigraph.merge.conflicts import Found
    from omnigraph.merge.table import Pin

__all__ = ["Choice", "Choices", "MadeFor", "choice_template", "choices_of"]

MEMBERS = ("type", "id", "property", "kind", "take")
TOLD = ("entity_kind", "base", "ours", "theirs", "message", "absent")
"""Members that a template shows to its reader; they decide nothing."""


@frozen
class Choice:
    type_name: str
    entity_id: str
    property: str | None
    take: Take
    kind: ConflictKind | None = None

    def fits(self, conflict: Conflict) -> bool:
        """Whether it is about this conflict of its row."""
        return self.property in (None, conflict.property) and self.kind in (None, conflict.kind)

    def shown(self) -> str:
        property_ = "" if self.property is None else f", property {clipped(self.property)}"
        kind = "" if self.kind is None else f", {self.kind}"
        return f"{clipped(self.type_name)} {clipped(self.entity_id)}{property_}{kind}"


@frozen
class MadeFor:
    """The commits that a preview looked at; None: the choices don't say."""

    source_commit_id: CommitId | None = None
    target_commit_id: CommitId | None = None
    reverted_commit_id: CommitId | None = None


@dataclass
class Choices:
    """The choices of one merge, and which of them have been of use."""

    of_all: Take | None = None
    single: Sequence[Choice] = ()
    made_for: MadeFor = field(default_factory=MadeFor)
    _meant: dict[Choice, set[ConflictKind]] = field(default_factory=dict)
    """Of the choices that were of use, the kinds of conflicts that they met first."""

    @cached_property
    def by_row(self) -> Mapping[tuple[str, str], Sequence[Choice]]:
        """The single choices by the type and the id of their row."""
        rows: dict[tuple[str, str], list[Choice]] = {}
        for choice in self.single:
            rows.setdefault((choice.type_name, choice.entity_id), []).append(choice)
        return rows

    def pins(self, found: "Sequence[Found]") -> "list[Pin]":
        """What the choices make of these conflicts."""
        if self.of_all is not None:
            # Rows first: once each has a side, some rules may not be broken any more.
            of_rows = [each for each in found if each.is_of_rows]
            return [pin for each in of_rows or found for pin in each.effects[self.of_all]]
        pins: list[Pin] = []
        met: dict[Choice, set[ConflictKind]] = {}
        for each in found:
            conflict, kind = each.conflict, each.conflict.kind
            of_row = self.by_row.get((conflict.type_name, conflict.entity_id), ())
            fitting = [
                choice
                for choice in of_row
                if choice.fits(conflict) and kind in self._meant.get(choice, {kind})
            ]
            for choice in fitting:
                met.setdefault(choice, set()).add(kind)
            if fitting:
                best = max(fitting, key=lambda c: (c.property is not None, c.kind is not None))
                pins += each.effects[best.take]
        self._meant = met | self._meant
        return pins

    def require_all_used(self) -> None:
        for choice in self.single:
            if choice not in self._meant:
                raise ArgumentInvalid(
                    argument="resolve",
                    value=choice.shown(),
                    rule="this choice fits no conflict of the merge",
                    advice="preview=True, or --preview, lists the conflicts that there are",
                )


def choices_of(resolve: object) -> Choices:
    """The choices as a caller says them; raises `ArgumentInvalid`, naming what is wrong."""
    if resolve is None:
        return Choices()
    if isinstance(resolve, str):
        return Choices(of_all=_take(resolve, "resolve"))
    made_for = MadeFor()
    if isinstance(resolve, Mapping) and "choices" in resolve:
        made_for, resolve = _made_for(resolve), resolve["choices"]
    if not isinstance(resolve, Iterable) or isinstance(resolve, Mapping | bytes):
        raise _wrong(str(resolve), "it must be ours, theirs or a list of choices")
    entries = [_known_members(entry) for entry in resolve]
    _require_filled_in(entries)
    single = [_choice(entry) for entry in entries]
    about: set[Choice] = set()
    for choice in single:
        subject = replace(choice, take="ours")
        if subject in about:
            raise _wrong(choice.shown(), "there are two choices for it")
        about.add(subject)
    return Choices(single=single, made_for=made_for)


def choice_template(conflict: Conflict) -> dict[str, Any]:
    """A choice for this conflict that says everything but what to take."""
    return {
        "type": conflict.type_name,
        "id": conflict.entity_id,
        "property": conflict.property,
        "take": None,
        "kind": conflict.kind,
        "base": conflict.base,
        "ours": conflict.ours,
        "theirs": conflict.theirs,
        "absent": list(conflict.absent),
        "message": conflict.message,
    }


def _made_for(preview: Mapping[str, Any]) -> MadeFor:
    """The commits that the preview names. Those who write choices by hand need not name any."""
    named = {each.name: preview.get(each.name) for each in fields(MadeFor)}
    for name, value in named.items():
        if value is not None and not isinstance(value, str):
            raise _wrong(str(value), f"the {name} beside the choices is the id of a commit")
    return MadeFor(**named)


def _known_members(entry: object) -> Choice | Mapping[str, Any]:
    if isinstance(entry, Choice):
        return entry
    if not isinstance(entry, Mapping):
        raise _wrong(str(entry), "a choice has type, id, property (or none) and take")
    if strange := [str(name) for name in entry if name not in (*MEMBERS, *TOLD)]:
        raise _wrong(strange[0], f"a choice has no such member, but {', '.join(MEMBERS)}")
    return entry


def _require_filled_in(entries: Sequence[Choice | Mapping[str, Any]]) -> None:
    """A template that a preview wrote says of no conflict what to take."""
    unfilled = [e for e in entries if not isinstance(e, Choice) and e.get("take") is None]
    if unfilled:
        first = {name: unfilled[0].get(name) for name in ("type", "id", "property")}
        where = ", ".join(f"{name} {value}" for name, value in first.items() if value is not None)
        take = "takes" if len(unfilled) == 1 else "take"
        raise ArgumentInvalid(
            argument="resolve",
            value=None,
            rule=f"{len(unfilled):,} of {amount(len(entries), 'choice')} {take} no side yet: "
            f"take is null for {clipped(where) or 'the first'}",
            advice='write "take": "ours" or "take": "theirs" in each, or leave the choice out',
        )


def _choice(entry: Choice | Mapping[str, Any]) -> Choice:
    if isinstance(entry, Choice):
        return entry
    for name in ("type", "id"):
        if not isinstance(entry.get(name), str):
            rule = f"the choice names no {name}, or not as text: quote it"
            raise _wrong(str(dict(entry)), rule)
    property_ = entry.get("property")
    if property_ is not None and not isinstance(property_, str):
        raise _wrong(str(property_), "the property of a choice is a name")
    kind = entry.get("kind")
    if kind is not None and kind not in get_args(ConflictKind):
        raise _wrong(
            str(kind), f"the kind of a choice is one of {', '.join(get_args(ConflictKind))}"
        )
    choice = Choice(entry["type"], entry["id"], property_, "ours", kind)
    return replace(choice, take=_take(entry.get("take"), choice.shown()))


def _take(value: object, where: str) -> Take:
    if value == "ours":
        return "ours"
    if value == "theirs":
        return "theirs"
    whose = "it" if where == "resolve" else f"the take of {where}"
    raise _wrong(str(value), f"{whose} must be ours or theirs")


def _wrong(value: str, rule: str) -> ArgumentInvalid:
    return ArgumentInvalid(
        argument="resolve",
        value=clipped(value),
        rule=rule,
        advice='write {"type": "Person", "id": "ada", "property": "age", "take": "theirs"}',
    )
