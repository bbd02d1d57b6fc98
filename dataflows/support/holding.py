"""Describes a stateful step of a dataflow, which holds items in a window of time, or a timer.

Windows and timers last longer than the input, to measure the cost of a worker that has state while
it waits.
"""

from typing import Any, Callable, NamedTuple, Union

Key = Callable[[Any], str]
"""Returns the key of an item; each key has a state."""


class Window(NamedTuple):
    """Collects the items of each key in windows of ``length_s`` seconds, each emitted at its end.

    The first window begins with the run. The end of the input closes all windows.
    """

    key: Key
    length_s: float


class Alarm(NamedTuple):
    """Passes items on. The state of each key has one timer, ``after_s`` seconds after its creation.

    The end of the input cancels the timers.
    """

    key: Key
    after_s: float


Hold = Union[Window, Alarm]
