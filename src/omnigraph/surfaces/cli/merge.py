"""`omnigraph branch merge` and `omnigraph revert`: conflicts as a table, and what to type next."""

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.base.conflicts import Conflict, ConflictSide
from omnigraph.base.errors import ArgumentInvalid, MergeConflicts
from omnigraph.base.ids import MAIN
from omnigraph.base.words import amount
from omnigraph.base.yaml_text import YamlRefused, plain_value, read_yaml
from omnigraph.engine.text import read_bytes
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.consent import YesOption, name_target, require_yes
from omnigraph.surfaces.cli.options import (
    ActorOption,
    BranchOption,
    JsonOption,
    MessageOption,
    QuietOption,
    UriArgument,
    UriOption,
    one_uri,
    open_graph,
)
from omnigraph.surfaces.cli.output import print_json, print_table, say
from omnigraph.surfaces.cli.progress import waiting
from omnigraph.surfaces.wire import merge_json, revert_json

if TYPE_CHECKING:
    from omnigraph.engine.merge_results import MergeResult, RevertResult
    from omnigraph.engine.results import ChangeCounts

__all__ = ["merge", "print_conflicts", "revert"]

NO_ROW = "–"
CONFLICT_COLUMNS = ("conflict", "type", "id", "property", "base", "ours", "theirs")

PreviewOption = Annotated[
    bool, typer.Option("--preview", help="Tell what would happen, and change nothing.")
]
ResolveOption = Annotated[
    str | None,
    typer.Option(
        "--resolve",
        help="Take a side in conflicts: ours, theirs, or a YAML or JSON file of choices.",
        metavar="ours|theirs|FILE",
    ),
]
IfCommitOption = Annotated[
    str | None, typer.Option("--if-commit", help="Only if the branch is still at this commit.")
]


def merge(
    source: Annotated[
        str,
        typer.Argument(
            help="The branch whose changes are brought.", autocompletion=completing.branches
        ),
    ],
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    into: Annotated[
        str,
        typer.Option(
            "--into", help="The branch that takes the changes.", autocompletion=completing.branches
        ),
    ] = MAIN,
    preview: PreviewOption = False,
    resolve: ResolveOption = None,
    delete_branch: Annotated[
        bool, typer.Option("--delete-branch", help="Delete the source after the merge.")
    ] = False,
    if_commit: IfCommitOption = None,
    if_source_commit: Annotated[
        str | None,
        typer.Option("--if-source-commit", help="Only if the source is still at this commit."),
    ] = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Bring a branch's changes into another, as one commit.

    Example: omnigraph branch merge review/1 --into main --store g.omni

    Where both branches changed the same thing, nothing is merged and the conflicts are shown.
    --preview --json gives a file of choices to fill in for --resolve.
    """
    if preview and delete_branch:
        raise typer.BadParameter("--preview changes nothing: leave out --delete-branch")
    place = one_uri(uri, store)
    if delete_branch:
        require_yes(place, f"deletes branch {source}", yes=yes)
    words = ("omnigraph", "branch", "merge", source, "--into", into, "--store", place)
    again = shlex.join(words)
    graph = open_graph(place)
    if not preview:
        name_target(graph, into, as_json=as_json, quiet=quiet)
    with (
        _shown(again, as_json=as_json, quiet=quiet),
        waiting("merge", is_silent=quiet, as_json=as_json),
    ):
        result = graph.branch_merge(
            source,
            into=into,
            preview=preview,
            resolve=_choices(resolve),
            delete=delete_branch,
            actor=actor,
            message=message,
            if_commit=if_commit,
            if_source_commit=if_source_commit,
        )
    if as_json:
        print_json(merge_json(result))
        return
    if result.branch_delete_error is not None:
        say(f"warning: merged, but {source} was not deleted: {result.branch_delete_error}")
    _print_result(result, again, graph.uri, quiet=quiet)
    if result.branch_deleted and not quiet:
        say(f"deleted {source}")


def revert(
    commit: Annotated[str, typer.Argument(help="The commit to undo.")],
    uri: UriArgument = None,
    *,
    store: UriOption = None,
    branch: BranchOption = MAIN,
    preview: PreviewOption = False,
    resolve: ResolveOption = None,
    if_commit: IfCommitOption = None,
    actor: ActorOption = None,
    message: MessageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Undo what one commit changed, as a new commit; the history keeps both.

    Example: omnigraph revert 01JQ2S… --store g.omni

    Rows that were changed since are conflicts, shown and resolved as those of a merge: ours is the
    branch as it is, theirs what was there before the commit.
    """
    place = one_uri(uri, store)
    again = shlex.join(("omnigraph", "revert", commit, "--branch", branch, "--store", place))
    graph = open_graph(place)
    if not preview:
        name_target(graph, branch, as_json=as_json, quiet=quiet)
    with (
        _shown(again, as_json=as_json, quiet=quiet),
        waiting("revert", is_silent=quiet, as_json=as_json),
    ):
        result = graph.revert(
            commit,
            branch,
            preview=preview,
            resolve=_choices(resolve),
            actor=actor,
            message=message,
            if_commit=if_commit,
        )
    if as_json:
        print_json(revert_json(result))
    else:
        _print_result(result, again, graph.uri, quiet=quiet)


# What is shown ------------------------------------------------------------------------------------


@contextmanager
def _shown(again: str, *, as_json: bool, quiet: bool) -> Iterator[None]:
    """Show conflicts that are raised as a table, with the commands that settle them."""
    try:
        yield
    except MergeConflicts as refused:
        if not as_json:
            _print_conflicts(refused.conflicts, refused.more, again, quiet=quiet)
        raise


def _print_result(
    result: "MergeResult | RevertResult", again: str, uri: str, *, quiet: bool
) -> None:
    """Of a preview the rows that would change and the conflicts; and what it came to."""
    if result.is_preview and result.counts:
        print_table(("type", "inserted", "updated", "deleted"), map(_count, result.counts.items()))
    if result.conflict_count:
        _print_conflicts(result.conflicts, result.more_conflicts, again, quiet=quiet)
    if quiet:
        return
    for name, rows in result.left_out.items():
        say(f"left out: {name}, which the schema has dropped ({amount(rows, 'changed row')})")
    say(str(result) if result.is_preview else f"{result} ({uri})")


def _count(entry: "tuple[str, ChangeCounts]") -> tuple[str, int, int, int]:
    name, counts = entry
    return name, counts.inserted, counts.updated, counts.deleted


def _print_conflicts(conflicts: Sequence[Conflict], more: int, again: str, *, quiet: bool) -> None:
    """The conflicts, and how to settle them."""
    print_conflicts(conflicts)
    if quiet:
        return
    if more:
        say(f"there are {amount(more, 'more conflict')}: they are told once these are settled")
    if not more and all(c.kind == "value_constraint_violation" for c in conflicts):
        say(f"\nonly ours can be taken:\n  {again} --resolve ours\n")
        return
    say(
        "\nto take one side of all of them:\n"
        f"  {again} --resolve ours\n"
        f"  {again} --resolve theirs\n"
        'to choose for each: fill in "take" in a file of choices\n'
        f"  {again} --preview --json > choices.json\n"
        f"  {again} --resolve choices.json\n"
    )


def print_conflicts(conflicts: Sequence[Conflict]) -> None:
    """Each conflict with what was there and what both sides made of it."""
    print_table(CONFLICT_COLUMNS, map(_cells, conflicts))


def _cells(conflict: Conflict) -> tuple[Any, ...]:
    sides: tuple[ConflictSide, ...] = ("base", "ours", "theirs")
    values = (
        NO_ROW if side in conflict.absent else _value(getattr(conflict, side)) for side in sides
    )
    return conflict.kind, conflict.type_name, conflict.entity_id, conflict.property, *values


def _value(value: Any) -> Any:
    match value:
        case None:
            return "null"
        case dict():
            # A whole row: what it holds, without what it has not.
            return ", ".join(f"{name}: {_word(v)}" for name, v in value.items() if v is not None)
        case list():
            return _word(value)
        case _:
            return value


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Choices ------------------------------------------------------------------------------------------


def _choices(resolve: str | None) -> Any:
    """What `--resolve` says: a word, or what a file holds."""
    if resolve is None or resolve in ("ours", "theirs"):
        return resolve
    path = Path(resolve)
    if path.suffix not in (".yaml", ".yml", ".json"):
        raise ArgumentInvalid(
            argument="resolve",
            value=resolve,
            rule="it must be ours, theirs, or a file that ends in .yaml, .yml or .json",
            advice="--preview --json writes such a file, to be filled in",
        )
    return _read_choices(path)


def _read_choices(path: Path) -> Any:
    found = _read_json(path) if path.suffix == ".json" else _read_yaml(path)
    if not isinstance(found, dict | list):
        raise _not_choices(path, "the file holds no list of choices")
    return found


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path), object_pairs_hook=lambda pairs: _members(path, pairs))
    except (ValueError, RecursionError) as error:
        raise _not_choices(path, f"the file is not valid JSON: {error}") from error


def _members(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _not_choices(path, f"{twice} comes twice in one choice")
    return found


def _read_yaml(path: Path) -> Any:
    try:
        return plain_value(read_yaml(read_bytes(path).decode("utf-8")))
    except UnicodeDecodeError as error:
        raise _not_choices(path, f"the file is not UTF-8: {error.reason}") from error
    except YamlRefused as refused:
        rule = f"line {refused.span.line}: {refused.message}"
        raise _not_choices(path, rule, refused.hint) from refused


def _not_choices(path: Path, rule: str, advice: str | None = None) -> ArgumentInvalid:
    usual = "--preview --json writes such a file, to be filled in"
    return ArgumentInvalid(argument="resolve", value=str(path), rule=rule, advice=advice or usual)
