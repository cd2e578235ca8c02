"""The README is true: its files, commands and Python run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_five_minutes_run_as_they_stand(tmp_path: Path) -> None:
    section = README.split("## In five minutes")[1].split("\n## ")[0]
    for name, text in re.findall(r"\(`([\w.]+)`\)[^\n]*:\n\n```\n(.*?)```", section, re.DOTALL):
        (tmp_path / name).write_text(text)
    commands = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    program = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert commands and program

    bin_directory = Path(sys.executable).parent
    script = f'set -e\nPATH="{bin_directory}:$PATH"\n{commands[1]}'
    ran = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Alan" in ran.stdout

    done = subprocess.run(
        [sys.executable, "-c", program[1]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows, count = done.stdout.strip().splitlines()
    assert "{'p.name': 'Ada', 'p.age': 37}" in rows
    assert count == "[{'people': 3}]"
