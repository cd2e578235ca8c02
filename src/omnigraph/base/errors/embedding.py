"""Embedding: what can go wrong between a text and its vector."""

from dataclasses import dataclass
from typing import Any, ClassVar

from omnigraph.base.errors.tree import InputError, LimitError, StorageError
from omnigraph.base.violations import MAX_EXAMPLES_PER_RULE, Violation
from omnigraph.base.words import amount, listed

__all__ = [
    "EmbedAnswerInvalid",
    "EmbedModelWrong",
    "EmbedProviderMissing",
    "EmbedQuotaSpent",
    "EmbedRateLimited",
    "EmbedRefused",
    "EmbedTextRefused",
    "EmbedTimeout",
    "EmbedUnreachable",
    "EmbedWidthWrong",
]


@dataclass(eq=False)
class EmbedProviderMissing(InputError):
    """A text is to become a vector, and no provider is configured."""

    code: ClassVar[str] = "embed_provider_missing"
    lacks: str = "OMNIGRAPH_EMBED_PROVIDER"
    """The setting that is missing."""
    known: tuple[str, ...] = ()
    """The words that the setting can be; empty where it can be any."""

    def __str__(self) -> str:
        return f"no text can be embedded: {self.lacks} is not set"

    @property
    def hint(self) -> str | None:
        if self.known:
            return f"set {self.lacks} to {listed(self.known)}"
        return f"set {self.lacks}"


@dataclass(eq=False)
class EmbedModelWrong(InputError):
    """Vectors of two models can't be compared: the schema names one, the provider has another."""

    code: ClassVar[str] = "embed_model_mismatch"
    declared: str
    configured: str

    def __str__(self) -> str:
        return (
            f"the schema says @embed(…, model={self.declared!r}), "
            f"and the provider's model is {self.configured!r}"
        )

    @property
    def hint(self) -> str | None:
        return (
            f"set OMNIGRAPH_EMBED_MODEL={self.declared}, and OMNIGRAPH_EMBED_PROVIDER to one "
            "that has it"
        )


@dataclass(eq=False)
class EmbedWidthWrong(InputError):
    code: ClassVar[str] = "embed_width_mismatch"
    model: str
    expected: int
    found: int

    def __str__(self) -> str:
        return f"{self.model} makes vectors of {self.found} numbers, not of {self.expected}"

    @property
    def hint(self) -> str | None:
        return f"declare the property as Vector({self.found}), or choose another model"


@dataclass(eq=False)
class EmbedUnreachable(StorageError):
    """No answer came, or the provider said that it can't answer now, however often it was asked."""

    code: ClassVar[str] = "embed_unreachable"
    service: str
    reason: str
    tries: int = 1

    def __str__(self) -> str:
        return f"{self.service} did not answer in {amount(self.tries, 'try')}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "check OMNIGRAPH_EMBED_BASE_URL and the network, then try again"


@dataclass(eq=False)
class EmbedAnswerInvalid(StorageError):
    code: ClassVar[str] = "embed_answer_invalid"
    service: str
    reason: str

    def __str__(self) -> str:
        return f"{self.service} gave an answer that is not vectors: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "check that OMNIGRAPH_EMBED_BASE_URL and OMNIGRAPH_EMBED_MODEL name an embedding API"


@dataclass(eq=False)
class EmbedRefused(InputError):
    """The provider won't do it: a wrong key, an unknown model, the text of a query too long."""

    code: ClassVar[str] = "embed_refused"
    service: str
    status: int
    reason: str

    def __str__(self) -> str:
        return f"{self.service} refused with status {self.status}: {self.reason}"

    @property
    def may_be_for_a_text(self) -> bool:
        """Whether another text might be taken: the key and the model are not at fault."""
        return self.status in (400, 413, 422) or self.status >= 500

    @property
    def hint(self) -> str | None:
        match self.status:
            case 401 | 403:
                return "check OMNIGRAPH_EMBED_API_KEY"
            case 404:
                return "check OMNIGRAPH_EMBED_MODEL and OMNIGRAPH_EMBED_BASE_URL"
            case _:
                return None


@dataclass(eq=False)
class EmbedTextRefused(InputError):
    """The provider won't embed the texts of some rows. They are most often too long."""

    code: ClassVar[str] = "embed_text_refused"
    count: int
    rows: tuple[Violation, ...]
    """All of them, unless there are very many."""

    def __str__(self) -> str:
        more = self.count - 1
        return f"{self.rows[0]}" + (f" (and {more:,} more)" if more else "")

    @property
    def hint(self) -> str | None:
        return (
            "shorten the text, or set OMNIGRAPH_EMBED_MAX_CHARACTERS to have only the beginning "
            "of longer texts embedded; then try again"
        )

    @property
    def details(self) -> dict[str, Any]:
        return {"count": self.count, "rows": [row.to_json() for row in self.rows]}

    def render(self) -> str:
        lines = [f"error: {amount(self.count, 'text')} can't be embedded"]
        lines += [f"  {row}" for row in self.rows[:MAX_EXAMPLES_PER_RULE]]
        if unseen := self.count - len(lines) + 1:
            lines.append(f"  and {unseen:,} more")
        return "\n".join([*lines, f"  hint: {self.hint}"])


@dataclass(eq=False)
class EmbedTimeout(LimitError):
    code: ClassVar[str] = "embed_timeout"
    service: str
    timeout_s: float

    def __str__(self) -> str:
        return f"{self.service} took longer than {self.timeout_s:g} s"

    @property
    def hint(self) -> str | None:
        return "try again later, or allow more with OMNIGRAPH_EMBED_TIMEOUT_S"


@dataclass(eq=False)
class EmbedRateLimited(LimitError):
    code: ClassVar[str] = "embed_rate_limited"
    service: str
    reason: str
    retry_after_s: float | None = None
    """How long the provider asks to wait, if it says so."""

    def __str__(self) -> str:
        return f"{self.service} takes no more requests for now: {self.reason}"

    @property
    def hint(self) -> str | None:
        if self.retry_after_s is None:
            return "try again later"
        return f"try again in {amount(round(self.retry_after_s), 'second')}"


@dataclass(eq=False)
class EmbedQuotaSpent(LimitError):
    """The account has nothing left. Waiting does not help."""

    code: ClassVar[str] = "embed_quota_spent"
    service: str
    reason: str

    def __str__(self) -> str:
        return f"the quota of {self.service} is spent: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "raise the quota at the provider, or set another key or provider"
