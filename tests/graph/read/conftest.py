import pytest

from tests.graph.read.town import Town, build


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return build(tmp_path_factory.mktemp("town"))
