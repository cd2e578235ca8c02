"""The rules of one type: key, uniqueness, indexes, ranges and patterns, resolved and checked.

A constraint on a property and the same constraint in the body are one thing from here on. The same
constraint given twice is one constraint, so that a node may repeat what its interface says.
"""

from collections.abc import Iterable, Mapping

from omnigraph.base.types import INTEGER_RANGES, ListOf, Scalar, ValueType, VectorOf
from omnigraph.base.words import clipped
from omnigraph.lang.schema.catalog import (
    DST,
    SRC,
    Check,
    Constraint,
    Index,
    Range,
    Unique,
    sorted_constraints,
)
from omnigraph.lang.schema.check.annotations import argument_error
from omnigraph.lang.schema.check.draft import DraftProperty
from omnigraph.lang.schema.check.findings import Findings
from omnigraph.lang.schema.check.regex import pattern_error
from omnigraph.lang.schema.text.ast import Annotation, Bounds, Extent, Literal, Name
from omnigraph.lang.schema.text.written import value_text

__all__ = ["Rules"]


class Rules:
    """Collects the constraints of one type; `key` and `constraints` are the result."""

    def __init__(
        self,
        type_name: str,
        properties: Mapping[str, DraftProperty],
        *,
        broken: frozenset[str],
        is_edge: bool,
        findings: Findings,
    ) -> None:
        self.key: tuple[str, ...] = ()
        self._type_name = type_name
        self._properties = properties
        self._broken = broken
        self._is_edge = is_edge
        self._findings = findings
        self._constraints: set[Constraint] = set()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return sorted_constraints(self._constraints)

    def inherit(self, key: tuple[str, ...], constraints: Iterable[Constraint], at: Extent) -> None:
        """Take over what an interface, checked by itself, says."""
        for constraint in constraints:
            self._constraints.add(constraint)
            if isinstance(constraint, Range):
                self._check_default(constraint, at)
        if key:
            self._set_key(key, at)

    def on_property(self, owner: Name, annotation: Annotation) -> None:
        """A constraint written after the property it is about."""
        match annotation.name.text, annotation.arguments:
            case "index", (Name(text="ngram"),):
                self._ngram(owner, annotation)
            case "key" | "unique" | "index", ():
                self._tuple(annotation, (owner,))
            case "range", (Bounds() as bounds,):
                self._range(annotation, owner, bounds)
            case "check", (Literal(value=str() as pattern),):
                self._check(annotation, owner, pattern)
            case _:
                argument_error(annotation, self._findings)

    def in_body(self, annotation: Annotation) -> None:
        """A constraint that names its properties."""
        match annotation.name.text, annotation.arguments:
            case "range", (Name() as owner, Bounds() as bounds):
                self._range(annotation, owner, bounds)
            case "check", (Name() as owner, Literal(value=str() as pattern)):
                self._check(annotation, owner, pattern)
            case "key" | "unique" | "index", (_, *_):
                names = tuple(a for a in annotation.arguments if isinstance(a, Name))
                if len(names) == len(annotation.arguments):
                    self._tuple(annotation, names)
                else:
                    argument_error(annotation, self._findings)
            case _:
                argument_error(annotation, self._findings)

    def _tuple(self, annotation: Annotation, names: tuple[Name, ...]) -> None:
        kind = annotation.name.text
        texts = tuple(name.text for name in names)
        for i, name in enumerate(names):
            if name.text in texts[:i]:
                message = f"{clipped(name.text)} is named twice in @{kind}"
                self._findings.add("S041", name.at, message)
        checks = [self._may_be_part(kind, name, is_alone=len(names) == 1) for name in names]
        if not all(checks) or len(set(texts)) < len(texts):
            return
        if kind == "key":
            if self._is_edge and not {SRC, DST} <= set(texts):
                message = "the key of an edge names both its ends"
                hint = f"write @key({', '.join(dict.fromkeys((SRC, DST, *texts)))}) in the body"
                self._findings.add("S045", annotation.at, message, hint)
            self._set_key(texts, annotation.at)
        elif kind == "unique":
            self._constraints.add(Unique(tuple(sorted(texts))))
        else:
            self._constraints.add(Index(texts))

    def _may_be_part(self, kind: str, name: Name, *, is_alone: bool) -> bool:
        if self._is_edge and name.text in (SRC, DST):
            if kind == "index":
                hint = "the ends of an edge are always indexed: leave it out"
                self._findings.add("S046", name.at, f"{name.text} needs no index", hint)
            return kind != "index"
        known = self._known(name)
        if known is None:
            return False
        if not _can_be_part(kind, known.type, is_alone=is_alone):
            several = "" if is_alone else " of several properties"
            self._wrong_type(name, known, f"@{kind}{several}")
            return False
        if kind == "key" and known.is_nullable:
            message = f"{clipped(name.text)} is part of the key, so it can't be nullable"
            self._findings.add("S044", name.at, message, f"write {known.type} without '?'")
            return False
        return True

    def _set_key(self, key: tuple[str, ...], at: Extent) -> None:
        if self.key and self.key != key:
            message = f"{clipped(self._type_name)} already has the key ({', '.join(self.key)})"
            both = dict.fromkeys((*self.key, *key))
            hint = f"for a key of several properties write @key({', '.join(both)}) in the body"
            self._findings.add("S043", at, message, hint if len(both) > len(self.key) else None)
        self.key = self.key or key

    def _ngram(self, owner: Name, annotation: Annotation) -> None:
        known = self._known(owner)
        if known is None:
            return
        if "ngram" in self._properties:
            message = "ngram is a property here as well as a kind of index"
            hint = "put @index on the property itself, or give the property another name"
            self._findings.add("S050", annotation.at, message, hint)
        elif known.type is not Scalar.STRING:
            self._wrong_type(owner, known, "@index(ngram)")
        else:
            self._constraints.add(Index((owner.text,), "ngram"))

    def _range(self, annotation: Annotation, owner: Name, bounds: Bounds) -> None:
        known = self._known(owner)
        if known is None:
            return
        if not isinstance(known.type, Scalar) or not known.type.is_numeric:
            self._wrong_type(owner, known, "@range")
            return
        problem = _bounds_problem(bounds, known.type)
        if problem:
            self._findings.add("S047", bounds.at, problem)
            return
        rule = Range(owner.text, bounds.low, bounds.high)
        self._constraints.add(rule)
        self._check_default(rule, annotation.at)

    def _check_default(self, rule: Range, at: Extent) -> None:
        known = self._properties.get(rule.property)
        if known and known.default is not None and not _holds(rule, known.default):
            default = value_text(known.default)
            message = f"the default {default} of {clipped(rule.property)} is outside its range"
            self._findings.add("S061", at, message)

    def _check(self, annotation: Annotation, owner: Name, pattern: str) -> None:
        known = self._known(owner)
        if known is None:
            return
        if known.type is not Scalar.STRING:
            self._wrong_type(owner, known, "@check")
            return
        problem = pattern_error(pattern)
        if problem:
            hint = "patterns are in RE2 syntax: no looking around, no references to groups"
            self._findings.add("S048", annotation.at, f"the pattern can't be used: {problem}", hint)
        self._constraints.add(Check(owner.text, pattern))

    def _known(self, name: Name) -> DraftProperty | None:
        known = self._properties.get(name.text)
        if known is None and name.text not in self._broken:
            message = f"{clipped(self._type_name)} has no property {clipped(name.text)}"
            ends = {"from": SRC, "to": DST} if self._is_edge else {}
            meant = ends.get(name.text)
            hint = (
                f"write {meant}" if meant else (self._findings.suggest(name.text, self._properties))
            )
            self._findings.add("S040", name.at, message, hint)
        return known

    def _wrong_type(self, name: Name, known: DraftProperty, what: str) -> None:
        message = f"{what} can't be on {clipped(name.text)}, which is {_article(known.type)}"
        self._findings.add("S042", name.at, message)


def _can_be_part(kind: str, type_: ValueType, *, is_alone: bool) -> bool:
    if type_ is Scalar.BLOB:
        return False
    if isinstance(type_, ListOf | VectorOf):
        return kind == "index" and is_alone
    return True


def _bounds_problem(bounds: Bounds, scalar: Scalar) -> str | None:
    low, high = bounds.low, bounds.high
    if low is not None and high is not None and low > high:
        return f"{low} is above {high}"
    if scalar.is_integer:
        least, most = INTEGER_RANGES[scalar]
        for end in (low, high):
            if end is not None and (isinstance(end, float) or not least <= end <= most):
                return f"{end} is not a value of {scalar}"
    return None


def _holds(rule: Range, value: object) -> bool:
    if not isinstance(value, int | float):  # the type is wrong, and reported as such
        return True
    return (rule.low is None or rule.low <= value) and (rule.high is None or value <= rule.high)


def _article(type_: ValueType) -> str:
    match type_:
        case ListOf():
            return "a list"
        case VectorOf():
            return "a Vector"
        case _:
            shown = clipped(str(type_))
            return f"an {shown}" if shown[0] in "IeE" else f"a {shown}"
