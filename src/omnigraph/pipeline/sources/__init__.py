"""Sources of a load: files, frames and rows, as pieces that tasks read on their own."""

from omnigraph.pipeline.sources.pieces import Piece
from omnigraph.pipeline.sources.plan import PlannedInput, check_frame, plan_pieces
from omnigraph.pipeline.sources.positions import Place, place_in
from omnigraph.pipeline.sources.spark_frames import LandedFrames, land_frames, spark_frames

__all__ = [
    "LandedFrames",
    "Piece",
    "Place",
    "PlannedInput",
    "check_frame",
    "land_frames",
    "place_in",
    "plan_pieces",
    "spark_frames",
]
