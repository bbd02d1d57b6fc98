"""Conditions of worker files, such as ``ready = { log = "Listening" }``: a class for each key.

A worker first meets its condition ``ready``, then ``settled``: only then may its window begin.

A class added here is a key of worker files. Launchers import this: standard library only.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol


class Words(tuple[str, ...]):
    """A command line, split into words."""


class ConditionTarget(Protocol):
    """A launch that conditions are tested on: all copies of a worker, or a service."""

    @property
    def has_output(self) -> bool: ...
    @property
    def has_poke_ended(self) -> bool: ...
    def count_matches(self, pattern: str) -> int: ...
    def are_listening(self, copies: int) -> bool: ...
    def succeeds(self, words: Sequence[str], within_s: float) -> bool: ...


class Condition:
    """A condition with a time limit. Its base classes say in which tables its key may stand."""

    key: ClassVar[str]
    accepts: ClassVar[Any] = str
    """The type of its value."""
    has_placeholders: ClassVar[bool] = True
    """Whether placeholders in its value are filled in; in a regular expression, they are not."""
    interval_s: ClassVar[float] = 0.02
    """The time between two tests."""
    is_momentary: ClassVar[bool] = False
    """Whether it may hold for a moment only, so that ``settled`` tests it several times."""
    is_event: ClassVar[bool] = False
    """Whether it holds forever once it holds, so that ``settled`` cannot wait for it again."""
    seconds: float | None = None
    """The time before the first test."""

    def __init__(self, value: Any, within: float = 30.0) -> None:
        """Takes the value of its key, and the time limit. Raises ``ValueError`` if invalid."""
        self.value, self.within = value, within

    def _asdict(self) -> dict[str, Any]:
        return {"value": self.value, "within": self.within}

    def holds(self, target: ConditionTarget, copies: int) -> bool:
        """Whether so many copies of the worker meet the condition."""
        return True

    def hint(self, target: ConditionTarget) -> str:
        """The end of a message that the time limit was exceeded, with a possible reason."""
        return ""


class Readiness(Condition):
    """A condition for ``ready`` and ``settled``."""


class Answer(Condition):
    """A condition for ``done``: a poke has been handled."""


class LogLine(Readiness, Answer):
    """A line of the output matches a regular expression."""

    key, has_placeholders, is_event = "log", False, True

    def __init__(self, value: Any, within: float = 30.0) -> None:
        super().__init__(value, within)
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"log is not a regular expression: {error}") from error

    def holds(self, target: ConditionTarget, copies: int) -> bool:
        return target.count_matches(self.value) >= copies

    def hint(self, target: ConditionTarget) -> str:
        buffers = "" if target.has_output else ". Does it buffer its output?"
        return f": no line of its output matches {self.value!r}{buffers}"


class Port(Readiness, Answer):
    """A socket listens on the port that ``{port}`` stands for."""

    key, accepts = "port", Literal[True]

    def holds(self, target: ConditionTarget, copies: int) -> bool:
        return target.are_listening(copies)


class Success(Readiness, Answer):
    """A command ends with exit code 0."""

    key, accepts = "command", Words
    interval_s, is_momentary = 0.3, True

    def holds(self, target: ConditionTarget, copies: int) -> bool:
        return target.succeeds(self.value, self.within)


class Elapsed(Readiness):
    """Some time has passed."""

    key, accepts = "seconds", float

    def __init__(self, value: float, within: float = 30.0) -> None:
        super().__init__(value, within)
        if not 0 <= value <= 3600:
            raise ValueError("seconds is not a number from 0 to 3600")
        self.seconds = value


class PokeEnded(Answer):
    """The command that sends the message has ended."""

    key, accepts = "exit", Literal[True]

    def holds(self, target: ConditionTarget, copies: int) -> bool:
        return target.has_poke_ended
