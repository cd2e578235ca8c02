"""Which graph a command works on, and who works: options of every command that opens a graph.

A graph is named, in this order: by the argument or `--store`, by `--server` and `--graph`, by
`--profile`, by `OMNIGRAPH_PROFILE`, by the defaults of the configuration. A command still gets one
address, as `--store`; `options.open_graph` sees by it that the graph is on a server.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from omnigraph.base.errors import ArgumentInvalid, LocalOnly
from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.configuration.file import CONFIG_FILE, Config, Profile, read_config
from omnigraph.surfaces.cli.options import OTHER_WAYS, open_graph
from omnigraph.surfaces.cli.output import say

if TYPE_CHECKING:
    from omnigraph.engine.handles.graph import Graph

__all__ = ["graph_said", "is_url", "offer_addresses", "server_url", "their_config"]

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="A server that has the graph, instead of --store.",
        metavar="NAME|URL",
        autocompletion=completing.servers,
    ),
]
GraphOption = Annotated[
    str | None, typer.Option("--graph", help="Which graph of the server.", metavar="ID")
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="A profile of your configuration.",
        metavar="NAME",
        autocompletion=completing.profiles,
    ),
]
MAKES_STORAGE = frozenset({"init"})
SERVERS = frozenset({"serve"})


def offer_addresses(app: typer.Typer) -> None:
    """Add the options to each command that has `--store`, but to those that are a server."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_address(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            offer_addresses(group.typer_instance)


def their_config(*, tells: bool = True) -> Config:
    """The configuration of whoever types; it `tells` them of keys that are not known."""
    from omnigraph.engine.settings import Settings

    if (home := Settings.from_environment().home) is None:
        return Config(Path(CONFIG_FILE))
    config = read_config(home)
    for warning in config.warnings if tells else ():
        say(f"warning: {warning}")
    return config


def is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def server_url(server: str, config: Config, *, argument: str = "--server") -> str:
    """The URL of a server that is named by its URL or by a name of the configuration."""
    if is_url(server):
        return server.rstrip("/")
    if (url := config.servers.get(server)) is None:
        rule = "it is neither a URL, such as https://host, nor a server of your configuration"
        raise ArgumentInvalid(argument, server, rule, name_hint(server, config.servers))
    return url


def graph_said(given: Mapping[str, Any]) -> "Graph":
    """The graph that a command line names so far, to be read; an error if it names none."""
    said = _Said(
        store=given.get("store") or given.get("uri"),
        server=given.get("server"),
        graph=given.get("graph"),
        profile=given.get("profile"),
    )
    said.check()
    return open_graph(
        _completed({"store": said.store}, said, is_needed=True)["store"], read_only=True
    )


def _with_address(command: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(command)
    names = signature.parameters
    if "store" not in names or command.__name__ in SERVERS:
        return command
    # A command whose --graph is something else takes a URL that names the graph.
    has_graph = "graph" not in names
    # The others work on files, and on a graph only if one is named.
    is_about_a_graph = names["store"].default is inspect.Parameter.empty or "uri" in names

    @wraps(command)
    def run(*, server: str | None = None, profile: str | None = None, **given: Any) -> Any:
        graph = given.pop("graph", None) if has_graph else None
        if not has_graph and given["graph"] and server is not None and given.get("uri"):
            # Typed as `--graph ID`, of which the flag took the first word alone.
            raise typer.BadParameter(
                "--graph of this command draws: name the graph in the URL, --server URL/graphs/ID"
            )
        said = _Said(
            store=given["store"] or given.get("uri"), server=server, graph=graph, profile=profile
        )
        said.check()
        if command.__name__ in MAKES_STORAGE:
            if said.server is not None or said.profile is not None:
                raise LocalOnly(command.__name__)
            is_needed = False
        else:
            is_needed = is_about_a_graph and not _is_about_a_file(names, given)
        return command(**_completed(given, said, is_needed=is_needed))

    added = {
        "server": ServerOption,
        **({"graph": GraphOption} if has_graph else {}),
        "profile": ProfileOption,
    }
    parameters = [
        p if name != "store" else p.replace(annotation=_optional(p.annotation), default=None)
        for name, p in names.items()
    ]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in added.items()
    ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


@frozen
class _Said:
    """What a command line says of where the graph is."""

    store: str | None
    server: str | None
    graph: str | None
    profile: str | None

    def check(self) -> None:
        ways = {"--store": self.store, "--server": self.server, "--profile": self.profile}
        taken = [option for option, value in ways.items() if value is not None]
        if len(taken) > 1:
            raise typer.BadParameter(f"name the graph once: with {' or with '.join(taken)}")
        if self.graph is not None and self.store is not None:
            raise typer.BadParameter("--graph is a graph of a server: give --server, not --store")


def _is_about_a_file(names: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> bool:
    """True for `embed --data FILE`."""
    return "data" in names and names["data"].default is None and given["data"] is not None


def _completed(given: Mapping[str, Any], said: _Said, *, is_needed: bool) -> dict[str, Any]:
    """The arguments of a command, with the address, the actor and the format that were left out."""
    whole, config = dict(given), their_config()
    if said.store is not None or said.server is not None:
        chosen = Profile(store=said.store, server=said.server, graph=said.graph)
    elif is_needed or said.profile is not None:
        chosen = _chosen(config, said.profile)
        if said.graph is not None:
            chosen = replace(chosen, graph=said.graph)
    else:
        chosen = Profile(graph=said.graph)
    if said.graph is not None and chosen.server is None:
        raise typer.BadParameter("--graph is a graph of a server: give --server too")
    address = _address(chosen, config)
    # A command that takes it as an argument says so itself.
    if address is None and is_needed and "uri" not in given:
        raise typer.BadParameter(f"name the graph: {OTHER_WAYS}")
    if said.store is None:
        whole["store"] = address
    if whole.get("actor", "") is None and not (address is not None and is_url(address)):
        # A server knows who acts by the token.
        whole["actor"] = chosen.actor or config.actor
    if whole.get("style", "") is None and not whole.get("as_json"):
        whole["style"] = chosen.format or config.defaults.format
    return whole


def _chosen(config: Config, profile: str | None) -> Profile:
    """The profile that is in force where the command names no graph."""
    from omnigraph.engine.settings import Settings

    asked = (
        ("--profile", profile),
        ("OMNIGRAPH_PROFILE", Settings.from_environment().profile),
        ("defaults.profile", config.default_profile),
    )
    for argument, name in asked:
        if name is not None:
            if (found := config.profiles.get(name)) is None:
                rule = f"there is no such profile in {config.path}"
                raise ArgumentInvalid(argument, name, rule, name_hint(name, config.profiles))
            return found
    return config.defaults


def _address(profile: Profile, config: Config) -> str | None:
    if profile.server is None:
        return profile.store
    url = server_url(profile.server, config)
    if profile.graph is not None:
        return f"{url}/graphs/{quote(profile.graph, safe='')}"
    if "/graphs/" not in url:
        rule = "say which graph of the server: with --graph, or as URL/graphs/ID"
        raise typer.BadParameter(rule)
    return url


def _optional(annotation: Any) -> Any:
    """The same option where it may be left out."""
    return Annotated[str | None, *annotation.__metadata__]
