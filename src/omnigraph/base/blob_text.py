"""Bytes as JSON carries them: `base64:` and the bytes in base64, padded, without line breaks.

The prefix is part of the value. Text without it is refused, since a word such as `photo` is valid
base64 too and would be stored as other bytes than its author meant.
"""

import base64

__all__ = ["BLOB_PREFIX", "blob_from_text", "text_from_blob"]

BLOB_PREFIX = "base64:"


def blob_from_text(text: str) -> bytes:
    """Raises ValueError where the text stands for no bytes."""
    if not text.startswith(BLOB_PREFIX):
        raise ValueError(f"it does not begin with {BLOB_PREFIX}")
    return base64.b64decode(text[len(BLOB_PREFIX) :], validate=True)


def text_from_blob(value: bytes) -> str:
    return BLOB_PREFIX + base64.b64encode(value).decode()
