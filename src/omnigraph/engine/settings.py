"""The environment, read once and passed down as a value; no other module looks at it."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import cast

from omnigraph.base.choices import LoadEngine, check_choice
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.frozen import frozen
from omnigraph.base.machine import cache_directory, home_directory, memory_bytes
from omnigraph.embed.provider import EmbedConfig, ProviderName
from omnigraph.pipeline.limits import LoadLimits
from omnigraph.read.limits import ReadLimits
from omnigraph.read.tables.cold_lookups import TraversalMode
from omnigraph.store.limits import StoreLimits
from omnigraph.store.location import BucketAccess

__all__ = ["Settings", "TokenSources", "variable"]

YES = ("1", "true", "yes", "on")


@frozen
class TokenSources:
    """Where the bearer tokens of a server come from."""

    file: str | None = None
    """A JSON file of tokens by actor. It is read again when the server reloads."""
    json: str | None = field(default=None, repr=False)
    single: str | None = field(default=None, repr=False)


@frozen
class Settings:
    """`OMNIGRAPH_SPARK_MASTER` (all cores of this machine if it is not set),
    `OMNIGRAPH_SPARK_REMOTE` (`sc://…`, wins),
    `OMNIGRAPH_SPARK_LOG` (a file for Spark's own log), `OMNIGRAPH_SPARK_OPTIONS` (Spark's own
    settings, `spark.name=value` separated by blanks), `XDG_CACHE_HOME` (default `~/.cache`),
    `OMNIGRAPH_LOAD_ENGINE` (`auto`, `spark` or `local`: who runs a load that does not say it),
    `OMNIGRAPH_LOCAL_LOAD_MIB` (up to how many MiB `auto` loads in this process),
    `OMNIGRAPH_TRAVERSAL_MODE` (`auto`, `indexed` or `csr`), `OMNIGRAPH_EMBED_…` (`PROVIDER`,
    `MODEL`, `BASE_URL`, `API_KEY`, `TIMEOUT_S`), `OMNIGRAPH_SERVER_…` (`BEARER_TOKENS_FILE`,
    `BEARER_TOKENS_JSON`, `BEARER_TOKEN`), `OMNIGRAPH_TOKEN` (what the command line is known by to a
    server), `OMNIGRAPH_HOME` (default `~/.omnigraph`), `OMNIGRAPH_PROFILE` (a profile of its
    `config.yaml`), `DISPLAY` and `WAYLAND_DISPLAY`, and the variables of S3 (`AWS_…`)."""

    spark_master: str | None = None
    """None: Spark is not configured. Where it is needed, it runs on all cores of this machine."""
    spark_remote: str | None = field(default=None, repr=False)
    """It may hold a token."""
    spark_log: str | None = None
    spark_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    bucket_access: BucketAccess = field(default_factory=BucketAccess)
    query_memory_bytes: int = field(default_factory=lambda: memory_bytes() // 4)
    """What one query may take, unless it is told otherwise."""

    store_limits: StoreLimits = field(default_factory=StoreLimits)
    load_engine: LoadEngine = "auto"
    load_limits: LoadLimits = field(default_factory=LoadLimits)
    traversal_mode: TraversalMode = TraversalMode.AUTO
    read_limits: ReadLimits = field(default_factory=ReadLimits)
    embed: EmbedConfig = field(default_factory=EmbedConfig)
    token_sources: TokenSources = field(default_factory=TokenSources)
    token: str | None = field(default=None, repr=False)
    """What the command line is known by to a server."""
    home: Path | None = None
    """Where a person's configuration is; None: they have no home."""
    profile: str | None = None
    """Which profile of it the command line uses."""
    has_screen: bool = False
    """True if there is a desktop that a browser can open a window on."""
    cache_directory: Path | None = None
    """Where adjacency is kept for other processes; None: nowhere."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """What the variables of the environment say. A wrong value raises `ArgumentInvalid`."""
        return cls(
            spark_master=environment.get("OMNIGRAPH_SPARK_MASTER") or None,
            spark_remote=environment.get("OMNIGRAPH_SPARK_REMOTE") or None,
            spark_log=environment.get("OMNIGRAPH_SPARK_LOG") or None,
            spark_options=_spark_options(environment.get("OMNIGRAPH_SPARK_OPTIONS") or ""),
            load_engine=_load_engine(environment.get("OMNIGRAPH_LOAD_ENGINE") or "auto"),
            load_limits=_load_limits(environment.get("OMNIGRAPH_LOCAL_LOAD_MIB")),
            traversal_mode=_traversal_mode(environment.get("OMNIGRAPH_TRAVERSAL_MODE") or "auto"),
            cache_directory=cache_directory(environment),
            embed=_embed(environment),
            token_sources=_token_sources(environment),
            token=environment.get("OMNIGRAPH_TOKEN") or None,
            home=home_directory(environment),
            profile=environment.get("OMNIGRAPH_PROFILE") or None,
            has_screen=bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")),
            bucket_access=_bucket_access(environment),
        )

    @property
    def configured_spark(self) -> str | None:
        """What says where Spark runs, in words; None if nothing does."""
        if self.spark_remote is not None:
            return "a Spark Connect server"
        return "a Spark master" if self.spark_master is not None else None


def variable(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """A variable that somebody else has named, such as the deployment of a server."""
    return environment.get(name)


def _spark_options(text: str) -> dict[str, str]:
    """Quoted as in a shell, since values may hold blanks. Values may be secret: none is shown."""
    argument = "OMNIGRAPH_SPARK_OPTIONS"
    rule = "it must be spark.name=value, several of them separated by blanks"
    try:
        words = shlex.split(text)
    except ValueError:
        raise ArgumentInvalid(argument, "…", "a quote or an escape has no end") from None
    options: dict[str, str] = {}
    for word in words:
        name, is_given, value = word.partition("=")
        if not is_given or not name.startswith("spark."):
            raise ArgumentInvalid(argument, name, rule)
        options[name] = value
    return options


def _load_engine(name: str) -> LoadEngine:
    check_choice("OMNIGRAPH_LOAD_ENGINE", name, LoadEngine)
    return cast(LoadEngine, name)


def _load_limits(mebibytes: str | None) -> LoadLimits:
    if not mebibytes:
        return LoadLimits()
    if not re.fullmatch(r"[0-9]{1,12}", mebibytes):
        rule = "it must be a whole number of MiB"
        raise ArgumentInvalid("OMNIGRAPH_LOCAL_LOAD_MIB", mebibytes, rule)
    return LoadLimits(max_local_load_bytes=int(mebibytes) << 20)


def _traversal_mode(name: str) -> TraversalMode:
    check_choice("OMNIGRAPH_TRAVERSAL_MODE", name, TraversalMode)
    return TraversalMode(name)


def _embed(environment: Mapping[str, str]) -> EmbedConfig:
    provider = environment.get("OMNIGRAPH_EMBED_PROVIDER") or None
    if provider is not None:
        check_choice("OMNIGRAPH_EMBED_PROVIDER", provider, ProviderName)
    base_url = environment.get("OMNIGRAPH_EMBED_BASE_URL") or None
    key = environment.get("OMNIGRAPH_EMBED_API_KEY") or None
    if key is None and base_url is None:
        # Whoever runs another server must not be sent the key of this one.
        usual = {"openai-compatible": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
        key = environment.get(usual.get(provider or "", "")) or None
    return EmbedConfig(
        provider=cast(ProviderName | None, provider),
        model=environment.get("OMNIGRAPH_EMBED_MODEL") or None,
        base_url=base_url,
        api_key=key.strip() if key is not None else None,
        timeout_s=_embed_timeout_s(environment.get("OMNIGRAPH_EMBED_TIMEOUT_S")),
        max_characters=_embed_max_characters(environment.get("OMNIGRAPH_EMBED_MAX_CHARACTERS")),
    )


def _embed_timeout_s(text: str | None) -> float:
    if not text:
        return EmbedConfig().timeout_s
    try:
        timeout_s = float(text)
    except ValueError:
        timeout_s = 0.0
    if not 0 < timeout_s < float("inf"):
        rule = "it must be a number of seconds above 0"
        raise ArgumentInvalid("OMNIGRAPH_EMBED_TIMEOUT_S", text, rule)
    return timeout_s


def _embed_max_characters(text: str | None) -> int | None:
    if not text:
        return None
    if not re.fullmatch(r"0*[1-9][0-9]{0,17}", text):
        raise ArgumentInvalid("OMNIGRAPH_EMBED_MAX_CHARACTERS", text, "it must be a number above 0")
    return int(text)


def _token_sources(environment: Mapping[str, str]) -> TokenSources:
    return TokenSources(
        file=environment.get("OMNIGRAPH_SERVER_BEARER_TOKENS_FILE") or None,
        json=environment.get("OMNIGRAPH_SERVER_BEARER_TOKENS_JSON") or None,
        single=environment.get("OMNIGRAPH_SERVER_BEARER_TOKEN") or None,
    )


def _bucket_access(environment: Mapping[str, str]) -> BucketAccess:
    endpoints = (environment.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
    path_style = environment.get("AWS_S3_FORCE_PATH_STYLE")
    return BucketAccess(
        region=environment.get("AWS_REGION") or None,
        access_key_id=environment.get("AWS_ACCESS_KEY_ID") or None,
        secret_access_key=environment.get("AWS_SECRET_ACCESS_KEY") or None,
        session_token=environment.get("AWS_SESSION_TOKEN") or None,
        endpoint=next((endpoint for endpoint in endpoints if endpoint), None),
        is_path_style=path_style.lower() in YES if path_style else None,
        allows_http=environment.get("AWS_ALLOW_HTTP", "").lower() in YES,
    )
