"""Rules become policies of Cedar, as nodes.

A rule of YAML without types is about the graph and all that is in it: `resource in Graph::"root"`.
With types, `allow` becomes a policy for the door (the graph itself) and one for the rows of each
type; `deny` one for the rows of each type. With properties it becomes one for each property. What
is not read is not exported either: a rule about reading rows is one about exporting them too.
"""

from collections.abc import Iterable, Iterator

from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.base.words import clipped
from omnigraph.lang.schema.catalog import Catalog, EdgeType, EntityType
from omnigraph.policy.actions import SERVER_ACTIONS, ScopeKind
from omnigraph.policy.bundle import Bundle, CedarRule, Everyone, Named, Rule, Written
from omnigraph.policy.cedar import Json
from omnigraph.policy.cedar_schema import (
    ACTION,
    ACTOR,
    CONTEXT,
    GRAPH,
    GROUP,
    OUR_TYPES,
    PROPERTY,
    ROOT,
    ROW_NAMESPACE,
    SERVER,
    row_type,
)
from omnigraph.policy.findings import Findings, Place
from omnigraph.policy.guards import guarded
from omnigraph.policy.nodes import (
    accesses,
    all_of,
    attribute,
    entity,
    has,
    looks_at_row,
    negation,
    one_of,
    types_in,
    uids_in,
    variable,
    with_types,
)
from omnigraph.policy.row_fields import row_fields

__all__ = ["Compiler"]

WRITES = frozenset({"change", "branch_merge"})
"""Actions that write rows, and show none."""
SHORT_NAMES = {name.split("::")[1]: name for name in OUR_TYPES}


@frozen
class Compiler:
    bundle: Bundle
    catalog: Catalog
    findings: Findings

    def policies(self, rule: Rule | CedarRule) -> list[Json]:
        """The policies of a rule; none if something is wrong with it, which is then a finding."""
        before = len(self.findings)
        made = [rule.policy] if isinstance(rule, CedarRule) else list(self._of_yaml(rule))
        if isinstance(rule, CedarRule):
            self.check_uids(uids_of_policy(rule.policy), rule.place)
        return made if len(self.findings) == before else []

    # Rules of YAML -------------------------------------------------------------------------------

    def _of_yaml(self, rule: Rule) -> Iterator[Json]:
        conditions = _Conditions(self, rule)
        if rule.types is None:
            conditions.check(None)
            server = [action for action in rule.actions if action in SERVER_ACTIONS]
            graph = [action for action in rule.actions if action not in SERVER_ACTIONS]
            if graph:
                resource = {"op": "in", "entity": entity(GRAPH, ROOT)}
                yield conditions.policy(graph, resource, None)
            if server:
                resource = {"op": "==", "entity": entity(SERVER, ROOT)}
                yield conditions.policy(server, resource, None)
            return
        types = [found for named in rule.types for found in self._types(named)]
        if rule.properties is not None:
            yield from self._hiding(rule, rule.properties, types, conditions)
            return
        if rule.effect == "permit":
            resource = {"op": "==", "entity": entity(GRAPH, ROOT)}
            yield conditions.policy(rule.actions, resource, None)
        for found in types:
            conditions.check(found)
            resource = {"op": "is", "entity_type": row_type(found.name)}
            yield conditions.policy(_with_export(rule.actions), resource, found)

    def _types(self, named: Named) -> tuple[EntityType, ...]:
        """The types of a name: one, or those that have an interface."""
        by_name: dict[str, EntityType] = {e.name: e for e in self.catalog.entities}
        if named.name in by_name:
            return (by_name[named.name],)
        if named.name in self.catalog.interface_by_name:
            return self.catalog.implementers(named.name)
        self.no_type(named.name, named.place)
        return ()

    def no_type(self, name: str, place: Place) -> None:
        known = [entity_.name for entity_ in self.catalog.entities]
        hint = name_hint(name, [*known, *self.catalog.interface_by_name])
        self.findings.add("A012", place, f"the schema has no type {clipped(name)}", hint)

    def _hiding(
        self,
        rule: Rule,
        properties: tuple[Named, ...],
        types: Iterable[EntityType],
        conditions: "_Conditions",
    ) -> Iterator[Json]:
        for written in conditions.that_look_at_rows():
            message = "a property is hidden in all rows or in none, so the rule can't look at rows"
            hint = "look at principal or context, or hide the rows: leave out properties"
            self.findings.add("A017", written.place, message, hint)
        conditions.check(None)
        for type_ in types:
            for named in properties:
                self._check_hidden(rule, type_, named)
                hidden = entity(PROPERTY, f"{type_.name}.{named.name}")
                resource = {"op": "==", "entity": hidden}
                yield conditions.policy(_with_export(rule.actions), resource, None)

    def _check_hidden(self, rule: Rule, type_: EntityType, named: Named) -> None:
        name, place = clipped(named.name), named.place
        ends = ("from", "to", "src", "dst") if isinstance(type_, EdgeType) else ()
        if named.name not in type_.by_name and named.name in ("id", *ends):
            message = f"{name} tells which rows there are, so it can't be hidden"
            self.findings.add("A017", place, message, "hide the rows: leave out properties")
        elif named.name not in type_.by_name:
            hint = name_hint(named.name, type_.by_name)
            self.findings.add("A013", place, f"{type_.name} has no property {name}", hint)
        elif named.name in type_.key and not WRITES.issuperset(rule.actions):
            message = f"{name} is in the key of {type_.name}, and the id of a row tells it"
            self.findings.add("A017", place, message, "hide the rows: leave out properties")

    # What policies name --------------------------------------------------------------------------

    def check_uids(self, uids: Iterable[Json], place: Place) -> None:
        for uid in uids:
            kind, name = uid["type"], uid["id"]
            shown = f'{kind}::"{clipped(name)}"'
            if kind == GROUP and name not in self.bundle.groups:
                hint = name_hint(name, self.bundle.groups)
                self.findings.add("A007", place, f"there is no group {clipped(name)}", hint)
            elif kind in (GRAPH, SERVER) and name != ROOT:
                hint = f'write {kind}::"{ROOT}"'
                self.findings.add("A018", place, f"no request is about {shown}", hint)
            elif kind == PROPERTY and name not in self._properties():
                hint = name_hint(name, self._properties())
                self.findings.add("A013", place, f"there is no property {clipped(name)}", hint)

    def _properties(self) -> set[str]:
        return {f"{e.name}.{p.name}" for e in self.catalog.entities for p in e.properties}


@frozen
class _Conditions:
    """The conditions of one rule, for its rows and for its door."""

    compiler: Compiler
    rule: Rule

    def _clauses(self) -> Iterator[tuple[str, Written]]:
        if self.rule.when is not None:
            yield "when", self.rule.when
        if self.rule.unless is not None:
            yield "unless", self.rule.unless

    def that_look_at_rows(self) -> list[Written]:
        return [written for _, written in self._clauses() if looks_at_row(written.body)]

    def check(self, type_: EntityType | None) -> None:
        """Find what the conditions name that is not there. None: there are no rows to look at."""
        for _, written in self._clauses():
            body, place = self._qualified(written.body), written.place
            self.compiler.check_uids(uids_in(body), place)
            known = {row_type(e.name) for e in self.compiler.catalog.entities} | OUR_TYPES
            for kind in _types_named(body):
                if kind not in known:
                    self.compiler.no_type(kind.removeprefix(f"{ROW_NAMESPACE}::"), place)
            for name in _types_named(written.body):
                if name in SHORT_NAMES and row_type(name) in known:
                    message = f"{name} is a type of the graph and a word of policies"
                    hint = f"write {ROW_NAMESPACE}::{name} or {SHORT_NAMES[name]}"
                    self.compiler.findings.add("A018", place, message, hint)
            if type_ is None and self.rule.types is None and looks_at_row(body):
                message = "the condition looks at rows (resource), so the rule needs types"
                self.compiler.findings.add("A003", place, message, "write types: [ … ] beside it")
            self._check_attributes(body, place, type_)

    def _check_attributes(self, body: Json, place: Place, type_: EntityType | None) -> None:
        add = self.compiler.findings.add
        for owner, name in dict.fromkeys(accesses(body, of_any=True)):
            if owner == "resource" and type_ is not None:
                self._check_field(name, place, type_)
            elif owner == "principal":
                known = ["id", *self.compiler.bundle.attribute_kinds]
                if name not in known:
                    message = f"no actor has the attribute {clipped(name)}"
                    hint = name_hint(name, known) or "give it to actors: actors: {ada: { … }}"
                    add("A014", place, message, hint)
            elif owner == "context" and name not in CONTEXT:
                add("A014", place, f"a request has no {clipped(name)}", name_hint(name, CONTEXT))

    def _check_field(self, name: str, place: Place, type_: EntityType) -> None:
        add, fields = self.compiler.findings.add, row_fields(type_)
        if name in fields:
            return
        if name in type_.by_name:
            message = (
                f"{type_.name}.{name} is {type_.by_name[name].type}, which rules can't look at"
            )
            hint = "rules look at texts, enums, booleans, I32, I64, U32 and lists of texts"
            add("A016", place, message, hint)
        else:
            message = f"{type_.name} has no property {clipped(name)}"
            add("A013", place, message, name_hint(name, fields))

    def policy(self, actions: Iterable[str], resource: Json, type_: EntityType | None) -> Json:
        """For rows of a type; None: for what has no rows, so conditions on rows are left out."""
        clauses = [
            self._clause(word, written, type_)
            for word, written in self._clauses()
            if type_ is not None or not looks_at_row(written.body)
        ]
        tests = [*self._who(), *self._where()]
        when = [{"kind": "when", "body": all_of(tests)}] if tests else []
        return {
            "effect": self.rule.effect,
            "principal": {"op": "All"},
            "action": {"op": "in", "entities": [entity(ACTION, action) for action in actions]},
            "resource": resource,
            "conditions": [*when, *clauses],
        }

    def _who(self) -> Iterator[Json]:
        """The test that the actor is one of the rule's; everyone needs none."""
        if isinstance(self.rule.actors, Everyone):
            return
        named = ((ACTOR, self.rule.actors.actors), (GROUP, self.rule.actors.groups))
        # Cedar takes no set of actors and groups together.
        tests = [
            {
                "in": {
                    "left": variable("principal"),
                    "right": {"Set": [_value(kind, member.name) for member in members]},
                }
            }
            for kind, members in named
            if members
        ]
        yield one_of(*tests) if len(tests) == 2 else all_of(tests)

    def _where(self) -> Iterator[Json]:
        """The test that the branch is one of the rule's.

        A request may be about no branch. Then an `allow` with a scope does not apply, and a `deny`
        with one does.
        """
        scope, does_allow = self.rule.scope, self.rule.effect == "permit"
        if scope is None:
            return
        branch = "branch" if scope.kind is ScopeKind.BRANCH else "target_branch"
        is_protected = attribute("context", f"{branch}_is_protected")
        is_unprotected = all_of([has("context", branch), negation(is_protected)])
        if scope.is_protected:
            yield is_protected if does_allow else negation(is_unprotected)
        else:
            yield is_unprotected if does_allow else negation(is_protected)

    def _clause(self, word: str, written: Written, type_: EntityType | None) -> Json:
        fields = {} if type_ is None else row_fields(type_)

        def is_optional(owner: str, name: str) -> bool:
            match owner:
                case "principal":
                    return name != "id"
                case "context":
                    return name in CONTEXT and CONTEXT[name][1]
                case _:
                    return name in fields and fields[name].is_optional

        # Where a value is missing, a rule that allows does not apply and one that denies does.
        lets_through = (word == "when") == (self.rule.effect == "permit")
        body = guarded(self._qualified(written.body), is_optional, missing_is=not lets_through)
        return {"kind": word, "body": body}

    def _qualified(self, body: Json) -> Json:
        """With whole names of types: `Group` is `Omnigraph::Group`, `Person` is `Row::Person`."""
        return with_types(body, {name: _whole(name) for name in _types_named(body)})


def _types_named(body: Json) -> dict[str, None]:
    return dict.fromkeys([*types_in(body), *(uid["type"] for uid in uids_in(body))])


def _whole(name: str) -> str:
    if name.startswith(f"{ROW_NAMESPACE}::"):
        return row_type(name.removeprefix(f"{ROW_NAMESPACE}::"))
    return name if "::" in name else SHORT_NAMES.get(name, row_type(name))


def _with_export(actions: Iterable[str]) -> list[str]:
    named = dict.fromkeys(actions)
    return [*named, *(["export"] if "read" in named and "export" not in named else [])]


def _value(kind: str, name: str) -> Json:
    return {"Value": {"__entity": entity(kind, name)}}


def uids_of_policy(policy: Json) -> Iterator[Json]:
    """The entities that a policy names, in its scope and its conditions."""
    for part in ("principal", "action", "resource"):
        scope = policy[part]
        yield from scope.get("entities", [])
        if "entity" in scope:
            yield scope["entity"]
        if "in" in scope:
            yield scope["in"]["entity"]
    for condition in policy["conditions"]:
        yield from uids_in(condition["body"])
