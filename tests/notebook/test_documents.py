"""The page about notebooks and the example notebook, run as they stand.

`pytest --bless tests/notebook/test_documents.py` draws the pictures of the page again.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/user/notebooks.md"
EXAMPLE = ROOT / "docs/examples/people.ipynb"
PICTURES = ROOT / "docs/images"


def test_the_page_about_notebooks_runs_and_its_pictures_are_those_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    story: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block, story)
    # The log is drawn last, and the answer before the branch was merged.
    pictures = {
        "notebook-answer.svg": Path("team.svg").read_text(),
        "notebook-log.svg": story["graph"].log().to_svg(),
    }
    for name, drawn in pictures.items():
        assert f"../images/{name}" in PAGE.read_text()
        if request.config.getoption("--bless"):
            (PICTURES / name).write_text(drawn)
        assert unlike((PICTURES / name).read_text()) == unlike(drawn), name


def unlike(picture: str) -> str:
    """Without what no two runs have in common: ids and times, and fractions of a pixel, which other
    processors may round otherwise until a node comes to lie elsewhere."""
    masked = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "…", picture)
    return re.sub(r"-?\d+(\.\d)?(?=[ \"])", "0", masked)


def test_the_example_notebook_runs_and_shows_a_page_in_every_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What IPython and Jupyter keep of a session stays out of the home of whoever runs this.
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        folder = tmp_path / variable
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    notebook: Any = nbformat.read(EXAMPLE, as_version=4)  # type: ignore[no-untyped-call]
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    # It is kept without outputs: they hold ids and times, and are there after one run.
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    forms = [{form for output in cell.outputs for form in output.get("data", ())} for cell in cells]
    shown = ["text/html" in of_cell for of_cell in forms]
    # All but the load, which is told in a line, and the last, which writes a file.
    assert shown == [cell not in (cells[1], cells[-1]) for cell in cells]
