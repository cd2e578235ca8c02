"""What a manifest keeps of a commit."""

from omnigraph.store.commits import Commit
from omnigraph.store.manifest import CommitRow
from tests.store_contract.histories import commit


def test_a_commit_reads_back_from_its_manifest_row() -> None:
    made = commit(3, 1, merged=2).published(9, at_ms=5)
    row = made.to_row()
    assert Commit.from_row(CommitRow(row.id, row.seq, row.parents, row.metadata)) == made
    assert row.parents == ("c1", "c2")
