"""Rows that came in a request: a file, so that text is never taken for a path, with a name."""

import io

__all__ = ["NamedLines"]


class NamedLines(io.BytesIO):
    """JSON lines in memory. Messages about a row call its file by the name."""

    def __init__(self, rows: bytes, name: str) -> None:
        super().__init__(rows)
        self.name = name
