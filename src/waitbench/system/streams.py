"""Standard streams: replacing closed ones, and sanitising text."""

import os
import sys


def open_closed() -> None:
    """Opens closed standard streams: else printed text would end up in the next file opened."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # ``open`` takes the lowest free number.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def printable(text: str) -> str:
    """Replaces characters that could command a terminal or reorder text by ``�``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\t\n" else "\ufffd" for c in text)
