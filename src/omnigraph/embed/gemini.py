"""The API of Gemini: `POST {base}/models/{model}:batchEmbedContents`."""

import math
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from omnigraph.base.errors import EmbedAnswerInvalid, EmbedProviderMissing
from omnigraph.embed.batches import BatchLimits
from omnigraph.embed.provider import EmbedConfig, Purpose, Vectors
from omnigraph.embed.service import Complaint, Service, Timing
from omnigraph.embed.vectors import unit_vectors

__all__ = ["GEMINI_MODEL", "Gemini"]

GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
GEMINI_MODEL = "gemini-embedding-001"

# The 101st text of a batch is refused.
LIMITS = BatchLimits(texts=100, tokens=50_000)

TASKS: dict[Purpose, str] = {"row": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}

# A limit of requests passes within a minute; a longer wait is that of a day's quota.
MAX_WAIT_S = 600


class Gemini:
    limits = LIMITS

    def __init__(self, config: EmbedConfig, timing: Timing | None = None) -> None:
        if config.api_key is None:
            raise EmbedProviderMissing(lacks="OMNIGRAPH_EMBED_API_KEY")
        self.model = (config.model or GEMINI_MODEL).removeprefix("models/")
        self._service = Service(
            name="gemini",
            base_url=config.base_url or GEMINI_URL,
            headers={"x-goog-api-key": config.api_key},
            complaint=_complaint,
            timeout_s=config.timeout_s,
            timing=timing or Timing(),
        )

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose, width: int, limit_s: float | None = None
    ) -> Vectors:
        requests = [
            {
                "model": f"models/{self.model}",
                "content": {"parts": [{"text": text}]},
                "taskType": TASKS[purpose],
                "outputDimensionality": width,
            }
            for text in texts
        ]
        path = f"/models/{quote(self.model, safe='')}:batchEmbedContents"
        answer = self._service.post(path, {"requests": requests}, purpose, limit_s)
        try:
            rows = [item.values for item in msgspec.json.decode(answer, type=_Answer).embeddings]
        except (msgspec.MsgspecError, RecursionError) as error:
            raise EmbedAnswerInvalid(service=self._service.title, reason=str(error)) from None
        return unit_vectors(
            rows, count=len(texts), width=width, service=self._service.title, model=self.model
        )


class _Item(msgspec.Struct):
    values: list[float]


class _Answer(msgspec.Struct):
    embeddings: list[_Item]


def _complaint(document: Any) -> Complaint:
    error = document["error"]
    message = str(error.get("message") or "")
    wait_s = _wait_s(message, error.get("details") or [])
    is_quota = error.get("code") == 429 and wait_s is not None and wait_s > MAX_WAIT_S
    return Complaint(message, is_quota=is_quota, retry_after_s=wait_s)


def _wait_s(message: str, details: list[dict[str, Any]]) -> float | None:
    """How long to wait: a detail says `"retryDelay": "46s"`, or the message says it in words."""
    delays = (str(detail["retryDelay"]) for detail in details if "retryDelay" in detail)
    for text in (*delays, *re.findall(r"retry in ([\d.]+s)", message)):
        if found := re.fullmatch(r"(\d+(?:\.\d+)?)s", text):
            wait_s = float(found[1])
            return wait_s if math.isfinite(wait_s) else None
    return None
