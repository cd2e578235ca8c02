"""The tests of a `where` by themselves: faults are told in the text that a person wrote."""

import pytest

from omnigraph.base.errors import LanguageError
from omnigraph.base.ids import TypeName
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_conditions, compile_query
from omnigraph.lang.plan.ir import Delete, MutationQuery, Predicate
from tests.reference.small_graph import catalog_of

CATALOG = catalog_of("node Person { name: String @key  age: I32?  tags: [String]? }")
PERSON = CATALOG.node_by_name[TypeName("Person")]


def compiled(text: str) -> tuple[Predicate, ...]:
    return compile_conditions(SourceText(text, "<where>"), PERSON, CATALOG)


@pytest.mark.parametrize(
    "text",
    [
        "age > 3",
        'age > 3 and name starts_with "a" // of those\n and tags contains "x"',
        "age is not null",
        'name in ["a", "b"]',
    ],
)
def test_they_mean_what_they_mean_in_a_mutation(text: str) -> None:
    query = f"query q() {{ delete Person where {text}\n }}"
    match compile_query(SourceText(query), CATALOG):
        case MutationQuery(statements=(Delete(where=predicates),)):
            assert compiled(text) == predicates
        case other:
            raise AssertionError(other)


END = "'and' or the end of the text"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "expected a value, found the end of the text"),
        ("age >", (1, 5), "expected a value after '>', found the end of the text"),
        ("age > 3 or age < 1", (1, 9), f"expected {END} after 3, found or"),
        ("age > 3 }", (1, 9), f"expected {END} after 3, found '}}'"),
        ("age > 3 delete Person", (1, 9), f"expected {END} after 3, found delete"),
        ("age > 3\n  and name =", (2, 12), "expected a value after '=', found the end of the text"),
        ("age > 3;", (1, 8), "unexpected ;"),
        ("age > 3 and agee < 4", (1, 13), "Person has no property agee"),
        ('age > "x"', (1, 5), 'age (I32) can\'t be compared with "x" (String)'),
        ("(" * 50, (1, 41), "blocks are nested more than 40 deep"),
    ],
)
def test_a_fault_is_told_where_it_stands_with_what_may_stand_there(
    text: str, place: tuple[int, int], message: str
) -> None:
    with pytest.raises(LanguageError) as raised:
        compiled(text)
    (finding,) = raised.value.diagnostics
    assert (finding.span.line, finding.span.column) == place
    assert finding.message == message
    assert f"<where>:{place[0]}:{place[1]}" in raised.value.render()
