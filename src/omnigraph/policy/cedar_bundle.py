"""A bundle's files of Cedar: policies with their places and ids."""

from collections.abc import Iterator
from pathlib import Path

from omnigraph.base.span import SourceText
from omnigraph.policy.bundle import CedarRule
from omnigraph.policy.cedar import CedarRefused, policy_nodes
from omnigraph.policy.cedar_text import policies_in
from omnigraph.policy.findings import Findings, Place

__all__ = ["read_cedar_bundle"]


def read_cedar_bundle(source: SourceText, findings: Findings) -> Iterator[CedarRule]:
    for written in policies_in(source.text):
        place = Place(source, written.span)
        try:
            policy = policy_nodes(written.text)
        except CedarRefused as refused:
            findings.add("A011", place, f"the policy can't be read: {refused}")
            continue
        id_ = policy.get("annotations", {}).get("id")
        yield CedarRule(id_ or _by_place(place), place, policy)


def _by_place(place: Place) -> str:
    """`rules.cedar:12`; two policies may begin on one line."""
    name, (line, column) = Path(place.source.name).name, (place.span.line, place.span.column)
    return f"{name}:{line}" if column == 1 else f"{name}:{line}:{column}"
