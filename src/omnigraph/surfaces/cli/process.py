"""`omnigraph` as a process of its own, which begins and ends without work that nobody sees.

Both are a matter of Python's memory: a command needs a hundred thousand objects that are imported
and stay. To look for garbage among them takes a fifth of the time of a small query, to take them
down one by one at the end as much again.
"""

import atexit
import gc
import os
import sys

__all__ = ["program", "server_program", "settle"]

WHILE_IMPORTING = 1_000_000
"""So many new objects make Python look for garbage; a command imports fewer."""


def program() -> None:
    """`omnigraph`: run the command of `sys.argv`, and end the process."""
    gc.set_threshold(WHILE_IMPORTING)
    status = _Status()
    # The first to be registered is the last to be called: after threads, temporary files and JVMs.
    atexit.register(status.leave)
    from omnigraph.surfaces.cli.main import main

    try:
        main()
    except SystemExit as leaving:
        status.code = leaving.code
        raise
    else:
        status.code = None


def server_program() -> None:
    """`omnigraph-server`: the same as `omnigraph serve`."""
    sys.argv.insert(1, "serve")
    program()


def settle() -> None:
    """What is there now was imported and stays. Look for garbage in what comes, as Python does."""
    if gc.get_threshold()[0] == WHILE_IMPORTING:
        gc.freeze()
        gc.set_threshold(700)


class _Status:
    code: object = "unknown: something else than an exit ends the process"

    def leave(self) -> None:
        """End the process at once, unless Python has something to say about how it ends."""
        if not isinstance(self.code, int | None):
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                # A process may be started without the one or the other.
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            return
        os._exit(self.code or 0)
