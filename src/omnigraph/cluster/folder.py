"""The folder of a deployment: `cluster.yaml` and all the files it names, read and checked at once.

Whoever gets a `Folder` has one that fits together: schemas compile, queries fit their schemas,
policies fit the graphs they apply to. Nothing of what is stored is looked at.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from omnigraph.base.disk_failures import reason_of
from omnigraph.base.errors import LanguageError, OmnigraphError, PolicyInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import clipped
from omnigraph.cluster.config import (
    CLUSTER_FILE,
    EVERYWHERE,
    ClusterConfig,
    GraphDeclared,
    PolicyDeclared,
    read_config,
)
from omnigraph.cluster.reading import Findings, Named
from omnigraph.cluster.resources import (
    Address,
    Resource,
    graph_address,
    policy_address,
    provider_address,
    query_address,
    schema_address,
)
from omnigraph.cluster.secrets import without_secrets
from omnigraph.engine.language import catalog_of
from omnigraph.engine.signatures import QuerySignature, query_kinds, signature_of
from omnigraph.engine.text import QUERY, SCHEMA, read_source
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.store.location import is_bucket_address, is_location

__all__ = ["NO_TYPES", "Folder", "read_folder", "storage_of"]

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
YAML_ENDINGS, CEDAR_ENDING = (".yaml", ".yml"), ".cedar"
NO_TYPES = Catalog(nodes=(), edges=())
"""What a policy of the whole cluster is held to: it is about no type."""


@frozen
class Folder:
    path: Path
    name: str
    storage: str
    """The address of the root of all that is stored."""
    resources: dict[Address, Resource]
    """By address, sorted."""
    signatures: dict[Address, QuerySignature]

    @property
    def graphs(self) -> tuple[str, ...]:
        kind = "graph."
        return tuple(a.removeprefix(kind) for a in self.resources if a.startswith(kind))


def read_folder(path: Path) -> Folder:
    """Raises `ClusterInvalid` with all that is wrong, in all files."""
    findings = Findings()
    config = _config(path, findings)
    if config is None:
        findings.raise_any()
        raise AssertionError("a file that can't be read was a finding")
    reading = _Reading(path, config, findings)
    resources = reading.resources()
    findings.raise_any()
    return Folder(
        path=path,
        name=config.name,
        storage=_storage(path, config),
        resources={each.address: each for each in sorted(resources, key=lambda r: r.address)},
        signatures=reading.signatures,
    )


def storage_of(path: Path) -> str:
    """The root of what is stored, whatever else is wrong with the folder."""
    findings = Findings()
    config = _config(path, findings)
    if config is not None and config.storage is not None and _is_place(config.storage):
        return _storage(path, config)
    # One that is misspelt is none, and the folder itself would be taken, where nothing was applied.
    if config is not None:
        _check_storage(config, findings)
    findings.raise_any()
    assert config is not None, "a file that can't be read was a finding"
    return _storage(path, config)


def _config(path: Path, findings: Findings) -> ClusterConfig | None:
    file = path / CLUSTER_FILE
    name = str(file)
    try:
        if file.exists() and not file.is_file():
            # A pipe, say, would be read for ever.
            findings.add("K001", SourceText("", name), Span(1, 1), "it is not a regular file")
            return None
        source = SourceText(file.read_bytes().decode("utf-8-sig"), name)
    except (FileNotFoundError, NotADirectoryError):
        hint = f"name the folder that holds {CLUSTER_FILE}: --config DIR"
        findings.add("K001", SourceText("", name), Span(1, 1), "there is no such file", hint)
        return None
    except UnicodeDecodeError:
        findings.add("K001", SourceText("", name), Span(1, 1), "the file is not UTF-8")
        return None
    except OSError as error:
        reason = error.strerror or str(error)
        findings.add("K001", SourceText("", name), Span(1, 1), f"it can't be read: {reason}")
        return None
    return read_config(source, findings)


def _storage(path: Path, config: ClusterConfig) -> str:
    if config.storage is None:
        return str(path.resolve())
    written = config.storage.text
    if is_bucket_address(written):
        return written.rstrip("/")
    return str((path / Path(written).expanduser()).resolve())


def _check_storage(config: ClusterConfig, findings: Findings) -> None:
    if (where := config.storage) is not None and not _is_place(where):
        said = f"{clipped(without_secrets(where.text))} is no place to store graphs"
        hint = "write a directory, or s3://bucket/prefix"
        findings.add("K004", config.source, where.span, said, hint)


def _is_place(storage: Named) -> bool:
    text = storage.text
    if is_bucket_address(text):
        return is_location(text)
    try:
        Path(text).expanduser()
    except RuntimeError:
        return False  # `~nobody`
    # Nothing is put in for a variable here, and a directory of that name is nobody's wish; nor is
    # one that begins like an address.
    return text.isprintable() and "$" not in text and ADDRESS.match(text) is None


class _Reading:
    """Reads the files that a configuration names."""

    def __init__(self, path: Path, config: ClusterConfig, findings: Findings) -> None:
        self._path = path
        self._config = config
        self._findings = findings
        self._catalogs: dict[str, Catalog] = {}
        self.signatures: dict[Address, QuerySignature] = {}

    def resources(self) -> list[Resource]:
        config, found = self._config, list[Resource]()
        _check_storage(config, self._findings)
        for provider in config.providers:
            address = provider_address(provider.name.text)
            found.append(Resource(address, dict(provider.attributes)))
        for graph in config.graphs:
            found += self._graph(graph)
        for policy in config.policies:
            found += self._policy(policy)
        return found

    # Graphs ---------------------------------------------------------------------------------------

    def _graph(self, graph: GraphDeclared) -> Iterator[Resource]:
        id_, provider = graph.id.text, graph.embedding_provider
        named = None if provider is None else provider.text
        yield Resource(graph_address(id_), {"embedding_provider": named})
        catalog = None
        if graph.schema is not None and (file := self._file(graph.schema)) is not None:
            try:
                source = self._shown(read_source(file, SCHEMA), file)
                catalog = self._catalogs[id_] = catalog_of(source)
                yield Resource(schema_address(id_), {}, source.text)
            except LanguageError as error:
                self._findings.add_of_language(error)
            except OmnigraphError as error:
                self._wrong("K006", graph.schema, str(error), error.hint)
        yield from self._queries(graph, catalog)

    def _queries(self, graph: GraphDeclared, catalog: Catalog | None) -> Iterator[Resource]:
        found: dict[str, Path] = {}
        for path in graph.query_paths:
            for file in self._query_files(path):
                for name, source in self._named_queries(file, path):
                    if name in found:
                        other = self._relative(found[name])
                        said = f"the query {clipped(name)} is in {other} too"
                        self._wrong("K008", path, said, "give one of them another name")
                        continue
                    found[name] = file
                    yield from self._query(graph, name, source, catalog)
        for declared in graph.queries:
            if (one := self._file(declared.file)) is None:
                continue
            texts = dict(self._named_queries(one, declared.file))
            if (text := texts.get(declared.name.text)) is not None:
                yield from self._query(graph, declared.name.text, text, catalog)
            elif texts:
                said = f"{self._relative(one)} has no query {clipped(declared.name.text)}"
                hint = f"it has: {', '.join(map(clipped, sorted(texts)))}"
                self._wrong("K007", declared.name, said, hint)

    def _query(
        self, graph: GraphDeclared, name: str, source: SourceText, catalog: Catalog | None
    ) -> Iterator[Resource]:
        address = query_address(graph.id.text, name)
        if catalog is not None:
            try:
                self.signatures[address] = signature_of(source, name, catalog)
            except LanguageError as error:
                self._findings.add_of_language(error)
                return
        yield Resource(address, {}, source.text)

    def _query_files(self, path: Named) -> list[Path]:
        if (place := self._inside(path)) is None:
            return []
        if not place.is_dir():
            file = self._file(path)
            return [] if file is None else [file]
        if not (files := sorted(place.glob(f"*{QUERY}"))):
            self._wrong("K006", path, f"the directory {clipped(path.text)} holds no {QUERY} file")
        return [file for file in files if self._is_usable(file, path)]

    def _named_queries(self, file: Path, named: Named) -> Iterator[tuple[str, SourceText]]:
        try:
            source = self._shown(read_source(file, QUERY), file)
            names = query_kinds(source)
        except LanguageError as error:
            self._findings.add_of_language(error)
            return
        except OmnigraphError as error:
            self._wrong("K006", named, str(error), error.hint)
            return
        yield from ((name, source) for name in names)

    # Policies -------------------------------------------------------------------------------------

    def _policy(self, declared: PolicyDeclared) -> Iterator[Resource]:
        if declared.file is None or (file := self._file(declared.file)) is None:
            return
        if file.suffix not in (*YAML_ENDINGS, CEDAR_ENDING):
            said = f"a file of a policy ends in .yaml, .yml or .cedar, and {file.name} does not"
            self._wrong("K006", declared.file, said)
            return
        # Cedar takes its time to import, and many deployments have no policy.
        from omnigraph.policy.policy import Policy
        from omnigraph.policy.read_bundle import read_file

        targets = sorted(target.text for target in declared.applies_to)
        try:
            source = self._shown(read_file(file), file)
            policy = Policy.of_text(source)
            for target in targets:
                catalog = NO_TYPES if target == EVERYWHERE else self._catalogs.get(target)
                if catalog is not None:
                    policy.fitted(catalog, target)
        except PolicyInvalid as invalid:
            self._findings.add_all(invalid.findings)
            return
        language = "cedar" if file.suffix == CEDAR_ENDING else "yaml"
        yield Resource(
            policy_address(declared.name.text),
            {"applies_to": targets, "language": language},
            source.text,
        )

    # Files ----------------------------------------------------------------------------------------

    def _file(self, named: Named) -> Path | None:
        """A file of the folder; None, and a finding, where there is none."""
        place = self._inside(named)
        if place is None:
            return None
        if not place.is_file():
            is_there = "is no file" if place.exists() else "does not exist"
            self._wrong("K006", named, f"{clipped(named.text)} {is_there}")
            return None
        return place

    def _is_usable(self, file: Path, named: Named) -> bool:
        """Whether a file of a directory can be read; a finding says why not."""
        if not self._stays(file):
            self._outside(named, self._relative(file))
            return False
        if not file.is_file():
            self._wrong("K006", named, f"{clipped(self._relative(file))} is not a file")
            return False
        return True

    def _inside(self, named: Named) -> Path | None:
        # Texts of YAML may hold what no path can.
        if "\0" in named.text:
            self._wrong("K006", named, "a path holds no zero byte")
            return None
        place = Path(os.path.normpath(self._path / named.text))
        is_below = place.is_relative_to(os.path.normpath(self._path))
        if Path(named.text).is_absolute() or not is_below or not self._stays(place):
            self._outside(named, named.text)
            return None
        try:
            place.exists()
        except OSError as error:
            said = f"{clipped(named.text)} can't be looked at: {reason_of(error)}"
            self._wrong("K006", named, said)
            return None
        return place

    def _stays(self, place: Path) -> bool:
        """False if a link leads out of the folder: others who check it out have something else."""
        try:
            return place.resolve().is_relative_to(self._path.resolve())
        except (OSError, RuntimeError):
            return True  # that it can't be read is told by who reads it

    def _outside(self, named: Named, path: str) -> None:
        said = f"{clipped(path)} lies outside the folder"
        self._wrong("K006", named, said, "a deployment is one folder: move the file into it")

    def _shown(self, source: SourceText, file: Path) -> SourceText:
        """The text under the file's name, with the line ends of Unix.

        Git may check out the same folder with other line ends, and digests are made of the texts.
        """
        return SourceText(source.text.replace("\r\n", "\n"), str(file))

    def _relative(self, file: Path) -> str:
        return file.relative_to(os.path.normpath(self._path)).as_posix()

    def _wrong(self, code: str, named: Named, message: str, hint: str | None = None) -> None:
        self._findings.add(code, self._config.source, named.span, message, hint)
