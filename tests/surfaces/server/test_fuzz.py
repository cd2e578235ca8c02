"""Random requests to every route, right and wrong ones: no defect, and every answer as declared.

Schemathesis makes them of the server's own document. Its plugin for pytest is not used (and not
loaded): tests of other folders need not pay for it.
"""

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from omnigraph.engine.settings import TokenSources
from omnigraph.surfaces.explorer.files import Bundle
from omnigraph.surfaces.server.access import DefaultDeny, Where
from omnigraph.surfaces.server.openapi import openapi
from omnigraph.surfaces.server.routes import operations
from omnigraph.surfaces.server.tokens import read_tokens
from tests.surfaces.server.world import World, make_graph, serve_here, stored

TOKEN = "Bearer of-ada"
OPERATIONS = openapi(operations(metrics=bytes, document=bytes, page=bytes, bundle=Bundle()))[
    "paths"
]
ROWS = [
    (f"{method.upper()} {path}", mode)
    for path, methods in OPERATIONS.items()
    for method, operation in methods.items()
    for mode in GenerationMode
    if path != "/openapi.json"  # the fuzzer begins there
    # Where nothing is given, nothing can be wrong; and any path may be one of the Explorer's.
    if mode.is_positive or operation.get("parameters") or operation.get("requestBody")
    if mode.is_positive or path != "/explore/{page}"
]
# A text that the schema takes need not be a query, a name need not be one of a branch.
NOT_CHECKED = [positive_data_acceptance]
FEW, MANY = 6, 100


class Anything(DefaultDeny):
    """Whoever has a token may do all: a fuzzer that is denied everything finds nothing."""

    def allow(self, actor: str | None, action: str, where: Where) -> None:
        return


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("fuzzed")
    access = Anything(read_tokens(TokenSources(json='{"ada": "of-ada"}')))
    return serve_here(make_graph(place), access=access, queries=stored(place))


@pytest.fixture(scope="module")
def asked(fuzzed: World) -> dict[str, Any]:
    """What can be asked, by label. To read the document takes longer than to ask."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", fuzzed.app)
    found = (each.ok() for each in schema.get_all_operations() if isinstance(each, Ok))
    return {operation.label: operation for operation in found}


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@pytest.mark.parametrize(("label", "mode"), ROWS)
def test_no_request_finds_a_defect_or_an_answer_that_is_not_declared(
    asked: dict[str, Any], label: str, mode: GenerationMode, request: pytest.FixtureRequest
) -> None:
    operation = asked[label]
    is_deep = request.config.getoption("--deep")

    @settings(
        max_examples=MANY if is_deep else FEW,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        # In an address an empty list is nothing at all: the request is then a right one.
        assume(not any(value in ([], {}) for value in (case.query or {}).values()))
        if "graph_id" in (case.path_parameters or {}):
            case.path_parameters["graph_id"] = "people"
        answer = case.call(headers={"Authorization": TOKEN})
        assert answer.status_code < 500, f"{answer.status_code}: {answer.content!r}"
        case.validate_response(answer, excluded_checks=NOT_CHECKED)

    ask()
