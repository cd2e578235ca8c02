"""Numbers of things, as a sentence has them: one node, two nodes."""

__all__ = ["amount"]


def amount(count: int, noun: str) -> str:
    """`1 node`, `2,000 entities`. The noun is given as of one."""
    return f"{count:,} {noun if count == 1 else _many(noun)}"


def _many(noun: str) -> str:
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
