"""`docs/reference/json` has the JSON Schema of what each command prints with `--json`.

`pytest --bless tests/house/test_json_schemas.py` writes it anew. `tests/surfaces/test_json.py`
holds commands to it.
"""

import json
from pathlib import Path

import jsonschema
import pytest
import typer.main

from omnigraph.surfaces.cli.app import command_tree
from omnigraph.surfaces.shapes.documents import DOCUMENTS
from tests.house.test_cli_reference import walk
from tests.surfaces.json_schemas import FOLDER, file_of, published

PAGE = Path(__file__).parents[2] / "docs/reference/json.md"

# They run until they are stopped, or are made for eyes.
NO_ANSWER = {"demo", "explore", "mcp", "serve", "shell"}


def test_the_published_schemas_are_those_of_the_program(is_blessing: bool) -> None:
    texts = {name: json.dumps(each, indent=2) + "\n" for name, each in published()}
    if is_blessing:
        FOLDER.mkdir(exist_ok=True)
        for old in FOLDER.glob("*.json"):
            old.unlink()
        for name, text in texts.items():
            (FOLDER / name).write_text(text)
    assert {each.name: each.read_text() for each in FOLDER.glob("*.json")} == texts


@pytest.mark.parametrize("schema", [each for _, each in published()], ids=lambda s: s["$id"])
def test_a_published_schema_is_one(schema: dict[str, object]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_every_command_has_json_and_a_schema_for_it() -> None:
    commands = dict(walk(typer.main.get_command(command_tree()), "omnigraph"))
    takes_json = {
        name.removeprefix("omnigraph ")
        for name, command in commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    listed = {name.removeprefix("omnigraph ") for name in commands}
    assert takes_json == set(DOCUMENTS) == listed - NO_ANSWER


def test_the_page_leads_to_every_schema() -> None:
    text = PAGE.read_text()
    for command in (*DOCUMENTS, "error", "event"):
        assert f"(json/{file_of(command)})" in text, command
