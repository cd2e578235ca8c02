"""Names to heads: a branch of the graph is a Lance branch of `__manifest`.

A Lance branch is never called by the branch's name alone but `<branch>.<incarnation>`, and a name
is used once, ever. Otherwise a branch that was deleted and made again would have the path and the
version numbers of the old one, and a warm reader could not tell them apart.

Tables are not forked when a branch is made but when it first writes them; such a fork is called
`<branch>.<incarnation>.<attempt>`, so that whose it is can be read off its name. An incarnation is
a ULID, followed by `-` and the number of the fence over names once that has changed hands by force.

A branch that is made from a past commit needs a manifest with that commit as its head before it can
be seen. That one is a fork too, of the manifest it is made from, and the branch is a fork of it. It
is called `<branch>.<incarnation>.origin`, so it is no branch itself, and goes with its branch.

A branch may have dots in its name, and so be called like the beginning of another's fork. Names are
therefore taken apart from their end, where the parts have a known shape, and compared whole.
"""

import logging
import re
from collections.abc import Callable, Iterator

from omnigraph.base.clock import CROCKFORD, ULID_LETTERS, Clock, is_ulid
from omnigraph.base.errors import (
    ArgumentInvalid,
    BranchExists,
    BranchHasChildren,
    BranchMissing,
    GraphMissing,
    StorageFailed,
)
from omnigraph.base.frozen import frozen
from omnigraph.base.ids import MAIN, BranchName
from omnigraph.store.datasets import Datasets
from omnigraph.store.layout import MANIFEST
from omnigraph.store.transactions import DatasetRef

__all__ = ["Branch", "Branches", "check_branch_name"]

SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
ORIGIN = ".origin"
INCARNATION = re.compile(rf"[{CROCKFORD}]{{{ULID_LETTERS}}}(-[0-9]+)?")

# The longest file named after a branch (Lance's, while it writes the reference of a table's fork)
# adds two ULIDs, a fencing number and a mark of its own, and writes a slash as %252F: within 255
# bytes.
MAX_NAME_CHARACTERS = 90
MAX_FILE_NAME_BYTES = 145
BYTES_PER_SLASH = len("%252F")

log = logging.getLogger(__name__)


@frozen
class Branch:
    name: BranchName
    lance_branch: str | None
    """Of `__manifest`; None is Lance's main line."""

    @property
    def incarnation(self) -> str:
        """What locks and sidecars of this branch are named by."""
        return self.lance_branch if self.lance_branch is not None else MAIN

    def owns(self, ref: DatasetRef) -> bool:
        """True if a table's version lies on this branch's own line, not on one it inherited."""
        if self.lance_branch is None or ref.branch is None:
            return ref.branch is self.lance_branch
        forked_for, _, attempt = ref.branch.rpartition(".")
        return forked_for == self.lance_branch and is_ulid(attempt)


class Branches:
    def __init__(self, datasets: Datasets, clock: Clock) -> None:
        self._datasets = datasets
        self._clock = clock
        self._resolved: dict[BranchName, Branch] = {}

    def list(self) -> list[Branch]:
        """Main first, then by name."""
        # Two of one name: one was made by someone who had lost the fence over names by then. The
        # one with the higher number is the branch, and the other nobody was told of.
        named = {branch.name: branch for branch in sorted(self._all(), key=_age)}
        return [Branch(MAIN, None), *(named[name] for name in sorted(named))]

    def resolve(self, name: BranchName) -> Branch:
        if name == MAIN:
            return Branch(MAIN, None)
        if not isinstance(name, str):
            raise ArgumentInvalid(
                argument="branch", value=repr(name), rule="a branch name must be text"
            )
        known = self._resolved.get(name)
        if known is not None and self.is_alive(known):
            return known
        # One listing, made after we were asked: another thread's may be older than the branch.
        listed = {branch.name: branch for branch in self.list()}
        self._resolved = listed
        if name not in listed:
            if not self._datasets.is_there(MANIFEST):
                raise GraphMissing(str(self._datasets.root))
            self._datasets.require_same_graph()
            raise BranchMissing(branch=name, known=tuple(listed))
        return listed[name]

    def create(
        self,
        name: BranchName,
        source: DatasetRef,
        *,
        rewind: Callable[[DatasetRef], DatasetRef] | None = None,
        fencing: int = 0,
    ) -> Branch:
        """Fork the manifest. The caller holds the fence over branch names, with this number.

        `rewind` takes a fork of the source, which nobody knows of, to the version to start from.
        """
        self.check_new(name)
        incarnation = self._clock.ulid() + (f"-{fencing}" if fencing else "")
        fork = f"{name}.{incarnation}"
        if rewind is not None:
            source = rewind(self._datasets.fork(source, f"{fork}{ORIGIN}"))
        return Branch(name, self._datasets.fork(source, fork).branch)

    def check_new(self, name: BranchName) -> None:
        """Refuse a name that no branch can be given now."""
        check_branch_name(name)
        for existing in (branch.name for branch in self.list()):
            if _overlap(name, existing):
                raise BranchExists(branch=name, existing=existing)

    def delete(self, branch: Branch) -> None:
        """Remove it, and no file of any table. The caller holds its fence and that over names."""
        children = self._children(branch)
        if children:
            raise BranchHasChildren(branch=branch.name, children=children)
        # One of its name that never counted would count once this one is gone: it goes first.
        alike = (one for one in self._all() if one.name == branch.name)
        for one in sorted(alike, key=_age):
            self.discard(one)
        self._resolved.pop(branch.name, None)

    def discard(self, branch: Branch) -> None:
        """Remove one that nobody was told of, or nobody may use any more."""
        assert branch.lance_branch is not None, "main is not a branch that can go"
        self._datasets.delete_fork(MANIFEST, branch.lance_branch)
        origin = f"{branch.lance_branch}{ORIGIN}"
        try:
            if self._datasets.has_fork(MANIFEST, origin):
                self._datasets.delete_fork(MANIFEST, origin)
        except StorageFailed as failure:
            # The branch is gone. Its origin goes when the branch that it was made from does.
            log.warning("could not delete the origin of the branch %s: %s", branch.name, failure)

    def fresh_fork(self, branch: Branch) -> str:
        """A name for a table's fork that was never used before."""
        return f"{branch.incarnation}.{self._clock.ulid()}"

    def is_alive(self, branch: Branch) -> bool:
        """True if it is still there, and not another one of its name."""
        fork = branch.lance_branch
        return fork is None or self._datasets.has_fork(MANIFEST, fork)

    def forks_in_use(self) -> tuple[str, ...]:
        """The forks of the manifest that branches need, and those that we did not name."""
        living = {branch.lance_branch for branch in self.list()}
        owners = {
            fork: _parse(fork.removesuffix(ORIGIN)) for fork in self._datasets.fork_names(MANIFEST)
        }
        return tuple(
            fork for fork, owner in owners.items() if owner is None or owner.lance_branch in living
        )

    def is_dead(self, incarnation: str) -> bool:
        """True if it is one of ours, of a branch that was deleted: no other will be called so."""
        branch = _parse(incarnation)
        return branch is not None and not self.is_alive(branch)

    def _all(self) -> Iterator[Branch]:
        """Every incarnation. A fork that we did not name is no branch of the graph."""
        named = map(_parse, self._datasets.fork_names(MANIFEST))
        return (branch for branch in named if branch is not None)

    def _children(self, branch: Branch) -> tuple[BranchName, ...]:
        """The branches made from it. What a crash has left of one that never was is swept away."""
        forks = self._datasets.forks(MANIFEST)
        made_from = [fork for fork, parent in forks.items() if parent == branch.lance_branch]
        named = list[BranchName]()
        for fork in made_from:
            owner = _parse(fork.removesuffix(ORIGIN))
            if owner is None:
                # A fork that is no branch of ours is named as it is: it needs the files as well.
                named.append(BranchName(fork))
            elif owner.lance_branch in forks:
                named.append(owner.name)
            else:
                self._datasets.delete_fork(MANIFEST, fork)
        return tuple(sorted(named))


def check_branch_name(name: str) -> None:
    if (rule := _broken_rule(name)) is not None:
        raise ArgumentInvalid(argument="branch", value=str(name), rule=rule)


def _broken_rule(name: object) -> str | None:
    if not isinstance(name, str):
        return "a branch name must be text"
    segments = name.split("/")
    if len(name) > MAX_NAME_CHARACTERS:
        return f"a branch name may have at most {MAX_NAME_CHARACTERS} characters"
    if len(name) + (BYTES_PER_SLASH - 1) * name.count("/") > MAX_FILE_NAME_BYTES:
        return "the name has too many slashes for its length: shorten it"
    if not all(SEGMENT.fullmatch(segment) for segment in segments):
        return "use letters, digits, '_', '-' and '.', in segments separated by single slashes"
    if any(segment.startswith("__") for segment in segments):
        return "names that begin with '__' are reserved"
    if any(".." in segment or segment.endswith((".", ".lock")) for segment in segments):
        return "a segment may not contain '..' nor end in '.' or '.lock'"
    return None


def _parse(fork: str) -> Branch | None:
    """The branch whose manifest is such a fork; None if it is not called as ours are."""
    name, _, incarnation = fork.rpartition(".")
    is_ours = INCARNATION.fullmatch(incarnation) and name not in ("", MAIN)
    return Branch(BranchName(name), fork) if is_ours else None


def _age(branch: Branch) -> tuple[int, str]:
    ulid, _, fencing = branch.incarnation.rpartition(".")[2].partition("-")
    return int(fencing or 0), ulid


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
