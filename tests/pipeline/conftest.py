import pytest

from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner

ON_SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture(params=["local", pytest.param("spark", marks=ON_SPARK)])
def runner(request: pytest.FixtureRequest) -> Runner:
    """Whoever uses this holds for a load whoever runs it."""
    if request.param == "local":
        return InProcess()
    spark: Runner = request.getfixturevalue("spark")
    return spark
