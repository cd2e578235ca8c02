"""The one door to Cedar. Policies go in and come out as its JSON, never as glued text.

Three things Cedar leaves to its caller, and they are done here: an answer with an error in it is no
answer; an actor, the action and the graph must be entities, or Cedar takes them for unknown; and
the parser must not be given what would end the process.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from omnigraph.base.frozen import frozen
from omnigraph.policy.cedar_text import excess

__all__ = [
    "Asked",
    "CedarRefused",
    "CedarSchema",
    "Entities",
    "Json",
    "Outcome",
    "Policies",
    "condition_nodes",
    "policy_nodes",
]

Json = Any
"""A node of Cedar's JSON: expressions and policies as objects, lists and plain values."""

PREFIX = "permit(principal, action, resource) when {\n"


class CedarRefused(Exception):
    """Cedar can't read or use this; the text says why."""


def condition_nodes(text: str) -> Json:
    """The expression that a text is, as nodes.

    The text stands inside a policy while Cedar reads it. A text that closes this policy and writes
    another one does not come out as one policy with one condition, and is refused.
    """
    found = policy_nodes(PREFIX + text + "\n};")
    everything = {"op": "All"}
    if (
        len(found["conditions"]) != 1
        or found["effect"] != "permit"
        or any(found[part] != everything for part in ("principal", "action", "resource"))
        or found.get("annotations")
    ):
        raise CedarRefused("a condition is one expression")
    return found["conditions"][0]["body"]


def policy_nodes(text: str) -> Json:
    """The one policy that a text is, as nodes."""
    import cedarpy

    if reason := excess(text):
        raise CedarRefused(reason)
    try:
        found = json.loads(cedarpy.policies_to_json_str(text))
    except ValueError as error:
        raise CedarRefused(_plainly(str(error))) from error
    if found["templates"]:
        raise CedarRefused("a template is no rule: write an actor or a group for ?principal")
    if len(found["staticPolicies"]) != 1:
        raise CedarRefused("this is not one policy")
    return next(iter(found["staticPolicies"].values()))


class CedarSchema:
    """A schema, and which policies fit it."""

    def __init__(self, schema: Json) -> None:
        import cedarpy

        self._handle = cedarpy.Schema.from_json_str(json.dumps(schema))

    def misfits(self, policy: Json) -> list[str]:
        """Why a policy does not fit, in sentences; none: it does."""
        import cedarpy

        try:
            text = cedarpy.policies_from_json_str(_policy_set({"policy0": policy}))
            found = cedarpy.validate_policies(text, self._handle)
        except ValueError as error:
            return [_plainly(str(error))]
        if found.validation_passed and not found.errors:
            return []
        return list(dict.fromkeys(_plainly(e.error) for e in found.errors)) or ["it is not valid"]

    def entities(self, entities: Iterable[Json]) -> "Entities":
        """Entities, with the actions of the schema among them."""
        import cedarpy

        try:
            return Entities(
                cedarpy.Entities.from_json_str(json.dumps(list(entities)), self._handle)
            )
        except ValueError as error:
            raise CedarRefused(_plainly(str(error))) from error


@frozen(eq=False)
class Entities:
    handle: Any


@frozen
class Outcome:
    is_allowed: bool
    policies: tuple[str, ...]
    """Names of the policies that decided."""
    errors: tuple[str, ...]
    """Not empty: a policy failed, and nothing is allowed."""


@frozen
class Asked:
    """Who asks for what; uids as (type, id)."""

    principal: tuple[str, str]
    action: tuple[str, str]
    context: Mapping[str, Json]


class Policies:
    """Policies by name, ready to be asked."""

    def __init__(self, policies: Mapping[str, Json]) -> None:
        import cedarpy

        try:
            self._handle = cedarpy.PolicySet.from_json_str(_policy_set(policies))
        except ValueError as error:
            raise CedarRefused(_plainly(str(error))) from error

    def decide(self, asked: Asked, resource: tuple[str, str], entities: Entities) -> Outcome:
        import cedarpy

        request = {
            "principal": _named(asked.principal),
            "action": _named(asked.action),
            "resource": _named(resource),
            "context": dict(asked.context),
        }
        try:
            answer = cedarpy.is_authorized(request, self._handle, entities.handle)
        except ValueError as error:
            raise CedarRefused(_plainly(str(error))) from error
        errors = tuple(answer.diagnostics.errors)
        if answer.decision is cedarpy.Decision.NoDecision and not errors:
            errors = ("Cedar came to no decision",)
        is_allowed = answer.decision is cedarpy.Decision.Allow and not errors
        return Outcome(is_allowed, tuple(answer.diagnostics.reasons), errors)

    def may_allow(
        self,
        principal: tuple[str, str],
        action: tuple[str, str],
        resource: tuple[str, str],
        entities: Entities,
    ) -> bool:
        """False if the answer is no whatever the request's context says, such as its branch."""
        import cedarpy

        request = {
            "principal": _written(principal),
            "action": _written(action),
            "resource": _written(resource),
            "context": None,
        }
        try:
            answer = cedarpy.is_authorized_partial(request, self._handle, entities.handle)
        except ValueError as error:
            raise CedarRefused(_plainly(str(error))) from error
        return answer.decision is not cedarpy.Decision.Deny

    def residuals(self, asked: Asked, entities: Entities) -> Mapping[str, Json]:
        """What is left of each policy when the actor and the request are known and the row is not.

        The resource stays unknown: a made-up row would make `resource == Row::Person::"ada"` false
        for every row.
        """
        import cedarpy

        request = {
            "principal": _written(asked.principal),
            "action": _written(asked.action),
            "resource": None,
            "context": dict(asked.context),
        }
        try:
            answer = cedarpy.is_authorized_partial(request, self._handle, entities.handle)
        except ValueError as error:
            raise CedarRefused(_plainly(str(error))) from error
        said = answer.diagnostics
        if said.errors:
            raise CedarRefused(_plainly("; ".join(map(str, said.errors))))
        if said.unknown_entities:
            raise CedarRefused(f"{', '.join(said.unknown_entities)} is unknown")
        if len(answer.residuals) != len(self._handle):
            raise CedarRefused("of some policies nothing was told")
        return {name: _body(policy) for name, policy in answer.residuals.items()}


def _body(residual: Json) -> Json:
    """The one condition of a residual: its scope is part of the condition already."""
    conditions = residual["conditions"]
    is_plain = all(residual[part] == {"op": "All"} for part in ("principal", "action", "resource"))
    if not is_plain or len(conditions) != 1 or conditions[0]["kind"] != "when":
        raise CedarRefused("Cedar left a policy in a form that is not known")
    return conditions[0]["body"]


def _policy_set(policies: Mapping[str, Json]) -> str:
    return json.dumps({"templates": {}, "staticPolicies": dict(policies), "templateLinks": []})


def _named(uid: tuple[str, str]) -> dict[str, str]:
    return {"type": uid[0], "id": uid[1]}


ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def _written(uid: tuple[str, str]) -> str:
    """A uid as Cedar writes it; asked of unknown rows, it takes no other form."""
    kind, name = uid
    shown = "".join(
        ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in name
    )
    return f'{kind}::"{shown}"'


def _plainly(message: str) -> str:
    return " ".join(message.replace("for policy `policy0`, ", "").split())
