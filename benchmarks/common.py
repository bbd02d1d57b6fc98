"""What several benchmarks need."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def command_line(documentation: str | None) -> argparse.ArgumentParser:
    """A parser whose ``--help`` begins with a module's docstring, laid out as it is there."""
    return argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_results(parser: argparse.ArgumentParser) -> None:
    """Gives a command line ``--results``, for ``results_folder``."""
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="keep everything there, and make only what is not there yet",
    )


def split(arguments: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """What stands before ``--``, and what stands behind it."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:end], tuple(arguments[end + 1 :])


@contextmanager
def results_folder(given: Path | None) -> Iterator[Path]:
    """The folder that was given, or one that is gone in the end."""
    if given is None:
        with TemporaryDirectory() as name:
            yield Path(name)
    else:
        given.mkdir(parents=True, exist_ok=True)
        yield given.absolute()
