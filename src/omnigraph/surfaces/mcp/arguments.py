"""Arguments of a call: their names made ours, and their values checked against the tool's schema.

The SDK checks nothing, and a model guesses: so what is wrong is told in words that it can act on.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec
from jsonschema import Draft202012Validator

from omnigraph.base.errors import ArgumentInvalid, LimitExceeded
from omnigraph.base.nearest import name_hint
from omnigraph.base.recent import Recent
from omnigraph.base.words import clipped, listed
from omnigraph.surfaces.mcp.tool import Arguments, Tool

__all__ = ["Validators", "checked"]

MAX_TOLD = 5
MAX_WRONG = 50
"""A long list may have a million members of a wrong kind: so many mistakes are looked for."""
MAX_SCHEMAS = 256
"""Of tools: more than an agent is offered."""
KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


class Validators:
    """A validator for each schema, kept: to make one takes a hundred times as long as to use it."""

    def __init__(self) -> None:
        self._kept: Recent[bytes, Draft202012Validator] = Recent(MAX_SCHEMAS)

    def of(self, schema: Mapping[str, Any]) -> Draft202012Validator:
        key = msgspec.json.encode(schema)
        if (known := self._kept.get(key)) is None:
            known = Draft202012Validator(schema)
            self._kept.put(key, known)
        return known


def checked(
    tool: Tool, given: Mapping[str, Any] | None, validators: Validators, *, limit_bytes: int
) -> Arguments:
    """The arguments under their own names; raises one error for all that is wrong with them."""
    size = _size(given or {})
    if size > limit_bytes:
        raise LimitExceeded(what="the arguments in bytes", limit=limit_bytes, found=size)
    arguments = _named(tool, given or {})
    wrong = list(islice(validators.of(tool.input_schema).iter_errors(arguments), MAX_WRONG))
    if wrong:
        raise _refusal(tool, wrong)
    return {name: _whole(each, tool.arguments[name]) for name, each in arguments.items()}


def _whole(value: Any, schema: Mapping[str, Any]) -> Any:
    """Whole numbers as such: for JSON, and so for a schema, 2.0 is one."""
    if isinstance(value, float) and "integer" in schema.get("type", ()):
        return int(value)
    if isinstance(value, list) and "items" in schema:
        return [_whole(each, schema["items"]) for each in value]
    return value


def _size(given: Mapping[str, Any]) -> int:
    try:
        return len(msgspec.json.encode(given))
    except (ValueError, RecursionError, UnicodeError):
        rule = "they are nested too deeply, or hold text that is no Unicode"
        raise ArgumentInvalid("arguments", None, rule) from None


def _named(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Names as the tool has them: `ifCommit` is `if_commit`. Null stands for nothing given."""
    named: dict[str, Any] = {}
    for name, value in given.items():
        ours = _own_name(tool, name)
        if ours in named:
            rule = f"it is given twice, as {clipped(name)} too"
            raise ArgumentInvalid(ours, None, rule, "give it once")
        named[ours] = value
    return {n: v for n, v in named.items() if v is not None or n in tool.required}


def _own_name(tool: Tool, name: str) -> str:
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", name)
    camel = re.sub(r"_+([a-z0-9])", lambda match: match[1].upper(), name)
    for known in (name, snake, camel):
        if known in tool.arguments:
            return known
    return tool.other_names.get(snake, name)


def _refusal(tool: Tool, wrong: Iterable[Any]) -> ArgumentInvalid:
    # Names first: a model that has these right gets the rest right, too.
    order = ("additionalProperties", "required")
    ranked = sorted(wrong, key=lambda e: order.index(e.validator) if e.validator in order else 2)
    told = list(dict.fromkeys(_sentences(tool, ranked)))
    first, *others = told[:MAX_TOLD]
    argument, rule, advice = first
    more = "".join(f"; {other}: {also}" for other, also, _ in others)
    return ArgumentInvalid(argument, None, rule + more, advice or _all_arguments(tool))


def _all_arguments(tool: Tool) -> str:
    if not tool.arguments:
        return f"{tool.name} takes no arguments"
    names = (f"{name} (required)" if name in tool.required else name for name in tool.arguments)
    return f"{tool.name} takes {', '.join(names)}"


def _sentences(tool: Tool, wrong: Iterable[Any]) -> Iterable[tuple[str, str, str | None]]:
    for error in wrong:
        path = _path(error.absolute_path) or "arguments"
        if error.validator == "additionalProperties":
            for name in sorted(error.instance.keys() - error.schema["properties"].keys()):
                rule = f"{tool.name} has no such argument"
                yield clipped(name), rule, name_hint(clipped(name), tool.arguments)
        elif error.validator == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    yield name, "it is missing", None
        else:
            yield path, _rule(error), None


def _path(parts: Iterable[str | int]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{clipped(part)}" if path else part
    return path


def _rule(error: Any) -> str:
    wanted = error.validator_value
    match error.validator:
        case "type":
            types = [wanted] if isinstance(wanted, str) else wanted
            return f"it must be {listed([KINDS[t] for t in types])}, and is {_kind(error.instance)}"
        case "enum":
            return f"it must be {listed([repr(word) for word in wanted])}"
        case "minimum":
            return f"it must be {wanted} or more"
        case "maximum":
            return f"it must be {wanted} or less"
        case "minLength":
            return "it is empty"
        case "minItems" | "maxItems":
            few = "at least" if error.validator == "minItems" else "at most"
            return f"it must have {few} {wanted} members, and has {len(error.instance)}"
        case "pattern":
            return f"{clipped(error.instance)!r} is not a whole number"
        case _:
            return "it is none of the forms that are taken"


def _kind(value: Any) -> str:
    match value:
        case None:
            return KINDS["null"]
        case bool():
            return KINDS["boolean"]
        case int():
            return KINDS["integer"]
        case float():
            return KINDS["number"]
        case str():
            return KINDS["string"]
        case list():
            return KINDS["array"]
        case _:
            return KINDS["object"]
