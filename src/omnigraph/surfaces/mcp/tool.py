"""`Tool`: what an agent can call, as a value; and `Answer`, what it hears."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.base.frozen import frozen
from omnigraph.engine.gate import Action

if TYPE_CHECKING:
    from omnigraph.surfaces.mcp.caller import Caller

__all__ = ["Answer", "Arguments", "Schema", "Tool"]

Arguments = Mapping[str, Any]
Schema = Mapping[str, Any]
"""A JSON schema."""


@frozen
class Answer:
    value: dict[str, Any]
    """For programs: an object that JSON can carry."""
    text: str | None = None
    """For a model, where it reads better than JSON does."""


@frozen(kw_only=True)
class Tool:
    name: str
    title: str
    description: str
    handler: "Callable[[Caller, Arguments], Answer]"
    arguments: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    other_names: Mapping[str, str] = field(default_factory=dict)
    """Of arguments: names that other clients know them by."""
    action: Action = Action.READ
    is_destructive: bool = False
    is_idempotent: bool = False

    @property
    def is_reading(self) -> bool:
        return self.action.is_reading

    @property
    def input_schema(self) -> dict[str, Any]:
        # In this order: of many mistakes the first are told, and names come before values.
        schema: dict[str, Any] = {"type": "object", "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        schema["properties"] = {name: dict(each) for name, each in self.arguments.items()}
        return schema
