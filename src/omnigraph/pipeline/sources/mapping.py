"""Mappings: which columns of a table feed which parts of a type.

A mapping is a set of rules, each for the tables that a pattern names (`docs/user/mappings.md`).
What is obvious needs no rule: a table named like a type, columns named like properties. Nothing is
guessed beyond that, and a column that nothing takes is an error, since a misspelt one would
otherwise load as nulls.
"""

import datetime
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from omnigraph.base.errors import FileMissing, MappingInvalid, SourceInvalid, StorageFailed
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import suggestion
from omnigraph.base.words import amount, clipped, listed
from omnigraph.base.yaml_text import YamlMap, YamlRefused, plain_value, read_yaml
from omnigraph.check.rows.input_types import expectation, fits_json
from omnigraph.lang.schema.catalog import DST, ID, SRC, Catalog, EdgeType, EntityType, NodeType
from omnigraph.pipeline.sources.feed import Feed

__all__ = [
    "MappingArgument",
    "MappingText",
    "Rule",
    "check_rules",
    "feed_for",
    "read_mapping",
    "read_mapping_text",
]

MappingArgument = Mapping[str, Any] | str | os.PathLike[str] | None
"""Rules by pattern, one rule for every table, the path of a YAML file with either, or nothing."""

NODE_WORDS = ("node", "id", "properties", "constants", "ignore")
EDGE_WORDS = ("edge", "id", "from", "to", "properties", "constants", "ignore")
ALL_WORDS = tuple(dict.fromkeys((*NODE_WORDS, *EDGE_WORDS)))

# Columns that are an edge's ends where no rule says otherwise.
SOURCE_COLUMNS, TARGET_COLUMNS = ("from", SRC), ("to", DST)

# Under `ignore` this pattern alone leaves out no column that something takes: only those that
# nothing takes. As the name of a rule it is for every table that no rule before it is for, be it
# none.
EVERY_OTHER = "*"

# What other programs put between fields: the first line is one name then.
FIELD_ENDS = frozenset(";|\t")

# As many names of tables as a person looks through.
MAX_LISTED_TABLES = 8


@frozen
class MappingText:
    text: str
    rules: Mapping[str, Any]
    """What the text says, as plain values."""
    lines: Mapping[str, int]
    """The line of each name at the top."""


@frozen
class Rule:
    position: str
    """Where it was written, for messages."""
    pattern: str
    entity: EntityType
    id: str | None = None
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()


def read_mapping(given: MappingArgument, catalog: Catalog) -> tuple[Rule, ...]:
    """The rules, checked against the schema."""
    if given is None:
        return ()
    lines: Mapping[str, int] = {}
    if isinstance(given, str | os.PathLike):
        read, position = read_mapping_text(Path(given)), str(given)
        rules, lines = read.rules, read.lines
    else:
        position = "mapping"
        rules = _by_name(given, position)
    if "node" in rules or "edge" in rules:
        return (_RuleText(position, rules).rule(EVERY_OTHER, catalog),)
    return tuple(
        _RuleText(_rule_position(position, str(pattern), lines), rule).rule(str(pattern), catalog)
        for pattern, rule in rules.items()
    )


def read_mapping_text(path: Path) -> MappingText:
    """A mapping as it stands in a file, whatever its rules say."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileMissing(path=str(path)) from error
    # No UTF-8, or a name that no file can have.
    except (OSError, ValueError) as error:
        raise StorageFailed(doing="read", path=str(path), reason=str(error)) from error
    try:
        root = read_yaml(text)
    except YamlRefused as refused:
        position = f"{path}:{refused.span.line}:{refused.span.column}"
        hint = "" if refused.hint is None else f": {refused.hint}"
        raise MappingInvalid(position=position, reason=f"{refused.message}{hint}") from refused
    entries = root.entries if isinstance(root, YamlMap) else ()
    rules = _by_name(plain_value(root), str(path))
    return MappingText(text, rules, {str(key.value): key.span.line for key, _ in entries})


def _by_name(content: object, position: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        reason = f"a mapping must hold rules by the names of tables, not {content!r}"
        raise MappingInvalid(position=position, reason=reason)
    return content


def check_rules(rules: Sequence[Rule], tables: Sequence[str]) -> None:
    """Raise if a rule is for no table of these, all that are loaded: its name may be misspelt, and
    its table would be read as if there were no rule."""
    for rule in rules:
        pattern = rule.pattern
        if pattern != EVERY_OTHER and not any(_matches(table, pattern) for table in tables):
            # As a rule may spell them: whole paths are long, and alike up to there.
            known = [*dict.fromkeys(_tail(table, pattern) for table in tables)]
            near = suggestion(pattern, known)
            raise MappingInvalid(
                position=rule.position,
                reason=f"no table that is loaded is called {clipped(pattern)}{near}; "
                f"{_told(known)}",
            )


def feed_for(
    table: str,
    columns: Sequence[str],
    *,
    rules: Sequence[Rule],
    catalog: Catalog,
    names: Sequence[str],
) -> Feed:
    """How the table's columns feed its type; without a rule, that of the first name that is one."""
    rule = next((rule for rule in rules if _matches(table, rule.pattern)), None)
    if rule is None:
        rule = Rule(table, "", _type_of_table(table, names, catalog))
    return _Columns(table, tuple(columns), rule).feed()


# The text of a rule -------------------------------------------------------------------------------


@frozen(slots=False)
class _RuleText:
    position: str
    content: Any

    def rule(self, pattern: str, catalog: Catalog) -> Rule:
        if not PurePath(pattern).parts:
            raise self._wrong("the name of a table, or a pattern for names, is empty")
        if not isinstance(self.content, Mapping):
            # One rule for every table, with its first word misspelt, looks like this.
            near = suggestion(pattern, ALL_WORDS)
            raise self._wrong(
                f"the rule for tables named {pattern} must be a set of words "
                f"such as node: Person, not {self.content!r}{near}"
            )
        is_edge = self._is_edge()
        self._check_words(EDGE_WORDS if is_edge else NODE_WORDS)
        entity = self._entity("edge" if is_edge else "node", catalog)
        id_ = self.content.get("id")
        return Rule(
            position=self.position,
            pattern=pattern,
            entity=entity,
            id=None if id_ is None else self._text("id", id_),
            source=self._end("from", catalog.node_by_name[entity.source])
            if isinstance(entity, EdgeType)
            else (),
            target=self._end("to", catalog.node_by_name[entity.target])
            if isinstance(entity, EdgeType)
            else (),
            properties=tuple(self._properties(entity)),
            constants=tuple(self._constants(entity)),
            ignore=tuple(self._text("ignore", item) for item in self._list("ignore")),
        )

    def _is_edge(self) -> bool:
        """True if the rule is for edges; a misspelt word may be why it says neither."""
        is_edge, is_node = "edge" in self.content, "node" in self.content
        if is_edge and is_node:
            raise self._wrong("the rule has both node and edge: keep one of them")
        if not is_edge and not is_node:
            self._check_words(ALL_WORDS)
            raise self._wrong("the rule does not name a type: add node: … or edge: …")
        return is_edge

    def _check_words(self, words: Sequence[str]) -> None:
        for word in self.content:
            if word not in words:
                near = suggestion(str(word), words)
                raise self._wrong(
                    f"{word} is not a word of this rule{near}; the words are {', '.join(words)}"
                )

    def _entity(self, word: str, catalog: Catalog) -> EntityType:
        name = self._text(word, self.content[word])
        known: Sequence[EntityType] = catalog.nodes if word == "node" else catalog.edges
        if len(found := _named(name, known)) == 1:
            return found[0]
        if len(found := _named(name, catalog.entities)) == 1:
            other = "edge" if word == "node" else "node"
            raise self._wrong(f"{found[0].name} is no {word} type: write {other}: {found[0].name}")
        near = suggestion(name, (entity.name for entity in known))
        raise self._wrong(f"the schema has no {word} type {name}{near}")

    def _end(self, word: str, node: NodeType) -> tuple[str, ...]:
        """One column by its name holds ids, or keys of one property; a list has the whole key."""
        columns = tuple(self._text(word, item) for item in self._list(word))
        is_key = isinstance(self.content.get(word), list | tuple)
        if columns and is_key and len(columns) != max(1, len(node.key)):
            key = f"the key of {node.name} has {len(node.key)} ({', '.join(node.key)})"
            raise self._wrong(f"{word} names {amount(len(columns), 'column')}; {key}")
        return columns

    def _properties(self, entity: EntityType) -> Iterable[tuple[str, str]]:
        for name, column in self._members("properties").items():
            self._check_property(entity, name)
            yield name, self._text(f"properties.{name}", column)

    def _constants(self, entity: EntityType) -> Iterable[tuple[str, str]]:
        for name, value in self._members("constants").items():
            self._check_property(entity, name)
            if name in self._members("properties"):
                raise self._wrong(
                    f"{name} stands under constants and under properties: keep one of them"
                )
            # A mapping from Python may hold dates; in a file they are text.
            plain = value.isoformat() if isinstance(value, datetime.date) else value
            type_ = entity.by_name[name].type
            if plain is not None and not fits_json(plain, type_):
                raise self._wrong(f"constants.{name} is {value!r}, not {expectation(type_)}")
            yield name, self._json(f"constants.{name}", plain)

    def _check_property(self, entity: EntityType, name: str) -> None:
        if name not in entity.by_name:
            near = suggestion(name, entity.by_name)
            raise self._wrong(f"{entity.name} has no property {name}{near}")

    def _members(self, word: str) -> dict[str, Any]:
        members = self.content.get(word) or {}
        if not isinstance(members, Mapping):
            raise self._wrong(f"{word} must map names, as in {word}: {{name: …}}")
        return {str(name): value for name, value in members.items()}

    def _list(self, word: str) -> list[Any]:
        given = self.content.get(word)
        if given is None:
            return []
        return list(given) if isinstance(given, list | tuple) else [given]

    def _json(self, word: str, value: object) -> str:
        try:
            text = json.dumps(value, ensure_ascii=False)
            text.encode()
        except UnicodeEncodeError as error:
            raise self._wrong(
                f"{word} contains half of a surrogate pair, which is not text"
            ) from error
        return text

    def _text(self, word: str, value: object) -> str:
        if not isinstance(value, str):
            raise self._wrong(f"{word} must be text, not {value!r}")
        return value

    def _wrong(self, reason: str) -> MappingInvalid:
        return MappingInvalid(position=self.position, reason=reason)


def _rule_position(position: str, pattern: str, lines: Mapping[str, int]) -> str:
    return f"{position}:{lines[pattern]}" if pattern in lines else f"{position}, {pattern}"


# The columns of a table ---------------------------------------------------------------------------


@frozen(slots=False)
class _Columns:
    table: str
    columns: tuple[str, ...]
    rule: Rule

    def feed(self) -> Feed:
        rule, entity = self.rule, self.rule.entity
        self._check_names()
        given = {column for _, column in rule.properties}
        free = [c for c in self.columns if c not in given and not self._is_left_out(c)]
        source, target = rule.source, rule.target
        if isinstance(entity, EdgeType):
            source = source or (self._end_column(SOURCE_COLUMNS, free),)
            target = target or (self._end_column(TARGET_COLUMNS, free),)
        id_ = rule.id
        if id_ is None and ID in free and ID not in entity.by_name:
            id_ = ID
        fed = {name for name, _ in (*rule.properties, *rule.constants)}
        same = [c for c in free if c in entity.by_name and c not in fed]
        properties = (*rule.properties, *((column, column) for column in same))
        feed = Feed(entity.table_key, properties, rule.constants, id_, source, target)
        self._check_all_are_taken(set(feed.columns))
        return feed

    def _check_names(self) -> None:
        """The table has what the rule names, and nothing twice."""
        for column in self.columns:
            if self.columns.count(column) > 1:
                raise SourceInvalid(
                    file=self.table, column=column, reason="two columns have this name"
                )
        rule = self.rule
        ids = () if rule.id is None else (rule.id,)
        for column in (*ids, *rule.source, *rule.target, *(c for _, c in rule.properties)):
            if column not in self.columns:
                near = suggestion(column, self.columns)
                raise MappingInvalid(
                    position=rule.position, reason=f"{self.table} has no column {column}{near}"
                )
            if column in rule.ignore:
                reason = f"column {column} is ignored and used by another word: keep one of them"
                raise MappingInvalid(position=rule.position, reason=reason)

    def _is_left_out(self, column: str) -> bool:
        """True if the rule ignores a column, though it may be named like something of the type."""
        names = (name for name in self.rule.ignore if name != EVERY_OTHER)
        return any(fnmatchcase(column, name) for name in names)

    def _end_column(self, names: tuple[str, str], free: Sequence[str]) -> str:
        for name in names:
            if name in free:
                return name
        either = " or ".join(names)
        raise SourceInvalid(
            file=self.table,
            reason=f"{self.rule.entity.name} is an edge and needs a column {either}",
            advice=f"name the column in a mapping: {names[0]}: …",
        )

    def _check_all_are_taken(self, taken: set[str]) -> None:
        rule = self.rule
        for column in self.columns:
            if column in taken or self._is_left_out(column) or EVERY_OTHER in rule.ignore:
                continue
            raise self._not_taken(column)

    def _not_taken(self, column: str) -> SourceInvalid:
        entity = self.rule.entity
        if not column:
            return SourceInvalid(
                file=self.table,
                reason=f"column {self.columns.index(column) + 1} has no name",
                advice='name it in the table, or list "" under ignore in a mapping',
            )
        if column in entity.by_name:
            return SourceInvalid(
                file=self.table,
                column=column,
                reason=f"the mapping says of {entity.name}.{column} that it comes from elsewhere",
                advice="list the column under ignore, or leave the property out of the mapping",
            )
        advice = "name its property in a mapping, or list it under ignore"
        if len(self.columns) == 1 and not FIELD_ENDS.isdisjoint(column):
            advice = "separate fields by commas, or by tabs and call the file .tsv"
        near = suggestion(column, entity.by_name)
        reason = f"{entity.name} has no property of this name{near}"
        return SourceInvalid(file=self.table, column=column, reason=reason, advice=advice)


def _type_of_table(table: str, names: Sequence[str], catalog: Catalog) -> EntityType:
    for name in names:
        if len(found := _named(name, catalog.entities)) == 1:
            return found[0]
    near = suggestion(names[0], (e.name for e in catalog.entities)) if names else ""
    raise SourceInvalid(
        file=table,
        reason=f"no type of the schema has its name{near}, and no rule of a mapping matches it",
        advice="add a rule that says which type its rows are, as in node: Person",
    )


def _named(name: str, known: Sequence[EntityType]) -> list[EntityType]:
    """The type of this name, or else those whose names differ from it only in case."""
    exact = [entity for entity in known if entity.name == name]
    return exact or [entity for entity in known if entity.name.casefold() == name.casefold()]


def _matches(table: str, pattern: str) -> bool:
    return table == pattern or PurePath(table).match(pattern)


def _tail(table: str, pattern: str) -> str:
    """As many last parts of the table's path as the pattern has."""
    return str(PurePath(*PurePath(table).parts[-len(PurePath(pattern).parts) :]))


def _told(tables: Sequence[str]) -> str:
    if not tables:
        return "there are no tables, and lines name their types themselves"
    if len(tables) > MAX_LISTED_TABLES:
        return f"there are {amount(len(tables), 'table')}"
    return f"there is {listed([clipped(table) for table in tables], 'and')}"
