"""What several benchmarks need."""

import argparse
from collections.abc import Sequence
from typing import TypeVar

_Contestant = TypeVar("_Contestant")


def command_line(documentation: str | None) -> argparse.ArgumentParser:
    """A parser whose ``--help`` begins with a module's docstring, laid out as it is there."""
    return argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def in_turn(contestants: Sequence[_Contestant], number: int) -> list[_Contestant]:
    """The order of round ``number``: turned by one place from round to round.

    So a drift of the machine hits all alike, and none is always the one that comes after another.
    """
    shift = number % len(contestants)
    return [*contestants[shift:], *contestants[:shift]]
