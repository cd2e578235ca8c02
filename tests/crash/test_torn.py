"""Version files that a power cut tore, and those that can't be read: never one for the other.

A torn file is proved by its bytes. It was never acknowledged, so readers pass over it and recovery
removes it. Whatever can't be read may hold a commit: readers fail, and recovery changes nothing.
"""

import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import BranchMissing, StorageFailed
from omnigraph.base.failpoints import NEVER, Crash, CrashAt, Failpoint
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.audit import RecoveryAction
from omnigraph.store.branching import create_branch, delete_branch
from omnigraph.store.datasets.lance_values import open_handle
from omnigraph.store.graph_store import GraphStore
from omnigraph.store.layout import AUDIT, MANIFEST, RECOVERY, table_path
from omnigraph.store.location import Location
from omnigraph.store.objects import DiskObjects
from omnigraph.write.recover import recover_all
from tests.crash.dying import OLD, SCENARIOS
from tests.crash.test_recovery import WAYS, Ways, copied, version_file
from tests.places import let_leases_end
from tests.store_contract.builders import PERSON, changes, contents, open_store, pairs, people, put

EDIT = SCENARIOS["an edit of main"]

# More files than a test has open.
MANY = 400

# What is left of the bytes of a version; None of those is what the version before says.
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda raw: b"",
    "a few bytes": lambda raw: raw[:20],
    "half": lambda raw: raw[: len(raw) // 2],
    "all but one byte": lambda raw: raw[:-1],
    "zeros": lambda raw: bytes(len(raw)),
    "zeros, then half": lambda raw: bytes(len(raw) // 2) + raw[len(raw) // 2 :],
    "half, then zeros": lambda raw: raw[: len(raw) // 2] + bytes(len(raw) - len(raw) // 2),
    "all but the footer": lambda raw: raw[:-16] + bytes(16),
}


def crashed(place: Path | str, point: Failpoint) -> GraphStore:
    store = EDIT.graph(place)
    with pytest.raises(Crash):
        EDIT.write(store, CrashAt(point))
    return open_store(place)


def damage(file: Path, kind: str) -> bytes:
    torn = DAMAGE[kind](file.read_bytes())
    file.write_bytes(torn)
    return torn


EDITED_BY: dict[str, Callable[[GraphStore, BranchName], object]] = {
    MANIFEST: lambda store, branch: None,
    "nodes": lambda store, branch: put(store, changes(people=people(kim=1)), branch=branch),
}


def newest_file(store: GraphStore, path: str) -> Path:
    return min((Path(str(store.root), path) / "_versions").glob("*.manifest"))


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_torn_version_of_a_table_that_was_not_published_counts_as_not_landed(
    tmp_path: Path, kind: str
) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_LAND_ALL)
    path = store.snapshot().tables[PERSON.table_key].ref.path
    damage(newest_file(store, path), kind)
    assert contents(open_store(tmp_path)) == OLD
    recover_all(open_store(tmp_path))
    assert contents(open_store(tmp_path)) == contents(store) == EDIT.new
    put(store, changes(people=people(zoe=1)))


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_torn_manifest_is_passed_over_and_published_again(tmp_path: Path, kind: str) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_PUBLISH)
    damage(newest_file(store, MANIFEST), kind)
    reader = open_store(tmp_path)
    assert contents(reader) == OLD
    recover_all(open_store(tmp_path))
    # Also for whoever has met the torn file: the same version has other contents now.
    assert contents(open_store(tmp_path)) == contents(reader) == EDIT.new
    assert [r.action for r in reader.audit.records()] == [RecoveryAction.ROLLED_FORWARD]
    put(reader, changes(people=people(zoe=1)))


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_version_that_a_commit_names_is_never_removed(tmp_path: Path, kind: str) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_PUBLISH)
    ref = store.snapshot().tables[PERSON.table_key].ref
    file = version_file(store, ref.path, ref.version)
    left = damage(file, kind)
    recover_all(open_store(tmp_path))
    assert store.objects.list(RECOVERY) == []
    assert file.read_bytes() == left
    healed = open_store(tmp_path).snapshot()
    assert pairs(healed) == EDIT.new[1]
    with pytest.raises(StorageFailed):
        contents(open_store(tmp_path))


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_torn_log_of_recoveries_takes_the_next_row(tmp_path: Path, kind: str) -> None:
    recover_all(crashed(tmp_path, Failpoint.AFTER_LAND_1))
    store = open_store(tmp_path)
    damage(newest_file(store, AUDIT), kind)
    with pytest.raises(Crash):
        put(store, changes(people=people(zoe=1)), faults=CrashAt(Failpoint.AFTER_LAND_ALL))
    recover_all(open_store(tmp_path))
    assert [r.action for r in store.audit.records()] == [RecoveryAction.ROLLED_FORWARD]
    assert contents(store)[0] == {**EDIT.new[0], "zoe": 1}


def test_two_torn_versions_are_more_than_a_power_cut_makes(tmp_path: Path) -> None:
    store = crashed(tmp_path, Failpoint.AFTER_PUBLISH)
    newest = store.manifest.newest(None).version
    for version in (newest, newest - 1):
        damage(version_file(store, MANIFEST, version), "zeros")
    with pytest.raises(StorageFailed):
        open_store(tmp_path)


@pytest.mark.parametrize("kind", ["nothing", "half", "zeros"])
@pytest.mark.parametrize("path", [MANIFEST, "nodes"])
def test_a_torn_reference_of_a_fork_is_in_nobodys_way(tmp_path: Path, kind: str, path: str) -> None:
    store = EDIT.graph(tmp_path)
    keep = BranchName("keep")
    for name in (keep, BranchName("torn")):
        create_branch(store, name)
        EDITED_BY[path](store, name)
    folder = tmp_path / (MANIFEST if path == MANIFEST else table_path(PERSON)) / "_refs/branches"
    [reference] = folder.glob("torn.*.json")
    damage(reference, kind)
    opened = open_store(tmp_path)
    if path == MANIFEST:  # it was never acknowledged
        assert [branch.name for branch in opened.branches.list()] == [MAIN, keep]
        with pytest.raises(BranchMissing):
            opened.snapshot(BranchName("torn"))
        create_branch(opened, BranchName("torn"))
    put(opened, changes(people=people(zoe=1)), branch=keep)
    opened.datasets.forget_old_versions(MANIFEST, None, older_than_s=0)
    delete_branch(opened, keep)
    assert not any(f.startswith("keep.") for f in opened.datasets.fork_names(table_path(PERSON)))
    assert [b.name for b in open_store(tmp_path).branches.list()] == [MAIN, "torn"]
    assert contents(open_store(tmp_path)) == OLD


@pytest.mark.parametrize("kind", ["nothing", "half", "zeros", None])
def test_a_branch_of_which_only_the_reference_survived_was_never_made(
    tmp_path: Path, kind: str | None
) -> None:
    store, torn = EDIT.graph(tmp_path), BranchName("torn")
    create_branch(store, torn)
    [version] = (tmp_path / MANIFEST / "tree").glob("torn.*/_versions/*.manifest")
    if kind is None:
        shutil.rmtree(version.parent)
    else:
        damage(version, kind)
    opened = open_store(tmp_path)
    assert [branch.name for branch in opened.branches.list()] == [MAIN]
    create_branch(opened, torn)
    put(opened, changes(people=people(zoe=1)), branch=torn)
    assert contents(open_store(tmp_path)) == OLD


def test_a_branch_that_was_written_stays_whatever_becomes_of_its_first_version(
    tmp_path: Path,
) -> None:
    store, work = EDIT.graph(tmp_path), BranchName("work")
    create_branch(store, work)
    [first] = (tmp_path / MANIFEST / "tree").glob("work.*/_versions/*.manifest")
    put(store, changes(people=people(zoe=1)), branch=work)
    for harm in (lambda: damage(first, "nothing"), first.unlink):
        harm()
        assert [branch.name for branch in open_store(tmp_path).branches.list()] == [MAIN, work]
        assert contents(open_store(tmp_path), work)[0]["zoe"] == 1


# What can't be read -------------------------------------------------------------------------------


class Failing:
    """Makes one open fail, the n-th of those that match."""

    def __init__(self, number: int) -> None:
        self.left = number

    def fails(self) -> bool:
        self.left -= 1
        return self.left == 0


@contextmanager
def failing_open(number: int, code: int) -> Iterator[Failing]:
    """The n-th time that anything is opened, by Lance or by us, the system refuses."""
    failing, get = Failing(number), DiskObjects.get

    def refuse(what: str) -> None:
        if failing.fails():
            reason = f"{os.strerror(code)} (os error {code})"
            raise StorageFailed(doing="open", path=what, reason=reason)

    def opened(location: Location, *arguments: Any) -> Any:
        refuse(str(location))
        return open_handle(location, *arguments)

    def got(objects: DiskObjects, name: str) -> bytes | None:
        refuse(name)
        return get(objects, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("omnigraph.store.datasets.collection.open_handle", opened)
        patch.setattr(DiskObjects, "get", got)
        yield failing


@pytest.mark.parametrize(
    ("place", "way"),
    [*(("disk", way) for way in WAYS), ("s3", Ways.published)],
    indirect=["place"],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_open_that_fails_in_recovery_changes_nothing_that_is_visible(
    place: str, way: Callable[[str], GraphStore]
) -> None:
    _, action = WAYS[way]
    broken = way(f"{place}/broken")
    let_leases_end(broken)
    before = contents(broken)
    copied(broken, f"{place}/healthy")
    healthy = open_store(f"{place}/healthy")
    recover_all(healthy)
    expected = contents(healthy)
    for number in range(1, 100):
        copied(broken, f"{place}/{number}")
        opened = open_store(f"{place}/{number}")
        code = (errno.EMFILE, errno.EIO, errno.EACCES)[number % 3]
        with failing_open(number, code) as failing, suppress(StorageFailed):
            recover_all(opened)
        assert contents(open_store(f"{place}/{number}")) in (before, expected), number
        again = open_store(f"{place}/{number}")
        let_leases_end(again)
        recover_all(again)
        assert contents(again) == contents(opened) == expected, number
        assert [record.action for record in again.audit.records()] == [action]
        assert again.objects.list(RECOVERY) == []
        if failing.left > 0:
            return
    raise AssertionError("recovery opens more than it should")


@contextmanager
def descriptors_to_spare(number: int) -> Iterator[None]:
    """This process can open so many more files, and no more."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MANY, hard))
    taken = []
    with suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    for descriptor in taken[:number]:
        os.close(descriptor)
    try:
        yield
    finally:
        for descriptor in taken[number:]:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def recover_with_few_descriptors(place: str) -> None:
    """To be run in a process of its own: recover with ever more room for open files."""
    store = open_store(f"{place}/0")
    recover_all(store)
    expected, outcomes = contents(store), set()
    for number in range(1, 40):
        with descriptors_to_spare(number // 2):
            try:
                recover_all(open_store(f"{place}/{number}"))
                outcomes.add("recovered")
            except StorageFailed:
                outcomes.add("refused")
        recover_all(open_store(f"{place}/{number}"))
        assert contents(open_store(f"{place}/{number}")) == expected, number
    assert outcomes == {"recovered", "refused"}


def test_a_process_without_descriptors_to_spare_loses_no_commit(tmp_path: Path) -> None:
    published = crashed(tmp_path / "broken", Failpoint.AFTER_PUBLISH)
    for number in range(40):
        copied(published, f"{tmp_path}/{number}")
    child = get_context("spawn").Process(target=recover_with_few_descriptors, args=(str(tmp_path),))
    child.start()
    child.join()
    assert child.exitcode == 0


def test_a_version_that_can_not_be_read_is_an_error_and_not_an_old_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EDIT.graph(tmp_path)
    EDIT.write(store, NEVER)

    def refused(location: Location, version: int | None = None, *arguments: Any) -> Any:
        """As where a writer's files may not be read by others."""
        newest = newest_file(store, MANIFEST)
        if MANIFEST in str(location) and version in (None, 2**64 - 1 - int(newest.stem)):
            reason = "Permission denied (os error 13)"
            raise StorageFailed(doing="open", path=str(location), reason=reason)
        return open_handle(location, version, *arguments)

    monkeypatch.setattr("omnigraph.store.datasets.collection.open_handle", refused)
    with pytest.raises(StorageFailed, match="Permission denied"):
        open_store(tmp_path)


def read_as_nobody(place: str) -> None:
    """To be run in a process of its own, as a user who may not read the newest version."""
    os.setgid(65534)
    os.setuid(65534)
    with pytest.raises(StorageFailed, match="Permission denied"):
        contents(open_store(place))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become someone else")
def test_a_writer_whose_files_others_can_not_read_does_not_give_them_old_answers(
    tmp_path: Path,
) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(0o755)
    store = EDIT.graph(tmp_path / "g")
    before = os.umask(0o077)
    try:
        EDIT.write(store, NEVER)
    finally:
        os.umask(before)
    child = get_context("spawn").Process(target=read_as_nobody, args=(str(tmp_path / "g"),))
    child.start()
    child.join()
    assert child.exitcode == 0
