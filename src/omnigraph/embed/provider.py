"""What a provider is, and how it is configured."""

from collections.abc import Sequence
from dataclasses import field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from omnigraph.base.frozen import frozen
from omnigraph.embed.batches import BatchLimits

__all__ = ["EmbedConfig", "Provider", "ProviderName", "Purpose", "Vectors"]

Vectors = NDArray[np.float32]
"""A row for each text, each of length one."""

Purpose = Literal["row", "query"]
"""Some models embed a text that is searched in otherwise than one that is searched for."""

ProviderName = Literal["openai-compatible", "gemini", "local", "mock"]


@frozen
class EmbedConfig:
    """A plain value: tasks on other machines open the provider from it."""

    provider: ProviderName | None = None
    """None: nothing can be embedded."""
    model: str | None = None
    """None: the provider's usual one."""
    base_url: str | None = field(default=None, repr=False)
    """Where the API is; None: where the provider has it. It may hold a token."""
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    """For one request with all its retries."""
    max_characters: int | None = None
    """Of a longer text the beginning is embedded; None: the whole text, or an error."""


class Provider(Protocol):
    @property
    def model(self) -> str: ...

    @property
    def limits(self) -> BatchLimits:
        """How many texts it takes at a time: see `texts.embed_texts`."""

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose, width: int, limit_s: float | None = None
    ) -> Vectors:
        """A vector of this width for each text of a batch, in their order. No text is empty.

        `limit_s` is how long somebody waits, if that is less than the provider may take.
        """
