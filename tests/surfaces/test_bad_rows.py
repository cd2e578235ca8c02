"""Bad rows from the command line, as the page about them says."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.surfaces.cli import CommandLine

PAGE = (Path(__file__).parents[2] / "docs/user/data-quality.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
LOAD = ("load", "--data", "people.jsonl", "--mode", "append", "--engine", "local")
QUARANTINE = ("--on-error", "quarantine", "--quarantine", "bad")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"`([\w.]+)`:\n\n```\w*\n(.*?)```", PAGE, re.DOTALL):
        Path(name).write_text(text)


@pytest.mark.usefixtures("files")
def test_a_rejected_row_of_the_page_is_the_one_that_is_written(omnigraph: CommandLine) -> None:
    commands = [line for block, _ in BLOCKS for line in block.splitlines()]
    codes = [omnigraph(*shlex.split(command)[1:]).exit_code for command in commands]
    assert codes == [0, 1, 0]
    rejected = "".join(part.read_text() for part in Path("bad").glob("*.jsonl"))
    (shown,) = re.findall(r'```json\n(\{"file".*?\n)```', PAGE)
    assert shown in rejected


@pytest.mark.usefixtures("files")
def test_the_program_of_the_page_reads_rows_with_other_ends_of_lines(
    omnigraph: CommandLine,
) -> None:
    with Path("people.jsonl").open("a", encoding="utf-8", newline="") as lines:
        lines.write('{"type":"Person","data":{"name":"A\u2028B\u0085C","age":-1}}\n')
        lines.write('{"type":\r"Person",\r"data":{}}\n')
    omnigraph("init", "--schema", "schema.pg", "people.omni")
    assert omnigraph(*LOAD, *QUARANTINE, "people.omni").exit_code == 0
    exec(PROGRAM, {})


@pytest.mark.usefixtures("files")
def test_json_tells_what_was_rejected_and_a_dry_run_loads_nothing(omnigraph: CommandLine) -> None:
    omnigraph("init", "--schema", "schema.pg", "g.omni")
    rehearsed = omnigraph(*LOAD, *QUARANTINE, "--dry-run", "g.omni")
    assert rehearsed.exit_code == 0
    assert "5 of 10 rows would be rejected" in rehearsed.err
    assert "would load 5 entities; nothing was published" in rehearsed.err
    assert len(omnigraph("commit", "list", "--store", "g.omni", "--json").json["commits"]) == 1
    Path("bad").rename("rehearsed")
    done = omnigraph(*LOAD, *QUARANTINE, "--json", "g.omni").json
    assert (done["read"], done["rejected"], done["total_entities"]) == (10, 5, 5)
    assert (done["dry_run"], done["quarantine"]) == (False, str(Path("bad").absolute()))
    assert done["violations"]["count"] == 5
    report = json.loads(Path("bad/report.json").read_text())
    assert done["violations"]["counts"] == report["counts"]


@pytest.mark.usefixtures("files")
def test_too_many_bad_rows_are_an_error_with_a_way_out(omnigraph: CommandLine) -> None:
    omnigraph("init", "--schema", "schema.pg", "g.omni")
    refused = omnigraph(*LOAD, *QUARANTINE, "--max-errors", "4", "g.omni")
    assert refused.exit_code == 1
    assert "more than 4 rows would be rejected" in refused.err
    assert not Path("bad").exists()
    unfit = omnigraph(*LOAD, "--max-errors", "4", "g.omni", "--json")
    assert (unfit.exit_code, unfit.json["code"]) == (1, "invalid_argument")
