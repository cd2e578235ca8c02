"""The provider that a configuration names."""

from typing import assert_never

from omnigraph.base.choices import words_of
from omnigraph.base.errors import EmbedModelWrong, EmbedProviderMissing
from omnigraph.embed.provider import EmbedConfig, Provider, ProviderName

__all__ = ["open_provider", "require_model"]


def open_provider(config: EmbedConfig) -> Provider:
    """Ready to embed; nothing is sent yet."""
    # Each is imported where it is used: most processes embed nothing.
    match config.provider:
        case None:
            raise EmbedProviderMissing(known=words_of(ProviderName))
        case "openai-compatible":
            from omnigraph.embed.openai import OpenAiCompatible

            return OpenAiCompatible(config)
        case "gemini":
            from omnigraph.embed.gemini import Gemini

            return Gemini(config)
        case "local":
            from omnigraph.embed.local import Local

            return Local(config.model)
        case "mock":
            from omnigraph.embed.mock import Mock

            return Mock(config.model)
        case _:
            assert_never(config.provider)


def require_model(provider: Provider, declared: str | None) -> None:
    """Refuse a provider with another model than `@embed` names; None: it names none."""
    if declared is not None and declared.casefold() != provider.model.casefold():
        raise EmbedModelWrong(declared=declared, configured=provider.model)
