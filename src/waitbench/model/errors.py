"""Errors as sentences. Raised where they are found, printed once, by the command line."""

import re
from enum import IntEnum

_SECRET = re.compile(
    r"(?<=://)[^/\s]+(?=@)|(?<=[?&])([\w-]*(?:token|key|secret|password|signature|sig)=)[^&#\s'\"]+",
    re.I,
)
"""What stands before the host of a URL, a name and a password or a token, and one in its query."""


class ExitCode(IntEnum):
    """What the process says to a script. With several, 3 beats 1."""

    OK = 0
    REGRESSION = 1
    USAGE = 2
    FAILED = 3
    INTERRUPTED = 130


def masked(text: str) -> str:
    """A text without the secrets of the URLs in it."""
    return _SECRET.sub(lambda match: f"{match[1] or ''}***", text)


class HarnessError(Exception):
    """An error whose message is a sentence for the user, with what to do next.

    What stands in it is masked: it goes to terminals, logs and result files.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))

    @property
    def reason(self) -> str:
        """Its first line, which is a whole sentence: what an outcome says in one line."""
        return str(self).splitlines()[0]


class UsageError(HarnessError):
    """The request cannot be understood; nothing has been created."""

    exit_code = ExitCode.USAGE
