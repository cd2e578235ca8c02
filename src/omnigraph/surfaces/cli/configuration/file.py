"""`config.yaml` in the home of OmniGraph: who someone is, and where their graphs are.

    operator: {actor: ada}
    servers:  {prod: {url: https://graphs.example.org}}
    defaults: {store: ~/brain.omni, format: kv}
    profiles: {work: {server: prod, graph: brain}}
    aliases:  {friends: query friends_of --query people.gq}

What a command line says wins over all of it. An unknown key is a warning and not an error: a file
may have been written for a newer version.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from omnigraph.base.errors import ConfigurationInvalid, FileMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import did_you_mean
from omnigraph.base.words import clipped, listed
from omnigraph.base.yaml_text import (
    YamlList,
    YamlMap,
    YamlNode,
    YamlRefused,
    YamlScalar,
    read_yaml,
)
from omnigraph.engine.text import read_bytes
from omnigraph.surfaces.cli.output import Format

__all__ = ["CONFIG_FILE", "Config", "Profile", "read_config"]

CONFIG_FILE = "config.yaml"
SECTIONS = ("operator", "servers", "defaults", "profiles", "aliases")
OF_A_PROFILE = ("store", "server", "graph", "actor", "format")


@frozen
class Profile:
    """A graph, in a place or on a server, and how it is worked with."""

    store: str | None = None
    server: str | None = None
    """A name of `servers`, or a URL."""
    graph: str | None = None
    actor: str | None = None
    format: Format | None = None


@frozen
class Config:
    path: Path
    actor: str | None = None
    servers: Mapping[str, str] = field(default_factory=dict)
    """The URL of each."""
    defaults: Profile = field(default_factory=Profile)
    default_profile: str | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The words that each stands for."""
    warnings: tuple[str, ...] = ()


def read_config(home: Path) -> Config:
    """The configuration in `home`; an empty one if there is no file."""
    path = home / CONFIG_FILE
    try:
        text = read_bytes(path).decode("utf-8")
    except FileMissing:
        return Config(path)
    except UnicodeDecodeError:
        raise ConfigurationInvalid(str(path), None, None, "the file is not UTF-8") from None
    try:
        return _Reading(path).config(read_yaml(text))
    except YamlRefused as refused:
        line, column = refused.span.line, refused.span.column
        raise ConfigurationInvalid(
            str(path), line, column, refused.message, refused.hint
        ) from refused


class _Reading:
    """Reads one file; what is wrong is raised, what is unknown is noted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._warnings: list[str] = []

    def config(self, document: YamlNode) -> Config:
        if isinstance(document, YamlScalar) and document.value is None:
            return Config(self._path)
        sections = self._members(document, SECTIONS)
        operator = self._members(sections.get("operator"), ("actor",))
        defaults = self._members(sections.get("defaults"), (*OF_A_PROFILE, "profile"))
        of_defaults = {name: node for name, node in defaults.items() if name != "profile"}
        return Config(
            path=self._path,
            actor=self._text(operator.get("actor")),
            servers={
                name: self._url(self._members(node, ("url",)).get("url"), node)
                for name, node in self._named(sections.get("servers")).items()
            },
            defaults=self._profile(of_defaults),
            default_profile=self._text(defaults.get("profile")),
            profiles={
                name: self._profile(self._members(node, OF_A_PROFILE))
                for name, node in self._named(sections.get("profiles")).items()
            },
            aliases={
                name: self._words(node)
                for name, node in self._named(sections.get("aliases")).items()
            },
            warnings=tuple(self._warnings),
        )

    def _profile(self, members: Mapping[str, YamlNode]) -> Profile:
        store, server = members.get("store"), members.get("server")
        if store is not None and server is not None:
            raise self._wrong(server, "a graph is in a place or on a server: leave out one of them")
        style = self._text(members.get("format"))
        if style is not None and style not in list(Format):
            rule = f"{clipped(style)} is no format: it must be {listed(Format)}"
            raise self._wrong(members["format"], rule)
        return Profile(
            store=self._place(store),
            server=self._text(server),
            graph=self._text(members.get("graph")),
            actor=self._text(members.get("actor")),
            format=Format(style) if style is not None else None,
        )

    def _place(self, node: YamlNode | None) -> str | None:
        """An address that means the same wherever a command is typed."""
        place = self._text(node)
        if place is None or "://" in place:
            return place
        path = Path(place).expanduser()
        if not path.is_absolute():
            assert node is not None
            raise self._wrong(node, "a path must be whole here: begin it with / or ~/")
        return str(path)

    def _url(self, node: YamlNode | None, server: YamlNode) -> str:
        url = self._text(node)
        if url is None or not url.startswith(("http://", "https://")):
            raise self._wrong(node or server, "a server has a url, such as https://host")
        return url.rstrip("/")

    def _words(self, node: YamlNode) -> tuple[str, ...]:
        if isinstance(node, YamlList):
            words = tuple(self._text(item) or "" for item in node.items)
        else:
            try:
                words = tuple(shlex.split(self._text(node) or ""))
            except ValueError:
                raise self._wrong(node, "a quote has no end") from None
        if not words:
            raise self._wrong(node, "an alias stands for a command, and this one is empty")
        return words

    def _named(self, node: YamlNode | None) -> dict[str, YamlNode]:
        return self._members(node, None)

    def _members(self, node: YamlNode | None, known: Iterable[str] | None) -> dict[str, YamlNode]:
        """The members of a mapping; those of no known name are left out, with a warning."""
        if node is None or (isinstance(node, YamlScalar) and node.value is None):
            return {}
        if not isinstance(node, YamlMap):
            raise self._wrong(node, "names with values must stand here, such as name: value")
        found = {}
        for key, value in node.entries:
            name = str(key.value)
            if known is not None and name not in known:
                hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
                place = f"{self._path}:{key.span.line}:{key.span.column}"
                self._warnings.append(f"{place}: {clipped(name)} is not known ({hint})")
            else:
                found[name] = value
        return found

    def _text(self, node: YamlNode | None) -> str | None:
        if node is None or (isinstance(node, YamlScalar) and node.value is None):
            return None
        if not isinstance(node, YamlScalar) or not isinstance(node.value, str) or not node.value:
            raise self._wrong(node, "a text must stand here")
        return node.value

    def _wrong(self, node: YamlNode, rule: str) -> ConfigurationInvalid:
        return ConfigurationInvalid(str(self._path), node.span.line, node.span.column, rule)
