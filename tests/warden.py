"""Runs a command for as long as whoever asked for it lives.

    python tests/warden.py <command> …

It ends when the command does, with its exit code, or when its own standard input ends: that is when
the process that started it closes it, or dies of whatever. Then the command goes, and all that it
has started. Ctrl-C it passes on.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading


def main() -> int:
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)

    def end_with_parent() -> None:
        # Not through `sys.stdin`: a thread that waits in it can't be left behind at the end.
        while os.read(0, 1):
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)

    signal.signal(signal.SIGINT, lambda *_: command.send_signal(signal.SIGINT))
    threading.Thread(target=end_with_parent, daemon=True).start()
    return command.wait()


if __name__ == "__main__":
    sys.exit(main())
