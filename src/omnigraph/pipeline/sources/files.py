"""Which files a load reads: paths, directories and globs, each file once and in a stable order.

A file's form follows from its name, or from the `format` of the call, which then holds for every
file. In a directory what is not data is passed over, and data that can't be read is refused: a load
that leaves half of a directory out in silence is worse than one that stops.
"""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from omnigraph.base.errors import ArgumentInvalid, FileMissing, Unsupported
from omnigraph.pipeline.sources.streams import PACKED_SUFFIXES, naming

__all__ = ["Form", "InputFile", "find_files", "stem_of"]


class Form(Enum):
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    LANCE = "lance"

    @classmethod
    def named(cls, name: str | None) -> "Form | None":
        """The form that a caller may ask for."""
        if name is None:
            return None
        if name not in ("jsonl", "csv", "parquet"):
            raise ArgumentInvalid(argument="format", value=name, rule="it is jsonl, csv or parquet")
        return cls(name)


SUFFIXES = {
    ".jsonl": Form.JSONL,
    ".ndjson": Form.JSONL,
    ".json": Form.JSONL,
    ".csv": Form.CSV,
    ".tsv": Form.CSV,
    ".parquet": Form.PARQUET,
    ".lance": Form.LANCE,
}

# Data that this version can't read. Found in a directory, it is not passed over in silence.
OTHER_DATA_SUFFIXES = (
    *(".bz2", ".xz", ".zip", ".lz4", ".br", ".snappy", ".7z", ".tar", ".tgz"),
    *(".avro", ".orc", ".feather", ".arrow", ".xlsx", ".xls", ".xml"),
    *PACKED_SUFFIXES,
)

# What makes a directory a Lance dataset.
LANCE_VERSIONS = "_versions"


@dataclass(frozen=True, slots=True)
class InputFile:
    file: str
    """As the user named it, or below the directory that the user named."""
    form: Form

    @property
    def path(self) -> str:
        return str(Path(self.file).absolute())


def find_files(sources: Sequence[str], *, form: Form | None = None) -> list[InputFile]:
    """The files of the sources; `form` is that of all of them, whatever their names say."""
    return list(dict.fromkeys(file for source in sources for file in _files_of(source, form)))


def stem_of(file: str) -> str:
    """The name without its directory and the suffixes that tell its form."""
    path = Path(file)
    while path.suffix in SUFFIXES or path.suffix in PACKED_SUFFIXES:
        path = path.with_suffix("")
    return path.name


def _files_of(source: str, form: Form | None) -> Iterator[InputFile]:
    if "://" in source:
        raise Unsupported(what=f"loading from {source}", instead="copy the files to a local disk")
    path = Path(source)
    if path.is_dir():
        yield from _files_in(path, form)
    elif path.exists():
        found = form or _form_of(path)
        if found is None:
            raise _unreadable(path)
        yield InputFile(source, found)
    # `Path.glob` takes no absolute pattern.
    elif glob.has_magic(source) and (found_ := glob.glob(source, recursive=True)):  # noqa: PTH207
        for name in sorted(found_):
            yield from _files_of(name, form)
    else:
        raise FileMissing(path=source)


def _files_in(directory: Path, form: Form | None) -> Iterator[InputFile]:
    """What programs leave beside data (`_SUCCESS`, `.part.crc`) and texts are passed over."""
    if _is_lance(directory):
        yield InputFile(str(directory), Form.LANCE)
        return
    wanted = []
    for path in _below(directory):
        found = Form.LANCE if path.is_dir() else form or _form_of(path)
        if found is not None:
            wanted.append(InputFile(str(path), found))
        elif path.suffix in OTHER_DATA_SUFFIXES:
            raise _unreadable(path)
    if not wanted:
        raise FileMissing(path=str(directory / "*.{jsonl,csv,parquet}"))
    yield from wanted


def _below(directory: Path) -> Iterator[Path]:
    """Every file and dataset below the directory, by name."""
    with naming(str(directory)):
        paths = sorted(directory.iterdir())
    for path in paths:
        if path.name.startswith((".", "_")):
            continue
        if path.is_file() or _is_lance(path):
            yield path
        # A link may lead back to where it came from.
        elif path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _is_lance(directory: Path) -> bool:
    return (directory / LANCE_VERSIONS).is_dir()


def _form_of(path: Path) -> Form | None:
    if path.suffix in PACKED_SUFFIXES:
        inner = SUFFIXES.get(Path(path.stem).suffix)
        return inner if inner in (Form.JSONL, Form.CSV) else None
    form = SUFFIXES.get(path.suffix)
    return None if form is Form.LANCE else form


def _unreadable(path: Path) -> Unsupported:
    return Unsupported(
        what=f"loading {path}",
        instead="give .jsonl, .csv or .tsv (also as .gz or .zst), .parquet or a Lance dataset, "
        "or say what the file is with format",
    )
