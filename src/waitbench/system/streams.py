"""The standard streams: those that the caller closed, and what may be printed to them."""

import os
import sys


def open_closed() -> None:
    """Gives this process a null device for each standard stream that its caller closed.

    The next file that is opened would have its number, and what is printed would get into it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def printable(text: str) -> str:
    """A text without what would command a terminal, reorder its letters or break a file.

    Tabs and line breaks stay; each other character that cannot be seen becomes ``�``.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\t\n" else "\ufffd" for one in text)
