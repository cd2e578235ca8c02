"""`ImportPlan`: what an import would make of a source, to look at, to edit, and to carry out.

    plan = ImportPlan.of("movies/")
    print(plan.schema, plan.mapping_text, *plan.notes, sep="\\n")

The source is read through once for it, and nothing is written. An import of the plan reads it a
second time.
"""

import os
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import Any

from omnigraph.base.choices import ImportFormat
from omnigraph.base.disk_failures import disk_failures
from omnigraph.base.errors import ArgumentInvalid, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.base.progress import Progress, silent
from omnigraph.base.span import SourceText
from omnigraph.engine.outfile import place_of
from omnigraph.engine.settings import Settings
from omnigraph.engine.text import SCHEMA, read_source
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.pipeline.imports.blocks import Reader
from omnigraph.pipeline.imports.files import Source, find_source
from omnigraph.pipeline.imports.formats import detect_format, open_reader
from omnigraph.pipeline.imports.propose import Proposal, propose
from omnigraph.pipeline.imports.survey import Survey, survey
from omnigraph.pipeline.imports.tables import write_tables
from omnigraph.pipeline.sources.converted import ConvertedTables
from omnigraph.pipeline.sources.mapping import MappingText, read_mapping, read_mapping_text
from omnigraph.pipeline.sources.opening import failing_by_changes
from omnigraph.store.graph_store import GraphStore

__all__ = ["EditedPlan", "ImportPlan"]

SCHEMA_FILE, MAPPING_FILE, NOTES_FILE = "schema.pg", "mapping.yaml", "notes.txt"


@frozen(eq=False)
class ImportPlan:
    """The proposal for a source: `ImportPlan.of` makes it."""

    source: str
    format: ImportFormat
    proposal: Proposal = field(repr=False)
    _survey: Survey = field(repr=False)
    _reader: Reader = field(repr=False)
    _files: Source = field(repr=False)

    @classmethod
    def of(
        cls,
        source: str | os.PathLike[str],
        *,
        format: ImportFormat | None = None,
        settings: Settings | None = None,
    ) -> "ImportPlan":
        """Survey a source and propose a schema and a mapping. `format` is `kuzu`, `neo4j-csv`,
        `apoc` or `graphml`; if left out it is told from the files. A source may be an address in a
        bucket (`s3://…`): the `settings` say how to reach it, or else the environment."""
        given: object = source
        if not isinstance(given, str | os.PathLike):
            rule = "pass the path of an export"
            raise ArgumentInvalid(argument="source", value=type(given).__name__, rule=rule)
        name = os.fspath(source)
        access = (settings or Settings.from_environment()).bucket_access
        files = find_source(name, access)
        found_format = detect_format(files) if format is None else format
        with failing_by_changes(files.files):
            reader = open_reader(files, found_format)
            found = survey(reader)
        proposal = propose(found, source=name, notes=reader.notes())
        return cls(name, found_format, proposal, found, reader, files)

    @property
    def schema(self) -> str:
        """The schema that fits the source, as `.pg` text."""
        return self.proposal.schema

    @property
    def mapping(self) -> dict[str, Any]:
        """Which columns of the source feed which properties, as a load takes it."""
        return self.proposal.mapping

    @property
    def mapping_text(self) -> str:
        """The same as YAML."""
        return self.proposal.mapping_text

    @property
    def notes(self) -> tuple[str, ...]:
        """What was renamed, widened, kept as text or left out."""
        return self.proposal.notes

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write schema, mapping and notes to a folder, for a person to edit. Files that are there
        already are kept, and refused."""
        if "://" in os.fspath(folder):
            what = f"writing a plan to {os.fspath(folder)}"
            raise Unsupported(what=what, instead="name a folder on a disk")
        target = place_of(os.fspath(folder), argument="folder")
        texts = {
            SCHEMA_FILE: self.schema,
            MAPPING_FILE: self.mapping_text,
            NOTES_FILE: "".join(f"{note}\n" for note in self.notes),
        }
        with disk_failures("write", target), ExitStack() as undo:
            for name in texts:
                if (target / name).exists():
                    rule = f"{name} is there already, and may have been edited"
                    advice = "name another folder, or delete the file"
                    raise ArgumentInvalid("folder", str(folder), rule, advice)
            target.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                with (target / name).open("x", encoding="utf-8") as file:
                    undo.callback((target / name).unlink)
                    file.write(text)
            # A part of a plan would be in the way of the next one.
            undo.pop_all()

    def write_tables(
        self, store: GraphStore, *, folder: str, tell: Progress = silent
    ) -> ConvertedTables:
        """The rows of the source as tables in a folder of the graph's storage."""
        with failing_by_changes(self._files.files):
            return write_tables(
                self._reader,
                self._survey,
                self.proposal,
                store=store,
                folder=folder,
                name=self.source,
                tell=tell,
            )


@frozen
class EditedPlan:
    """Schema and mapping of a folder that `ImportPlan.save` has written, as they are by now."""

    schema: SourceText
    mapping_file: Path
    mapping: MappingText

    @classmethod
    def read(cls, folder: Path) -> "EditedPlan":
        """Read a folder. That is quick, and a source may be large: whatever is wrong with a plan
        is best found before it is surveyed."""
        mapping_file = folder / MAPPING_FILE
        schema = read_source(folder / SCHEMA_FILE, SCHEMA)
        return cls(schema, mapping_file, read_mapping_text(mapping_file))

    def check(self) -> None:
        """Raise if the mapping does not fit the schema, which a new graph will have."""
        read_mapping(self.mapping_file, compile_schema(self.schema))
