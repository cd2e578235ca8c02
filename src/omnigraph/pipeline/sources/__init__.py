"""Sources of a load: files, frames and rows, as pieces that tasks read on their own."""

from omnigraph.pipeline.sources.given import is_spark_frame
from omnigraph.pipeline.sources.pieces import Piece
from omnigraph.pipeline.sources.plan import PlannedInput, feed_of_frame, plan_pieces
from omnigraph.pipeline.sources.reading import Place, place_in

__all__ = [
    "Piece",
    "Place",
    "PlannedInput",
    "feed_of_frame",
    "is_spark_frame",
    "place_in",
    "plan_pieces",
]
