"""Values of `cluster.yaml` with their places; what does not fit becomes a finding."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from omnigraph.base.errors import ClusterInvalid, Diagnostic, FileFinding, LanguageError
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import clipped
from omnigraph.base.yaml_text import YamlList, YamlMap, YamlNode, YamlScalar
from omnigraph.cluster.codes import CODES

__all__ = ["Findings", "Named", "Values", "is_name"]

# A name may be a megabyte long; a message is read by a person.
MAX_MESSAGE_CHARACTERS = 300
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
A_NAME = "a name has letters, digits, dashes and underscores, at most 64 of them"


def is_name(text: str) -> bool:
    """True if a person may name a graph, a policy or a provider so."""
    return NAME.fullmatch(text) is not None


class Named(NamedTuple):
    """A word of the file, and where it stands."""

    text: str
    span: Span


class Findings:
    """What is wrong with a folder, collected over all its files and told at once."""

    def __init__(self) -> None:
        self._found: dict[FileFinding, None] = {}

    def add(
        self, code: str, source: SourceText, span: Span, message: str, hint: str | None = None
    ) -> None:
        assert code in CODES, f"{code} is no code of a cluster"
        message = clipped(message, MAX_MESSAGE_CHARACTERS)
        self._found[FileFinding(source, Diagnostic(code, message, span, hint))] = None

    def add_of_language(self, error: LanguageError) -> None:
        """All that is wrong with a schema, or with queries."""
        for diagnostic in error.diagnostics:
            self._found[FileFinding(error.source, diagnostic)] = None

    def add_all(self, findings: Iterable[FileFinding]) -> None:
        self._found.update(dict.fromkeys(findings))

    def raise_any(self) -> None:
        """Raise all of them: files as they came, and each from top to bottom."""
        if not self._found:
            return
        sources = dict.fromkeys(finding.source.name for finding in self._found)
        order = {name: number for number, name in enumerate(sources)}
        raise ClusterInvalid(
            tuple(
                sorted(
                    self._found,
                    key=lambda f: (order[f.source.name], f.diagnostic.span, f.diagnostic.code),
                )
            )
        )


@frozen
class Values:
    source: SourceText
    findings: Findings

    def wrong(self, code: str, span: Span, message: str, hint: str | None = None) -> None:
        self.findings.add(code, self.source, span, message, hint)

    def fields(
        self,
        node: YamlNode,
        what: str,
        *,
        known: Collection[str],
        required: Iterable[str] = (),
        reserved: Collection[str] = (),
    ) -> dict[str, YamlNode]:
        """The values of a mapping whose keys are known words; those left empty are left out."""
        if not isinstance(node, YamlMap):
            self.wrong("K004", node.span, f"{what} is a mapping: names, each with a value")
            return {}
        found = {}
        for key, value in node.entries:
            name = str(key.value)
            if name in reserved:
                said = f"{name} of {what} is reserved for later versions, and means nothing yet"
                self.wrong("K003", key.span, said, "leave it out")
            elif name not in known:
                hint = name_hint(name, known)
                self.wrong("K002", key.span, f"{what} has no {clipped(name)}", hint)
            elif isinstance(value, YamlScalar) and value.value is None:
                self.wrong("K004", key.span, f"{name} of {what} has no value", "give it one")
            else:
                found[name] = value
        written = {str(key.value) for key, _ in node.entries}
        for name in required:
            if name not in written:
                self.wrong("K005", node.span, f"{what} needs {name}")
        return found

    def named(self, node: YamlNode | None, what: str) -> dict[Named, YamlNode]:
        """The values of a mapping whose keys are names that a person gives."""
        if node is None:
            return {}
        if not isinstance(node, YamlMap):
            self.wrong("K004", node.span, f"{what} is a mapping: names, each with a value")
            return {}
        found, folded = {}, dict[str, str]()
        for key, value in node.entries:
            name = str(key.value)
            if not is_name(name):
                self.wrong("K004", key.span, f"{clipped(name)} is no name of {what}", A_NAME)
            elif (other := folded.setdefault(name.casefold(), name)) != name:
                # Some file systems would take the two for one.
                said = f"{name} differs from {other} in upper and lower case alone"
                self.wrong("K008", key.span, said, "give one of them another name")
            else:
                found[Named(name, key.span)] = value
        return found

    def texts(self, node: YamlNode, what: str) -> tuple[Named, ...]:
        """A list of words, none of them twice."""
        if not isinstance(node, YamlList):
            self.wrong("K004", node.span, f"{what} is a list", "write it in brackets: [ … ]")
            return ()
        if not node.items:
            self.wrong("K004", node.span, f"{what} is empty")
        found: dict[str, Named] = {}
        for item in node.items:
            word = self.text(item, what)
            if word is not None and word.text in found:
                self.wrong("K008", item.span, f"{clipped(word.text)} comes twice in {what}")
            elif word is not None:
                found[word.text] = word
        return tuple(found.values())

    def text(self, node: YamlNode | None, what: str) -> Named | None:
        if node is None:
            return None
        if not isinstance(node, YamlScalar) or not isinstance(node.value, str):
            shown = " " + clipped(str(node.value)) if isinstance(node, YamlScalar) else ""
            hint = "put it in quotes" if shown else None
            self.wrong("K004", node.span, f"{what} is text, and{shown or ' this'} is not", hint)
            return None
        if not node.value.strip():
            self.wrong("K004", node.span, f"{what} is not empty")
            return None
        return Named(node.value, node.span)

    def number(self, node: YamlNode | None, what: str, *, is_whole: bool) -> float | None:
        """A number above 0."""
        if node is None:
            return None
        kinds = (int,) if is_whole else (int, float)
        value = node.value if isinstance(node, YamlScalar) else None
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 1e15:
            shown = "whole number" if is_whole else "number"
            self.wrong("K004", node.span, f"{what} is a {shown} above 0")
            return None
        return value
