"""Vectors that are kept until they are where they belong."""

import threading
from pathlib import Path

import numpy as np

from omnigraph.embed.digests import text_digests
from omnigraph.embed.kept import KeptObject, KeptVectors
from omnigraph.store.durability import Durability
from omnigraph.store.objects import DiskObjects


def test_a_job_that_ends_and_drops_the_vectors_does_not_fail_another_that_keeps_some(
    tmp_path: Path,
) -> None:
    objects = DiskObjects(tmp_path, Durability.RELAXED)
    kept, is_over = KeptVectors(objects, "folder"), threading.Event()

    def drop() -> None:
        while not is_over.is_set():
            kept.drop(is_alone=False)

    dropping = threading.Thread(target=drop)
    dropping.start()
    try:
        for number in range(500):
            one = KeptObject(objects, kept.new_object(2), 2)
            one.add(text_digests([str(number)]), np.ones((1, 2), np.float32))
    finally:
        is_over.set()
        dropping.join()
