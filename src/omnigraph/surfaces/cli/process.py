"""`omnigraph` as a process of its own, which begins and ends without work that nobody sees.

At its end Python takes down every module and object, one by one, to give back memory that the
system takes back anyway. That is a quarter of the time of a small query.
"""

import atexit
import os
import sys

from omnigraph.surfaces.cli.garbage import put_off

__all__ = ["program", "server_program"]


def program() -> None:
    """`omnigraph`: run the command of `sys.argv`, and end the process."""
    put_off()
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
