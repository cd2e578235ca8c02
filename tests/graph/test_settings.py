import pytest

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.engine.settings import Settings


def spark_options(text: str) -> dict[str, str]:
    return dict(Settings.from_environment({"OMNIGRAPH_SPARK_OPTIONS": text}).spark_options)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("spark.cores.max=8", {"spark.cores.max": "8"}),
        (
            "spark.executor.memory=4g  'spark.driver.extraJavaOptions=-Xss4m -Da=b'",
            {"spark.executor.memory": "4g", "spark.driver.extraJavaOptions": "-Xss4m -Da=b"},
        ),
    ],
)
def test_settings_of_spark_are_written_as_in_a_shell(text: str, options: dict[str, str]) -> None:
    assert spark_options(text) == options


@pytest.mark.parametrize("text", ["spark.cores.max", "cores=8", "spark.a=1 b", "spark.a='1"])
def test_what_is_no_setting_of_spark_is_refused(text: str) -> None:
    with pytest.raises(ArgumentInvalid, match="OMNIGRAPH_SPARK_OPTIONS"):
        spark_options(text)


@pytest.mark.parametrize(
    "text", ["spark.a=SECRET b", "spark.a=1 b=SECRET", "spark.a='SECRET", "spark.a=SECRET\\"]
)
def test_an_error_about_options_shows_none_of_their_values(text: str) -> None:
    with pytest.raises(ArgumentInvalid) as caught:
        spark_options(text)
    assert "SECRET" not in caught.value.render() + str(caught.value.to_json())


def test_what_may_be_secret_is_not_shown_with_the_rest() -> None:
    environment = {
        "OMNIGRAPH_SPARK_REMOTE": "sc://host/;token=SECRET",
        "OMNIGRAPH_SPARK_OPTIONS": "spark.a=SECRET",
        "AWS_SECRET_ACCESS_KEY": "SECRET",
    }
    assert "SECRET" not in repr(Settings.from_environment(environment))
