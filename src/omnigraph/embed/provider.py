"""What a provider is, and how it is configured."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["EmbedConfig", "Provider", "ProviderName", "Purpose", "Vectors"]

Vectors = NDArray[np.float32]
"""A row for each text, each of length one."""

Purpose = Literal["row", "query"]
"""Some models embed a text that is searched in otherwise than one that is searched for."""

ProviderName = Literal["openai-compatible", "gemini", "local", "mock"]


@dataclass(frozen=True, slots=True)
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


class Provider(Protocol):
    @property
    def model(self) -> str: ...

    def embed(self, texts: Sequence[str], *, purpose: Purpose, width: int) -> Vectors:
        """A vector of this width for each text, in the order of the texts. No text is empty."""
