"""The API of OpenAI, which many servers speak: `POST {base}/embeddings`."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from omnigraph.base.errors import EmbedAnswerInvalid, EmbedProviderMissing
from omnigraph.embed.batches import BatchLimits
from omnigraph.embed.provider import EmbedConfig, Purpose, Vectors
from omnigraph.embed.service import Complaint, Service, Timing
from omnigraph.embed.vectors import unit_vectors

__all__ = ["OPENAI_MODEL", "OpenAiCompatible"]

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "text-embedding-3-small"

# OpenAI takes 2,048 texts and 300,000 tokens. Other servers take less, and a batch that fails is
# sent again as a whole.
LIMITS = BatchLimits(texts=256, tokens=100_000)

# Models that make shorter vectors on request. Others refuse to be asked.
SHORTENED = "text-embedding-3"


class OpenAiCompatible:
    limits = LIMITS

    def __init__(self, config: EmbedConfig, timing: Timing | None = None) -> None:
        if config.base_url is None and config.api_key is None:
            raise EmbedProviderMissing(lacks="OMNIGRAPH_EMBED_API_KEY")
        # A server of one's own may do without a key.
        headers = {"Authorization": f"Bearer {config.api_key}"} if config.api_key else {}
        self.model = config.model or OPENAI_MODEL
        self._service = Service(
            name="openai-compatible",
            base_url=config.base_url or OPENAI_URL,
            headers=headers,
            complaint=_complaint,
            timeout_s=config.timeout_s,
            timing=timing or Timing(),
        )

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose, width: int, limit_s: float | None = None
    ) -> Vectors:
        document: dict[str, object] = {"model": self.model, "input": list(texts)}
        if self.model.startswith(SHORTENED):
            document["dimensions"] = width
        answer = self._service.post("/embeddings", document, purpose, limit_s)
        try:
            items = msgspec.json.decode(answer, type=_Answer).data
            rows = [_numbers(item.embedding) for item in _in_order(items)]
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise EmbedAnswerInvalid(service=self._service.title, reason=str(error)) from None
        return unit_vectors(
            rows, count=len(texts), width=width, service=self._service.title, model=self.model
        )


class _Item(msgspec.Struct):
    embedding: list[float] | str
    index: int | None = None
    """Some gateways leave it out."""


class _Answer(msgspec.Struct):
    data: list[_Item]


def _in_order(items: list[_Item]) -> list[_Item]:
    """By their numbers, which need not be the order in which they come."""
    numbers = [item.index for item in items]
    if all(number is None for number in numbers):
        return items
    by_number = {item.index: item for item in items}
    if set(by_number) != set(range(len(items))):
        raise ValueError("its vectors are not numbered from 0 on")
    return [by_number[number] for number in range(len(items))]


def _numbers(embedding: list[float] | str) -> list[float]:
    """The vector as numbers, or as the base64 of packed float32."""
    if not isinstance(embedding, str):
        return embedding
    try:
        packed = base64.b64decode(embedding, validate=True)
    except binascii.Error:
        raise ValueError("a vector is neither numbers nor base64") from None
    numbers: list[float] = np.frombuffer(packed, "<f4").tolist()
    return numbers


def _complaint(document: Any) -> Complaint:
    error = document["error"]
    if isinstance(error, str):
        return Complaint(error)
    words = (error.get("code"), error.get("type"))
    return Complaint(str(error.get("message") or ""), is_quota="insufficient_quota" in words)
