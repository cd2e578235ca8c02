"""Sources of a load: files, frames and rows, as pieces that tasks read on their own."""

from omnigraph.pipeline.sources.pieces import Piece
from omnigraph.pipeline.sources.plan import PlannedInput, check_frame, plan_pieces
from omnigraph.pipeline.sources.positions import Position, position_in
from omnigraph.pipeline.sources.spark_frames import WrittenFrames, spark_frames, write_frames

__all__ = [
    "Piece",
    "PlannedInput",
    "Position",
    "WrittenFrames",
    "check_frame",
    "plan_pieces",
    "position_in",
    "spark_frames",
    "write_frames",
]
