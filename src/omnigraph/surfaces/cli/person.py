"""Commands about the person: login, logout, profile list and show, alias."""

import shlex
import sys
from dataclasses import asdict
from getpass import getpass
from pathlib import Path
from typing import Annotated, Any

import typer

from omnigraph.base.errors import ArgumentInvalid, DeniedError, Unauthorized
from omnigraph.base.nearest import name_hint
from omnigraph.surfaces.cli import completing
from omnigraph.surfaces.cli.addressing import server_url, their_config
from omnigraph.surfaces.cli.configuration.file import Profile
from omnigraph.surfaces.cli.options import JsonOption, QuietOption, group
from omnigraph.surfaces.cli.output import print_json, print_table, print_text, say

__all__ = ["register"]

ServerArgument = Annotated[
    str,
    typer.Argument(
        help="A server of your configuration, or a URL.",
        metavar="NAME|URL",
        autocompletion=completing.servers,
    ),
]
LOGIN_TIMEOUT_S = 30.0


def register(app: typer.Typer) -> None:
    app.command()(login)
    app.command()(logout)
    profile = group("Look at the profiles of your configuration.", example="omnigraph profile list")
    profile.command("list")(list_profiles)
    profile.command("show")(show_profile)
    app.add_typer(profile, name="profile")
    app.command()(alias)


def login(
    server: ServerArgument, *, as_json: JsonOption = False, quiet: QuietOption = False
) -> None:
    """Keep the token that a server knows you by. It is asked for, or read from standard input.

    Example: omnigraph login https://graphs.example.org
    """
    from omnigraph.surfaces.cli.configuration.credentials import keep_token, origin_of

    url, home = server_url(server, their_config(), argument="server"), _home()
    token = _token(url)
    _require_known(url, token)
    keep_token(home, url, token)
    if as_json:
        print_json({"server": origin_of(url), "logged_in": True})
    elif not quiet:
        say(f"logged in to {origin_of(url)}")


def logout(
    server: ServerArgument, *, as_json: JsonOption = False, quiet: QuietOption = False
) -> None:
    """Forget the token of a server.

    Example: omnigraph logout https://graphs.example.org
    """
    from omnigraph.surfaces.cli.configuration.credentials import forget_token, origin_of

    url = server_url(server, their_config(), argument="server")
    was_there = forget_token(_home(), url)
    if as_json:
        print_json({"server": origin_of(url), "logged_in": False, "was_logged_in": was_there})
    elif not quiet:
        done = "logged out of" if was_there else "there was no token of"
        say(f"{done} {origin_of(url)}")


def list_profiles(*, as_json: JsonOption = False) -> None:
    """List the profiles, and the graph of each.

    Example: omnigraph profile list
    """
    config = their_config()
    if as_json:
        profiles = [{"name": name, **asdict(each)} for name, each in config.profiles.items()]
        print_json({"profiles": profiles, "default": config.default_profile})
        return
    print_table(
        ("profile", "graph", "actor", "format"),
        (
            (name, _where(each), each.actor or config.actor, each.format)
            for name, each in config.profiles.items()
        ),
    )
    if not config.profiles:
        say(f"there are no profiles in {config.path}")


def show_profile(
    name: Annotated[str, typer.Argument(help="The profile.", autocompletion=completing.profiles)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Show one profile.

    Example: omnigraph profile show work
    """
    config = their_config()
    if (found := config.profiles.get(name)) is None:
        rule = f"there is no such profile in {config.path}"
        raise ArgumentInvalid("profile", name, rule, name_hint(name, config.profiles))
    shown: dict[str, Any] = {"name": name, **asdict(found)}
    if as_json:
        print_json(shown)
        return
    for member, value in shown.items():
        if value is not None:
            print_text(f"{member}: {value}")


def alias(*, as_json: JsonOption = False) -> None:
    """List the aliases of your configuration. An alias is typed like a command.

    Example: omnigraph alias
    """
    aliases = their_config().aliases
    if as_json:
        print_json({"aliases": [{"name": name, "words": w} for name, w in aliases.items()]})
    else:
        print_table(("alias", "stands for"), ((n, shlex.join(w)) for n, w in aliases.items()))


def _where(profile: Profile) -> str | None:
    if profile.server is None:
        return profile.store
    return f"{profile.graph} on {profile.server}" if profile.graph else profile.server


def _home() -> Path:
    from omnigraph.engine.settings import Settings

    if (home := Settings.from_environment().home) is None:
        rule = "there is no home to keep a token in"
        raise ArgumentInvalid("OMNIGRAPH_HOME", None, rule, "set it to a directory of yours")
    return home


def _token(url: str) -> str:
    asks = sys.stdin.isatty()
    token = (getpass(f"Token for {url}: ") if asks else sys.stdin.readline()).strip()
    if not token:
        raise ArgumentInvalid("token", None, "no token was given, and nothing is kept")
    return token


def _require_known(url: str, token: str) -> None:
    """Raise unless the server knows the token. It need not let its owner list graphs."""
    from omnigraph.surfaces.client.exchange import Exchange, Message
    from omnigraph.surfaces.client.pool import Address

    server = url.partition("/graphs/")[0]
    exchange = Exchange(Address.parse(server), token=token, timeout_s=LOGIN_TIMEOUT_S)
    try:
        exchange.ask(Message(path="/graphs", is_write=False, method="GET"))
    except Unauthorized:
        raise
    except DeniedError:
        return
    finally:
        exchange.close()
