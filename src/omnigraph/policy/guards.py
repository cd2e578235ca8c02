"""What a condition of YAML says where a value is missing: the side that lets less through.

`resource.team == principal.team` has no answer for a row without a team, or for an actor without
one. Cedar would call that an error, and would want `resource has team && principal has team` before
it. Here these questions are put in for the author. Where they have no answer, an `allow` does not
apply and a `deny` does, whatever stands between the comparison and the rule: under a `!` the
comparison counts as true.

    allow when   !(resource.team == "red")     a row without a team:   not allowed
    deny  when     resource.secret             a row without secret:   denied
    deny  unless   resource.team == "red"      a row without a team:   denied
"""

from collections.abc import Callable

from omnigraph.policy.cedar import Json
from omnigraph.policy.nodes import accesses, all_of, has, negation, one_of

__all__ = ["guarded"]

IsOptional = Callable[[str, str], bool]
"""Whether an attribute of a variable (`principal`, `resource`, `context`) may be missing."""


def guarded(node: Json, is_optional: IsOptional, *, missing_is: bool) -> Json:
    """The same condition, and `missing_is` where a value that it takes is missing."""
    ((word, parts),) = node.items()
    match word:
        case "Value":
            return node
        case "!":
            return negation(guarded(parts["arg"], is_optional, missing_is=not missing_is))
        case "&&" | "||":
            return {
                word: {
                    side: guarded(parts[side], is_optional, missing_is=missing_is)
                    for side in ("left", "right")
                }
            }
        case "if-then-else":
            return _choice(parts, is_optional, missing_is=missing_is)
        case _:
            return _test(node, is_optional, missing_is=missing_is)


def _test(node: Json, is_optional: IsOptional, *, missing_is: bool) -> Json:
    needed = dict.fromkeys(found for found in accesses(node) if is_optional(*found))
    if not needed:
        return node
    is_there = all_of(has(*found) for found in needed)
    if missing_is:
        # Cedar understands this form, and not `!(resource has team) || …`.
        return {"if-then-else": {"if": is_there, "then": node, "else": {"Value": True}}}
    return {"&&": {"left": is_there, "right": node}}


def _choice(parts: Json, is_optional: IsOptional, *, missing_is: bool) -> Json:
    test = parts["if"]
    then = guarded(parts["then"], is_optional, missing_is=missing_is)
    otherwise = guarded(parts["else"], is_optional, missing_is=missing_is)
    if not any(is_optional(*found) for found in accesses(test)):
        return {"if-then-else": {"if": test, "then": then, "else": otherwise}}
    is_so = guarded(test, is_optional, missing_is=missing_is)
    is_not_so = negation(guarded(test, is_optional, missing_is=not missing_is))
    either = one_of(all_of([is_so, then]), all_of([is_not_so, otherwise]))
    # Without an answer both sides are looked at above if missing is true, and none if it is false.
    # Where both say yes, no answer is needed.
    return either if missing_is else one_of(either, all_of([then, otherwise]))
