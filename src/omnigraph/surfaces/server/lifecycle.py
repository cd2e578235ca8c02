"""The life of a server: start, answer, reload, stop.

Signals are ours: uvicorn would end with the signal's status. SIGTERM and SIGINT let requests under
way end and the process leave with 0; SIGHUP reloads.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

import uvicorn
import uvloop

from omnigraph.base.errors import ArgumentInvalid, OmnigraphError
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.guard import guarded
from omnigraph.surfaces.server.heaps import share_heaps
from omnigraph.surfaces.server.jobs.places import Places
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.logs import log_to_stderr
from omnigraph.surfaces.server.offering import Offer, offer_of
from omnigraph.surfaces.server.starting import ServerConfig, callers_of, open_spool
from omnigraph.surfaces.server.upkeep import Upkeep

__all__ = ["serve", "uvicorn_config"]

log = logging.getLogger("omnigraph.server")

SWITCH_S = 0.001
"""How long a thread keeps the interpreter while others wait. At the usual 5 ms, a short request
beside long ones waits four times as long."""
BACKLOG = 512


def serve(config: ServerConfig, announce: Callable[[str], None] | None = None) -> None:
    """Serve until a signal says to stop. Nothing is listened to before everything is there.

    `announce` is told the address instead of the log, which then tells of what goes wrong alone.
    """
    log_to_stderr(logging.INFO if announce is None else logging.WARNING)
    sys.setswitchinterval(SWITCH_S)
    share_heaps()
    places = Places.named(config.load_from)
    offer = offer_of(config)
    app: App | None = None
    upkeep: Upkeep | None = None
    try:
        serving = offer.serving()
        listening = _listen(config)
        host, port = listening.getsockname()[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        app = App(
            serving,
            config.limits,
            spool=open_spool(config),
            places=places,
            callers=callers_of(config, address),
            may_agents_write=config.may_agents_write,
        )
        upkeep = Upkeep(offer.graphs, app.metrics, pause_s=config.upkeep_s)
        if announce is not None:
            announce(address)
        elif config.port == 0:
            sys.stdout.write(f"OMNIGRAPH_LISTEN_ADDR={address}\n")
            sys.stdout.flush()
        log.info("listening on %s, port %d", host, port)
        server = _Server(uvicorn_config(app, config.limits), app, offer, upkeep)
        upkeep.start()
        app.jobs.begin()
        uvloop.run(server.serve(sockets=[listening]))
    finally:
        has_ended = app is None or app.jobs.close(config.limits.shutdown_s)
        has_ended &= upkeep is None or upkeep.wait(config.limits.shutdown_s)
        offer.close()
    log.info("stopped")
    if not has_ended:
        _leave()


def _leave() -> NoReturn:
    """End the process beside a build or a load that goes on; all other work is waited for.

    The interpreter would end the build's thread in the middle of a call into Lance, which may
    abort the process.
    """
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def _listen(config: ServerConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=BACKLOG)
    except OSError as error:
        rule = f"it can't be listened to: {error.strerror or error}"
        raise ArgumentInvalid("--bind", f"{config.host}:{config.port}", rule) from None


def uvicorn_config(app: App, limits: ServerLimits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=guarded(limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.max_connections,
        timeout_keep_alive=limits.keep_alive_s,
        timeout_graceful_shutdown=limits.shutdown_s,
        backlog=BACKLOG,
    )


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        app: App,
        offer: Offer,
        upkeep: Upkeep,
    ) -> None:
        super().__init__(config)
        self._app = app
        self._offer = offer
        self._upkeep = upkeep
        self._reloading: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        loop.add_signal_handler(signal.SIGHUP, self._begin_reload)
        if self._offer.watch_s > 0:
            self._watching = loop.create_task(self._watch())
        yield
        if self._watching is not None:
            self._watching.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Both leave off while requests under way end.
        self._upkeep.tell_to_stop()
        self._app.jobs.stop()
        super().handle_exit(sig, frame)

    async def _watch(self) -> None:
        """Reload when there is something new; what was refused is not tried again until then."""
        refused = False
        while True:
            await asyncio.sleep(self._offer.watch_s)
            try:
                has_moved = await asyncio.to_thread(self._offer.has_moved)
            except OmnigraphError as error:
                # Once: the storage may be away for long.
                if not refused:
                    log.warning("the ledger can't be looked at: %s", error)
                refused = True
                continue
            refused = False
            if has_moved and (self._reloading is None or self._reloading.done()):
                self._begin_reload()

    def _begin_reload(self) -> None:
        before = self._reloading
        self._reloading = asyncio.get_running_loop().create_task(self._reload(before))

    async def _reload(self, before: asyncio.Task[None] | None) -> None:
        """Replace all that a reload replaces, or nothing. Signals that come meanwhile wait."""
        if before is not None:
            await before
        try:
            fresh = await asyncio.to_thread(self._offer.serving)
        except OmnigraphError as error:
            self._refused(str(error))
            return
        except Exception as error:  # noqa: BLE001 - nobody else sees it, and the next one waits
            self._refused("a defect of ours", error)
            return
        self._app.serving = fresh
        self._upkeep.follow(self._offer.graphs)
        self._app.metrics.reloads.labels("done").inc()
        log.info("reloaded")

    def _refused(self, reason: str, defect: Exception | None = None) -> None:
        self._app.metrics.reloads.labels("refused").inc()
        log.error("the reload was refused, and all stays as it was: %s", reason, exc_info=defect)
