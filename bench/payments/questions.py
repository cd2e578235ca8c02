"""The questions, by name, and in which state of the graph they are asked.

Every system must give the same rows. Where a question has no order, rows are sorted to compare.
"""

FEW = 2_000
"""Accounts whose edges are a large answer: those of numbers below."""

VALUES_OF_EDGES = {
    "sum over a filter": "count and sum of the amounts above a bound",
    "by currency": "count, sum and mean of what edges hold, by one of twelve currencies",
    "by day": "the same by one of 365 days",
    "by country": "the sum of edges by a property of the node they leave",
    "by both countries": "the sum of edges by properties of both ends",
    "filtered at both ends": "tests on both nodes and on the edge, by currency",
    "top senders": "the ten accounts that sent most",
    "largest transfers": "the twenty largest in one currency, with both ends",
}
CYCLES = {
    "mutual trust": "pairs that trust each other",
    "mutual trust by country": "the same by the country of one of them",
    "mutual transfers": "pairs of transfers there and back, where more went than came",
    "triangles": "cycles of three that trust each other",
    "triangles through a hub": "cycles of three transfers through the busiest account",
}
LARGE = {
    "edges of 2,000": "every transfer of 2,000 accounts with both ends, as Arrow",
    "edges of 2,000 in order": "the same by amount, as Arrow",
    "edges of 2,000, Python": "the same, as rows of Python",
}
FAR = {
    "two steps from all": "how many pairs are one or two steps of trust apart",
    "three steps from 2,000": "how many are up to three steps from 2,000 accounts",
    "who reaches most": "the five accounts that reach most in up to two steps",
}
SMALL = {
    "point read": "an account by number",
    "one hop": "whom an account trusts",
    "one hop with edges": "the transfers of an account, with what they hold",
    "two hops": "whom those trust that an account trusts",
}

WARM = {**VALUES_OF_EDGES, **CYCLES, **LARGE, **FAR, **SMALL}

STATES = {
    "": tuple(WARM),
    "after a delete": (
        "by currency",
        "by both countries",
        "top senders",
        "mutual trust",
        "mutual transfers",
        "edges of 2,000",
        "one hop with edges",
    ),
    "on a fork": ("by currency", "by country", "mutual trust", "one hop", "point read"),
    "first after a commit": (
        "by currency",
        "by country",
        "mutual trust",
        "edges of 2,000",
        "one hop",
        "one hop with edges",
        "point read",
    ),
}
"""In this order: a state has the changes of those before it."""

CLOSED_DAY = 7
"""The transfers of this day are deleted, and later the accounts of these numbers."""
CLOSED = list(range(5_00, 25_00, 40))
CLOSED_ON_THE_FORK = list(range(5_10, 25_10, 80))
