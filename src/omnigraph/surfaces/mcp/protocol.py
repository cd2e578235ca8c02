"""The protocol over the table of tools: a server of the SDK for one agent, over any transport.

The SDK checks no argument and answers an exception with its text. So both are done here: what goes
wrong in a call becomes an answer that its agent can act on, and a defect is told to the log alone.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import omnigraph
from omnigraph.base.errors import LimitExceeded, NameMissing, OmnigraphError
from omnigraph.surfaces.mcp.arguments import Validators, checked
from omnigraph.surfaces.mcp.caller import Caller
from omnigraph.surfaces.mcp.failures import defect_answer, error_answer
from omnigraph.surfaces.mcp.instructions import instructions
from omnigraph.surfaces.mcp.pages import json_text
from omnigraph.surfaces.mcp.resources import QUERY_TEMPLATE, list_resources, read_resource
from omnigraph.surfaces.mcp.tool import Answer, Tool
from omnigraph.surfaces.mcp.tools import find_tool, listed_tools

__all__ = ["Runs", "server_for"]

T = TypeVar("T")
Context = ServerRequestContext[Any]

NO_SUCH_PARAMS = -32602
FAILED = -32603


class Runs(Protocol):
    """Runs work in a thread, so that the event loop is left to those that wait."""

    async def __call__(
        self, work: Callable[[Caller], T], caller: Caller, *, is_write: bool, what: str
    ) -> T: ...


def server_for(
    callers: Callable[[str | None], Caller],
    run: Runs,
    *,
    shape: Callable[[Exception, Caller], Answer] | None = None,
    validators: Validators | None = None,
) -> Server[Any]:
    """A server of the SDK. `callers` gives the agent, by the name that its client has, if that is
    known; `shape` says what is told of a failure."""
    session = _Session(callers, run, shape or told, validators or Validators())
    return Server(
        "omnigraph",
        title="OmniGraph",
        version=omnigraph.__version__,
        instructions=instructions(callers(None)),
        on_list_tools=session.list_tools,
        on_call_tool=session.call_tool,
        on_list_resources=session.list_resources,
        on_list_resource_templates=session.list_templates,
        on_read_resource=session.read_resource,
    )


def told(failure: Exception, caller: Caller) -> Answer:
    if isinstance(failure, OmnigraphError):
        return error_answer(failure, caller)
    return defect_answer(failure)


class _Session:
    def __init__(
        self,
        callers: Callable[[str | None], Caller],
        run: Runs,
        shape: Callable[[Exception, Caller], Answer],
        validators: Validators,
    ) -> None:
        self._callers = callers
        self._run = run
        self._shape = shape
        self._validators = validators

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        found = await self._read(context, listed_tools, "tools/list")
        return types.ListToolsResult(tools=[_shown(tool) for tool in found])

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        caller = self._caller(context)
        tool = await self._read(
            context, lambda caller: find_tool(caller, params.name), "tools/call"
        )
        try:
            limit = caller.limits.max_argument_bytes

            def work(caller: Caller) -> Answer:
                # First: advice about the arguments of a tool is for agents that may call the tool.
                if not tool.is_reading:
                    caller.must_write()
                given = params.arguments
                arguments = checked(tool, given, self._validators, limit_bytes=limit)
                return _bounded(tool.handler(caller, arguments), caller)

            answer = await self._run(work, caller, is_write=not tool.is_reading, what=tool.name)
            return _result(answer, is_error=False)
        except Exception as failure:  # noqa: BLE001 - the outermost surface
            return _result(self._shape(failure, caller), is_error=True)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = await self._read(context, list_resources, "resources/list")
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=each.uri,
                    name=each.name,
                    description=each.description,
                    mime_type=each.mime_type,
                )
                for each in found
            ]
        )

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=QUERY_TEMPLATE, name="query", description="The text of a stored query."
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        kind, text = await self._read(
            context, lambda caller: read_resource(caller, uri), "resources/read"
        )
        content = types.TextResourceContents(uri=params.uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[content])

    async def _read(self, context: Context, work: Callable[[Caller], T], what: str) -> T:
        """What is read for the protocol itself; raises a failure in its words."""
        caller = self._caller(context)
        try:
            return await self._run(work, caller, is_write=False, what=what)
        except Exception as failure:  # noqa: BLE001 - the outermost surface
            raise self._protocol_error(failure, caller) from None

    def _protocol_error(self, failure: Exception, caller: Caller) -> MCPError:
        answer = self._shape(failure, caller)
        code = NO_SUCH_PARAMS if isinstance(failure, NameMissing) else FAILED
        said, hint = answer.value["error"], answer.value.get("hint")
        return MCPError(code, f"{said}; {hint}" if hint else said, answer.value)

    def _caller(self, context: Context) -> Caller:
        params = context.session.client_params
        return self._callers(params.client_info.name if params is not None else None)


def _bounded(answer: Answer, caller: Caller) -> Answer:
    """The answer with its text; an error if it is far too long for a model."""
    text = json_text(answer.value) if answer.text is None else answer.text
    size = len(text.encode())
    if size > caller.limits.max_answer_bytes:
        what = "the answer in bytes"
        raise LimitExceeded(what=what, limit=caller.limits.max_answer_bytes, found=size)
    return replace(answer, text=text)


def _result(answer: Answer, *, is_error: bool) -> types.CallToolResult:
    text = json_text(answer.value) if answer.text is None else answer.text
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=answer.value,
        is_error=is_error,
    )


def _shown(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_reading,
            destructive_hint=tool.is_destructive,
            idempotent_hint=tool.is_reading or tool.is_idempotent,
            open_world_hint=False,
        ),
    )
