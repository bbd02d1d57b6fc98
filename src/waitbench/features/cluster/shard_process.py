"""Runs the command line in a process that ends when its stdin is closed."""

import os
import runpy
import signal
import threading


def end_with_stdin() -> None:
    """Ends this process by SIGTERM at the end of stdin."""

    def wait() -> None:
        os.read(0, 1)  # the worker writes nothing, and closes stdin when it ends
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    end_with_stdin()
    runpy.run_module("waitbench", run_name="__main__")
