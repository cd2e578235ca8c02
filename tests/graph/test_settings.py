import pytest

from omnigraph.base.errors import ArgumentInvalid
from omnigraph.embed.provider import EmbedConfig
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
        "OMNIGRAPH_TOKEN": "SECRET",
        "OMNIGRAPH_EMBED_API_KEY": "SECRET",
        "OMNIGRAPH_EMBED_BASE_URL": "https://host?key=SECRET",
    }
    assert "SECRET" not in repr(Settings.from_environment(environment))


def embed(**environment: str) -> EmbedConfig:
    names = {f"OMNIGRAPH_EMBED_{name}": value for name, value in environment.items()}
    return Settings.from_environment({**names, "OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}).embed


def test_the_provider_of_embeddings_is_a_setting() -> None:
    assert embed() == EmbedConfig()
    assert embed(
        PROVIDER="openai-compatible",
        MODEL="m",
        BASE_URL="http://h",
        API_KEY=" k\n",
        TIMEOUT_S="9",
        MAX_CHARACTERS="2000",
    ) == EmbedConfig("openai-compatible", "m", "http://h", "k", 9.0, 2000)


def test_the_usual_key_of_a_provider_is_used_at_its_usual_place_only() -> None:
    assert embed(PROVIDER="openai-compatible").api_key == "o"
    assert embed(PROVIDER="gemini").api_key == "g"
    assert embed(PROVIDER="gemini", API_KEY="mine").api_key == "mine"
    assert embed(PROVIDER="openai-compatible", BASE_URL="http://other").api_key is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROVIDER", "openai"),
        *(("TIMEOUT_S", text) for text in ("soon", "0", "-1", "nan", "inf")),
        *(("MAX_CHARACTERS", text) for text in ("many", "0", "-1", "1.5", "9" * 5000)),
    ],
)
def test_a_wrong_setting_of_embeddings_is_refused(name: str, value: str) -> None:
    with pytest.raises(ArgumentInvalid, match=f"OMNIGRAPH_EMBED_{name}"):
        embed(**{name: value})


def test_up_to_which_size_a_load_stays_in_this_process_is_a_setting() -> None:
    def most(text: str) -> int:
        settings = Settings.from_environment({"OMNIGRAPH_LOCAL_LOAD_MIB": text})
        return settings.load_limits.max_local_load_bytes

    assert (most(""), most("0"), most("200")) == (64 << 20, 0, 200 << 20)
    for wrong in ("-1", "1.5", "64MiB", "9" * 20):
        with pytest.raises(ArgumentInvalid, match="OMNIGRAPH_LOCAL_LOAD_MIB"):
            most(wrong)
