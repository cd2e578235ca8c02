"""Lance's version files, read and rewritten without Lance: real files of a dataset with forks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph.store.datasets.version_file import (
    Base,
    MalformedVersionFile,
    parse_version_file,
    with_bases_at,
)

FORK, FORK_OF_FORK = "team/hiring.1", "sub.2"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Main, a fork with a slash in its name and an index, a fork of that one with a deletion."""
    root = tmp_path_factory.mktemp("versions") / "t"
    rows = pa.table({"id": ["a", "b", "c"], "n": [1, 2, 3]})
    main = lance.write_dataset(
        rows, str(root), data_storage_version="2.2", enable_stable_row_ids=True
    )
    fork = main.create_branch(FORK, (None, 1))
    fork.insert(pa.table({"id": ["d"], "n": [4]}))
    fork.create_scalar_index("id", "BTREE")
    fork_of_fork = fork.create_branch(FORK_OF_FORK, (FORK, fork.version))
    fork_of_fork.delete("id = 'a'")
    return root


def version_files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.manifest"))


def test_every_version_file_says_its_version_and_the_bases_of_its_line(dataset: Path) -> None:
    main, fork = Base(0, None, str(dataset)), Base(1, FORK, f"{dataset}/tree/{FORK}")
    bases = {"t": set(), FORK: {main}, FORK_OF_FORK: {main, fork}}
    files = version_files(dataset)
    assert len(files) == 1 + 3 + 2
    for file in files:
        said = parse_version_file(file.read_bytes())
        line = str(file.parent.parent.relative_to(dataset.parent)).removeprefix("t/tree/")
        assert said.version == 2**64 - 1 - int(file.stem)
        assert set(said.bases) == bases[line]


def damaged(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """What a power cut leaves: less of the file, or zeros in place of some of it."""
    size = len(raw)
    for length in range(0, size, 7):
        yield f"{length} of {size} bytes", raw[:length]
        yield f"{length} bytes, then zeros", raw[:length] + bytes(size - length)
        yield f"{length} zeros first", bytes(length or 1) + raw[length or 1 :]
    yield "one byte more", raw + b"\0"


def test_no_damaged_version_file_is_taken_for_a_whole_one(dataset: Path) -> None:
    for file in version_files(dataset):
        raw = file.read_bytes()
        parse_version_file(raw)
        for kind, bytes_ in damaged(raw):
            with pytest.raises(MalformedVersionFile):
                parse_version_file(bytes_)
                pytest.fail(f"{file.name}, {kind}")


def test_a_damaged_version_file_is_not_rewritten_as_a_whole_one(dataset: Path) -> None:
    raw = version_files(dataset)[-1].read_bytes()
    with pytest.raises(MalformedVersionFile):
        with_bases_at(bytes(40) + raw[40:], lambda name: f"/elsewhere/{name}")


def test_a_version_file_whose_bases_lie_where_they_should_stays_as_it_is(dataset: Path) -> None:
    def place(name: str | None) -> str:
        return str(dataset) if name is None else f"{dataset}/tree/{name}"

    for file in version_files(dataset):
        raw = file.read_bytes()
        assert with_bases_at(raw, place) == raw


@pytest.mark.parametrize("elsewhere", ["e", "a/far/longer/name/" * 20 + "ünïcode"])
def test_every_version_of_a_moved_dataset_reads_as_before_with_new_bases(
    dataset: Path, tmp_path: Path, elsewhere: str
) -> None:
    def contents(root: Path, file: Path) -> list[object]:
        """Rows, row ids, and what the index finds, of the version in a file of `dataset`."""
        home, version = file.parent.parent.relative_to(dataset), 2**64 - 1 - int(file.stem)
        opened = lance.dataset(str(root / home), version=version)
        found = opened.to_table(filter="id = 'd'")
        return [opened.to_table(with_row_id=True).to_pylist(), found.to_pylist()]

    files = version_files(dataset)
    before = [contents(dataset, file) for file in files]
    source = dataset.rename(tmp_path / "gone")
    try:
        moved = tmp_path / elsewhere / "t"
        shutil.copytree(source, moved)
        for file in version_files(moved):
            raw = with_bases_at(
                file.read_bytes(),
                lambda name: str(moved) if name is None else f"{moved}/tree/{name}",
            )
            file.write_bytes(raw)
        assert [contents(moved, file) for file in files] == before
    finally:
        source.rename(dataset)
