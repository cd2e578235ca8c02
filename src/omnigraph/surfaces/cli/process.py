"""`omnigraph` as a process of its own, which begins and ends without work that nobody sees.

At its end Python takes down every module and object, one by one, to give back memory that the
system takes back anyway. That is a quarter of the time of a small query.
"""

import atexit
import os
import sys
from typing import TextIO

from omnigraph.surfaces.cli.garbage import put_off

__all__ = ["program", "server_program"]


def program() -> None:
    """`omnigraph`: run the command of `sys.argv`, and end the process."""
    put_off()
    _fill_closed_streams()
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
        is_answer_lost = not _is_written(sys.stdout)
        _is_written(sys.stderr)
        os._exit(self.code or int(is_answer_lost))


def _fill_closed_streams() -> None:
    """Open nothing in the place of a stream that the process was started without.

    Otherwise the next file that is opened gets its number, and whatever a library prints.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def _is_written(stream: TextIO) -> bool:
    """Write what is left. A reader that has gone away knows; of a full disk a person is told."""
    try:
        stream.flush()
    except BrokenPipeError:
        return False
    except (OSError, ValueError) as error:
        from omnigraph.surfaces.cli.output import say_unwritten

        if stream is sys.stdout:
            say_unwritten(error)
        return False
    return True
