"""`/docs`: the OpenAPI document as one page for people. It loads nothing and runs nothing."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

__all__ = ["page"]

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .3rem 0 }
code, summary b { font-family: ui-monospace, monospace; font-size: .9rem }
summary b { display: inline-block; min-width: 4.5rem }
table { border-collapse: collapse; margin: .5rem 0 1rem }
td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top }
details > div { padding: 0 0 1rem 1rem; border-left: 2px solid #8886 }
del { opacity: .6 }
"""


def page(document: dict[str, Any]) -> str:
    info = document["info"]
    routes = "".join(_routes(document))
    models = "".join(
        _model(name, schema) for name, schema in document["components"]["schemas"].items()
    )
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{title}</h1><p>{escape(info['description'])} The same for programs: "
        f'<a href="/openapi.json">openapi.json</a>.</p>'
        f"<h2>Routes</h2>{routes}<h2>Shapes</h2>{models}</body></html>"
    )


def _routes(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = "del" if operation.get("deprecated") else "span"
            shown = f"<b>{method.upper()}</b> <{name}><code>{escape(path)}</code></{name}>"
            yield (
                f"<details><summary>{shown} {escape(operation['summary'])}</summary><div>"
                f"{_parameters(operation)}{_body(operation)}{_answers(operation)}</div></details>"
            )


def _parameters(operation: dict[str, Any]) -> str:
    rows = [
        (p["name"], p["in"], _type(p["schema"]), "required" if p["required"] else "")
        for p in operation.get("parameters", ())
    ]
    return _table(("parameter", "in", "type", ""), rows) if rows else ""


def _body(operation: dict[str, Any]) -> str:
    body = operation.get("requestBody")
    if body is None:
        return ""
    rows = [(kind, _type(media["schema"])) for kind, media in body["content"].items()]
    return _table(("body", "shape"), rows)


def _answers(operation: dict[str, Any]) -> str:
    rows = []
    for status, response in operation["responses"].items():
        shapes = [
            f"{kind} {_type(media.get('schema', {}))}".strip()
            for kind, media in response.get("content", {}).items()
        ]
        rows.append((status, response["description"], ", ".join(shapes)))
    return _table(("status", "", "answer"), rows)


def _model(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        (member, _type(its), "required" if member in required else "")
        for member, its in schema.get("properties", {}).items()
    ]
    inside = (
        _table(("member", "type", ""), rows) if rows else f"<p><code>{_type(schema)}</code></p>"
    )
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        f"<div>{inside}</div></details>"
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(str(word) for word in schema["enum"])
    if "oneOf" in schema:
        return " or ".join(_type(choice) for choice in schema["oneOf"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
