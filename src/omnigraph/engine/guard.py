"""The guard: what a policy says of actors, asked once and remembered.

A policy is fitted to the schema of each commit that is read: one that does not fit a schema lets
nobody see a commit of it. Equal sights of one schema share one scope, and so the caches of readers.
"""

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Literal, NamedTuple, Protocol

from omnigraph.base.errors import PolicyDenied, PolicyInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import TypeName
from omnigraph.base.recent import Recent
from omnigraph.lang.plan.conditions import ALWAYS, NEVER, AllOf, Condition, simplify
from omnigraph.lang.schema.catalog import Catalog, EntityType
from omnigraph.lang.schema.persist import schema_hash
from omnigraph.read.scope import Scope, in_columns
from omnigraph.store.snapshot import Snapshot

__all__ = [
    "Decision",
    "Extent",
    "Fitted",
    "Guard",
    "Head",
    "Policy",
    "PolicyArgument",
    "Sight",
    "Writable",
    "as_policy",
]

# A server knows some thousands of actors; an answer takes some hundred bytes.
MAX_ANSWERS = 16_384
# Commits that are read are mostly of one schema, and each has few roles.
MAX_SCHEMAS = 16
MAX_SCOPES = 1_024

NO_FIT = "it does not fit the schema of that commit"


RowAction = Literal["read", "export", "change", "branch_merge"]
"""What a policy says of rows: which are read, exported, changed or merged."""


class Extent(Enum):
    """How much an actor may do."""

    NOTHING = "nothing"
    SOME_ROWS = "some rows"
    """Rules about rows decide."""
    EVERYTHING = "everything"


class Decision(Protocol):
    @property
    def allowed(self) -> bool: ...


class Sight(Protocol):
    """What an actor may see, or write."""

    @property
    def rows(self) -> Mapping[TypeName, Condition]: ...
    @property
    def hidden_types(self) -> frozenset[TypeName]: ...
    @property
    def hidden_properties(self) -> Mapping[TypeName, frozenset[str]]: ...


class Fitted(Protocol):
    """A policy for graphs of one schema. It remembers what it was asked."""

    def decide(
        self, *, actor: str, action: str, branch: str, target_branch: str | None = None
    ) -> Decision: ...

    def sight(
        self, *, actor: str, action: RowAction, branch: str, target_branch: str | None = None
    ) -> Sight: ...


class Head(Protocol):
    """A branch with the schema of its rows, such as a snapshot."""

    @property
    def branch(self) -> str: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def schema_hash(self) -> str: ...


class Policy(Protocol):
    """As `omnigraph.policy.policy.Policy`, or anything else that answers the same."""

    @property
    def digest(self) -> str: ...

    def fitted(self, catalog: Catalog, schema_hash: str) -> Fitted:
        """Raises `PolicyInvalid` where it names what the schema does not have."""


PolicyArgument = Policy | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""A policy, or the files of its bundle."""


def as_policy(given: PolicyArgument) -> Policy:
    """The policy that a caller means; of files, what is written there. Raises `PolicyInvalid`."""
    if not isinstance(given, str | os.PathLike | Iterable):
        return given
    # Few graphs are opened with a policy, and Cedar takes its time to import.
    from omnigraph.policy import policy

    paths = [given] if isinstance(given, str | os.PathLike) else [*given]
    return policy.Policy.read(*paths)


@frozen(slots=False, eq=False)
class Writable:
    """The rows and properties that an actor may write. An edge is judged by itself."""

    conditions: Mapping[TypeName, Condition]
    """In names of columns; of other types, all rows."""
    fixed: Mapping[TypeName, frozenset[str]]
    """Properties that may not be set."""

    def covers(self, entity: EntityType) -> bool:
        """True if any row of a type may be written, whatever it holds."""
        return entity.name not in self.conditions and entity.name not in self.fixed


@frozen(eq=False)
class Guard:
    policy: Policy
    first: Fitted
    """Fitted to main as it was when the graph was opened: what actors may do depends on no type."""
    _fitted: Recent[str, Fitted | PolicyInvalid] = field(
        default_factory=lambda: Recent(MAX_SCHEMAS)
    )
    _scopes: Recent[Hashable, Scope] = field(default_factory=lambda: Recent(MAX_ANSWERS))
    _shared: Recent[Hashable, Scope] = field(default_factory=lambda: Recent(MAX_SCOPES))

    @classmethod
    def over(cls, policy: Policy, main: Snapshot) -> "Guard":
        """Raises `PolicyInvalid` if the policy does not fit main."""
        guard = cls(policy, policy.fitted(main.catalog, main.schema_hash))
        guard._fitted.put(main.schema_hash, guard.first)
        return guard

    def allow(
        self, actor: str | None, action: str, branch: str, target_branch: str | None = None
    ) -> None:
        """Return if the actor may do it, and raise `PolicyDenied` otherwise."""
        if not self.allows(actor, action, branch, target_branch):
            raise PolicyDenied(action, actor, branch, target_branch)

    def allows(
        self, actor: str | None, action: str, branch: str, target_branch: str | None = None
    ) -> bool:
        """False for nobody: who acts must be said."""
        if actor is None:
            return False
        asked = {"actor": actor, "action": action, "branch": branch}
        return self.first.decide(**asked, target_branch=target_branch).allowed

    def scope(
        self,
        head: Head,
        actor: str | None,
        action: Literal["read", "export"],
        branches: tuple[str, ...],
    ) -> Scope:
        """What the actor may see of a snapshot, by the rules of all these branches."""
        key = (head.schema_hash, actor, action, branches)
        if (scope := self._scopes.get(key)) is None:
            seen = self._sight(head, actor, action, branches)
            scope = self._shared_scope(head, seen)
            self._scopes.put(key, scope)
        return scope

    def shows_more(self, head: Head, actor: str | None, *, on: str) -> bool:
        """True unless the rules of another branch hide all that those of the head's own do."""
        own = head.branch
        actions: tuple[Literal["read", "export"], ...] = ("read", "export")
        for action in actions:
            if on == own or not self.allows(actor, action, on):
                continue
            if not self.allows(actor, action, own):
                return True
            there, both = (self.scope(head, actor, action, by) for by in ((on,), (on, own)))
            if there.identity != both.identity:
                return True
        return False

    def changeable(self, head: Head, actor: str | None) -> Writable | None:
        """What the actor may change on a branch; None: everything."""
        return self._writable(head, self._sight(head, actor, "change", (head.branch,)))

    def mergeable(self, head: Head, actor: str | None, *, source: str) -> Writable | None:
        """What the actor may bring from another branch to this one; None: everything."""
        seen = self._sight(head, actor, "branch_merge", (source,), target=head.branch)
        return self._writable(head, seen)

    def may_merge(self, actor: str | None, source: Head, target: Head) -> Extent:
        """How much of what a branch has changed the actor may bring to another."""
        if not self.allows(actor, "branch_merge", source.branch, target.branch):
            return Extent.NOTHING
        try:
            if self.shows_more(source, actor, on=target.branch):
                return Extent.NOTHING
            rows = self.mergeable(target, actor, source=source.branch)
        except PolicyDenied:
            return Extent.NOTHING
        return Extent.EVERYTHING if rows is None else Extent.SOME_ROWS

    def _writable(self, head: Head, seen: "_Seen") -> Writable | None:
        rows = {**seen.rows, **dict.fromkeys(seen.hidden_types, NEVER)}
        entities = {entity.name: entity for entity in head.catalog.entities}
        conditions = {
            name: condition
            for name, asked in rows.items()
            if name in entities and (condition := in_columns(asked, entities[name])) != ALWAYS
        }
        fixed = {name: names for name, names in seen.hidden_properties.items() if names}
        return Writable(conditions, fixed) if conditions or fixed else None

    def rules_that_would_not_fit(self, desired: Catalog) -> tuple[str, ...]:
        """Each rule that names what another schema lacks, with where it stands.

        A rule that fits is about what it was about: no name passes to another type or property by
        one change of a schema.
        """
        try:
            self.policy.fitted(desired, schema_hash(desired))
        except PolicyInvalid as invalid:
            return tuple(finding.line for finding in invalid.findings)
        return ()

    def _sight(
        self,
        head: Head,
        actor: str | None,
        action: RowAction,
        branches: tuple[str, ...],
        *,
        target: str | None = None,
    ) -> "_Seen":
        if actor is None:
            raise PolicyDenied(action, None, head.branch)
        fitted = self._fit(head, actor, action)
        return _all_of(
            fitted.sight(actor=actor, action=action, branch=each, target_branch=target)
            for each in branches
        )

    def _fit(self, head: Head, actor: str, action: str) -> Fitted:
        fitted = self._fitted.get(head.schema_hash)
        if fitted is None:
            try:
                fitted = self.policy.fitted(head.catalog, head.schema_hash)
            except PolicyInvalid as invalid:
                fitted = invalid
            self._fitted.put(head.schema_hash, fitted)
        if isinstance(fitted, PolicyInvalid):
            raise PolicyDenied(action, actor, head.branch, reason=NO_FIT) from fitted
        return fitted

    def _shared_scope(self, head: Head, seen: "_Seen") -> Scope:
        """Equal sights share one scope, with all that readers keep of it."""
        key = (head.schema_hash, *seen.key)
        if (scope := self._shared.get(key)) is None:
            scope = Scope.of(
                head.catalog,
                seen.rows,
                hidden_types=seen.hidden_types,
                hidden_properties=seen.hidden_properties,
            )
            self._shared.put(key, scope)
        return scope


class _Seen(NamedTuple):
    rows: Mapping[TypeName, Condition]
    hidden_types: frozenset[TypeName]
    hidden_properties: Mapping[TypeName, frozenset[str]]

    @property
    def key(self) -> tuple[Hashable, ...]:
        rows, properties = self.rows.items(), self.hidden_properties.items()
        return frozenset(rows), self.hidden_types, frozenset(properties)


def _all_of(sights: Iterable[Sight]) -> _Seen:
    """What every one of the sights shows."""
    rows: dict[TypeName, Condition] = {}
    properties: dict[TypeName, frozenset[str]] = {}
    types: set[TypeName] = set()
    for sight in sights:
        for name, condition in sight.rows.items():
            rows[name] = simplify(AllOf((rows.get(name, ALWAYS), condition)))
        for name, hidden in sight.hidden_properties.items():
            properties[name] = properties.get(name, frozenset()) | hidden
        types |= sight.hidden_types
    return _Seen(rows, frozenset(types), properties)
