"""Agents: `POST /graphs/{id}/mcp`, the Model Context Protocol under the server's tokens and policy.

Calls of tools run where other requests do: reads wait for a thread of reads, writes for a place of
their actor. The protocol's SDK takes a second to import, so the first request of an agent does it.
"""

import importlib.util
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio.to_thread

from omnigraph.base.errors import DependencyMissing, OmnigraphError, StorageError
from omnigraph.base.ids import MAIN
from omnigraph.engine.gate import Action
from omnigraph.surfaces.server.access import INVOKE_QUERY, UnderPolicy, Where, may
from omnigraph.surfaces.server.admission import Admission
from omnigraph.surfaces.server.calls import Call, Reply, Whole
from omnigraph.surfaces.server.errors import defect_output, error_output, for_clients
from omnigraph.surfaces.server.logs import MEMBERS
from omnigraph.surfaces.server.models.errors import AgentErrorOutput
from omnigraph.surfaces.server.observed import Account
from omnigraph.surfaces.server.operations import GRAPH, READING, Operation, Work
from omnigraph.surfaces.server.presence import Message

if TYPE_CHECKING:
    from omnigraph.surfaces.mcp.caller import Caller
    from omnigraph.surfaces.mcp.tool import Answer

__all__ = ["AGENT", "Agents", "agents"]

log = logging.getLogger("omnigraph.server")

T = TypeVar("T")

AGENT = "Omnigraph-Agent"
"""The header by which agents of one actor are told apart: each has a branch of its own."""


def agents() -> tuple[Operation, ...]:
    return (
        Operation(
            id="mcp",
            method="POST",
            path=f"{GRAPH}/mcp",
            summary="Speak the Model Context Protocol, as agents do.",
            handler=_on_the_loop,
            is_for_agents=True,
            headers=(),
            body=dict,
            answer=dict,
            statuses=(*READING, 415, 501),
            errors=AgentErrorOutput,
        ),
    )


def _on_the_loop(call: Call) -> Reply:
    raise AssertionError("the app hands requests of agents to Agents")


class Runs(Protocol):
    """Where work is done: the app."""

    admission: Admission

    async def in_turn(self, call: Call, work: Callable[[Call], T]) -> T: ...

    async def as_write(self, work: Callable[[], T]) -> T: ...


class Agents:
    """Answers agents of one server."""

    def __init__(self, app: Runs, *, may_write: bool) -> None:
        self._app = app
        self._may_write = may_write
        self._validators: Any = None

    async def answer(self, call: Call, scope: Message, account: Account) -> Reply:
        if self._validators is None:
            await anyio.to_thread.run_sync(_import)
        from omnigraph.surfaces.mcp.arguments import Validators
        from omnigraph.surfaces.mcp.http import answer_over_http
        from omnigraph.surfaces.mcp.protocol import server_for

        self._validators = self._validators or Validators()
        account.work = Work.READ
        caller = self._caller(call, scope)

        async def run(
            work: "Callable[[Caller], T]", caller: "Caller", *, is_write: bool, what: str
        ) -> T:
            call.notes["tool"] = what
            if not is_write:
                return await self._app.in_turn(
                    call, lambda call: work(replace(caller, timeout_s=call.timeout_s))
                )
            account.work = Work.WRITE
            with self._app.admission.write(call.actor):
                return await self._app.as_write(lambda: work(caller))

        def shape(failure: Exception, caller: "Caller") -> "Answer":
            return _told(failure, caller, account)

        server = server_for(lambda client: caller, run, shape=shape, validators=self._validators)
        answer = await answer_over_http(server, scope, call.body)
        return Whole(answer.body, media_type=answer.media_type, status=answer.status)

    def _caller(self, call: Call, scope: Message) -> "Caller":
        from omnigraph.surfaces.mcp.caller import Caller, Place, Writing, distinct_slug, slug
        from omnigraph.surfaces.mcp.offered import FileQueries

        access, actor = call.access, call.actor

        def allow(action: Action, branch: str | None, target: str | None) -> None:
            access.allow(actor, action, Where(branch=branch, target=target))

        writing = None
        if self._may_write:
            session = slug(call.headers.get(AGENT), "mcp")
            # Who may write which branch is for the policy to say, as on every other route.
            name = "anyone" if actor is None else distinct_slug(actor, "actor")
            writing = Writing(name=name, session=session, is_any_branch=True)
        host = call.headers.get("host", "localhost")
        url = f"{scope.get('scheme', 'http')}://{host}/graphs/{call.of.id}"
        return Caller(
            graph=call.graph,
            place=Place(("--server", url)),
            base=MAIN,
            writing=writing,
            offered=FileQueries(
                graph=call.graph,
                queries=call.of.queries,
                may_invoke=lambda name: may(access, actor, INVOKE_QUERY, Where(query=name)),
                is_told=not isinstance(access, UnderPolicy),
            ),
            allow=allow,
            timeout_s=call.timeout_s,
            memory_bytes=call.memory_bytes,
            cancel=call.cancel,
            how_to_write="start the server with --mcp-write",
        )


def _import() -> None:
    if importlib.util.find_spec("mcp") is None:
        install = "on the server, pip install 'omnigraph[mcp]' brings what it needs"
        raise DependencyMissing(
            what="the package mcp, which servers of agents need,", install=install
        )
    importlib.import_module("omnigraph.surfaces.mcp.http")


def _told(failure: Exception, caller: "Caller", account: Account) -> "Answer":
    """What an agent hears of a failure; of a defect and of storage no more than other clients."""
    from omnigraph.surfaces.mcp.failures import error_answer
    from omnigraph.surfaces.mcp.tool import Answer

    if isinstance(failure, OmnigraphError):
        failure = for_clients(failure, account.served)
        account.notes["code"] = failure.code
        status, output = error_output(failure, request_id=account.id, kind_of=None)
        if not isinstance(failure, StorageError) or status != 500:
            return error_answer(failure, caller)
    else:
        output = defect_output(account.id)
        account.notes["code"] = output.details["code"]
    log.error("request failed", exc_info=failure, extra={MEMBERS: account.members})
    code = output.details["code"]
    value = {"error": output.error, "code": code, "details": {}, "hint": output.hint}
    return Answer(value, f"{code}: {output.error}\nnext: {output.hint}")
