"""Sources of a load: files, frames and rows, as pieces that tasks read on their own."""

from omnigraph.pipeline.sources.pieces import Piece
from omnigraph.pipeline.sources.plan import PlannedInput, plan_pieces
from omnigraph.pipeline.sources.reading import Place, place_in, rows_as_text

__all__ = ["Piece", "Place", "PlannedInput", "place_in", "plan_pieces", "rows_as_text"]
