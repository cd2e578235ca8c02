import pytest

from omnigraph.pipeline import load
from omnigraph.pipeline.local import InProcess
from omnigraph.pipeline.runner import Runner

ON_SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture(params=["local", "local-large", pytest.param("spark-large", marks=ON_SPARK)])
def runner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Whoever uses this holds for a load whoever runs it; a large one is any that says so."""
    engine, _, size = request.param.partition("-")
    if size == "large":
        monkeypatch.setattr(load, "SMALL_BYTES", -1)
    if engine == "local":
        return InProcess()
    spark: Runner = request.getfixturevalue("spark")
    return spark
