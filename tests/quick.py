"""Which tests `--quick` runs: those that show most for a second.

Left out are Spark, buckets, and the long walks, races, deaths and pages below. Of a test with many
rows the first one runs, except where rows cost next to nothing. So every module is touched and
every promise has one example; the rest is for `make test`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.matrices import rows_of_tests

__all__ = ["SLOW", "is_slow", "quick_ones"]

TESTS = Path(__file__).parent

# Rows of these are quicker than the choice among them.
ALL_ROWS = ("base", "check", "lang")

SLOW = (
    # Walks: any order of steps, on graphs of their own.
    "model",
    "laws/test_clause_laws.py",
    "laws/test_diff_laws.py",
    "laws/test_follow_laws.py",
    "laws/test_index_laws.py",
    "laws/test_schema_laws.py",
    "laws/test_vector_follow_laws.py",
    "laws/test_view_laws.py",
    "changes/test_consumer.py",
    "graph/read/test_states.py",
    "lang/query/test_robustness.py",
    "maintenance/test_cleanup.py",
    "maintenance/test_histories.py",
    "merge/test_merge_laws.py",
    "merge/test_several_bases.py",
    "cluster/test_walks.py",
    "pipeline/load/test_clues.py",
    "pipeline/load/test_every_form.py",
    "policy/test_policy_walks.py",
    "policy/test_same_answers_served.py",
    "search/test_vectors_beyond_memory.py",
    "store_contract/test_index_kinds.py",
    "store_contract/test_row_filters.py",
    "store_contract/test_upkeep.py",
    # Other processes: started, raced with, stopped, killed.
    "cluster/test_locks.py",
    "cluster/test_served.py",
    "crash/test_forks.py",
    "crash/test_kills.py",
    "crash/test_late_writers.py",
    "crash/test_moving.py",
    "crash/test_power_cuts.py",
    "crash/test_second_tries.py",
    "crash/test_torn_files.py",
    "cost/test_mutation_cost.py",
    "graph/test_past_branches.py",
    "policy/test_same_answers.py",
    "graph/test_many_writers.py",
    "graph/test_racing_histories.py",
    "house/test_matrices.py",
    "house/test_package.py",
    "house/test_processes.py",
    "notebook/test_documents.py",
    "maintenance/test_crashes.py",
    "maintenance/test_staged_work.py",
    "maintenance/test_soak.py",
    "store_contract/test_many_processes.py",
    "store_contract/test_races.py",
    "pipeline/load/test_concurrent_loads.py",
    "surfaces/client/test_large_loads.py",
    "surfaces/client/test_page.py",
    "surfaces/client/test_parity.py",
    "surfaces/mcp/test_page.py",
    "surfaces/mcp/test_served_queries.py",
    "surfaces/mcp/test_sessions.py",
    "surfaces/server/test_job_restarts.py",
    "surfaces/server/test_page.py",
    "surfaces/server/test_process.py",
    "surfaces/server/test_upkeep.py",
    "surfaces/test_typescript.py",
    # A browser.
    "explorer",
    # Every ending of a load or a merge, each in files that are listed afterwards.
    "pipeline/merge",
    "pipeline/staging/test_endings.py",
    "pipeline/staging/test_quarantine_resume.py",
    "pipeline/staging/test_resume.py",
    # Whole graphs that are moved, pages whose programs are run, and what they show.
    "graph/test_moving.py",
    "graph/test_names.py",
    "house/test_pages.py",
    "house/test_pictures.py",
    "surfaces/test_new_user.py",
)


def is_slow(path: Path) -> bool:
    """Whether no test of this module or directory is quick: it is not even imported."""
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix() in SLOW


def quick_ones(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    fast = [item for item in items if not _is_elsewhere(item)]
    firsts = {rows[0] for rows in rows_of_tests(fast)}
    return (item for item in fast if item in firsts or _has_quick_rows(item))


def _is_elsewhere(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    is_on_spark = item.get_closest_marker("spark") is not None
    place = item.callspec.params.get("place") if hasattr(item, "callspec") else None
    is_in_bucket = place == "s3" or "s3" in item.fixturenames
    return is_on_spark or is_in_bucket


def _has_quick_rows(item: pytest.Item) -> bool:
    return item.path.relative_to(TESTS).parts[0] in ALL_ROWS
