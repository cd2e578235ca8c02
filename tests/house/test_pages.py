"""Pages that tell a story are true: their files, commands and Python run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs/user"


@pytest.mark.parametrize("page", ["blobs.md", "export.md"])
def test_the_page_runs_as_it_stands(page: str, tmp_path: Path) -> None:
    text = (PAGES / page).read_text()
    for name, contents in re.findall(r"`([\w.]+)`[):]*\n\n```\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(contents)
    blocks = re.findall(r"```(sh|python)\n(.*?)```", text, re.DOTALL)
    path = f'PATH="{Path(sys.executable).parent}:$PATH"\n'
    script = "".join(
        block if language == "sh" else f"cat >> story.py <<'END'\n{block}END\n"
        for language, block in blocks
    )
    ran = subprocess.run(
        ["bash", "-c", f"set -e\n{path}{script}\n{sys.executable} story.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
