"""Neighbouring fragments that are small, written as larger ones.

We choose the groups and Lance's tasks do the writing. Lance would choose only neighbours that all
indexes cover alike; a BTREE forgets rows that move anyway, so we don't let it keep files apart.

New fragments are numbered here. Lance gives the number 0 to those that have none, and where an
index's rows moved there it would then believe that the index covers whichever fragment has that
number: wrong answers, with every kind of index that follows its rows.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from lance.optimize import Compaction, CompactionOptions, CompactionTask, RewriteResult

from omnigraph.store.datasets.fragments import Fragment
from omnigraph.store.datasets.lance_values import failures, text_of
from omnigraph.store.datasets.reading import Dataset
from omnigraph.store.datasets.version_file import greatest_fragment
from omnigraph.store.transactions import Rewrite

__all__ = ["compact", "groups_of"]

# A fragment of which more than this share is deleted is written anew by itself.
MAX_DELETED_SHARE = 0.1


def compact(
    dataset: Dataset, groups: Sequence[Sequence[int]], *, fewer_than_rows: int
) -> Rewrite | None:
    """Write each group of fragments as larger ones; None: there are no groups."""
    if not groups:
        return None
    handle = dataset._handle
    options: CompactionOptions = {"target_rows_per_fragment": fewer_than_rows}
    with failures("compact", dataset.ref.path):
        known = {fragment.fragment_id: fragment.metadata for fragment in handle.get_fragments()}
        plan: Any = Compaction.plan(handle, options)  # its stubs leave out the JSON
        given = {"read_version": handle.version, "options": json.loads(plan.json())["options"]}
        tasks = ({"fragments": [known[number].to_json() for number in g]} for g in groups)
        # `Compaction.commit` would move the dataset by two versions, neither with our uuid.
        done = [_task({"task": task, **given}).execute(handle) for task in tasks]
        first = greatest_fragment(handle._ds.serialized_manifest()) + 1
    return Rewrite(tuple(_numbered(done, first)))


def _task(stored: Mapping[str, Any]) -> CompactionTask:
    kind: Any = CompactionTask  # as above
    task: CompactionTask = kind.from_json(json.dumps(stored))
    return task


def _numbered(
    done: Sequence[RewriteResult], first: int
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    number = first
    for result in done:
        old = result.original_fragments  # type: ignore[attr-defined]  # Lance's stubs misname it
        new = result.new_fragments
        for fragment in new:
            fragment.id = number
            number += 1
        yield tuple(map(text_of, old)), tuple(map(text_of, new))


def groups_of(
    fragments: Sequence[Fragment],
    covering: Mapping[int, frozenset[str]],
    *,
    fewer_than_rows: int,
    drops_deleted: bool,
) -> list[list[int]]:
    """The fragments to be written together, by number.

    They are neighbours of which each has fewer rows than that, or has lost many. `covering` says
    by which segments a fragment is covered that follow its rows: those stay apart that differ.
    """

    def has_lost_many(fragment: Fragment) -> bool:
        lost = fragment.written_rows - fragment.rows
        return drops_deleted and lost > MAX_DELETED_SHARE * fragment.written_rows

    def together(fragment: Fragment) -> tuple[bool, frozenset[str]]:
        is_candidate = fragment.rows < fewer_than_rows or has_lost_many(fragment)
        return is_candidate, covering.get(fragment.id, frozenset())

    groups = []
    for (is_candidate, _), run in groupby(fragments, key=together):
        members = list(run)
        if is_candidate and (len(members) > 1 or has_lost_many(members[0])):
            groups.append([fragment.id for fragment in members])
    return groups
