"""Limits for loads of a few rows that are to go the way of large ones."""

from dataclasses import replace

from omnigraph.engine.settings import Settings
from omnigraph.pipeline.limits import LoadLimits

LARGE = LoadLimits(max_lookup_bytes=-1)
"""Any load is a large one: its rows are in files, and no driver holds them."""

MANY_TASKS = LoadLimits(min_task_bytes=3_000, max_task_bytes=3_000, max_lookup_bytes=-1)
"""Any load is a large one, in many tasks."""


def with_limits(limits: LoadLimits) -> Settings:
    return replace(Settings.from_environment(), load_limits=limits)
