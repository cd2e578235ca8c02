"""Requests as the bytes that they are."""

__all__ = ["CLOSE", "request"]

CLOSE = "Connection: close"


def request(method: str, path: str, body: bytes = b"", *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *more]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body
