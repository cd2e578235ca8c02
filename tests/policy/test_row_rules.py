"""Which rows and properties a rule is about, in words of conditions."""

import pytest

from omnigraph.base.errors import PolicyInvalid
from omnigraph.base.ids import TypeName
from omnigraph.lang.plan.conditions import show_condition
from omnigraph.policy.policy import FittedPolicy
from tests.policy.bundles import catalog, fitted, one_rule, policy

EVERYONE_READS = "  - {id: all, allow: {actors: everyone, actions: [read, change, export]}}\n"


def shown(asked: FittedPolicy, actor: str, action: str = "read") -> dict[str, str]:
    """The condition of each type that has one, but for types that are hidden."""
    sight = asked.sight(actor=actor, action=action, branch="main")
    return {
        type_: show_condition(condition)
        for type_, condition in sight.rows.items()
        if type_ not in sight.hidden_types
    }


def test_an_allow_with_types_opens_the_door_and_shows_only_these_rows() -> None:
    asked = fitted(yaml=one_rule(types="[Person]", when="resource.team == principal.team"))
    assert asked.decide(actor="ada", action="read", branch="main").allowed
    assert shown(asked, "ada") == {"Person": 'team = "red"'}
    sight = asked.sight(actor="ada", action="read", branch="main")
    assert sight.hidden_types == {"Note", "Knows"}
    # bo has no team, so no row is of it.
    assert asked.sight(actor="bo", action="read", branch="main").hidden_types == {
        "Person",
        "Note",
        "Knows",
    }
    assert not asked.decide(actor="ada", action="change", branch="main").allowed


def test_a_deny_with_types_takes_rows_away_and_leaves_the_door_open() -> None:
    text = one_rule("deny", types="[Person, Note]", unless="resource.team == principal.team")
    asked = fitted(yaml=text + EVERYONE_READS)
    assert shown(asked, "ada") == {"Person": 'team = "red"', "Note": 'team = "red"'}
    assert shown(asked, "ada", "change") == {}
    assert asked.decide(actor="bo", action="read", branch="main").allowed
    assert asked.sight(actor="bo", action="read", branch="main").hidden_types == {"Person", "Note"}


def test_an_interface_stands_for_its_types() -> None:
    asked = fitted(
        yaml=one_rule("deny", types="[Named]", when='resource.name == "x"') + EVERYONE_READS
    )
    assert shown(asked, "ada") == {"Note": 'name != "x"', "Person": 'name != "x"'}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("resource.ok", "ok = true"),
        ("resource.age < 3", "age < 3"),
        ("3 <= resource.age", "age >= 3"),
        ("resource.age > principal.level", "age > 3"),
        ("resource.age == resource.salary", "age = salary"),
        ("resource.tags.contains(principal.team)", 'tags contains "red"'),
        ('resource.tags.containsAny(["b", "a"])', 'tags contains any ["a", "b"]'),
        ("resource.tags.containsAll(principal.tags)", 'tags contains all ["a"]'),
        ("resource.tags.isEmpty()", "tags is empty"),
        ('resource.name like "a*b"', 'name like "a*b"'),
        ('["x", principal.team].contains(resource.team)', 'team in ["red", "x"]'),
        ("resource.email == principal.id", 'email = "ada"'),
        ('resource == Person::"ada"', 'id = "ada"'),
        ('resource in [Person::"ada", Person::"bo"]', 'id in ["ada", "bo"]'),
        ('[Person::"bo", Person::"ada"].contains(resource)', 'id in ["ada", "bo"]'),
        ("resource has team", "team is not null"),
        ("principal.boss || resource.ok", "always"),
        ("principal.boss && resource.ok", "ok = true"),
        ('principal in Group::"chiefs" || resource.ok', "ok = true"),
        ("if principal.boss then resource.ok else resource.age > 3", "ok = true"),
    ],
)
def test_a_condition_becomes_a_test_of_columns(condition: str, expected: str) -> None:
    quoted = condition.replace("'", "''")
    asked = fitted(yaml=one_rule(types="[Person]", when=f"'{quoted}'"))
    assert shown(asked, "ada").get("Person", "always") == expected


def test_the_ends_of_an_edge_are_texts() -> None:
    text = one_rule(
        "deny", types="[Knows]", when="resource.from != principal.id && resource.to != principal.id"
    )
    asked = fitted(yaml=text + EVERYONE_READS)
    assert shown(asked, "ada") == {"Knows": 'dst = "ada" or src = "ada"'}


def test_a_row_rule_holds_only_where_its_scope_does() -> None:
    text = one_rule("deny", types="[Note]", branch_scope="protected")
    asked = fitted(yaml=text + EVERYONE_READS)
    assert asked.sight(actor="ada", action="read", branch="main").hidden_types == {"Note"}
    assert not asked.sight(actor="ada", action="read", branch="x").rows
    assert asked.sight(actor="ada", action="read", branch=None).hidden_types == {"Note"}


# Properties ---------------------------------------------------------------------------------------


def test_a_property_is_hidden_from_those_the_rule_names() -> None:
    text = one_rule(
        "deny",
        actors="{group: team}",
        types="[Person]",
        properties="[salary, age]",
        unless="principal.boss",
    )
    asked = fitted(yaml=text + EVERYONE_READS)

    def hidden(actor: str, action: str = "read") -> object:
        return asked.sight(actor=actor, action=action, branch="main").hidden_properties

    person = TypeName("Person")
    assert hidden("ada") == {}
    assert hidden("bo") == {person: {"salary", "age"}}
    assert hidden("grace") == {}
    assert hidden("bo", "export") == {person: {"salary", "age"}}
    assert hidden("bo", "change") == {}
    assert not asked.sight(actor="bo", action="read", branch="main").rows


def test_cedar_hides_properties_by_name_or_all_of_them() -> None:
    named = 'forbid (principal, action, resource == Omnigraph::Property::"Person.salary");'
    every = "forbid (principal, action, resource is Omnigraph::Property);"
    permit = 'permit (principal, action, resource in Omnigraph::Graph::"root");'
    one = fitted(cedar=permit + named).sight(actor="ada", action="read", branch="main")
    assert one.hidden_properties == {"Person": {"salary"}}
    all_ = fitted(cedar=permit + every).sight(actor="ada", action="read", branch="main")
    assert all_.hidden_properties[TypeName("Note")] == {"name", "team", "text"} and not all_.rows


@pytest.mark.parametrize(
    "scope", ["resource", 'resource in Omnigraph::Graph::"root"', "resource is Omnigraph::Property"]
)
def test_a_property_is_hidden_however_cedar_comes_to_it(scope: str) -> None:
    salary = 'Omnigraph::Property::"Person.salary"'
    permit = "permit (principal, action, resource);\n"
    forbid = f"forbid (principal, action, {scope}) when {{ resource == {salary} }};"
    sight = fitted(cedar=permit + forbid).sight(actor="ada", action="read", branch="main")
    assert sight.hidden_properties == {"Person": {"salary"}} and not sight.rows


# Exports ------------------------------------------------------------------------------------------


def test_what_may_not_be_read_may_not_be_exported() -> None:
    text = one_rule("deny", types="[Note]") + EVERYONE_READS
    asked = fitted(yaml=text)
    assert asked.sight(actor="ada", action="export", branch="main").hidden_types == {"Note"}


def test_an_export_shows_the_rows_of_who_may_read_some_and_all_rows_of_who_only_exports() -> None:
    text = one_rule(actors="[ada]", types="[Person]", when="resource.ok")
    text += "  - {id: out, allow: {actors: everyone, actions: [export]}}\n"
    asked = fitted(yaml=text)
    assert shown(asked, "ada", "export") == {"Person": "ok = true"}
    assert asked.sight(actor="ada", action="export", branch="main").hidden_types == {
        "Knows",
        "Note",
    }
    assert not asked.sight(actor="bo", action="export", branch="main").rows


# Rules of Cedar -----------------------------------------------------------------------------------


def test_cedar_rules_stand_beside_those_of_yaml_and_are_named_by_their_ids() -> None:
    cedar = """
@id("no strangers")
forbid (principal, action, resource is Row::Person)
unless { principal in Omnigraph::Group::"team" };
forbid (principal, action, resource) when { principal.id == "mallory" };
"""
    asked = fitted(yaml=one_rule(), cedar=cedar)
    assert asked.sight(actor="zoe", action="read", branch="main").hidden_types == {"Person"}
    assert not asked.sight(actor="ada", action="read", branch="main").rows
    denied = asked.decide(actor="mallory", action="read", branch="main")
    assert denied.rules == ("rules.cedar:5",)
    person = TypeName("Person")
    rules = asked.row_rules(actor="zoe", action="read", branch="main", type_name=person)
    assert [(rule.rule, rule.effect) for rule in rules] == [
        ("r", "permit"),
        ("no strangers", "forbid"),
    ]


def test_a_rule_of_cedar_about_rows_does_not_open_the_door() -> None:
    asked = fitted(cedar="permit (principal, action, resource is Row::Person);")
    assert not asked.decide(actor="ada", action="read", branch="main").allowed


# Names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Actor", "Action", "Action_", "Graph", "Group", "Set", "Entity"])
def test_a_type_of_the_graph_may_have_a_name_that_policies_use(name: str) -> None:
    types = catalog(f"node {name} {{ email: String @key  in: String?  like: Bool? }}")
    condition = f"""resource is Row::{name} && resource["in"] == "x" && resource["like"]"""
    text = one_rule("deny", types=f"[{name}]", when=f"'{condition}'") + EVERYONE_READS
    asked = policy(text).fitted(types, "hash")
    sight = asked.sight(actor="ada", action="read", branch="main")
    (condition_of,) = sight.rows.values()
    assert show_condition(condition_of) == 'in != "x" or like != true'


def test_a_short_name_that_means_two_things_is_refused() -> None:
    text = one_rule(types="[Actor]", unless="""'resource == Actor::"x"'""")
    with pytest.raises(PolicyInvalid) as invalid:
        policy(text).fitted(catalog("node Actor { email: String @key }"), "hash")
    (found,) = invalid.value.findings
    assert found.diagnostic.code == "A018" and "Row::Actor" in str(found.diagnostic.hint)
