"""One NewType per kind of id, so that a branch name can't be passed where a commit is meant."""

from typing import NewType

BranchName = NewType("BranchName", str)
CommitId = NewType("CommitId", str)
"""A ULID: sorts by time of making, never used to order history (the commit sequence does that)."""

TypeName = NewType("TypeName", str)
TypeId = NewType("TypeId", int)
"""The stable identity of a node or edge type: survives renames, never reused after a drop."""

PropertyId = NewType("PropertyId", int)
VariableName = NewType("VariableName", str)
"""A query variable without its `$`."""

TableKey = NewType("TableKey", str)
"""`node:<Type>` or `edge:<Edge>`: how the manifest names a dataset."""

MAIN = BranchName("main")

BRANCH_NAMES = "__branches"
"""The fence over the names of branches. No branch can be called so."""
