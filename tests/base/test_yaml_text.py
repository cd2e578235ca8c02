"""YAML of files that decide things: what could mean two things is refused, with its line."""

import pytest

from omnigraph.base.span import Span
from omnigraph.base.yaml_text import YamlList, YamlMap, YamlNode, YamlRefused, YamlScalar, read_yaml


def plain(node: YamlNode) -> object:
    match node:
        case YamlScalar(value=value):
            return value
        case YamlList(items=items):
            return [plain(item) for item in items]
        case YamlMap(entries=entries):
            return {key.value: plain(value) for key, value in entries}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1\nb: [x, 'no', {c: -3}]\n", {"a": 1, "b": ["x", "no", {"c": -3}]}),
        ("a: true\nb: False\nc: ~\nd:\n", {"a": True, "b": False, "c": None, "d": None}),
        ("a: 1.5\nb: -0\nc: 1e3\n", {"a": 1.5, "b": 0, "c": 1000.0}),
        ("a: 2024-01-01\nb: 12-30\nc: 1.2.3\n", {"a": "2024-01-01", "b": "12-30", "c": "1.2.3"}),
        ('a: "on"\nb: "010"\n', {"a": "on", "b": "010"}),
        ("a: |\n  x &&\n  y\nb: >\n  p\n  q\n", {"a": "x &&\ny\n", "b": "p q\n"}),
        ("a: 9223372036854775808\n", {"a": 2**63}),
        ("# a comment\n---\na: é😀\n", {"a": "é😀"}),
    ],
)
def test_values_are_those_of_yaml_1_2(text: str, value: object) -> None:
    assert plain(read_yaml(text)) == value


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "on line 1"),
        ("a:\n  b: 1\n  b: 2\n", 3, 3, "twice"),
        ("a: no\n", 1, 4, "boolean"),
        ("a: [x, On]\n", 1, 8, "boolean"),
        ("yes: 1\n", 1, 1, "boolean"),
        ("a: 010\n", 1, 4, "number"),
        ("a: 0x1f\n", 1, 4, "number"),
        ("a: 1_000\n", 1, 4, "number"),
        ("a: 12:30\n", 1, 4, "number"),
        ("a: +3\n", 1, 4, "number"),
        ("a: .5\n", 1, 4, "number"),
        ("a: .inf\n", 1, 4, "number"),
        (f"a: {'9' * 5000}\n", 1, 4, "digits"),
        ("a: &x 1\nb: *x\n", 1, 4, "aliases"),
        ("a: *x\n", 1, 4, "aliases"),
        ("<<: {a: 1}\n", 1, 1, "<<"),
        ("a: !!str 3\n", 1, 4, "tags"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, 4, "tags"),
        ("3: x\n", 1, 1, "key is text"),
        ("? [1]\n: 2\n", 1, 3, "key is text"),
        ("a: 1\n---\nb: 1\n", 2, 1, "second"),
        ("a: [1\n", 2, 1, "valid YAML"),
        ("a: 1\nb: \x01\n", 2, 4, "valid YAML"),
        ("a:\n\t- 1\n", 2, 1, "valid YAML"),
        ('a: "\\ud800"\n', 1, 4, "half a character"),
        ("a: " + "[" * 60 + "]" * 60, 1, 44, "nested"),
    ],
)
def test_what_could_mean_something_else_is_refused(
    text: str, line: int, column: int, words: str
) -> None:
    with pytest.raises(YamlRefused) as refused:
        read_yaml(text)
    span = refused.value.span
    assert (span.line, span.column) == (line, column)
    assert words in refused.value.message


def test_every_value_knows_its_place() -> None:
    root = read_yaml("groups:\n  team: [ada, bo]\n")
    assert isinstance(root, YamlMap)
    ((_, groups),) = root.entries
    assert isinstance(groups, YamlMap)
    ((team, members),) = groups.entries
    assert isinstance(members, YamlList)
    assert team.span == Span(2, 3, 4) and members.items[1].span == Span(2, 15, 2)
