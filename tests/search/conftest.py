import pytest

from tests.search.library import Library, filled


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Nobody changes it."""
    return filled(tmp_path_factory.mktemp("library") / "graph")
