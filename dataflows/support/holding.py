"""What a stateful step of a workload holds: items in a window of time, or a timer.

Both are far from over when the input ends: what they show is what a worker costs that has state to
think of while nothing comes.
"""

from typing import Any, Callable, NamedTuple, Union

Key = Callable[[Any], str]
"""Which state an item belongs to."""


class Window(NamedTuple):
    """Gathers the items of each key in windows of time; they go on when their window closes.

    Windows of ``length_s`` seconds begin with the run. The end of the input closes them all.
    """

    key: Key
    length_s: float


class Alarm(NamedTuple):
    """Passes items on at once; each key's state asks once, to be woken ``after_s`` seconds later.

    The end of the input cancels it.
    """

    key: Key
    after_s: float


Hold = Union[Window, Alarm]
