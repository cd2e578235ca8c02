"""Values of a YAML file as a bundle needs them; what does not fit becomes a finding."""

from collections.abc import Collection, Iterable

from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import clipped, listed
from omnigraph.base.yaml_text import YamlList, YamlMap, YamlNode, YamlScalar
from omnigraph.policy.bundle import Named
from omnigraph.policy.findings import Findings, Place

__all__ = ["Values"]


@frozen
class Values:
    source: SourceText
    findings: Findings

    def place(self, span: Span) -> Place:
        return Place(self.source, span)

    def wrong(self, code: str, node: YamlNode, message: str, hint: str | None = None) -> None:
        self.findings.add(code, self.place(node.span), message, hint)

    def fields(
        self,
        node: YamlNode,
        what: str,
        *,
        known: Collection[str],
        required: Iterable[str] = (),
    ) -> dict[str, YamlNode]:
        """The values of a mapping whose keys are known words."""
        found = self.mapping(node, what)
        for key in found:
            if key.name not in known:
                hint = name_hint(key.name, known)
                self.findings.add("A003", key.place, f"{what} has no {clipped(key.name)}", hint)
        names = {key.name: value for key, value in found.items()}
        for name in required:
            if name not in names and isinstance(node, YamlMap):
                self.wrong("A003", node, f"{what} needs {name}")
        return {name: value for name, value in names.items() if name in known}

    def mapping(self, node: YamlNode, what: str) -> dict[Named, YamlNode]:
        if not isinstance(node, YamlMap):
            self.wrong("A004", node, f"{what} is a mapping: names, each with a value")
            return {}
        return {Named(str(key.value), self.place(key.span)): value for key, value in node.entries}

    def items(
        self, node: YamlNode, what: str, *, may_be_empty: bool = True
    ) -> tuple[YamlNode, ...]:
        if not isinstance(node, YamlList):
            self.wrong("A004", node, f"{what} is a list", "write it in brackets: [ … ]")
            return ()
        if not node.items and not may_be_empty:
            self.wrong("A004", node, f"{what} is empty")
        return node.items

    def names(self, node: YamlNode, what: str, *, may_be_empty: bool = True) -> tuple[Named, ...]:
        """A list of names, none of them twice."""
        found: dict[str, Named] = {}
        for item in self.items(node, what, may_be_empty=may_be_empty):
            named = self.name(item, what)
            if named is not None and named.name in found:
                self.wrong("A004", item, f"{clipped(named.name)} comes twice")
            elif named is not None:
                found[named.name] = named
        return tuple(found.values())

    def name(self, node: YamlNode, what: str) -> Named | None:
        text = self.text(node, what)
        return None if text is None else Named(text, self.place(node.span))

    def text(self, node: YamlNode, what: str) -> str | None:
        if not isinstance(node, YamlScalar) or not isinstance(node.value, str):
            shown = " " + clipped(str(node.value)) if isinstance(node, YamlScalar) else ""
            hint = "put it in quotes" if shown else None
            self.wrong("A004", node, f"{what} is text, and{shown or ' this'} is not", hint)
            return None
        if not node.value.strip():
            self.wrong("A004", node, f"{what} is not empty")
            return None
        return node.value

    def word(self, node: YamlNode, what: str, known: Collection[str], code: str) -> str | None:
        """One of a few words."""
        text = self.text(node, what)
        if text is None or text in known:
            return text
        hint = name_hint(text, known) or f"write {listed(known)}"
        self.wrong(code, node, f"{clipped(text)} is no {what}", hint)
        return None
