"""Sources of a load: files, frames and rows, as splits that tasks read on their own."""

from omnigraph.pipeline.sources.plan import PlannedInput, check_frames, plan_splits
from omnigraph.pipeline.sources.positions import Position, position_in
from omnigraph.pipeline.sources.spark_frames import WrittenFrames, spark_frames, write_frames
from omnigraph.pipeline.sources.splits import Split

__all__ = [
    "PlannedInput",
    "Position",
    "Split",
    "WrittenFrames",
    "check_frames",
    "plan_splits",
    "position_in",
    "spark_frames",
    "write_frames",
]
