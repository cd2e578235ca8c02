"""`docs/reference/cli.md` lists every command as the program itself knows it.

`pytest --bless tests/house/test_cli_reference.py` writes it anew.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from omnigraph.surfaces.cli.app import command_tree

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"

HEAD = """\
# Commands

Every command takes `-h` or `--help`, and `--debug`, which shows where in the program an error
comes from. `--json` prints one JSON document on standard output and nothing else there, an error
too; its [shapes](json.md) are published. What is said to a person goes to standard error, unless
they ask for `--quiet`. Colours are for terminals, and `NO_COLOR` turns them off.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an error; the message, or `code` in the JSON, says which |
| 2 | the command line is wrong |
| 3 | what was named is not there |
| 4 | a condition or a conflict: nothing was changed |
| 5 | no error: a plan has something to do, or a comparison found a difference |
| 130 | interrupted |

Commands about a graph find it by the argument, `--store`, `--server`, `--profile` or your
[configuration](../user/configuration.md), in this order. What can't be undone (deleting a branch,
a cleanup, an overwrite) asks first where the graph is in a bucket or on a server; a script says
`--yes`.

`omnigraph --install-completion` teaches your shell to complete commands, options, branches, types
and queries.
"""
# Said once, above. `log` and `serve` have a --graph that is something else.
SAID_ABOVE = {
    "A server that has the graph, instead of --store.",
    "Which graph of the server.",
    "A profile of your configuration.",
    "As before the command.",
    "Show this message and exit.",
}


def test_the_page_lists_every_command_as_it_is(is_blessing: bool) -> None:
    page = "\n".join([HEAD, *_commands(typer.main.get_command(command_tree()), "omnigraph")])
    if is_blessing:
        PAGE.write_text(page)
    assert PAGE.read_text() == page


def test_every_help_has_an_example_and_every_option_a_word() -> None:
    root = typer.main.get_command(command_tree())
    groups = [("omnigraph", root)] + [
        (name, each) for name, each in vars(root)["commands"].items() if hasattr(each, "commands")
    ]
    for name, command in (*groups, *walk(root, "omnigraph")):
        assert "Example: omnigraph" in (command.help or ""), name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The commands that are listed, with their whole names."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for each, inner in command.commands.items():
        if not inner.hidden:
            yield from walk(inner, f"{name} {each}")


def _commands(root: Any, name: str) -> Iterator[str]:
    for whole, command in walk(root, name):
        said, _, example = command.help.partition("Example: ")
        line, _, more = example.partition("\n\n")
        yield f"## {whole}\n"
        yield f"{_text(said)}\n"
        yield f"`{' '.join(line.split())}`\n"
        if more:
            yield f"{_text(more)}\n"
        rows = [row for parameter in command.params for row in _row(parameter)]
        if rows:
            yield "| | |\n|---|---|"
            yield from rows
            yield ""


def _row(parameter: Any) -> Iterator[str]:
    if parameter.param_type_name == "argument":
        shown = f"`{(parameter.metavar or parameter.name).strip('[]').upper().rstrip('_')}`"
    elif parameter.help in SAID_ABOVE:
        return
    else:
        value = "" if parameter.is_flag else f" {_value(parameter)}"
        shown = ", ".join(f"`{each}`" for each in parameter.opts) + value
    if parameter.required:
        shown += " (needed)"
    default = getattr(parameter, "default", None)
    tail = f" [{default}]" if isinstance(default, str | int | float) and default else ""
    yield f"| {shown} | {_text(parameter.help)}{tail} |".replace("\n", " ")


def _value(parameter: Any) -> str:
    choices = parameter.type_descriptor.choices
    if choices:
        return "`" + "\\|".join(str(getattr(each, "value", each)) for each in choices) + "`"
    return f"`{(parameter.metavar or 'VALUE')}`".replace("|", "\\|")


def _text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
