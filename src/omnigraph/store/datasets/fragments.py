"""How the rows of a version lie in files."""

from collections.abc import Mapping, Sequence

from lance.fragment import FragmentMetadata

from omnigraph.base.frozen import frozen

__all__ = ["Files", "Fragment", "StoredFile", "fragments_beside", "stored_fragment"]


@frozen
class Files:
    fragments: int
    deleted_rows: int
    """Rows that are gone and still take room."""
    bytes: int


@frozen
class StoredFile:
    """A file that is written once and never changed. Two versions that name it read its bytes."""

    line: str | None
    """The Lance branch in whose directory it lies; None is the main line's."""
    path: str
    fields: tuple[int, ...] = ()
    """The columns that are read from it, by Lance's numbers."""


@frozen
class Fragment:
    """A fragment of a version. Pieces with the same files and deletions hold the same rows."""

    id: int
    files: tuple[StoredFile, ...]
    deletions: StoredFile | None
    """The file that says which rows are gone. How many of them there are would name no file."""
    rows: int
    written_rows: int
    """Those that are gone too."""

    @property
    def has_deletions(self) -> bool:
        return self.deletions is not None


def fragments_beside(
    ours: Sequence[Fragment], others: Sequence[Fragment]
) -> tuple[list[Fragment], list[tuple[Fragment, Fragment]]]:
    """Fragments in which rows may lie that the other version has elsewhere, or not at all.

    Those whose files the other version does not have; and those with other deletions, each with its
    twin there.
    """
    theirs = {fragment.files: fragment for fragment in others}
    own = [fragment for fragment in ours if fragment.files not in theirs]
    shared = [(f, theirs[f.files]) for f in ours if f.files in theirs]
    return own, [(here, there) for here, there in shared if here.deletions != there.deletions]


def stored_fragment(fragment: FragmentMetadata, lines: Mapping[int | None, str | None]) -> Fragment:
    """`lines` are the lines that the version reads from, by Lance's numbers."""
    over = [overlay.data_file for overlay in fragment.overlays]
    deletions = fragment.deletion_file
    return Fragment(
        id=fragment.id,
        files=tuple(
            StoredFile(lines[file.base_id], file.path, tuple(file.fields))
            for file in (*fragment.files, *over)
        ),
        deletions=None
        if deletions is None
        else StoredFile(lines[deletions.base_id], deletions.path(fragment.id)),
        rows=fragment.num_rows,
        written_rows=fragment.physical_rows,
    )
