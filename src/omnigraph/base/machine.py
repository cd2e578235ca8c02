"""What the machine offers: its memory, and directories of whoever uses it."""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["cache_directory", "home_directory", "memory_bytes"]


def cache_directory(environment: Mapping[str, str]) -> Path | None:
    """Where our files go that may be deleted at any time; None: the user has no home.

    `XDG_CACHE_HOME`, or else `~/.cache`.
    """
    base = environment.get("XDG_CACHE_HOME")
    if not base and "HOME" not in environment:
        return None
    return (Path(base) if base else Path(environment["HOME"], ".cache")) / "omnigraph"


def home_directory(environment: Mapping[str, str]) -> Path | None:
    """Where a person keeps what they tell us: `OMNIGRAPH_HOME`, or else `~/.omnigraph`."""
    if home := environment.get("OMNIGRAPH_HOME"):
        return Path(home)
    return Path(environment["HOME"], ".omnigraph") if environment.get("HOME") else None


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
