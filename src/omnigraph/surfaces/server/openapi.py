"""The OpenAPI document (3.1) of the table of routes and of the models."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

import omnigraph
from omnigraph.surfaces.server.operations import OneOf, Operation

__all__ = ["openapi"]

REF = "#/components/schemas/{name}"
DESCRIPTIONS = {
    200: "Done.",
    202: "Begun: look at it again.",
    206: "The part that was asked for.",
    302: "The page is at the address in Location.",
    304: "The bytes are those that the client has.",
    400: "The request is wrong.",
    401: "The token is missing, or nobody has it.",
    403: "The actor may not do this.",
    404: "There is no such thing.",
    405: "The path does not take this method.",
    408: "The body did not come in time.",
    409: "Another was there first, or two sides are in conflict.",
    410: "The rows are not stored any more.",
    412: "The condition does not hold.",
    413: "It is more than the server takes.",
    415: "The body is of another kind.",
    416: "The blob has no such bytes.",
    424: "Something that this depends on has failed.",
    429: "The actor has too much under way.",
    500: "The server could not do it.",
    501: "A package is not installed on the server.",
    503: "An operator has to look at the graph first.",
    507: "The server has no room for it.",
}

# A query string can't hold a header's null.
STRING = {"type": "string"}


def openapi(operations: Sequence[Operation]) -> dict[str, Any]:
    models = _Models(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(
            operation, models
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "OmniGraph",
            "version": omnigraph.__version__,
            "description": "Typed property graphs with branches and commits.",
        },
        "paths": paths,
        "components": {
            "schemas": models.components,
            "securitySchemes": {"bearer_token": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Models:
    """The schemas of all types that are named, and how to refer to each."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._types: list[Any] = [str, bytes, dict]
        ones = []
        for operation in operations:
            for type_ in (operation.body, operation.answer, operation.params, operation.errors):
                if isinstance(type_, OneOf):
                    ones.append(type_)
                    self._types.extend(type_.shapes)
                elif type_ is not None:
                    self._types.append(type_)
        schemas, components = msgspec.json.schema_components(self._types, ref_template=REF)
        self._schemas = [_plain(schema) for schema in schemas]
        params = {operation.params.__name__ for operation in operations}
        self.params = {name: _plain(components[name]) for name in params}
        self.components = {
            name: _plain(schema) for name, schema in components.items() if name not in params
        }
        for one in ones:
            self.components[one.name] = {"oneOf": [self.schema(shape) for shape in one.shapes]}
        self.components = dict(sorted(self.components.items()))

    def schema(self, type_: Any) -> dict[str, Any]:
        if isinstance(type_, OneOf):
            return {"$ref": REF.format(name=type_.name)}
        if type_ is bytes:
            return {"type": "string", "format": "binary"}
        schema: dict[str, Any] = self._schemas[self._types.index(type_)]
        return schema


def _operation(operation: Operation, models: _Models) -> dict[str, Any]:
    written: dict[str, Any] = {"operationId": operation.id, "summary": operation.summary}
    if operation.successor is not None:
        written["deprecated"] = True
    if parameters := list(_parameters(operation, models)):
        written["parameters"] = parameters
    if operation.body is not None:
        written["requestBody"] = {
            "content": {operation.body_type: {"schema": models.schema(operation.body)}},
            **({"required": True} if operation.is_body_required else {}),
        }
    written["responses"] = _responses(operation, models)
    if not operation.is_public:
        written["security"] = [{"bearer_token": []}]
    return written


def _parameters(operation: Operation, models: _Models) -> Iterable[dict[str, Any]]:
    for name in operation.names:
        yield {"in": "path", "name": name, "required": True, "schema": STRING}
    struct = models.params[operation.params.__name__]
    for name, schema in struct.get("properties", {}).items():
        is_required = name in struct.get("required", ())
        given = _without_null(schema)
        yield {"in": "query", "name": name, "required": is_required, "schema": given}
    for header in operation.headers:
        required = header.is_required
        yield {"in": "header", "name": header.name, "required": required, "schema": STRING}


def _responses(operation: Operation, models: _Models) -> dict[str, Any]:
    always = {400, 500} | (set() if operation.is_public else {401, 403})
    statuses = sorted({operation.success, *always, *operation.statuses})
    return {str(status): _response(operation, models, status) for status in statuses}


def _response(operation: Operation, models: _Models, status: int) -> dict[str, Any]:
    response: dict[str, Any] = {"description": DESCRIPTIONS[status]}
    if names := operation.answer_headers.get(status):
        response["headers"] = {name: {"schema": _header(name)} for name in names}
    if operation.method == "HEAD" or status in (302, 304):
        return response
    if status >= 400:
        response["content"] = {"application/json": {"schema": models.schema(operation.errors)}}
        return response
    response["content"] = {
        media_type: {"schema": models.schema(operation.answer)}
        if operation.answer is not None and not media_type.endswith("arrow.stream")
        else {}
        for media_type in operation.answer_types
    }
    return response


def _header(name: str) -> dict[str, Any]:
    if name == "Content-Length":
        return {"type": "integer", "format": "int64", "minimum": 0}
    return STRING


# Schemas as others write them --------------------------------------------------------------------


def _plain(schema: Any) -> Any:
    """The schema without what msgspec adds, and with nulls as most generators read them."""
    if isinstance(schema, list):
        return [_plain(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    left = {
        name: _plain(member)
        for name, member in schema.items()
        if name not in ("title", "default") and not (name == "required" and not member)
    }
    if isinstance(left.get("properties"), dict):
        # A property may be called as a keyword is.
        left["properties"] = {n: _plain(m) for n, m in schema["properties"].items()}
    if left.get("type") == "array":
        left.setdefault("items", {})
    if "enum" in left and "type" not in left:
        left["type"] = "string"
    return _nullable(left)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf")
    if not choices or {"type": "null"} not in choices or len(choices) != 2:
        return schema
    (other,) = (choice for choice in choices if choice != {"type": "null"})
    if "$ref" in other:
        return {"oneOf": [{"type": "null"}, other]}
    return {**other, "type": [other["type"], "null"]}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "oneOf" in schema:
        (other,) = (choice for choice in schema["oneOf"] if choice != {"type": "null"})
        return dict(other)
    if isinstance(schema.get("type"), list):
        return {**schema, "type": schema["type"][0]}
    return schema
