"""The provider that a configuration names."""

from collections.abc import Sequence
from typing import assert_never

from omnigraph.base.choices import words_of
from omnigraph.base.errors import EmbedModelWrong, EmbedProviderMissing
from omnigraph.base.frozen import frozen
from omnigraph.embed.batches import BatchLimits
from omnigraph.embed.provider import EmbedConfig, Provider, ProviderName, Purpose, Vectors

__all__ = ["open_provider", "require_model"]


def open_provider(config: EmbedConfig) -> Provider:
    """Ready to embed; nothing is sent yet."""
    provider = _opened(config)
    if config.max_characters is None:
        return provider
    return _Beginnings(provider, config.max_characters)


def _opened(config: EmbedConfig) -> Provider:
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


@frozen(slots=False)
class _Beginnings:
    """A provider that is given no more than the beginning of a text."""

    provider: Provider
    max_characters: int

    @property
    def model(self) -> str:
        return self.provider.model

    @property
    def limits(self) -> BatchLimits:
        return self.provider.limits

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose, width: int, limit_s: float | None = None
    ) -> Vectors:
        beginnings = [self._beginning(text) for text in texts]
        return self.provider.embed(beginnings, purpose=purpose, width=width, limit_s=limit_s)

    def _beginning(self, text: str) -> str:
        # Without the blanks before it: a beginning of nothing but blanks says nothing.
        return text if len(text) <= self.max_characters else text.lstrip()[: self.max_characters]
