"""Probable mistakes in a schema that compiles.

An annotation that the language doesn't know is kept and never an error, so a misspelt `@unique`
would guard nothing, and silently: here it is told.
"""

from collections.abc import Iterator

from omnigraph.base.errors import Diagnostic
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.check.annotations import BELONGS
from omnigraph.lang.schema.text.ast import Annotation, PropertyDeclaration, SchemaFile

__all__ = ["lint_schema"]


def lint_schema(source: SourceText) -> tuple[Diagnostic, ...]:
    """Warnings, in the order of the text. Raises ParseFailed where it can't be read."""
    # As in check.py: the parser's library is slow to import.
    from omnigraph.lang.schema.text.parser import parse

    return tuple(_misspelt(parse(source)))


def _misspelt(file: SchemaFile) -> Iterator[Diagnostic]:
    for annotation in _annotations(file):
        name = annotation.name.text
        hint = did_you_mean(name, BELONGS, sigil="@") if name not in BELONGS else None
        if hint:
            message = f"@{name} means nothing to the language and is kept as a note"
            yield Diagnostic("L101", message, annotation.at.span, hint, is_warning=True)


def _annotations(file: SchemaFile) -> Iterator[Annotation]:
    for declaration in file.declarations:
        yield from declaration.annotations
        for member in declaration.body.members if declaration.body else ():
            if isinstance(member, PropertyDeclaration):
                yield from member.annotations
