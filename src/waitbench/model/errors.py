"""Errors as sentences. Raised where they are found, printed once, by runner.py."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to a script. With several, 3 beats 1."""

    OK = 0
    REGRESSION = 1
    USAGE = 2
    FAILED = 3
    INTERRUPTED = 130


class HarnessError(Exception):
    """An error whose message is a sentence for the user, with what to do next."""

    exit_code = ExitCode.FAILED


class UsageError(HarnessError):
    """The request cannot be understood; nothing has been created."""

    exit_code = ExitCode.USAGE
