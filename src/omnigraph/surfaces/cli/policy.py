"""Commands for policies: validate, test, explain. None of them opens a graph to change it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.words import amount
from omnigraph.engine.text import SCHEMA, read_source
from omnigraph.surfaces.cli.language import ONE_SCHEMA, OptionalStoreOption, SchemaFileOption
from omnigraph.surfaces.cli.options import JsonOption, group, open_graph
from omnigraph.surfaces.cli.output import print_json, print_table, print_text, say

if TYPE_CHECKING:
    from omnigraph.engine.policies import PolicyExplanation
    from omnigraph.lang.schema.catalog import Catalog

FilesArgument = Annotated[
    list[Path], typer.Argument(help="One YAML file, .cedar files, or both.", metavar="FILE...")
]
PolicyOption = Annotated[
    list[Path],
    typer.Option("--policy", help="A file of the policy; again for more.", metavar="FILE"),
]


def register(app: typer.Typer) -> None:
    policy = group(
        "Check policies, try them, explain them.",
        example="omnigraph policy validate policy.yaml --schema people.pg",
    )
    policy.command("validate")(validate)
    policy.command("test")(test)
    policy.command("explain")(explain)
    app.add_typer(policy, name="policy")


def validate(
    files: FilesArgument,
    *,
    schema: SchemaFileOption = None,
    store: OptionalStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a policy: all mistakes at once; against a schema, if one is given.

    Example: omnigraph policy validate policy.yaml --schema people.pg
    """
    from omnigraph.engine import policies
    from omnigraph.policy.policy import Policy

    found = policies.summary(Policy.read(*files), _catalog(schema, store))
    if as_json:
        print_json(found.to_json())
        return
    counts = (
        amount(len(found.rules), "rule"),
        amount(len(found.groups), "group"),
        amount(len(found.actors), "named actor"),
    )
    print_text(f"valid: {', '.join(counts)}")
    if not found.is_fitted:
        say("the types it names were not checked: give --schema or --store")


def test(
    cases: Annotated[Path, typer.Argument(help="A YAML file of cases.", metavar="CASES")],
    *,
    policy: PolicyOption,
    schema: SchemaFileOption = None,
    store: OptionalStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a policy on cases, each of which says who, what, where and what to expect.

    Example: omnigraph policy test cases.yaml --policy policy.yaml --schema people.pg
    """
    from omnigraph.engine.policy_cases import try_cases
    from omnigraph.policy.policy import Policy
    from omnigraph.policy.read_bundle import read_file

    tried = try_cases(Policy.read(*policy), _catalog(schema, store), read_file(cases))
    failed = [case for case in tried if not case.passed]
    if as_json:
        counts = {"passed": len(tried) - len(failed), "failed": len(failed)}
        print_json({**counts, "cases": [case.to_json() for case in tried]})
    else:
        for case in failed:
            shown = case.to_json()
            print_text(
                f"{case.id}: expected {shown['expect']}, got {shown['got']}: {shown['reason']}"
            )
        say(f"{amount(len(tried), 'case')}, {len(failed)} failed")
    raise typer.Exit(1 if failed else 0)


def explain(
    *,
    policy: PolicyOption,
    actor: Annotated[str, typer.Option("--actor", help="Who asks.")],
    action: Annotated[str, typer.Option("--action", help="read, change, branch_merge, …")],
    branch: Annotated[str | None, typer.Option("--branch", help="On which branch.")] = None,
    target_branch: Annotated[
        str | None, typer.Option("--target-branch", help="Into which branch a merge goes.")
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", help="The stored query, for invoke_query.")
    ] = None,
    type_name: Annotated[
        str | None, typer.Option("--type", help="One type, with the rules about its rows.")
    ] = None,
    schema: SchemaFileOption = None,
    store: OptionalStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether an actor may do something, by which rules, and which rows they see.

    Example: omnigraph policy explain --policy policy.yaml --schema people.pg
    --actor ada --action read --branch main
    """
    from omnigraph.engine import policies
    from omnigraph.policy.policy import Policy

    found = policies.explain(
        Policy.read(*policy),
        _catalog(schema, store),
        actor=actor,
        action=action,
        branch=branch,
        target_branch=target_branch,
        query=query,
        type_name=type_name,
    )
    if as_json:
        print_json(found.to_json())
    else:
        _print_explanation(found)


def _catalog(schema: Path | None, store: str | None) -> "Catalog | None":
    """The catalog of a `.pg` file or of a graph, if one of them is given."""
    if schema is not None and store is not None:
        raise typer.BadParameter(ONE_SCHEMA)
    if schema is not None:
        from omnigraph.engine import language

        return language.catalog_of(read_source(schema, SCHEMA))
    return None if store is None else open_graph(store, read_only=True).schema().catalog


def _print_explanation(found: "PolicyExplanation") -> None:
    if found.note is not None:
        say(found.note)
    print_text(f"{'allowed' if found.is_allowed else 'denied'}: {found.reason}")
    if found.types:
        print_table(
            ["type", "rows", "hidden properties"],
            (
                [seen.type, seen.shown, ", ".join(seen.hidden_properties) or None]
                for seen in found.types
            ),
            may_shorten=False,
        )
    for seen in found.types:
        for rule, effect, condition in seen.rules:
            print_text(f"rule {rule}: {effect} {seen.type} rows: {condition}")
