"""What is wrong with a bundle, collected over all its files and told at once."""

from typing import NamedTuple

from omnigraph.base.errors import Diagnostic, FileFinding, PolicyInvalid
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import clipped
from omnigraph.policy.codes import CODES

__all__ = ["Findings", "Place"]

# A name may be a megabyte long; a message is read by a person.
MAX_MESSAGE_CHARACTERS = 300


class Place(NamedTuple):
    """Where in which file something stands."""

    source: SourceText
    span: Span


class Findings:
    def __init__(self) -> None:
        self._found: dict[FileFinding, None] = {}
        self.rule: str | None = None
        """The id of the rule that is looked at; None: it is not known, or the files are."""

    def add(self, code: str, place: Place, message: str, hint: str | None = None) -> None:
        assert code in CODES, f"{code} is no code of a policy"
        hint = None if hint is None else clipped(hint, MAX_MESSAGE_CHARACTERS)
        message = clipped(message, MAX_MESSAGE_CHARACTERS)
        found = Diagnostic(code, message, place.span, hint)
        self._found[FileFinding(place.source, found, self.rule)] = None

    def __len__(self) -> int:
        return len(self._found)

    def raise_any(self) -> None:
        if self._found:
            # Files in the order in which they were given, and each from top to bottom.
            order = {
                source: n for n, source in enumerate(dict.fromkeys(f.source for f in self._found))
            }
            ordered = sorted(
                self._found, key=lambda f: (order[f.source], f.diagnostic.span, f.diagnostic.code)
            )
            raise PolicyInvalid(tuple(ordered))
