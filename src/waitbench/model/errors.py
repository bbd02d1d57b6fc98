"""Errors, which have a sentence for the user, and the exit codes of commands."""

import re
from collections.abc import Iterable
from enum import IntEnum

_SECRET = re.compile(
    r"(?<=://)[^/\s]+(?=@)|(?<=[?&])([\w-]*(?:token|key|secret|password|signature|sig)=)[^&#\s'\"]+",
    re.I,
)
"""The credentials in a URL: user and password before the host, and secrets in the query."""


class ExitCode(IntEnum):
    """The exit code of a command. In a gate, 1 takes precedence over 3; in ``track``, 3 over 1."""

    OK = 0
    REGRESSION = 1
    USAGE = 2
    FAILED = 3
    INTERRUPTED = 130


def masked(text: str) -> str:
    """Replaces the credentials of all URLs in a text."""
    return _SECRET.sub(lambda match: f"{match[1] or ''}***", text)


def sanitize(text: str) -> str:
    """Replaces control characters, which a terminal would obey, by ``�``."""
    return "".join(c if c.isprintable() or c in "\t\n" else "\ufffd" for c in text)


def hint(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a message on an unknown name: a similar name, or ``otherwise``, or all names."""
    # Launchers do not need it.
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    if near := get_close_matches(name, names, 1):
        return f" (did you mean {near[0]!r}?)"
    return otherwise or f". There are: {', '.join(names) or 'none'}"


class HarnessError(Exception):
    """An error whose message the command prints, with credentials masked. It exits with 3."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))

    @property
    def reason(self) -> str:
        """The first line of the message, which is a whole sentence."""
        return str(self).splitlines()[0]


class UsageError(HarnessError):
    """An error in the request, found before anything was created. The command exits with 2."""

    exit_code = ExitCode.USAGE
