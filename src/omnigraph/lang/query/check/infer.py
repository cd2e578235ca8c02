"""Which types each variable of a query can have, from all clauses at once.

A variable begins with every node type and clauses take types away until nothing changes, so that
neither the order of clauses nor the place of a declaration matters. A traversal takes away the
types its edge does not join, and the directions those types exclude; where both directions are
left at the end, the left side is the edge's From.

Inference terminates: `narrow` only removes types and directions, of which there are finitely many.
The one exception is a constraint whose two sides have no type in common: one side then takes the
types of the other, so that the error is reported at the clause that does not fit. Each constraint
may do so once (`has_yielded`).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from omnigraph.base.ids import TypeName
from omnigraph.base.words import listed
from omnigraph.lang.query.check.typed import Direction, EdgeStep
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.schema.catalog import EdgeType

__all__ = ["Join", "Known", "Member", "OneOf", "Types", "Walk", "Within", "solve"]

Types = frozenset[TypeName]


@dataclass(eq=False)
class Known:
    """A variable as far as it is known; `is_typed` once a clause has said anything of it."""

    name: str
    types: Types
    is_edge: bool = False
    is_typed: bool = False
    is_fresh: bool = False

    @property
    def shown(self) -> str:
        return "$_" if self.is_fresh else f"${self.name}"

    @property
    def shown_types(self) -> str:
        if not self.is_typed:
            return "anything"
        return listed(sorted(self.types)) if self.types else "no type that fits the rest"


@dataclass(eq=False)
class Member:
    """One edge of a traversal and the directions in which it may still be walked."""

    word: ast.Word
    edge: EdgeType
    source: Types
    target: Types
    allowed: set[Direction]

    def ends(self, direction: Direction) -> "Step":
        return (
            (self.target, self.source) if direction is Direction.IN else (self.source, self.target)
        )


Step = tuple[Types, Types]


@dataclass(eq=False)
class Within:
    """Inside a block, a variable has at most the types it has outside.

    Where a block only looks at the variable (`is_view`) and disagrees, the outside is right, and
    the block's clause will be the one that does not fit.
    """

    inner: Known
    outer: Known
    is_view: bool
    has_yielded: bool = False

    @property
    def variables(self) -> tuple[Known, ...]:
        return (self.inner, self.outer)

    def narrow(self, findings: Findings) -> bool:
        self.inner.is_typed |= self.outer.is_typed
        if self.inner.types <= self.outer.types:
            return False
        both = self.inner.types & self.outer.types
        if not both and self.is_view and not self.has_yielded:
            self.has_yielded = True
            both = self.outer.types
        self.inner.types = both
        return True


@dataclass(eq=False)
class OneOf:
    """A variable bound by every block of an `or` has the types that some block gives it.

    Where other clauses disagree, the blocks are right, and those clauses will not fit.
    """

    outer: Known
    inner: tuple[Known, ...]
    has_yielded: bool = False

    @property
    def variables(self) -> tuple[Known, ...]:
        return (self.outer, *self.inner)

    def narrow(self, findings: Findings) -> bool:
        types = frozenset[TypeName]().union(*(k.types for k in self.inner))
        self.outer.is_typed |= all(k.is_typed for k in self.inner)
        if self.outer.types <= types:
            return False
        both = self.outer.types & types
        if not both and not self.has_yielded:
            self.has_yielded = True
            both = types
        self.outer.types = both
        return True


@dataclass(eq=False)
class Walk:
    """A traversal. `is_failed` once it has been reported: it then says nothing more."""

    clause: ast.Traversal
    left: Known
    right: Known
    members: list[Member]
    least: int
    most: int
    is_failed: bool = False
    was_ambiguous: bool = False

    @property
    def variables(self) -> tuple[Known, ...]:
        return (self.left, self.right)

    def narrow(self, findings: Findings) -> bool:
        if self.is_failed:
            return False
        before = self.left.types, self.right.types, [set(m.allowed) for m in self.members]
        lefts: Types = frozenset()
        rights: Types = frozenset()
        for member in self.members:
            for direction in tuple(member.allowed):
                found = self._through(member, direction)
                if found is None:
                    member.allowed.discard(direction)
                else:
                    lefts, rights = lefts | found[0], rights | found[1]
        if not all(m.allowed for m in self.members):
            for member in self.members:
                if not member.allowed:
                    self._report(member, findings)
            self.is_failed = True
            return False
        self.left.types, self.right.types = lefts, rights
        self.left.is_typed = self.right.is_typed = True
        return (lefts, rights, [m.allowed for m in self.members]) != before

    def _through(self, member: Member, direction: Direction) -> Step | None:
        """The types at both ends if `member` is walked in `direction`; None if it can't be."""
        if self.left is not self.right:
            return self._between(self.left.types, self.right.types, member, direction)
        # Both ends are one node, so they have one type: each type is tried by itself.
        types = frozenset[TypeName]()
        for type_ in self.left.types:
            same = frozenset({type_})
            if self._between(same, same, member, direction):
                types |= same
        return (types, types) if types else None

    def _between(
        self, lefts: Types, rights: Types, member: Member, direction: Direction
    ) -> Step | None:
        """`_through`, where the ends have at most these types."""
        step = member.ends(direction)
        steps = [step] + [m.ends(d) for m in self.members if m is not member for d in m.allowed]
        ahead, passed = _reached(lefts, steps, self.least, self.most)
        back = [(target, source) for source, target in steps]
        behind, awaited = _reached(rights, back, self.least, self.most)
        lefts, rights = lefts & behind, rights & ahead
        can_be_taken = bool(step[0] & passed) and bool(step[1] & awaited)
        return (lefts, rights) if can_be_taken and lefts and rights else None

    @property
    def is_ambiguous(self) -> bool:
        return not self.is_failed and any(len(m.allowed) > 1 for m in self.members)

    def prefer_forward(self) -> None:
        """Left is From where both directions are possible."""
        self.was_ambiguous = True
        for member in self.members:
            if len(member.allowed) > 1:
                member.allowed = {Direction.OUT}

    @property
    def steps(self) -> tuple[EdgeStep, ...]:
        return tuple(
            EdgeStep(member.edge.name, direction)
            for member in self.members
            for direction in member.allowed
        )

    def _report(self, member: Member, findings: Findings) -> None:
        edge = member.edge
        joins = f"{edge.query_name} goes from {edge.source} to {edge.target}"
        if self.was_ambiguous:
            message = f"the direction of {edge.query_name} is not clear here: {joins}"
            hint = f"say what {self.left.shown} is, for example {self.left.shown}: {edge.source}"
            findings.add("T5", message, member.word.span, hint)
            return
        if self.most > 1:
            hops = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
            message = (
                f"{joins}: {hops} hops over it don't lead "
                f"from {self.left.shown} ({self.left.shown_types}) "
                f"to {self.right.shown} ({self.right.shown_types})"
            )
            findings.add("T5", message, member.word.span)
            return
        is_left = not self.left.types & (member.source | member.target)
        known, variable = (
            (self.left, self.clause.left) if is_left else (self.right, self.clause.right)
        )
        if known.is_typed:
            message = f"{known.shown} is {known.shown_types}, and {joins}"
            findings.add("T5", message, variable.span)
        else:
            message = f"{joins}, which does not join {self.left.shown} and {self.right.shown} here"
            findings.add("T5", message, member.word.span)


Join = Within | OneOf | Walk


def solve(constraints: Sequence[Join], findings: Findings) -> None:
    """Take away types until nothing changes; then choose directions, and again."""
    _settle(constraints, findings)
    ambiguous = [c for c in constraints if isinstance(c, Walk) and c.is_ambiguous]
    for walk in ambiguous:
        walk.prefer_forward()
    if ambiguous:
        _settle(constraints, findings)


def _settle(constraints: Sequence[Join], findings: Findings) -> None:
    """Apply the constraints in turn; one is applied again when a variable of it has changed."""
    about = defaultdict[int, list[int]](list)
    for index, constraint in enumerate(constraints):
        for known in constraint.variables:
            about[id(known)].append(index)
    is_due = [True] * len(constraints)
    for _ in range(_most_rounds(constraints)):
        for index, constraint in enumerate(constraints):
            if is_due[index]:
                findings.look()
                is_due[index] = False
                if constraint.narrow(findings):
                    for known in constraint.variables:
                        for other in about[id(known)]:
                            is_due[other] = True
        if not any(is_due):
            return
    raise AssertionError("types are only taken away, so inference ends")


def _most_rounds(constraints: Sequence[Join]) -> int:
    """One more than the number of times that a constraint can change anything."""
    variables = {id(known): known for c in constraints for known in c.variables}
    types = frozenset[TypeName]().union(*(known.types for known in variables.values()))
    directions = sum(len(m.allowed) for c in constraints if isinstance(c, Walk) for m in c.members)
    # A constraint that yields gives a variable at most all types back.
    return 1 + directions + len(types) * (len(variables) + len(constraints)) + len(constraints)


def _reached(start: Types, steps: Iterable[Step], least: int, most: int) -> tuple[Types, Types]:
    """Types at the end of `least` to `most` steps, and those a step can still be taken from."""
    steps = list(steps)
    current, passed = start, start
    ends: Types = frozenset()
    # From the least number on, whatever can be reached at all is reached within one step per type.
    last = min(most, least + sum(len(s | t) for s, t in steps))
    for depth in range(1, last + 1):
        following = frozenset[TypeName]()
        for source, target in steps:
            if source & current:
                following |= target
        if depth >= least:
            ends |= following
        if depth < most:
            passed |= following
        current = following
    return ends, passed
