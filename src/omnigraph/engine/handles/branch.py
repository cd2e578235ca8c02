"""`Branch`: one branch of a graph, to read and to write.

with graph.branch("agent/1") as branch:
    branch.mutate("people.gq", "hire", {"name": "Ada"})
    branch.query("people.gq", "staff")
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import (
    EmbedOnly,
    ImportFormat,
    LoadEngine,
    LoadModeName,
    OnError,
    OutputMode,
    SourceFormat,
)
from omnigraph.base.errors import ArgumentInvalid
from omnigraph.base.ids import BranchName, CommitId
from omnigraph.base.progress import Progress
from omnigraph.engine.backend import Backend
from omnigraph.engine.handles.at import At, moment_of
from omnigraph.engine.handles.reads import Reads
from omnigraph.engine.requests import (
    CommitsRead,
    Embed,
    Import,
    Load,
    Moment,
    Mutation,
    Optimize,
    Read,
    StreamLoad,
)
from omnigraph.engine.results import (
    CommitList,
    EmbedResult,
    LoadResult,
    MutationResult,
    OptimizeResult,
)
from omnigraph.engine.text import Text
from omnigraph.engine.travel import check_moment, hold

if TYPE_CHECKING:
    from omnigraph.engine.import_plan import ImportPlan
    from omnigraph.pipeline.sources.mapping import MappingArgument
    from omnigraph.pipeline.streaming import Stream

__all__ = ["Branch"]


class Branch(Reads):
    """A branch. `Graph.branch` makes it; each read sees the head of the branch at that time."""

    def __init__(self, backend: Backend, name: str | None) -> None:
        super().__init__(backend, name)

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self._branch

    def __repr__(self) -> str:
        return f"<Branch {self.name} of {self.backend.uri}>"

    def __enter__(self) -> "Branch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The branch stays: it needs no closing."""

    def mutate(
        self,
        source: Text,
        name: str | Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        actor: str | None = None,
        message: str | None = None,
        if_commit: CommitId | str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> MutationResult:
        """Run one mutation of `source` as one commit; see `Graph.mutate`."""
        from omnigraph.engine.mutate import mutate

        limits = {"timeout_s": timeout_s, "cancel": cancel}
        why = self._why(actor, message)
        once = {"if_commit": if_commit, "request_id": request_id}
        request = Mutation.of(source, name, params, **once, **limits, **why)
        return self.backend.run(mutate, request)

    def load(
        self,
        source: object,
        *,
        mode: LoadModeName,
        from_: str | None = None,
        mapping: "MappingArgument" = None,
        format: SourceFormat | None = None,
        on_error: OnError = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        dry_run: bool = False,
        load_id: str | None = None,
        resume: bool = False,
        embed: bool = False,
        engine: LoadEngine | None = None,
        actor: str | None = None,
        message: str | None = None,
        spark: Any = None,
        progress: Progress | None = None,
    ) -> LoadResult:
        """Load files, frames or rows as one commit; see `Graph.load`."""
        from omnigraph.engine.load.load import load

        request = Load(
            source=source,
            mode=mode,
            from_=BranchName(from_) if from_ is not None else None,
            mapping=mapping,
            format=format,
            on_error=on_error,
            quarantine=quarantine,
            max_errors=max_errors,
            dry_run=dry_run,
            load_id=load_id,
            resume=resume,
            embed=embed,
            engine=engine,
            spark=spark,
            **self._why(actor, message),
        )
        return self.backend.run(load, request, progress)

    def import_(
        self,
        source: "str | os.PathLike[str] | ImportPlan",
        *,
        format: ImportFormat | None = None,
        mapping: "MappingArgument" = None,
        mode: LoadModeName = "append",
        from_: str | None = None,
        on_error: OnError = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        dry_run: bool = False,
        engine: LoadEngine | None = None,
        actor: str | None = None,
        message: str | None = None,
        spark: Any = None,
        progress: Progress | None = None,
    ) -> LoadResult:
        """Import what another system has written, as one commit; see `Graph.import_`."""
        # Few processes import anything.
        from omnigraph.engine.imports import import_

        request = Import(
            source=source,
            import_format=format,
            mapping=mapping,
            mode=mode,
            from_=BranchName(from_) if from_ is not None else None,
            on_error=on_error,
            quarantine=quarantine,
            max_errors=max_errors,
            dry_run=dry_run,
            engine=engine,
            spark=spark,
            **self._why(actor, message),
        )
        return self.backend.run(import_, request, progress)

    def stream(
        self,
        source: object,
        *,
        mode: LoadModeName,
        checkpoint: str | os.PathLike[str],
        mapping: "MappingArgument" = None,
        on_error: OnError = "fail",
        quarantine: str | os.PathLike[str] | None = None,
        max_errors: int | None = None,
        trigger: Mapping[str, Any] | None = None,
        output_mode: OutputMode = "append",
        actor: str | None = None,
        message: str | None = None,
        on_batch: Callable[[LoadResult], None] | None = None,
    ) -> "Stream":
        """Begin to load a stream of Spark's; see `Graph.stream`."""
        from omnigraph.engine.load.stream import stream

        request = StreamLoad(
            source=source,
            mode=mode,
            checkpoint=checkpoint,
            mapping=mapping,
            on_error=on_error,
            quarantine=quarantine,
            max_errors=max_errors,
            trigger=trigger or {},
            output_mode=output_mode,
            on_batch=on_batch,
            **self._why(actor, message),
        )
        return self.backend.run(stream, request)

    def embed(
        self,
        types: Iterable[str] | None = None,
        *,
        only: EmbedOnly = "missing",
        engine: LoadEngine | None = None,
        actor: str | None = None,
        message: str | None = None,
        spark: Any = None,
        progress: Progress | None = None,
    ) -> EmbedResult:
        """Make the vectors that `@embed` asks for, as one commit; see `Graph.embed`."""
        from omnigraph.engine.embed import embed

        why = self._why(actor, message)
        request = Embed.of(types, only=only, engine=engine, spark=spark, **why)
        return self.backend.run(embed, request, progress)

    def optimize(self, *, actor: str | None = None, message: str | None = None) -> OptimizeResult:
        """Compact the tables and bring their indexes up to date. No answer changes."""
        from omnigraph.engine.maintain import optimize

        return self.backend.run(optimize, Optimize(**self._why(actor, message)))

    def commits(self, *, limit: int | None = None, actor: str | None = None) -> CommitList:
        """The commits of the branch, newest first; with `actor`, only that actor's."""
        from omnigraph.engine.history import commits

        request = CommitsRead(limit=limit, by=actor, **self._where())
        return CommitList(self.backend.run(commits, request))

    def snapshot(self) -> At:
        """The head of the branch, held still."""
        return At(self.backend, self.backend.run(hold, Read(**self._where())))

    def at(self, moment: Moment | At) -> At:
        """The past of the branch, held still; see `Graph.at`."""
        if moment is None:
            raise ArgumentInvalid(
                argument="moment",
                value=None,
                rule="it must be a commit, a version or a time",
                advice="snapshot() holds the newest commit",
            )
        if not isinstance(moment, At):
            check_moment("moment", moment)
        where = {**self._where(), "moment": moment_of(self.backend, moment)}
        return At(self.backend, self.backend.run(hold, Read(**where)))

    def _why(self, actor: str | None, message: str | None) -> dict[str, Any]:
        who = self.backend.actor if actor is None else actor
        return {"branch": self._branch, "actor": who, "message": message}
