"""Which files a load reads: paths, directories and globs, each file once and in a stable order.

A file's form follows from its name, or from the `format` of the call, which then holds for every
file. In a directory what is not data is passed over, and data that can't be read is refused: a load
that leaves half of a directory out in silence is worse than one that stops. Links are followed, so
that one file may have several names: which file it is decides, not how it was spelt.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from omnigraph.base.choices import SourceFormat, check_choice
from omnigraph.base.disk_failures import reading_file
from omnigraph.base.errors import ArgumentInvalid, FileMissing, Unsupported
from omnigraph.base.frozen import frozen
from omnigraph.pipeline.exported import MANIFEST, files_to_take, is_ours
from omnigraph.pipeline.sources.opening import PACKED_SUFFIXES, FileState, state_of, suffix_of
from omnigraph.store.layout import GRAPH
from omnigraph.store.location import DiskLocation

__all__ = [
    "LANCE_VERSIONS",
    "OTHER_DATA_SUFFIXES",
    "Form",
    "InputFile",
    "NamedFiles",
    "find_files",
    "form_of",
    "graph_itself",
    "stem_of",
    "unreadable",
    "untold",
]


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
        check_choice("format", name, SourceFormat)
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

READABLE = (
    "give .jsonl, .csv or .tsv (also as .gz or .zst), .parquet or a Lance dataset, "
    "or pass format (--format) if the name doesn't tell"
)

UNTOLD = (
    "say what the file holds with format (--format): jsonl, csv, parquet or lance; an export is "
    "jsonl. Or give the name a suffix, as in {name}.jsonl"
)

# A directory with a folder of this name is a Lance dataset.
LANCE_VERSIONS = "_versions"


@frozen
class InputFile:
    name: str
    """As the user named it, or below the directory that the user named."""
    form: Form
    called: str | None = None
    """What messages call it, where that is not its name: a server keeps files for its users."""

    @property
    def file(self) -> str:
        """The name as text, for messages: a disk's names may be any bytes."""
        return _as_text(self.name if self.called is None else self.called)

    @property
    def location(self) -> DiskLocation:
        """Absolute: a worker's working directory is not the driver's."""
        return DiskLocation(Path(self.name).absolute())

    @property
    def state(self) -> FileState:
        """What it is like now."""
        return state_of(self.file, self.location)

    @property
    def size(self) -> int:
        return self.state.size

    @property
    def table(self) -> tuple[str, str]:
        """What makes two names one input. The rows of a table are of the type that it is named
        like, so a file with two such names is two tables."""
        stem = "" if self.form is Form.JSONL else stem_of(self.file)
        return os.path.realpath(self.location.path), stem


@frozen
class NamedFiles:
    """A source that someone has looked up already: files of a disk, and addresses in buckets."""

    files: tuple[InputFile | str, ...]
    came_with_call: bool = False
    """True of files that a server has written down from what a client sent."""


def find_files(sources: Sequence[str], *, form: Form | None = None) -> list[InputFile]:
    """The files of the sources; `form` is that of all of them, whatever their names say."""
    found: dict[tuple[str, str], InputFile] = {}
    for source in sources:
        for file in _files_of(source, form):
            # Arrow and Lance take names as text only.
            if file.form in (Form.PARQUET, Form.LANCE) and not _is_text(str(file.location)):
                raise unreadable(
                    file.name, "rename the file or its directory so that the path is valid UTF-8"
                )
            found.setdefault(file.table, file)
    return list(found.values())


def stem_of(file: str) -> str:
    """The name without its directory and the suffixes that tell its form."""
    path = Path(file)
    while suffix_of(path) in (*SUFFIXES, *PACKED_SUFFIXES):
        path = path.with_suffix("")
    return path.name


def _files_of(source: str, form: Form | None) -> Iterator[InputFile]:
    if not source:
        # A path that is left empty by mistake would be the directory that one happens to be in.
        raise ArgumentInvalid(argument="path", value=source, rule="it is empty")
    if "://" in source:
        instead = "copy the files to a local disk or to a bucket (s3://…)"
        raise Unsupported(what=f"loading from {source}", instead=instead)
    path = Path(source)
    with reading_file(_as_text(source)):
        is_directory, is_there = path.is_dir(), path.exists()
    if is_directory:
        yield from _files_in(path, form)
    elif is_there:
        yield InputFile(source, _form_of_file(path, form))
    # `Path.glob` takes no absolute pattern.
    elif glob.has_magic(source) and (found := glob.glob(source, recursive=True)):  # noqa: PTH207
        for name in sorted(found):
            yield from _files_of(name, form)
    else:
        raise FileMissing(path=_as_text(source))


def _files_in(directory: Path, form: Form | None) -> Iterator[InputFile]:
    """Files that programs leave beside data (`_SUCCESS`, `.part.crc`) and texts are skipped."""
    if _is_lance(directory):
        yield InputFile(str(directory), Form.LANCE)
        return
    wanted = []
    for path in _below(directory, seen=set()):
        if path.is_dir():
            wanted.append(InputFile(str(path), Form.LANCE))
        elif form or form_of(path) or suffix_of(path) in OTHER_DATA_SUFFIXES:
            wanted.append(InputFile(str(path), _form_of_file(path, form)))
    if not wanted and not _is_export(directory):
        raise FileMissing(path=_as_text(str(directory / "*.{jsonl,csv,parquet}")))
    yield from wanted


def _is_export(directory: Path) -> bool:
    """True if an export has written it, whose parts are none if it has no rows."""
    manifest = directory / MANIFEST
    with reading_file(_as_text(str(manifest))):
        return manifest.is_file() and is_ours(manifest.read_bytes())


def _size_of(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None


def _below(directory: Path, *, seen: set[str]) -> Iterator[Path]:
    """Every file and dataset below the directory, by name. Exports among them are whole."""
    # A link may lead back to where it came from.
    resolved = os.path.realpath(directory)
    if resolved in seen:
        return
    seen.add(resolved)
    with reading_file(_as_text(str(directory))):
        if (directory / GRAPH).is_file():
            raise graph_itself(str(directory))
        paths = sorted(directory.iterdir())
        takes = files_to_take(
            _as_text(str(directory)),
            lambda name: _size_of(directory / name),
            lambda name: (directory / name).read_bytes(),
        )
    for path in paths:
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir() and not _is_lance(path):
            deeper = _below(path, seen=seen)
            yield from (one for one in deeper if takes(one.relative_to(directory).as_posix()))
        elif not takes(path.name):
            continue
        elif path.exists():
            yield path
        else:
            raise FileMissing(path=_as_text(str(path)))


def _is_lance(directory: Path) -> bool:
    return (directory / LANCE_VERSIONS).is_dir()


def _form_of_file(path: Path, form: Form | None) -> Form:
    """The form of a file that is there."""
    found = form or form_of(path)
    if found is None:
        raise untold(str(path))
    # A pipe has no size and can't be read from the middle, nor twice.
    if not path.is_file():
        raise unreadable(str(path), "give a regular file, or its lines as standard input (-)")
    return found


def form_of(path: Path) -> Form | None:
    """The form that the name tells; None if it tells none. A Lance dataset is not a file."""
    suffix = suffix_of(path)
    if suffix in PACKED_SUFFIXES:
        inner = SUFFIXES.get(suffix_of(path.stem))
        return inner if inner in (Form.JSONL, Form.CSV) else None
    form = SUFFIXES.get(suffix)
    return None if form is Form.LANCE else form


def unreadable(name: str, instead: str = READABLE) -> Unsupported:
    return Unsupported(what=f"loading {_as_text(name)}", instead=instead)


def untold(name: str) -> Unsupported:
    """Why a file can't be loaded whose name tells no form that can be read."""
    if suffix_of(Path(name)):
        return unreadable(name)
    text = _as_text(name)
    what = f"loading {text}, a name that doesn't tell what is in the file,"
    return Unsupported(what=what, instead=UNTOLD.format(name=_as_text(Path(name).name)))


def graph_itself(name: str) -> Unsupported:
    """Why the files of a graph are not loaded: they are named by numbers, and not all are shown."""
    instead = "export that graph, and load what it writes"
    return Unsupported(what=f"loading the files of a graph ({_as_text(name)})", instead=instead)


def _is_text(name: str) -> bool:
    return name == _as_text(name)


def _as_text(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()
