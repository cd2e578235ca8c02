"""How Lance takes a text apart into words."""

from collections.abc import Mapping
from typing import Any

import lance

__all__ = ["ANALYSIS", "words_of"]

# Words are runs of letters and digits, in lower case, without accents, and of English ones the
# stem. No word is left out, however frequent or long: phrases stay exact, and a run of Chinese or a
# digest in hexadecimal is found.
ANALYSIS: Mapping[str, Any] = {
    "base_tokenizer": "simple",
    "language": "English",
    "lower_case": True,
    "ascii_folding": True,
    "stem": True,
    "remove_stop_words": False,
    "max_token_length": None,
}


def words_of(text: str) -> list[str]:
    """The words of a text, in order. No word is empty."""
    return [token.text for token in lance.tokenize(text, **ANALYSIS)]
